//! NVIDIA's libraries: where they may lie (the loader's own path, toolkits, Python environments), and how to open them.
//!
//! Nothing of NVIDIA's is linked: the same program starts where there is nothing of it.

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::collections::BTreeSet;
use std::ffi::{OsStr, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// Folders to look into before all others, as in `PATH`.
pub const FOLDERS_VARIABLE: &str = "PIPETOP_CUDA_LIBS";

/// The driver.
pub const DRIVER: &[&str] = &["libcuda.so.1"];
/// cuDNN, of which the engine takes version 9.
pub const CUDNN: &[&str] = &["libcudnn.so.9"];
/// What cuDNN opens by name.
pub const CUBLAS: [&[&str]; 2] =
    [&["libcublasLt.so.13", "libcublasLt.so.12"], &["libcublas.so.13", "libcublas.so.12"]];

/// A library that was opened; it stays loaded until the process ends, since unloading the driver's libraries is what
/// they are worst at.
pub struct Opened(ManuallyDrop<Library>);

/// Opens a library by name (then the system's search path is used) or by path.
///
/// Once it is open by its path, whoever asks for it by its name gets the same: the loader knows it by then.
///
/// # Errors
/// What the loader says.
pub fn open(name: impl AsRef<OsStr>) -> Result<Opened, String> {
    #[expect(unsafe_code, reason = "loading a library runs its initialisers")]
    // SAFETY: only NVIDIA's own libraries are opened here, by their fixed names; their initialisers
    // ask nothing of the caller.
    let library = unsafe { Library::open(Some(name.as_ref()), RTLD_NOW | RTLD_GLOBAL) };
    match library {
        Ok(library) => Ok(Opened(ManuallyDrop::new(library))),
        Err(error) => Err(error.to_string()),
    }
}

impl Opened {
    /// The first of these functions that the library lacks.
    pub fn lacks<'a>(&self, functions: &[&'a str]) -> Option<&'a str> {
        functions.iter().copied().find(|name| {
            #[expect(unsafe_code, reason = "an address is looked up")]
            // SAFETY: the address is not used.
            let found = unsafe { self.0.get::<*mut c_void>(name.as_bytes()) };
            found.is_err()
        })
    }
}

/// The CUDA version that the driver supports, as `major * 1000 + minor * 10`.
pub fn driver_version(driver: &Opened) -> Option<i32> {
    let mut version: c_int = 0;
    #[expect(unsafe_code, reason = "a C function is called through its address")]
    // SAFETY: `CUresult cuDriverGetVersion(int *)` has this signature in every driver, needs no
    // `cuInit`, and writes one int to a place that lives through the call.
    let result = unsafe {
        let call =
            driver.0.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion\0");
        call.ok().map(|call| call(&raw mut version))
    };
    (result == Some(0)).then_some(version)
}

/// Where a library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The loader finds it by its name.
    Loader,
    /// It lies here, and opens.
    File(PathBuf),
    /// It lies here, and does not open.
    Broken(PathBuf, String),
}

/// The first of `names` (newest first) that is found, with its place; it is open from then on.
pub fn find(names: &[&str], folders: &[PathBuf]) -> Option<(String, Place)> {
    let by_name = names.iter().find(|name| open(name).is_ok());
    if let Some(name) = by_name {
        return Some(((*name).to_owned(), Place::Loader));
    }
    let mut broken = None;
    for name in names {
        for path in folders.iter().map(|folder| folder.join(name)).filter(|path| path.is_file()) {
            match open(&path) {
                Ok(_) => return Some(((*name).to_owned(), Place::File(path))),
                Err(error) => {
                    broken.get_or_insert(((*name).to_owned(), Place::Broken(path, error)));
                }
            }
        }
    }
    broken
}

/// Folders worth looking into beyond the loader's path, best first.
pub fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = Vec::new();
    folders.extend(std::env::var_os(FOLDERS_VARIABLE).iter().flat_map(std::env::split_paths));
    for name in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(variable(name).iter().flat_map(|toolkit| of_toolkit(toolkit)));
    }
    for toolkit in newest_first(Path::new("/usr/local"), "cuda") {
        folders.extend(of_toolkit(&toolkit));
    }
    for folder in ["/opt/cuda/lib64", "/usr/local/nvidia/lib64", "/usr/lib64", "/usr/lib/wsl/lib"] {
        folders.push(folder.into());
    }
    folders.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());

    let mut pythons: Vec<PathBuf> = Vec::new();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(environment) = variable(name) {
            folders.push(environment.join("lib"));
            pythons.push(environment.join("lib"));
        }
    }
    pythons.extend(variable("HOME").map(|home| home.join(".local/lib")));
    pythons.extend(["/usr/local/lib".into(), "/usr/lib".into()]);
    for folder in newest_first(Path::new("/opt"), "") {
        pythons.extend(["lib", ".venv/lib", "venv/lib"].map(|lib| folder.join(lib)));
    }
    folders.extend(pythons.iter().flat_map(|lib| of_wheels(lib)));

    let mut seen = BTreeSet::new();
    folders.retain(|folder| folder.is_dir() && seen.insert(folder.clone()));
    folders
}

fn of_toolkit(toolkit: &Path) -> [PathBuf; 3] {
    let target = format!("targets/{}-linux/lib", std::env::consts::ARCH);
    [toolkit.join("lib64"), toolkit.join("lib"), toolkit.join(target)]
}

/// `python3*/{site,dist}-packages/nvidia/*/lib` under a library folder: what pip's wheels bring.
fn of_wheels(lib: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for python in newest_first(lib, "python3") {
        for packages in ["site-packages", "dist-packages"] {
            let wheels = newest_first(&python.join(packages).join("nvidia"), "");
            found.extend(wheels.into_iter().map(|wheel| wheel.join("lib")));
        }
    }
    found
}

/// What in a folder has a name that begins so, the highest name first.
fn newest_first(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    found.sort_unstable();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_are_found_in_every_python_newest_first() {
        let root = tempfile::tempdir().unwrap();
        for wheel in
            ["python3.9/site-packages/nvidia/cudnn", "python3.12/dist-packages/nvidia/cublas"]
        {
            std::fs::create_dir_all(root.path().join(wheel).join("lib")).unwrap();
        }
        let found = of_wheels(root.path());
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|folder| folder.is_dir()));
    }

    #[test]
    fn a_library_that_is_not_there_is_an_error_and_no_panic() {
        assert!(open("libpipetop-has-no-such-library.so.1").is_err());
        assert!(open("/nowhere/libcuda.so.1").is_err());
    }

    #[test]
    fn a_function_that_is_not_there_is_named() {
        let library = open("libc.so.6").unwrap();
        assert_eq!(library.lacks(&["strlen", "malloc"]), None);
        assert_eq!(library.lacks(&["strlen", "cuInit", "malloc"]), Some("cuInit"));
    }

    #[test]
    fn a_file_that_is_no_library_is_told_from_none() {
        let root = tempfile::tempdir().unwrap();
        let folders = [root.path().to_owned()];
        assert!(find(&["libpipetop-none.so.1"], &folders).is_none());
        std::fs::write(root.path().join("libpipetop-none.so.1"), "text").unwrap();
        let found = find(&["libpipetop-none.so.2", "libpipetop-none.so.1"], &folders);
        assert!(matches!(found, Some((name, Place::Broken(..))) if name.ends_with(".so.1")));
    }
}
