//! Views: how an ONNX tensor lies in the memory of one of ours.
//!
//! A transpose only changes which axis steps how far, and so does a reshape that splits an axis or joins two
//! that lie one in the other. An image (C×H×W to ONNX, H×W×C in memory) that becomes tokens therefore costs nothing.

use super::TensorId;

/// An ONNX tensor without its batch axis. It covers the whole of `tensor`, each value once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub(super) tensor: TensorId,
    /// Sizes in ONNX's order.
    pub(super) dims: Vec<usize>,
    /// How many values one step along each axis is.
    pub(super) strides: Vec<usize>,
}

impl View {
    /// Values in ONNX's order.
    pub(super) fn plain(tensor: TensorId, dims: Vec<usize>) -> Self {
        let order: Vec<_> = (0..dims.len()).collect();
        Self::laid_out(tensor, dims, &order)
    }

    /// C×H×W, in memory H×W×C.
    pub(super) fn image(tensor: TensorId, dims: [usize; 3]) -> Self {
        Self::laid_out(tensor, dims.to_vec(), &[1, 2, 0])
    }

    /// Axes in memory as `order` says, outermost first.
    pub(super) fn laid_out(tensor: TensorId, dims: Vec<usize>, order: &[usize]) -> Self {
        let mut strides = vec![0; dims.len()];
        let mut step = 1;
        for &axis in order.iter().rev() {
            strides[axis] = step;
            step *= dims[axis];
        }
        Self { tensor, dims, strides }
    }

    /// Values an image.
    pub(super) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Its axes as they lie in memory, outermost first. Axes of size 1 lie where it reads best: by stride, then
    /// by index.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.dims.len()).collect();
        order.sort_by_key(|&axis| (std::cmp::Reverse(self.strides[axis]), axis));
        order
    }

    /// Whether its values lie in memory in this order of axes; those of size 1 lie anywhere.
    pub(super) fn lies(&self, order: &[usize]) -> bool {
        let wanted = Self::laid_out(self.tensor, self.dims.clone(), order);
        let alike =
            |axis: usize| self.dims[axis] == 1 || self.strides[axis] == wanted.strides[axis];
        (0..self.dims.len()).all(alike)
    }

    /// ONNX axis `perm[i]` becomes axis i.
    pub(super) fn permuted(&self, perm: &[usize]) -> Self {
        let pick = |from: &[usize]| perm.iter().map(|&axis| from[axis]).collect();
        Self { tensor: self.tensor, dims: pick(&self.dims), strides: pick(&self.strides) }
    }

    /// The same values under other sizes, where no value has to move for it.
    pub(super) fn reshaped(&self, dims: &[usize]) -> Option<Self> {
        debug_assert_eq!(
            self.len(),
            dims.iter().product::<usize>(),
            "a reshape keeps the number of values"
        );
        let old: Vec<(usize, usize)> = self
            .dims
            .iter()
            .copied()
            .zip(self.strides.iter().copied())
            .filter(|&(size, _)| size != 1)
            .collect();
        let mut strides = vec![1; dims.len()];
        let (mut from, mut to) = (0, 0);
        while to < dims.len() {
            if dims[to] == 1 {
                to += 1;
                continue;
            }
            // The shortest runs of old and of new axes with as many values.
            let (first_old, first_new) = (from, to);
            let (mut olds, mut news) = (old.get(from)?.0, dims[to]);
            from += 1;
            to += 1;
            while olds != news {
                if olds < news {
                    olds *= old.get(from)?.0;
                    from += 1;
                } else {
                    news *= dims.get(to)?;
                    to += 1;
                }
            }
            let joined = &old[first_old..from];
            if joined.windows(2).any(|pair| pair[0].1 != pair[1].0 * pair[1].1) {
                return None;
            }
            let mut step = joined.last()?.1;
            for axis in (first_new..to).rev() {
                strides[axis] = step;
                step *= dims[axis];
            }
        }
        Some(Self { tensor: self.tensor, dims: dims.to_vec(), strides })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: TensorId = TensorId(0);

    #[test]
    fn an_image_becomes_tokens_and_back_without_a_move() {
        let image = View::image(T, [8, 4, 6]);
        let tokens = image.reshaped(&[8, 24]).unwrap().permuted(&[1, 0]);
        assert_eq!(tokens, View::plain(T, vec![24, 8]));
        let back = tokens.permuted(&[1, 0]).reshaped(&[8, 4, 6]).unwrap();
        assert_eq!(back, image);
    }

    #[test]
    fn what_has_to_move_is_no_view() {
        let image = View::image(T, [8, 4, 6]);
        assert_eq!(image.reshaped(&[192]), None);
        let shuffled = image.reshaped(&[2, 4, 4, 6]).unwrap().permuted(&[1, 0, 2, 3]);
        assert_eq!(shuffled.reshaped(&[8, 4, 6]), None);
        assert_eq!(shuffled.order(), [2, 3, 1, 0]);
    }

    #[test]
    fn axes_of_one_value_are_free() {
        let pooled = View::image(T, [8, 1, 1]);
        assert_eq!(pooled.reshaped(&[8]).unwrap(), View::plain(T, vec![8]));
        assert!(pooled.lies(&[0, 1, 2]) && pooled.lies(&[1, 2, 0]));
    }
}
