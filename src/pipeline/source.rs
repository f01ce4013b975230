//! Where images come from.

mod list;
mod read;
mod scan;
mod synthetic;
#[cfg(test)]
mod tests;

pub use read::{MAX_BYTES, read_file};
pub use synthetic::{DEFAULT_COUNT, DEFAULT_SEED};

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputInfo {
    /// `synthetic`, `folder`, `list` or `files`.
    pub kind: String,
    /// What to call it on screen: the path, or `synthetic`.
    pub name: String,
    /// Distinct images.
    pub images: u64,
}

/// Why there is nothing to read; the text is for the person who started the run.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No input at all.
    #[error("no input was named: name a folder, images or a list")]
    NoInput,
    /// Not one input exists; the first of them.
    #[error("{}: no such file or folder: check the spelling", .0.display())]
    NotFound(PathBuf),
    /// A folder without a file.
    #[error("{}: no file under this folder: name a folder that holds images", .0.display())]
    EmptyFolder(PathBuf),
    /// A list that names nothing.
    #[error("{}: the list names no file: write one path a line", .0.display())]
    EmptyList(PathBuf),
    /// A folder or list that cannot be read.
    #[error("{}: cannot be read: {error}: check its permissions", .path.display())]
    Unreadable {
        /// The folder or list.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A synthetic image could not be made.
    #[error("synthetic image {index} could not be made: {error}")]
    Synthetic {
        /// Which one.
        index: usize,
        /// What the encoder said.
        error: jpeg_encoder::EncodingError,
    },
}

/// Where one image's bytes are.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// In a file.
    File(&'a Path),
    /// In memory.
    Memory(&'a Arc<[u8]>),
}

#[derive(Debug)]
struct Stored {
    name: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    File(PathBuf),
    Memory(Arc<[u8]>),
}

/// A fixed, ordered set of images.
#[derive(Debug)]
pub struct Source {
    info: InputInfo,
    entries: Vec<Stored>,
    notices: Vec<String>,
}

impl Source {
    /// `count` procedurally generated photos from `seed`, held encoded in memory; the same bytes on
    /// every machine.
    ///
    /// # Errors
    /// Where the encoder fails, or `count` is 0.
    pub fn synthetic(seed: u64, count: usize) -> Result<Self, SourceError> {
        let entries = synthetic::generate(seed, count)?
            .into_iter()
            .map(|(name, bytes)| Stored { name, place: Place::Memory(bytes) })
            .collect();
        Self::new("synthetic", "synthetic".to_owned(), entries, Vec::new())
    }

    /// Files from `paths` (folders, files, and list files by their ending: `.txt`, `.lst`, `.list`)
    /// and from list files `lists`, in that order. Content is not looked at.
    ///
    /// A missing file among several inputs stays an entry, which fails as `not-found` when it is read.
    ///
    /// # Errors
    /// Where there would be nothing to read, or a folder or list cannot be read.
    pub fn from_paths(paths: &[PathBuf], lists: &[PathBuf]) -> Result<Self, SourceError> {
        let inputs = paths.len() + lists.len();
        let mut files = Vec::new();
        let mut notices = Vec::new();
        let mut kind = "files";
        for path in paths {
            if path.is_dir() {
                kind = "folder";
                files.extend(scan::folder(path, &mut notices)?);
            } else if list::is_list(path) {
                kind = "list";
                files.extend(list::read(path)?);
            } else if inputs == 1 && !exists(path) {
                return Err(SourceError::NotFound(path.clone()));
            } else {
                files.push(path.clone());
            }
        }
        for path in lists {
            kind = "list";
            files.extend(list::read(path)?);
        }
        let (kind, name) = match paths.iter().chain(lists).collect::<Vec<_>>()[..] {
            [] => return Err(SourceError::NoInput),
            [only] => (kind, only.display().to_string()),
            _ => ("files", format!("{inputs} inputs")),
        };
        if let ("files", Some(first)) = (kind, files.first())
            && !files.iter().any(|path| exists(path))
        {
            return Err(SourceError::NotFound(first.clone()));
        }
        let entries = files
            .into_iter()
            .map(|path| Stored { name: path.display().to_string(), place: Place::File(path) })
            .collect();
        Self::new(kind, name, entries, notices)
    }

    fn new(
        kind: &str,
        name: String,
        entries: Vec<Stored>,
        notices: Vec<String>,
    ) -> Result<Self, SourceError> {
        if entries.is_empty() {
            return Err(SourceError::NoInput);
        }
        let info = InputInfo { kind: kind.to_owned(), name, images: entries.len() as u64 };
        Ok(Self { info, entries, notices })
    }

    /// What to call it, and how many images it has.
    pub fn info(&self) -> &InputInfo {
        &self.info
    }

    /// Distinct images; at least 1.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no image; never so.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name of the image at `index`: its path, or `synthetic-017-640x480`.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len).
    pub fn name(&self, index: usize) -> &str {
        &self.entries[index].name
    }

    /// Where the bytes of the image at `index` are.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len).
    pub fn entry(&self, index: usize) -> Entry<'_> {
        match &self.entries[index].place {
            Place::File(path) => Entry::File(path),
            Place::Memory(bytes) => Entry::Memory(bytes),
        }
    }

    /// What the person should know of the scan: loops of links, folders that could not be entered.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

/// Whether something of that name exists, a broken link included.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
