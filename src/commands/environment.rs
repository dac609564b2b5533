//! The variables that are written down with a result. A fixed list: the whole environment holds
//! secrets, and is never dumped.

use std::collections::BTreeMap;

const NAMES: &[&str] = &[
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_VISIBLE_DEVICES",
    "MPICH_ASYNC_PROGRESS",
    "NCCL_ALGO",
    "NCCL_ALLOC_P2P_NET_LL_BUFFERS",
    "NCCL_BUFFSIZE",
    "NCCL_CGA_CLUSTER_SIZE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_CROSS_NIC",
    "NCCL_CUMEM_ENABLE",
    "NCCL_CUMEM_HOST_ENABLE",
    "NCCL_DEBUG",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_DMABUF_ENABLE",
    "NCCL_GRAPH_FILE",
    "NCCL_GRAPH_MIXING_SUPPORT",
    "NCCL_GRAPH_REGISTER",
    "NCCL_HOSTID",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_IGNORE_CPU_AFFINITY",
    "NCCL_LAUNCH_MODE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_P2P_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MIN_P2P_NCHANNELS",
    "NCCL_MULTI_RANK_GPU_ENABLE",
    "NCCL_NCHANNELS_PER_NET_PEER",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_PLUGIN",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DIRECT_DISABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_P2P_LL_THRESHOLD",
    "NCCL_P2P_NET_CHUNKSIZE",
    "NCCL_P2P_NVL_CHUNKSIZE",
    "NCCL_P2P_PCI_CHUNKSIZE",
    "NCCL_P2P_USE_CUDA_MEMCPY",
    "NCCL_PROFILER_PLUGIN",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "NCCL_SHM_USE_CUDA_MEMCPY",
    "NCCL_SOCKET_IFNAME",
    "NCCL_SOCKET_NTHREADS",
    "NCCL_THREAD_THRESHOLDS",
    "NCCL_TOPO_FILE",
    "NCCL_TUNER_PLUGIN",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_MCA_btl",
    "OMPI_MCA_coll",
    "OMPI_MCA_hwloc_base_binding_policy",
    "OMPI_MCA_mpi_yield_when_idle",
    "OMPI_MCA_pml",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPU_BIND",
    "SLURM_NTASKS",
];

/// Those of the list that are set, with their values.
pub(super) fn relevant_variables() -> BTreeMap<String, String> {
    NAMES
        .iter()
        .filter_map(|name| Some((name.to_string(), std::env::var(name).ok()?)))
        .collect()
}

/// What `--share-gpu` sets for `rank`, before NCCL starts, unless the user has set it.
///
/// A host id of its own makes NCCL take each rank for a node, since it refuses two ranks of one
/// node on one GPU; nodes talk through sockets, and these ranks over loopback. Few blocks a
/// kernel let all ranks' kernels be resident at once, without which they wait for each other.
pub(super) fn share_gpu_variables(rank: u32) -> Vec<(&'static str, String)> {
    if std::env::var_os("NCCL_MULTI_RANK_GPU_ENABLE").is_some() {
        return Vec::new();
    }
    [
        ("NCCL_HOSTID", format!("commbench-rank-{rank}")),
        ("NCCL_NET", "Socket".to_string()),
        ("NCCL_SOCKET_IFNAME", "lo".to_string()),
        ("NCCL_MAX_CTAS", "2".to_string()),
    ]
    .into_iter()
    .filter(|(name, _)| std::env::var_os(name).is_none())
    .collect()
}
