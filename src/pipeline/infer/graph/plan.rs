//! Where tensors lie: one arena, in which a place is used again once its tensor was read for the last time.

use super::{Node, Tensor, TensorId};

/// Offsets and lengths are multiples of so many values: 64 bytes of f32.
pub const ALIGN: usize = 16;

/// Places of all tensors in one arena.
///
/// All figures are values an image. For a batch of n images a tensor begins at n × `offsets[id]`, has n × its own length and
/// the arena holds n × `size`; what did not overlap for one image does not for n.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Where each tensor begins, by [`TensorId`]; `None` for one that no node is left to write.
    pub offsets: Vec<Option<usize>>,
    /// How large the arena is.
    pub size: usize,
}

impl Plan {
    /// Where a tensor begins.
    pub fn offset(&self, id: TensorId) -> Option<usize> {
        self.offsets.get(id.0).copied().flatten()
    }
}

/// From when until when a tensor is held, as indices of nodes.
struct Life {
    tensor: usize,
    size: usize,
    from: usize,
    until: usize,
}

/// Finds a place for every tensor: the largest first, each at the lowest offset that is free for as long as it lives.
pub fn plan(tensors: &[Tensor], nodes: &[Node], input: TensorId, output: TensorId) -> Plan {
    let mut lives: Vec<Option<Life>> = tensors.iter().map(|_| None).collect();
    let size = |id: TensorId| tensors[id.0].len().next_multiple_of(ALIGN);
    lives[input.0] = Some(Life { tensor: input.0, size: size(input), from: 0, until: 0 });
    for (at, node) in nodes.iter().enumerate() {
        for read in node.reads() {
            if let Some(life) = &mut lives[read.0] {
                life.until = at;
            }
        }
        let id = node.output;
        lives[id.0] = Some(Life { tensor: id.0, size: size(id), from: at, until: at });
    }
    if let Some(life) = &mut lives[output.0] {
        life.until = nodes.len();
    }
    let mut lives: Vec<Life> = lives.into_iter().flatten().collect();
    lives.sort_by_key(|life| (std::cmp::Reverse(life.size), life.from));

    let mut offsets = vec![None; tensors.len()];
    let mut placed: Vec<(usize, &Life)> = Vec::new();
    let mut total = 0;
    for life in &lives {
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|(_, other)| other.from <= life.until && life.from <= other.until)
            .map(|&(offset, other)| (offset, offset + other.size))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (begin, end) in taken {
            if offset + life.size <= begin {
                break;
            }
            offset = offset.max(end);
        }
        offsets[life.tensor] = Some(offset);
        total = total.max(offset + life.size);
        placed.push((offset, life));
    }
    Plan { offsets, size: total }
}
