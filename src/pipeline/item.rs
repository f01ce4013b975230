//! An image on its way: what it is and when it was where.

use std::sync::Arc;

use super::decode::Prediction;
use super::failure::ImageError;
use super::infer::Output;
use crate::probe::clock::Nanos;

/// An image on its way through the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Its number in this run, from 0, in the order in which reads began.
    pub index: u64,
    /// Which input it is: an index into the source.
    pub input: usize,
    /// The knob epoch in which it entered.
    pub epoch: u32,
    /// From when its latency counts: the start of the read, or the intended arrival.
    pub origin: Nanos,
    /// Its work was the counted loop in place of its pixels: nothing is predicted of it.
    pub looped: bool,
    /// When it was where.
    pub times: Times,
}

/// When an image was where; 0 where it has not been yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The read began.
    pub read: Nanos,
    /// Its bytes were there.
    pub loaded: Nanos,
    /// A preprocess worker took it.
    pub taken: Nanos,
    /// It lay in its batch slot.
    pub filled: Nanos,
    /// An infer worker took its batch.
    pub submitted: Nanos,
    /// The engine was done with its batch.
    pub inferred: Nanos,
}

/// Encoded bytes of an image.
#[derive(Debug)]
pub enum Bytes {
    /// Held in memory for the whole run.
    Shared(Arc<[u8]>),
    /// Read into a buffer that goes back to its pool.
    Owned(Vec<u8>),
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// An image that was read.
#[derive(Debug)]
pub struct Loaded {
    /// Which.
    pub item: Item,
    /// Its encoded bytes.
    pub bytes: Bytes,
}

/// What came of an image.
#[derive(Debug)]
pub enum Answer {
    /// A batch of images was predicted.
    Predicted(Vec<Predicted>),
    /// An image failed.
    Failed(Item, ImageError),
}

/// An image that was predicted.
#[derive(Debug)]
pub struct Predicted {
    /// Which.
    pub item: Item,
    /// The best classes, best first; empty where the engine predicts nothing.
    pub top: Vec<Prediction>,
    /// Time that decoding its answer took.
    pub decode: Nanos,
}

/// A batch that went through the engine.
#[derive(Debug)]
pub struct Inferred {
    /// Its images.
    pub items: Vec<Item>,
    /// What the engine made of them.
    pub output: Output,
}
