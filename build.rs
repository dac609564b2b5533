//! Makes the NCCL bindings, and exports the symbol that NCCL looks up in the running program.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "mpi")]
    nccl::bind();
}

#[cfg(feature = "mpi")]
mod nccl {
    use std::path::{Path, PathBuf};

    const HEADERS: &str = "src/executor/nccl/header";

    /// Functions in use: each exists since NCCL 2.18, the oldest version that is supported.
    const FUNCTIONS: [&str; 18] = [
        "ncclGetVersion",
        "ncclGetUniqueId",
        "ncclGetErrorString",
        "ncclGetLastError",
        "ncclCommInitRank",
        "ncclCommFinalize",
        "ncclCommDestroy",
        "ncclCommAbort",
        "ncclCommGetAsyncError",
        "ncclAllReduce",
        "ncclAllGather",
        "ncclReduceScatter",
        "ncclBroadcast",
        "ncclReduce",
        "ncclSend",
        "ncclRecv",
        "ncclGroupStart",
        "ncclGroupEnd",
    ];

    pub fn bind() {
        println!("cargo:rerun-if-changed={HEADERS}");
        println!("cargo:rerun-if-env-changed=NCCL_HOME");
        // NCCL opens STATIC_PLUGIN as the program itself: the symbol must be visible there.
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=ncclProfiler_v4");
        let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
        let target = out.join("nccl.rs");
        if let Some(header) = installed_header() {
            match generate(&header, &target) {
                Ok(()) => return,
                Err(error) => println!(
                    "cargo:warning={} is not usable ({error}); using the project's own header",
                    header.display()
                ),
            }
        }
        let own = Path::new(HEADERS).join("nccl_in_use.h");
        if let Err(error) = generate(&own, &target) {
            panic!(
                "bindgen cannot read {}: {error}. It needs libclang: apt-get install libclang-dev, \
                 or build with --no-default-features",
                own.display()
            );
        }
    }

    /// The first usable nccl.h: NCCL_HOME, the usual folders, then Python wheels.
    fn installed_header() -> Option<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        if let Some(home) = std::env::var_os("NCCL_HOME") {
            folders.push(Path::new(&home).join("include"));
        }
        folders.extend(
            [
                "/usr/include",
                "/usr/local/include",
                "/usr/local/cuda/include",
            ]
            .map(PathBuf::from),
        );
        folders.extend(wheel_folders());
        folders
            .into_iter()
            .map(|folder| folder.join("nccl.h"))
            .find(|header| header.is_file() && is_2_18_or_later(header))
    }

    /// `include` folders of installed nvidia-nccl wheels of the Pythons on the PATH.
    fn wheel_folders() -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let prefixes = std::env::split_paths(&path)
            .filter(|bin| bin.join("python3").exists())
            .filter_map(|bin| bin.parent().map(Path::to_path_buf));
        prefixes
            .flat_map(|prefix| std::fs::read_dir(prefix.join("lib")).into_iter().flatten())
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
            .map(|entry| entry.path().join("site-packages/nvidia/nccl/include"))
            .collect()
    }

    fn is_2_18_or_later(header: &Path) -> bool {
        let text = std::fs::read_to_string(header).unwrap_or_default();
        let number = |name: &str| -> Option<u32> {
            text.lines()
                .find_map(|line| line.strip_prefix("#define ")?.strip_prefix(name))
                .and_then(|rest| rest.trim().parse().ok())
        };
        matches!((number("NCCL_MAJOR "), number("NCCL_MINOR ")), (Some(2), Some(minor)) if minor >= 18)
    }

    fn generate(header: &Path, target: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let mut builder = bindgen::Builder::default()
            .header(header.to_string_lossy())
            // The stubs stand in front of CUDA's own headers, whether those exist or not.
            .clang_arg(format!("-I{HEADERS}/stubs"))
            .default_enum_style(bindgen::EnumVariation::Consts)
            .prepend_enum_name(false)
            .layout_tests(false)
            .wrap_unsafe_ops(true)
            .generate_comments(false)
            .dynamic_library_name("NcclApi")
            // An older library only lacks the newer calls.
            .dynamic_link_require_all(false);
        for function in FUNCTIONS {
            builder = builder.allowlist_function(function);
        }
        builder
            .allowlist_type("ncclDataType_t|ncclRedOp_t|ncclResult_t")
            .generate()?
            .write_to_file(target)?;
        Ok(())
    }
}
