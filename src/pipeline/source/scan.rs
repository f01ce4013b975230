//! Everything under a folder.

use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

use super::SourceError;

/// Every entry under `folder` that is no folder, sorted by path, links followed, hidden ones too.
///
/// Special files and broken links are among them: they fail by name when they are read. Loops of
/// links and folders that cannot be entered become `notices`.
pub(super) fn folder(
    folder: &Path,
    notices: &mut Vec<String>,
) -> Result<Vec<PathBuf>, SourceError> {
    std::fs::read_dir(folder)
        .map_err(|error| SourceError::Unreadable { path: folder.to_owned(), error })?;
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).follow_links(true).min_depth(1) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => files.push(entry.into_path()),
            Err(error) => take_error(&error, &mut files, notices),
        }
    }
    if files.is_empty() {
        return Err(SourceError::EmptyFolder(folder.to_owned()));
    }
    files.sort_unstable();
    Ok(files)
}

fn take_error(error: &walkdir::Error, files: &mut Vec<PathBuf>, notices: &mut Vec<String>) {
    let Some(path) = error.path() else {
        notices.push(format!("a part of the folder was left out: {error}"));
        return;
    };
    let shown = path.display();
    if let Some(ancestor) = error.loop_ancestor() {
        notices.push(format!("{shown}: left out: the link leads back to {}", ancestor.display()));
        return;
    }
    let io_error = error.io_error();
    // A link whose target is missing, or that leads to itself, is an input that fails by name.
    let broken = io_error.is_some_and(|error| {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ELOOP)
    });
    if broken {
        files.push(path.to_owned());
    } else {
        let why = io_error.map_or_else(|| error.to_string(), io::Error::to_string);
        notices.push(format!("{shown}: left out: {why}: check its permissions"));
    }
}
