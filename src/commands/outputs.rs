//! Files that are written must be neither one another nor what is read.

use std::path::{Path, PathBuf};

use super::Failure;

/// Refuses two outputs that are one file, and an output that is one of `inputs` or lies in one of these folders and is there
/// already: it would be destroyed. Each output comes with its flag.
///
/// # Errors
/// Where that is so, with both names.
pub(super) fn keep_apart(outputs: &[(&str, &Path)], inputs: &[&Path]) -> Result<(), Failure> {
    for (index, &(flag, path)) in outputs.iter().enumerate() {
        let same = |&&(_, other): &&(&str, &Path)| is_file(path) && place(other) == place(path);
        if let Some((other, _)) = outputs[..index].iter().find(same) {
            let path = path.display();
            return Err(Failure::usage(format!("{other} and {flag} name one file, {path}"))
                .hint("give each a file of its own"));
        }
        if path.is_file() && inputs.iter().any(|input| place(path).starts_with(place(input))) {
            let message = format!("{flag} would destroy an input, {}", path.display());
            return Err(Failure::usage(message).hint(format!("name another file with {flag}")));
        }
    }
    Ok(())
}

/// Pipes and devices take more than one.
fn is_file(path: &Path) -> bool {
    path.is_file() || path.is_dir() || !path.exists()
}

/// Where a file is or would be, without links.
fn place(path: &Path) -> PathBuf {
    let known = std::fs::canonicalize(path).ok();
    let to_be = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        Some(folder.join(path.file_name()?))
    };
    known.or_else(to_be).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_not_written_and_no_file_is_written_twice() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::create_dir(file("photos")).unwrap();
        std::fs::write(file("photos/a.jpg"), "").unwrap();
        std::fs::write(file("run"), "").unwrap();
        std::os::unix::fs::symlink(file("run"), file("link")).unwrap();
        let refused = |outputs: &[(&str, &Path)], inputs: &[&Path]| {
            keep_apart(outputs, inputs).err().map(|failure| failure.message)
        };
        let (photos, run, new) = (file("photos"), file("run"), file("new"));
        assert_eq!(refused(&[("--save", &new), ("--json", &run)], &[&photos]), None);
        assert_eq!(refused(&[("--save", &file("photos/b"))], &[&photos]), None, "it is new");
        let same = refused(&[("--save", &new), ("--json", &new)], &[]).unwrap();
        assert!(same.starts_with("--save and --json name one file"), "{same}");
        let input = refused(&[("--save", &file("photos/a.jpg"))], &[&photos]).unwrap();
        assert!(input.starts_with("--save would destroy an input"), "{input}");
        let linked = refused(&[("--record", &file("link"))], &[&run]).unwrap();
        assert!(linked.starts_with("--record would destroy an input"), "{linked}");
        let device = Path::new("/dev/null");
        assert_eq!(refused(&[("--save", device), ("--json", device)], &[]), None);
    }
}
