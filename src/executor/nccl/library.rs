//! Finding and opening NCCL at run time.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sys;
use crate::error::{Error, Result};

/// The oldest version whose API is sufficient, as ncclGetVersion codes it.
const OLDEST: i32 = 21800;

/// `ncclAlltoAll`, since 2.28: send, receive, elements a rank, type, communicator, stream.
type AllToAll = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    usize,
    sys::ncclDataType_t,
    sys::ncclComm_t,
    *mut c_void,
) -> sys::ncclResult_t;

/// An opened NCCL library.
pub struct Library {
    pub(super) api: sys::NcclApi,
    /// Looked up by hand, since the headers of older versions do not declare it.
    all_to_all: Option<AllToAll>,
    path: String,
    version: i32,
    /// Keeps `all_to_all` where it is.
    _handle: Option<libloading::Library>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NCCL {} ({})", self.version(), self.path)
    }
}

impl Library {
    /// Opens `explicit`, or the first NCCL that is found: NCCL_HOME, the loader's own paths, then
    /// the nvidia-nccl wheels of the Pythons on the PATH. Never the working folder.
    ///
    /// # Errors
    /// Exit code 3 when there is none, or only one older than 2.18.
    pub fn open(explicit: Option<&Path>) -> Result<Arc<Library>> {
        let candidates = match explicit {
            Some(path) if path.is_absolute() => vec![path.to_path_buf()],
            Some(path) => vec![std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())],
            None => candidates(),
        };
        let mut last_problem = String::new();
        for candidate in &candidates {
            // SAFETY: loading NCCL runs its initialisers; it is the library the user asked for,
            // or one on the system's own paths.
            match unsafe { sys::NcclApi::new(candidate) } {
                Ok(api) => return Self::check(api, candidate).map(Arc::new),
                Err(error) => last_problem = error.to_string(),
            }
        }
        Err(match explicit {
            Some(path) => Error::environment(format!(
                "cannot open NCCL at {}: {last_problem}",
                path.display()
            ))
            .try_this("give --nccl-lib the path of libnccl.so.2"),
            None => Error::environment("no NCCL on this machine (libnccl.so.2 cannot be opened)")
                .try_this(
                    "install NCCL (apt-get install libnccl2, or pip install nvidia-nccl-cu13), or --nccl-lib PATH; --backend host needs none",
                ),
        })
    }

    fn check(api: sys::NcclApi, candidate: &Path) -> Result<Library> {
        let path = loaded_path().unwrap_or_else(|| candidate.display().to_string());
        let Ok(get_version) = api.ncclGetVersion else {
            return Err(Error::environment(format!("{path} is not NCCL"))
                .try_this("give --nccl-lib the path of libnccl.so.2"));
        };
        let mut version = 0;
        // SAFETY: a plain call with a valid out-pointer.
        unsafe { get_version(&mut version) };
        // SAFETY: opened above already; this only counts one more user.
        let handle = unsafe { libloading::Library::new(candidate) }.ok();
        let all_to_all = handle.as_ref().and_then(|handle| {
            // SAFETY: NCCL exports nothing else of this name, and the type is its documented one.
            unsafe { handle.get::<AllToAll>(b"ncclAlltoAll\0") }
                .ok()
                .map(|symbol| *symbol)
        });
        let library = Library {
            api,
            all_to_all,
            path,
            version,
            _handle: handle,
        };
        if version < OLDEST {
            return Err(Error::environment(format!(
                "NCCL {} at {} is older than 2.18",
                library.version(),
                library.path
            ))
            .try_this("install a newer NCCL, or --nccl-lib PATH"));
        }
        Ok(library)
    }

    /// The version as text: "2.28.3".
    pub fn version(&self) -> String {
        let code = self.version;
        format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100)
    }

    /// Whether it has `ncclAlltoAll` (since 2.28).
    pub fn has_all_to_all(&self) -> bool {
        self.all_to_all.is_some()
    }

    /// `ncclAlltoAll`; an invalid-usage result where the library has none.
    ///
    /// # Safety
    /// As NCCL's documentation of the call demands.
    #[inline]
    pub(super) unsafe fn all_to_all(
        &self,
        send: *const c_void,
        receive: *mut c_void,
        count: usize,
        dtype: sys::ncclDataType_t,
        comm: sys::ncclComm_t,
        stream: *mut c_void,
    ) -> sys::ncclResult_t {
        const INVALID_USAGE: sys::ncclResult_t = 5;
        match self.all_to_all {
            // SAFETY: the caller's promise.
            Some(call) => unsafe { call(send, receive, count, dtype, comm, stream) },
            None => INVALID_USAGE,
        }
    }

    /// Path of the library that was loaded.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// NCCL's words for a result code.
    pub(super) fn words(&self, result: sys::ncclResult_t) -> String {
        match self.api.ncclGetErrorString {
            Ok(get) => {
                // SAFETY: returns a static string for every code.
                let text = unsafe { CStr::from_ptr(get(result)) };
                text.to_string_lossy().into_owned()
            }
            Err(_) => format!("error {result}"),
        }
    }
}

fn candidates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(home) = std::env::var_os("NCCL_HOME").map(PathBuf::from)
        && home.is_absolute()
    {
        found.push(home.join("lib/libnccl.so.2"));
    }
    found.push(PathBuf::from("libnccl.so.2"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    for bin in std::env::split_paths(&path).filter(|bin| bin.is_absolute()) {
        if !bin.join("python3").exists() {
            continue;
        }
        let Some(prefix) = bin.parent() else { continue };
        let Ok(entries) = std::fs::read_dir(prefix.join("lib")) else {
            continue;
        };
        for entry in entries.flatten() {
            if !entry.file_name().to_string_lossy().starts_with("python3") {
                continue;
            }
            for packages in ["site-packages", "dist-packages"] {
                let wheel = entry
                    .path()
                    .join(packages)
                    .join("nvidia/nccl/lib/libnccl.so.2");
                if wheel.is_file() {
                    found.push(wheel);
                }
            }
        }
    }
    found
}

/// Where the loader found the library, from this process's own map.
fn loaded_path() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
        .find(|path| path.contains("libnccl"))
        .map(str::to_string)
}
