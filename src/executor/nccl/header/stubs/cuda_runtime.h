/* Stand-in for CUDA's header: nccl.h uses these two types of it and nothing else, so that its
 * bindings can be made on a machine without CUDA. */
#ifndef COMMBENCH_STUB_CUDA_RUNTIME_H
#define COMMBENCH_STUB_CUDA_RUNTIME_H
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
#endif
