//! Snapshots into chunks: gathered for a second, packed, written.

use std::io::{self, Write};

use ciborium::Value;

use super::chunk::{Body, Kind, pack};
use super::delta::difference;
use super::{Figures, MAGIC, VERSION};
use crate::probe::clock::Nanos;
use crate::profile::snapshot::Snapshot;

/// A chunk goes out with the first snapshot so long after its first, so that no more than a second is
/// ever unwritten.
const CHUNK: Nanos = 800_000_000;
/// From one key to the next.
const KEY: Nanos = 10_000_000_000;
/// Kept free for the end.
const RESERVE: u64 = 1 << 20;

/// Writes a stream.
#[derive(Debug)]
pub struct Encoder<W> {
    out: W,
    /// The most bytes that it may become.
    limit: u64,
    written: u64,
    /// The latest snapshot, to which the next is told as a difference.
    last: Option<Value>,
    /// When the latest key was begun.
    key_at: Option<Nanos>,
    open: Option<Open>,
    count: u64,
    lost: u64,
    full: bool,
}

/// The chunk that is being gathered.
#[derive(Debug)]
struct Open {
    kind: Kind,
    from: Nanos,
    to: Nanos,
    items: Vec<Value>,
}

impl<W: Write> Encoder<W> {
    /// Begins a stream of at most about `limit` bytes.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(mut out: W, limit: u64) -> io::Result<Self> {
        let mut start = MAGIC.to_vec();
        start.extend(VERSION.to_le_bytes());
        let program = Some(env!("CARGO_PKG_VERSION").to_owned());
        start.extend(Body { kind: Some(Kind::Head), program, ..Body::default() }.framed()?);
        out.write_all(&start)?;
        out.flush()?;
        Ok(Self {
            out,
            limit,
            written: start.len() as u64,
            last: None,
            key_at: None,
            open: None,
            count: 0,
            lost: 0,
            full: false,
        })
    }

    /// Takes in the next snapshot. Once the stream is full it is only counted as lost.
    ///
    /// # Errors
    /// Where the stream cannot be written.
    pub fn push(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        if self.full {
            self.lost += 1;
            return Ok(());
        }
        let value = Value::serialized(snapshot).map_err(io::Error::other)?;
        let at = snapshot.at;
        let before = self.last.as_ref().filter(|_| !self.key_is_due(at));
        // The same again is an empty difference.
        let by = before.map(|last| difference(last, &value).unwrap_or(Value::Map(Vec::new())));
        let open = self.open.get_or_insert_with(|| {
            let kind = if by.is_some() { Kind::Delta } else { Kind::Key };
            Open { kind, from: at, to: at, items: Vec::new() }
        });
        if by.is_none() {
            self.key_at = Some(at);
        }
        open.to = at;
        open.items.push(by.unwrap_or_else(|| value.clone()));
        self.last = Some(value);
        let whole = at >= open.from.saturating_add(CHUNK);
        if whole { self.flush() } else { Ok(()) }
    }

    /// A key begins a chunk, and so none is due within one.
    fn key_is_due(&self, at: Nanos) -> bool {
        self.open.is_none() && self.key_at.is_none_or(|key| at >= key.saturating_add(KEY))
    }

    /// Counts snapshots that did not reach the encoder.
    pub const fn lose(&mut self, snapshots: u64) {
        self.lost += snapshots;
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(Open { kind, from, to, items }) = self.open.take() else { return Ok(()) };
        let count = items.len() as u64;
        let data = pack(&Value::Array(items))?;
        let body =
            Body { kind: Some(kind), from, to, count, lost: self.lost, data, ..Body::default() };
        let chunk = body.framed()?;
        if self.written + chunk.len() as u64 + RESERVE > self.limit {
            self.full = true;
            self.lost += count;
            return Ok(());
        }
        self.put(&chunk)?;
        self.count += count;
        Ok(())
    }

    fn put(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.out.write_all(chunk)?;
        self.out.flush()?;
        self.written += chunk.len() as u64;
        Ok(())
    }

    /// Ends the stream with what the run's report was made of; that has room in a full one too.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn end(&mut self, figures: &Figures) -> io::Result<()> {
        self.flush()?;
        let body = Body {
            kind: Some(Kind::End),
            from: figures.warm.at,
            to: figures.end.at,
            count: 3,
            lost: self.lost,
            data: pack(figures)?,
            ..Body::default()
        };
        self.put(&body.framed()?)
    }

    /// Snapshots written.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Snapshots that are not in the stream.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether its limit was reached.
    pub const fn is_full(&self) -> bool {
        self.full
    }

    /// Bytes written.
    pub const fn written(&self) -> u64 {
        self.written
    }
}
