//! The theoretical occupancy of the kernels that run, as the driver works it out from their registers, shared memory and
//! blocks: a mean over a batch's steps, each weighted by the time that it takes.

use super::{Gpu, Step, lock};
use crate::pipeline::infer::cuda::driver::Fault;
use crate::pipeline::infer::cuda::lane::Lane;
use crate::pipeline::infer::cuda::tuning;

/// What is known of it.
#[derive(Debug, Default)]
pub(super) struct Occupancies {
    /// Milliseconds of each step, measured for one batch size. Shares of a batch's time differ little from size to size.
    steps: Vec<f32>,
    /// By batch size, 0 to 1; `None` where the driver does not tell.
    by_size: Vec<(usize, Option<f64>)>,
}

impl Gpu {
    /// Times each step of a batch of `size`, for which the lane has room.
    ///
    /// # Errors
    /// Where the device fails.
    pub(crate) fn time_steps(&self, lane: &Lane, size: usize) -> Result<(), Fault> {
        let steps = self.steps(size);
        let ms = steps.iter().map(|step| tuning::time(self, lane, std::slice::from_ref(step)));
        let ms = ms.collect::<Result<_, _>>()?;
        lock(&self.occupancies).steps = ms;
        self.find_occupancy(lane, size, &steps)
    }

    /// Asks the driver about the steps of batches of `size`, once.
    ///
    /// # Errors
    /// Where the device fails.
    pub(crate) fn find_occupancy(
        &self,
        lane: &Lane,
        size: usize,
        steps: &[Step],
    ) -> Result<(), Fault> {
        let ms = {
            let known = lock(&self.occupancies);
            if known.steps.len() != steps.len() || known.asked(size) {
                return Ok(());
            }
            known.steps.clone()
        };
        let (stream, addresses) = (lane.stream(), lane.addresses(self));
        let threads = self.facts.threads_per_multiprocessor;
        let mut shares = Vec::with_capacity(steps.len());
        for step in steps {
            shares.push(stream.occupancy(threads, || self.start(step, stream, &addresses))?);
        }
        let mean = weighted(&shares, &ms);
        lock(&self.occupancies).by_size.push((size, mean));
        Ok(())
    }

    /// The mean theoretical occupancy (0 to 1) of batches of that size, where it is known.
    pub(crate) fn occupancy(&self, size: usize) -> Option<f64> {
        lock(&self.occupancies).of(size)
    }
}

impl Occupancies {
    fn asked(&self, size: usize) -> bool {
        self.by_size.iter().any(|&(known, _)| known == size)
    }

    fn of(&self, size: usize) -> Option<f64> {
        self.by_size.iter().find(|&&(known, _)| known == size).and_then(|&(_, mean)| mean)
    }
}

/// The mean of shares that are all known.
fn weighted(shares: &[Option<f64>], ms: &[f32]) -> Option<f64> {
    let mut sum = 0.0;
    for (share, &ms) in shares.iter().zip(ms) {
        sum += (*share)? * f64::from(ms);
    }
    let all: f64 = ms.iter().copied().map(f64::from).sum();
    (all > 0.0).then(|| sum / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_weigh_more_and_one_unknown_leaves_the_mean_unknown() {
        let mean = weighted(&[Some(0.5), Some(0.25)], &[1.0, 3.0]).unwrap();
        assert!((mean - 0.3125).abs() < 1e-12);
        assert_eq!(weighted(&[Some(0.5), None], &[1.0, 3.0]), None);
        assert_eq!(weighted(&[], &[]), None);
    }
}
