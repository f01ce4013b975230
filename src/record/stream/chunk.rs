//! Chunks: length, checksum and a CBOR map each; inside, deflated data.

use std::io::{self, Read, Write};

use ciborium::Value;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::probe::clock::Nanos;

/// Bytes of a chunk before its body: length and checksum.
pub const FRAME: usize = 8;
/// No chunk is longer: what claims to be is damage.
pub const MOST_BYTES: u32 = 1 << 28;
/// Nothing unpacks to more.
const MOST_UNPACKED: u64 = 1 << 30;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who wrote the file.
    Head,
    /// Snapshots of which the first is whole.
    Key,
    /// Snapshots as differences to those before.
    Delta,
    /// What the run's report was made of.
    End,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Head, Self::Key, Self::Delta, Self::End];

    const fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Key => "key",
            Self::Delta => "delta",
            Self::End => "end",
        }
    }
}

/// A chunk's map.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// What it holds; `None` where that is not known here.
    pub kind: Option<Kind>,
    /// The program that wrote the file (`head`).
    pub program: Option<String>,
    /// When its first snapshot was taken.
    pub from: Nanos,
    /// When its last one was.
    pub to: Nanos,
    /// How many it holds.
    pub count: u64,
    /// How many are missing before its end, since the start of the run.
    pub lost: u64,
    /// Deflated CBOR.
    pub data: Vec<u8>,
}

impl Body {
    /// The chunk as it stands in a file, frame and all.
    ///
    /// # Errors
    /// Where it is too long.
    pub fn framed(&self) -> io::Result<Vec<u8>> {
        let mut map = Vec::new();
        let mut put = |key: &str, value: Value| map.push((key.into(), value));
        put("kind", self.kind.map_or("none", Kind::name).into());
        if let Some(program) = &self.program {
            put("program", program.as_str().into());
        }
        if self.count > 0 {
            put("from", self.from.into());
            put("to", self.to.into());
            put("count", self.count.into());
        }
        put("lost", self.lost.into());
        put("data", Value::Bytes(self.data.clone()));
        let mut framed = vec![0; FRAME];
        ciborium::into_writer(&Value::Map(map), &mut framed).map_err(io::Error::other)?;
        let length = u32::try_from(framed.len() - FRAME).ok().filter(|&n| n <= MOST_BYTES);
        let length = length.ok_or_else(|| io::Error::other("a chunk is too long"))?;
        let sum = checksum(&framed[FRAME..]);
        framed[..4].copy_from_slice(&length.to_le_bytes());
        framed[4..FRAME].copy_from_slice(&sum.to_le_bytes());
        Ok(framed)
    }

    /// The map of a body that is whole.
    pub fn of(body: &[u8]) -> Option<Self> {
        let Ok(Value::Map(map)) = ciborium::from_reader(body) else { return None };
        let mut of = Self::default();
        for (key, value) in map {
            let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
            match (key.as_text()?, value) {
                ("kind", Value::Text(name)) => {
                    of.kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
                }
                ("program", Value::Text(program)) => of.program = Some(program),
                ("from", _) => of.from = number?,
                ("to", _) => of.to = number?,
                ("count", _) => of.count = number?,
                ("lost", _) => of.lost = number?,
                ("data", Value::Bytes(data)) => of.data = data,
                _ => {}
            }
        }
        Some(of)
    }
}

/// The CRC-32 of a body.
pub fn checksum(body: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(body);
    sum.sum()
}

/// A value as deflated CBOR.
///
/// # Errors
/// Where it cannot be written as CBOR.
pub fn pack(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    ciborium::into_writer(value, &mut plain).map_err(io::Error::other)?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(4));
    encoder.write_all(&plain)?;
    encoder.finish()
}

/// What [`pack`] packed.
///
/// # Errors
/// Where it is not that, in words.
pub fn unpack<T: DeserializeOwned>(data: &[u8]) -> Result<T, String> {
    let mut plain = Vec::new();
    let mut decoder = DeflateDecoder::new(data).take(MOST_UNPACKED);
    decoder.read_to_end(&mut plain).map_err(|error| error.to_string())?;
    ciborium::from_reader(&plain[..]).map_err(|error| match error {
        ciborium::de::Error::Semantic(_, what) => what,
        other => other.to_string(),
    })
}
