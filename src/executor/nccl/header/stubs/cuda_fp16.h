/* Stand-in for CUDA's header: nccl.h includes it and needs nothing of it. */
