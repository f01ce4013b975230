//! Steps that only move values.

use super::{Memory, Place, Step};

/// Rows and columns added around an image.
pub(super) struct Pad {
    pub(super) size: [usize; 2],
    pub(super) channels: usize,
    pub(super) before: [usize; 2],
    pub(super) after: [usize; 2],
    pub(super) value: f32,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Pad {
    fn tasks(&self, images: usize, _threads: usize) -> usize {
        images
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let line = self.size[1] * self.channels;
        let wide = (self.size[1] + self.before[1] + self.after[1]) * self.channels;
        debug_assert_eq!(
            self.output.len,
            wide * (self.size[0] + self.before[0] + self.after[0]),
            "sizes agree"
        );
        // SAFETY: the input is done; each image is written by one task.
        unsafe {
            let image = &memory.read(self.input)[task * self.input.len..][..self.input.len];
            let out =
                memory.write(self.output, task * self.output.len..(task + 1) * self.output.len);
            out.fill(self.value);
            let rows = out.chunks_exact_mut(wide).skip(self.before[0]);
            for (row, out) in image.chunks_exact(line).zip(rows) {
                out[self.before[1] * self.channels..][..line].copy_from_slice(row);
            }
        }
    }
}

/// The values in another order.
pub(super) struct Transpose {
    /// Sizes of the output's axes and the input's steps along them, innermost last; axes that stay together are one.
    axes: Vec<(usize, usize)>,
    input: Place,
    output: Place,
}

impl Transpose {
    pub(super) fn new(dims: &[usize], perm: &[usize], input: Place, output: Place) -> Self {
        let step = |axis: usize| dims[axis + 1..].iter().product::<usize>();
        let mut axes: Vec<(usize, usize)> = Vec::new();
        for &axis in perm.iter().filter(|&&axis| dims[axis] != 1) {
            match axes.last_mut() {
                Some((size, outer)) if *outer == dims[axis] * step(axis) => {
                    *size *= dims[axis];
                    *outer = step(axis);
                }
                _ => axes.push((dims[axis], step(axis))),
            }
        }
        Self { axes, input, output }
    }

    fn copy(axes: &[(usize, usize)], input: &[f32], from: usize, out: &mut [f32]) {
        match *axes {
            [] => out[0] = input[from],
            [(size, 1)] => out.copy_from_slice(&input[from..][..size]),
            [(size, step)] => {
                for (out, value) in
                    out.iter_mut().zip(input[from..].iter().step_by(step)).take(size)
                {
                    *out = *value;
                }
            }
            [(size, step), ref inner @ ..] => {
                let each = out.len() / size;
                for (at, out) in out.chunks_exact_mut(each).enumerate() {
                    Self::copy(inner, input, from + at * step, out);
                }
            }
        }
    }
}

impl Step for Transpose {
    fn tasks(&self, images: usize, _threads: usize) -> usize {
        images
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let len = self.input.len;
        // SAFETY: the input is done; each image is written by one task.
        unsafe {
            let image = &memory.read(self.input)[task * len..][..len];
            let out = memory.write(self.output, task * len..(task + 1) * len);
            Self::copy(&self.axes, image, 0, out);
        }
    }
}

/// Tensors joined along an axis.
pub(super) struct Concat {
    /// The inputs, and how many values of each make up a row.
    pub(super) inputs: Vec<(Place, usize)>,
    pub(super) output: Place,
}

impl Step for Concat {
    fn tasks(&self, images: usize, _threads: usize) -> usize {
        images
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        let row: usize = self.inputs.iter().map(|&(_, len)| len).sum();
        // SAFETY: the inputs are done; each image is written by one task.
        unsafe {
            let out =
                memory.write(self.output, task * self.output.len..(task + 1) * self.output.len);
            let mut column = 0;
            for &(place, len) in &self.inputs {
                let image = &memory.read(place)[task * place.len..][..place.len];
                for (from, to) in image.chunks_exact(len).zip(out.chunks_exact_mut(row)) {
                    to[column..][..len].copy_from_slice(from);
                }
                column += len;
            }
        }
    }
}

/// Part of each row.
pub(super) struct Slice {
    pub(super) len: usize,
    pub(super) start: usize,
    pub(super) count: usize,
    pub(super) input: Place,
    pub(super) output: Place,
}

impl Step for Slice {
    fn tasks(&self, images: usize, _threads: usize) -> usize {
        images
    }

    unsafe fn run(&self, memory: &Memory, task: usize, _scratch: *mut f32) {
        // SAFETY: the input is done; each image is written by one task.
        unsafe {
            let image = &memory.read(self.input)[task * self.input.len..][..self.input.len];
            let out =
                memory.write(self.output, task * self.output.len..(task + 1) * self.output.len);
            for (from, to) in image.chunks_exact(self.len).zip(out.chunks_exact_mut(self.count)) {
                to.copy_from_slice(&from[self.start..][..self.count]);
            }
        }
    }
}
