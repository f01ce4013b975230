//! Where NVIDIA's libraries may lie: the loader's own path, toolkits, Python environments.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::loader;

/// Where a library was found.
pub(super) enum Place {
    /// The loader finds it by its name.
    Loader,
    /// It lies here, and opens.
    File(PathBuf),
    /// It lies here, and does not open.
    Broken(PathBuf, String),
}

/// The first of `names` (newest first) that is found, with its place.
pub(super) fn find(names: &[&str], folders: &[PathBuf]) -> Option<(String, Place)> {
    let by_name = names.iter().find(|name| loader::open(name).is_ok());
    if let Some(name) = by_name {
        return Some(((*name).to_owned(), Place::Loader));
    }
    let mut broken = None;
    for name in names {
        for path in folders.iter().map(|folder| folder.join(name)).filter(|path| path.is_file()) {
            match loader::open(&path) {
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
pub(super) fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut folders = Vec::new();
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
    fn a_file_that_is_no_library_is_told_from_none() {
        let root = tempfile::tempdir().unwrap();
        let folders = [root.path().to_owned()];
        assert!(find(&["libpipetop-none.so.1"], &folders).is_none());
        std::fs::write(root.path().join("libpipetop-none.so.1"), "text").unwrap();
        let found = find(&["libpipetop-none.so.2", "libpipetop-none.so.1"], &folders);
        assert!(matches!(found, Some((name, Place::Broken(..))) if name.ends_with(".so.1")));
    }
}
