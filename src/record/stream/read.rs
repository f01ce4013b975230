//! Opening a saved stream: what it holds is found first, and unpacked when it is asked for.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ciborium::Value;

use super::chunk::{Body, FRAME, Kind, MOST_BYTES, checksum, unpack};
use super::delta::apply;
use super::{Figures, MAGIC, VERSION};
use crate::probe::clock::Nanos;
use crate::profile::snapshot::{Label, LabelWord, Snapshot};

/// Why a stream cannot be replayed; the text is for the person who named it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is something else.
    #[error("{}: not a saved run: it does not begin as one (pipetop --save FILE writes one)", .0.display())]
    Foreign(PathBuf),
    /// It is of another version of the format.
    #[error(
        "{}: a saved run of format {version}{}; this pipetop ({}) reads format {VERSION}: \
         replay it with the version that wrote it",
        .path.display(),
        .program.as_ref().map_or_else(String::new, |program| format!(", written by pipetop {program}")),
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
        /// What wrote it, where that can be told.
        program: Option<String>,
    },
    /// There is not one snapshot in it.
    #[error("{}: no snapshot of the run is in it: it was cut off at its start", .0.display())]
    Empty(PathBuf),
    /// A snapshot cannot be understood.
    #[error("{}: written by pipetop {program}, and not understood by {}: {what}", .path.display(), env!("CARGO_PKG_VERSION"))]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What wrote it.
        program: String,
        /// What is not understood.
        what: String,
    },
}

/// A saved run.
#[derive(Debug)]
pub struct Stream {
    path: PathBuf,
    file: File,
    program: String,
    /// Chunks with snapshots, in order; the first is a key.
    chunks: Vec<Place>,
    figures: Option<Figures>,
    lost: u64,
    damage: Option<String>,
    /// The times of all snapshots, as far as they were looked at.
    reader: Option<Reader>,
}

/// Where a chunk lies, and what it holds.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: u32,
    key: bool,
    from: Nanos,
    to: Nanos,
    count: u64,
}

/// Snapshots unpacked in order, the last one as a value.
#[derive(Debug)]
struct Reader {
    /// The chunk that comes next.
    next: usize,
    value: Value,
}

