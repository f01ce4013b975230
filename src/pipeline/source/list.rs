//! List files: one path a line.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{SourceError, exists};

/// Endings by which an input is taken for a list.
const ENDINGS: [&str; 3] = ["txt", "lst", "list"];

/// Whether a positional input is a list: its ending says so, and it holds text.
pub(super) fn is_list(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(OsStr::to_str)
        .is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)));
    // A pipe would be drained by looking, so only a regular file is opened.
    ending && path.is_file() && begins_as_text(path).unwrap_or(true)
}

fn begins_as_text(path: &Path) -> io::Result<bool> {
    use std::io::Read;
    let mut head = Vec::new();
    fs::File::open(path)?.take(512).read_to_end(&mut head)?;
    Ok(!head.contains(&0) && crate::pipeline::preprocess::sniff(&head).is_err())
}

/// The paths that a list names: blank lines and lines that begin with `#` are skipped; relative ones
/// count from the list's folder, or from the current one where there is no such file there.
pub(super) fn read(list: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let unreadable = |error| SourceError::Unreadable { path: list.to_owned(), error };
    let meta = fs::metadata(list).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SourceError::NotFound(list.to_owned()),
        _ => unreadable(error),
    })?;
    if meta.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    let text = fs::read(list).map_err(unreadable)?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let base = list.parent().unwrap_or(Path::new(""));
    let paths: Vec<_> = text
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.trim_ascii().is_empty() && !line.trim_ascii_start().starts_with(b"#"))
        .map(|line| resolve(base, Path::new(OsStr::from_bytes(line))))
        .collect();
    if paths.is_empty() {
        return Err(SourceError::EmptyList(list.to_owned()));
    }
    Ok(paths)
}

fn resolve(base: &Path, named: &Path) -> PathBuf {
    let beside = base.join(named);
    if !exists(&beside) && exists(named) { named.to_owned() } else { beside }
}
