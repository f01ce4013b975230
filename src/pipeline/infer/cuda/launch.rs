//! Launches of kernels, before memory is there: addresses are places, which a lane turns into numbers.

use super::driver::{Fault, Function, Stream};

/// An address that is known by name only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing.
    Null,
    /// So many bytes into the arena.
    Arena(usize),
    /// So many bytes into the weights.
    Weights(usize),
    /// The pictures as they were uploaded.
    Pictures,
    /// The pictures as the first convolutions want them.
    Input,
    /// The logits, floats.
    Logits,
    /// Parts of sums that several blocks share.
    Partial,
    /// How many of these blocks are done; zero between kernels.
    Counters,
}

/// Where everything is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Addresses {
    /// The arena's first byte.
    pub arena: u64,
    /// The weights' first byte.
    pub weights: u64,
    /// As [`Place::Pictures`].
    pub pictures: u64,
    /// As [`Place::Input`].
    pub input: u64,
    /// As [`Place::Logits`].
    pub logits: u64,
    /// As [`Place::Partial`].
    pub partial: u64,
    /// As [`Place::Counters`].
    pub counters: u64,
}

impl Addresses {
    /// The number that a place stands for.
    pub(super) const fn of(&self, place: Place) -> u64 {
        match place {
            Place::Null => 0,
            Place::Arena(offset) => self.arena + offset as u64,
            Place::Weights(offset) => self.weights + offset as u64,
            Place::Pictures => self.pictures,
            Place::Input => self.input,
            Place::Logits => self.logits,
            Place::Partial => self.partial,
            Place::Counters => self.counters,
        }
    }
}

/// A 32-bit argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A whole number.
    Int(i32),
    /// A float.
    Float(f32),
}

impl From<usize> for Number {
    /// # Panics
    /// Where it does not fit: batches are kept so small that it does.
    fn from(value: usize) -> Self {
        Self::Int(i32::try_from(value).expect("sizes fit 31 bits"))
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

/// One kernel to be started.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Launch {
    /// Its name.
    pub kernel: &'static str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, bytes.
    pub shared: u32,
    /// The addresses that it takes, which come first in its structure.
    pub places: Vec<Place>,
    /// The numbers that it takes.
    pub numbers: Vec<Number>,
}

impl Launch {
    /// One thread an item, 256 a block.
    pub(super) fn over(
        kernel: &'static str,
        items: usize,
        places: Vec<Place>,
        numbers: Vec<Number>,
    ) -> Self {
        let blocks = items.div_ceil(256).max(1);
        let grid = [u32::try_from(blocks).expect("sizes fit 31 bits"), 1, 1];
        Self { kernel, grid, threads: 256, shared: 0, places, numbers }
    }

    /// The bytes of its structure.
    pub(super) fn arguments(&self, addresses: &Addresses) -> Vec<u64> {
        let bits = |number: &Number| match *number {
            Number::Int(value) => u64::from(value as u32),
            Number::Float(value) => u64::from(value.to_bits()),
        };
        let places = self.places.iter().map(|&place| addresses.of(place));
        let pairs =
            self.numbers.chunks(2).map(|pair| bits(&pair[0]) | pair.get(1).map_or(0, bits) << 32);
        places.chain(pairs).collect()
    }

    /// Puts it on a stream.
    pub(super) fn start(
        &self,
        stream: &Stream,
        function: Function,
        addresses: &Addresses,
    ) -> Result<(), Fault> {
        let mut arguments = self.arguments(addresses);
        stream.launch(function, self.grid, self.threads, self.shared, &mut arguments).map_err(
            |fault| match fault {
                Fault::Failed { what, why } => Fault::Failed {
                    what,
                    why: format!("{} of {:?} × {}: {why}", self.kernel, self.grid, self.threads),
                },
                fault @ Fault::Memory { .. } => fault,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lie_as_a_c_structure() {
        let launch = Launch::over(
            "none",
            257,
            vec![Place::Arena(16), Place::Null],
            vec![Number::Int(-1), Number::Float(1.0), Number::Int(7)],
        );
        assert_eq!(launch.grid, [2, 1, 1]);
        let addresses = Addresses { arena: 0x1000, ..Addresses::default() };
        assert_eq!(launch.arguments(&addresses), [0x1010, 0, 0x3f80_0000_ffff_ffff, 7]);
    }
}
