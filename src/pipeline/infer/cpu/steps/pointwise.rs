//! Steps that look at a value, or a row of channels, at a time.

use super::{Memory, Place, Step};
use crate::pipeline::infer::cpu::product::part;
use crate::pipeline::infer::cpu::simd::Isa;
use crate::pipeline::infer::graph::{Activation, BinaryOp, Broadcast};

/// Tasks for so many rows.
fn shares(rows: usize, threads: usize) -> usize {
    if threads == 1 { 1 } else { rows.min(4 * threads) }
}

/// Two tensors, value by value.
pub(super) struct Binary {
    pub(super) isa: &'static Isa,
    pub(super) op: BinaryOp,
    pub(super) broadcast: Broadcast,
    pub(super) swapped: bool,
    pub(super) activation: Activation,
    pub(super) inputs: [Place; 2],
    pub(super) output: Place,
}

impl Binary {
    /// Values that are done at once: a row of channels, or some hundreds that stay in the first-level cache.
    fn row(&self) -> usize {
        match self.broadcast {
            Broadcast::Channels => self.inputs[1].len,
            Broadcast::Same => 1024,
        }
    }
}

impl Step for Binary {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        shares((self.output.len * images).div_ceil(self.row()), threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let (row, len) = (self.row(), self.output.len);
        let total = len * memory.images;
        // SAFETY: the inputs are done; each row is written by one task.
        unsafe {
            let (a, b) = (memory.read(self.inputs[0]), memory.read(self.inputs[1]));
            for at in part(total.div_ceil(row), self.tasks(memory.images, memory.threads), task) {
                let range = at * row..((at + 1) * row).min(total);
                let out = memory.write(self.output, range.clone());
                let right = match self.broadcast {
                    Broadcast::Same => &b[range.clone()],
                    Broadcast::Channels => &b[range.start / len * row..][..row],
                };
                self.isa.combine(self.op, self.swapped, out, &a[range], right);
                self.isa.activate(self.activation, out);
            }
        }
    }
}

/// x · scale + shift by channel.
pub(super) struct Affine {
    pub(super) isa: &'static Isa,
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
    pub(super) activation: Activation,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Affine {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        shares(self.output.len * images / self.scale.len(), threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let channels = self.scale.len();
        let rows = self.output.len * memory.images / channels;
        // SAFETY: the input is done; each row is written by one task.
        unsafe {
            let x = memory.read(self.input);
            for at in part(rows, self.tasks(memory.images, memory.threads), task) {
                let range = at * channels..(at + 1) * channels;
                let out = memory.write(self.output, range.clone());
                self.isa.affine(out, &x[range], &self.scale, &self.shift);
                self.isa.activate(self.activation, out);
            }
        }
    }
}

/// An activation on its own.
pub(super) struct Activate {
    pub(super) isa: &'static Isa,
    pub(super) activation: Activation,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Activate {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        shares((self.output.len * images).div_ceil(1024), threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let total = self.output.len * memory.images;
        // SAFETY: the input is done; each part is written by one task.
        unsafe {
            let x = memory.read(self.input);
            for at in part(total.div_ceil(1024), self.tasks(memory.images, memory.threads), task) {
                let range = at * 1024..((at + 1) * 1024).min(total);
                let out = memory.write(self.output, range.clone());
                out.copy_from_slice(&x[range]);
                self.isa.activate(self.activation, out);
            }
        }
    }
}

/// The mean of each channel.
pub(super) struct Mean {
    pub(super) isa: &'static Isa,
    pub(super) channels: usize,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Mean {
    fn tasks(&self, images: usize, _threads: usize) -> usize {
        images
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let (len, channels) = (self.input.len, self.channels);
        // SAFETY: the input is done; each image is written by one task.
        unsafe {
            let image = &memory.read(self.input)[task * len..][..len];
            let out = memory.write(self.output, task * channels..(task + 1) * channels);
            out.fill(0.0);
            let scale = (len as f32 / channels as f32).recip();
            for row in image.chunks_exact(channels) {
                self.isa.accumulate(out, row);
            }
            for value in out {
                *value *= scale;
            }
        }
    }
}

/// Local response normalisation.
pub(super) struct Lrn {
    pub(super) channels: usize,
    pub(super) size: usize,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) bias: f32,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Lrn {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        shares(self.output.len * images / self.channels, threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let channels = self.channels;
        let rows = self.output.len * memory.images / channels;
        let scale = self.alpha / self.size as f32;
        // SAFETY: the input is done; each row is written by one task.
        unsafe {
            let x = memory.read(self.input);
            for at in part(rows, self.tasks(memory.images, memory.threads), task) {
                let range = at * channels..(at + 1) * channels;
                let row = &x[range.clone()];
                for (c, out) in memory.write(self.output, range).iter_mut().enumerate() {
                    let from = c.saturating_sub((self.size - 1) / 2);
                    let to = (c + self.size / 2 + 1).min(channels);
                    let sum: f32 = row[from..to].iter().map(|x| x * x).sum();
                    *out = row[c] / (self.bias + scale * sum).powf(self.beta);
                }
            }
        }
    }
}

/// Rows that become probabilities.
pub(super) struct Softmax {
    pub(super) len: usize,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Softmax {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        shares(self.output.len * images / self.len, threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let rows = self.output.len * memory.images / self.len;
        // SAFETY: the input is done; each row is written by one task.
        unsafe {
            let x = memory.read(self.input);
            for at in part(rows, self.tasks(memory.images, memory.threads), task) {
                let range = at * self.len..(at + 1) * self.len;
                let row = &x[range.clone()];
                let out = memory.write(self.output, range);
                let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let mut sum = 0.0;
                for (out, x) in out.iter_mut().zip(row) {
                    *out = (x - max).exp();
                    sum += *out;
                }
                for out in out {
                    *out /= sum;
                }
            }
        }
    }
}

/// Rows that are normalised.
pub(super) struct LayerNorm {
    pub(super) isa: &'static Isa,
    pub(super) epsilon: f32,
    pub(super) scale: Vec<f32>,
    pub(super) shift: Vec<f32>,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for LayerNorm {
    fn tasks(&self, images: usize, threads: usize) -> usize {
        shares(self.output.len * images / self.scale.len(), threads)
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let len = self.scale.len();
        let rows = self.output.len * memory.images / len;
        // SAFETY: the input is done; each row is written by one task.
        unsafe {
            let x = memory.read(self.input);
            for at in part(rows, self.tasks(memory.images, memory.threads), task) {
                let range = at * len..(at + 1) * len;
                let out = memory.write(self.output, range.clone());
                self.isa.layer_norm(out, &x[range], &self.scale, &self.shift, self.epsilon);
            }
        }
    }
}