impl Stream {
    /// Opens a stream.
    ///
    /// # Errors
    /// Where it is none, is of another version, or has no snapshot.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::Unreadable { path: path.to_owned(), error };
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let mut input = BufReader::with_capacity(1 << 16, &file);
        let mut start = [0; MAGIC.len() + 4];
        let foreign = |_| OpenError::Foreign(path.to_owned());
        input.read_exact(&mut start).map_err(foreign)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(OpenError::Foreign(path.to_owned()));
        }
        let version = u32::from_le_bytes(version.try_into().unwrap_or_default());
        let mut scan = Scan { input, offset: start.len() as u64, size };
        let program = scan.next().and_then(|chunk| chunk.ok()?.1.program);
        if version != VERSION {
            return Err(OpenError::Version { path: path.to_owned(), version, program });
        }
        let mut stream = Self {
            path: path.to_owned(),
            file: file.try_clone().map_err(unreadable)?,
            program: program.unwrap_or_else(|| "of an unknown version".to_owned()),
            chunks: Vec::new(),
            figures: None,
            lost: 0,
            damage: None,
            reader: None,
        };
        stream.index(scan)?;
        if stream.chunks.is_empty() {
            return Err(OpenError::Empty(path.to_owned()));
        }
        Ok(stream)
    }

    fn index(&mut self, scan: Scan<'_>) -> Result<(), OpenError> {
        for chunk in scan {
            let (place, body) = match chunk {
                Ok(chunk) => chunk,
                Err(damage) => {
                    self.damage = Some(damage);
                    return Ok(());
                }
            };
            self.lost = self.lost.max(body.lost);
            match body.kind {
                Some(Kind::Key | Kind::Delta) if place.key || !self.chunks.is_empty() => {
                    self.chunks.push(place);
                }
                Some(Kind::End) => {
                    let mut figures: Figures =
                        unpack(&body.data).map_err(|what| self.unknown(what))?;
                    for one in [&mut figures.warm, &mut figures.end, &mut figures.done] {
                        label(Arc::make_mut(one));
                    }
                    self.figures = Some(figures);
                }
                _ => {}
            }
        }
        if self.figures.is_none() {
            self.damage = Some("the run was not ended: it was killed, or still goes on".to_owned());
        }
        Ok(())
    }

    fn unknown(&self, what: String) -> OpenError {
        OpenError::Unknown { path: self.path.clone(), program: self.program.clone(), what }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The version of pipetop that wrote it.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// What is odd about it, in words: that it was cut off, that snapshots are missing.
    pub fn notices(&self) -> Vec<String> {
        let name = self.path.display();
        let mut notices = Vec::new();
        if let Some(damage) = &self.damage {
            let (_, to) = self.span();
            let to = to as f64 / 1e9;
            notices.push(format!("{name}: {damage}; what there is goes up to {to:.1} s"));
        }
        if self.lost > 0 {
            let of = self.lost + self.count();
            notices.push(format!("{name}: {} of {of} snapshots were not saved", self.lost));
        }
        notices
    }

    /// How many snapshots it holds.
    pub fn count(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.count).sum()
    }

    /// When the first and the last snapshot were taken.
    pub fn span(&self) -> (Nanos, Nanos) {
        let first = self.chunks.first().map_or(0, |chunk| chunk.from);
        (first, self.chunks.last().map_or(first, |chunk| chunk.to))
    }

    /// What the run's own report was made of; `None` where the run was cut off.
    pub const fn figures(&self) -> Option<&Figures> {
        self.figures.as_ref()
    }

    /// Goes to the last chunk that begins with a whole snapshot no later than `at`.
    pub fn seek(&mut self, at: Nanos) {
        let key = self.chunks.iter().rposition(|chunk| chunk.key && chunk.from <= at);
        self.reader = Some(Reader { next: key.unwrap_or(0), value: Value::Null });
    }

    /// The snapshots of the next chunk, about a second's, labelled *recorded*; `None` at the end.
    ///
    /// # Errors
    /// Where it cannot be read or understood.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<Arc<Snapshot>>>, OpenError> {
        let Reader { next, mut value } =
            self.reader.take().unwrap_or(Reader { next: 0, value: Value::Null });
        let Some(&place) = self.chunks.get(next) else {
            self.reader = Some(Reader { next, value });
            return Ok(None);
        };
        let unreadable = |error| OpenError::Unreadable { path: self.path.clone(), error };
        let mut bytes = vec![0; place.length as usize];
        self.file.read_exact_at(&mut bytes, place.offset).map_err(unreadable)?;
        let items = Body::of(&bytes).ok_or_else(|| "no map".to_owned());
        let items: Vec<Value> =
            items.and_then(|body| unpack(&body.data)).map_err(|what| self.unknown(what))?;
        let mut snapshots = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            if place.key && index == 0 {
                value = item;
            } else {
                apply(&mut value, item).map_err(|misfit| self.unknown(misfit.to_string()))?;
            }
            let snapshot = value.deserialized::<Snapshot>();
            let mut snapshot = snapshot.map_err(|error| self.unknown(error.to_string()))?;
            label(&mut snapshot);
            // What does not change is there once.
            if let Some(run) = snapshots.last().map(|last: &Arc<Snapshot>| &last.run)
                && *run == snapshot.run
            {
                snapshot.run = Arc::clone(run);
            }
            snapshots.push(Arc::new(snapshot));
        }
        self.reader = Some(Reader { next: next + 1, value });
        Ok(Some(snapshots))
    }
}

/// Whatever is read from a file is a recording.
fn label(snapshot: &mut Snapshot) {
    let label = Label { word: LabelWord::Recorded, what: "run".to_owned() };
    if !snapshot.labels.contains(&label) {
        snapshot.labels.push(label);
    }
}

/// Chunk after chunk, until the end or what is no chunk; that is told in words.
struct Scan<'a> {
    input: BufReader<&'a File>,
    offset: u64,
    size: u64,
}

impl Iterator for Scan<'_> {
    type Item = Result<(Place, Body), String>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.offset;
        (offset < self.size).then(|| {
            let read = self.chunk();
            if read.is_err() {
                self.offset = self.size;
            }
            read.map_err(|what| format!("{what} at byte {offset}"))
        })
    }
}

impl Scan<'_> {
    fn chunk(&mut self) -> Result<(Place, Body), String> {
        let cut = |_| "it is cut off".to_owned();
        let mut frame = [0; FRAME];
        self.input.read_exact(&mut frame).map_err(cut)?;
        let [a, b, c, d, sum @ ..] = frame;
        let (length, sum) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes(sum));
        let left = self.size.saturating_sub(self.offset + FRAME as u64);
        if u64::from(length) > left {
            return Err("it is cut off".to_owned());
        }
        if length > MOST_BYTES {
            return Err("it is damaged".to_owned());
        }
        let mut bytes = vec![0; length as usize];
        self.input.read_exact(&mut bytes).map_err(cut)?;
        if checksum(&bytes) != sum {
            return Err("it is damaged".to_owned());
        }
        let body = Body::of(&bytes).ok_or("it is damaged")?;
        let place = Place {
            offset: self.offset + FRAME as u64,
            length,
            key: body.kind == Some(Kind::Key),
            from: body.from,
            to: body.to,
            count: body.count,
        };
        self.offset = place.offset + u64::from(length);
        Ok((place, body))
    }
}
