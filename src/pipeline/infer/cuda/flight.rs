//! A batch under way: on a GPU, waiting for one, or on the engine that takes over.

use std::sync::Arc;

use super::driver::Fault;
use super::engine::Shared;
use super::gpu::Gpu;
use super::lane::{Lane, Pictures, rung};
use crate::pipeline::infer::{EngineError, InputSpec, Output, Pixels, Ticket};
use crate::pipeline::pixels::PixelFormat;

struct Batch {
    shared: Arc<Shared>,
    /// Kept until the logits are there: another engine may have to start anew.
    pixels: Pixels,
    images: usize,
}

/// A batch under way.
pub(super) struct Flight {
    batch: Batch,
    stage: Stage,
}

enum Stage {
    /// All lanes were under way.
    Queued,
    /// On a lane of this GPU.
    OnDevice(usize, Box<Lane>),
    /// No GPU is left.
    Stranded,
    /// The logits were fetched, or the lane was given up.
    Landed,
}

impl Batch {
    /// Puts it on the GPU with the fewest batches under way; where all lanes are, it waits for one if it may.
    fn take_off(&self, may_wait: bool) -> Stage {
        loop {
            let live = self.shared.gpus.iter().enumerate().filter(|(_, gpu)| !gpu.is_lost());
            let Some((index, gpu)) = live.min_by_key(|(_, gpu)| gpu.under_way()) else {
                return Stage::Stranded;
            };
            match self.on(gpu, may_wait) {
                Ok(Some(lane)) => return Stage::OnDevice(index, Box::new(lane)),
                Ok(None) => return Stage::Queued,
                Err(fault) => self.shared.lose(index, &fault),
            }
        }
    }

    fn on(&self, gpu: &Gpu, may_wait: bool) -> Result<Option<Lane>, Fault> {
        gpu.bind()?;
        let lane = if may_wait { Some(gpu.next_lane()?) } else { gpu.free_lane()? };
        let Some(mut lane) = lane else { return Ok(None) };
        let view = self.pixels.view();
        let bytes = view.bytes().unwrap_or_default();
        let used = &bytes[..self.images * self.shared.input.bytes()];
        let pictures = Pictures { bytes: used, pinned: self.shared.given.holds(used) };
        let limit = gpu.limit();
        match gpu.enqueue(&mut lane, pictures, self.images) {
            Ok(()) => {
                self.note_limit(gpu, limit);
                Ok(Some(lane))
            }
            Err(fault) => {
                gpu.drop_lane(lane);
                Err(fault)
            }
        }
    }

    /// Says that batches have to be cut up, where that is new.
    fn note_limit(&self, gpu: &Gpu, before: usize) {
        let limit = gpu.limit();
        if limit < before && limit < self.images {
            self.shared.notices.push(format!(
                "{}: no memory for batches of {}: they run in passes of {limit}",
                gpu.facts().name,
                self.images
            ));
        }
    }

    /// Sleeps until the lane is done, and takes the logits and times.
    fn land(&self, gpu: &Gpu, lane: &mut Lane) -> Result<Vec<f32>, Fault> {
        gpu.bind()?;
        lane.wait()?;
        let logits = lane.logits(self.images * gpu.model().classes);
        let moments = lane.take_moments()?;
        let occupancy = gpu.occupancy(rung(self.images).min(gpu.limit()));
        gpu.account().add(self.images, &moments, occupancy)?;
        Ok(logits)
    }

    fn by_spare(&self) -> Result<Output, EngineError> {
        let spare = self.shared.spare()?;
        let pixels = in_form(&self.pixels, self.images, &self.shared.input, spare.input())?;
        spare.submit(pixels, self.images)?.wait()
    }
}

impl Flight {
    /// Starts a batch, if a lane is free.
    pub(super) fn new(shared: Arc<Shared>, pixels: Pixels, images: usize) -> Self {
        let batch = Batch { shared, pixels, images };
        Self { stage: batch.take_off(false), batch }
    }
}

impl Ticket for Flight {
    fn wait(mut self: Box<Self>) -> Result<Output, EngineError> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Landed) {
                Stage::Queued => self.stage = self.batch.take_off(true),
                Stage::OnDevice(index, mut lane) => {
                    let gpu = &self.batch.shared.gpus[index];
                    match self.batch.land(gpu, &mut lane) {
                        Ok(logits) => {
                            gpu.return_lane(*lane);
                            return Ok(Output::Logits(logits));
                        }
                        Err(fault) => {
                            gpu.drop_lane(*lane);
                            self.batch.shared.lose(index, &fault);
                            self.stage = self.batch.take_off(true);
                        }
                    }
                }
                Stage::Stranded | Stage::Landed => return self.batch.by_spare(),
            }
        }
    }
}

impl Drop for Flight {
    /// A ticket that nobody waited for gives its lane back all the same.
    fn drop(&mut self) {
        if let Stage::OnDevice(index, lane) = std::mem::replace(&mut self.stage, Stage::Landed) {
            let gpu = &self.batch.shared.gpus[index];
            if gpu.bind().and_then(|()| lane.wait()).is_ok() {
                gpu.return_lane(*lane);
            } else {
                gpu.drop_lane(*lane);
            }
        }
    }
}

/// Pictures of bytes in the form that another engine wants.
fn in_form(
    pixels: &Pixels,
    images: usize,
    spec: &InputSpec,
    wanted: &InputSpec,
) -> Result<Pixels, EngineError> {
    let bytes = pixels.view().bytes().unwrap_or_default();
    let bytes = &bytes[..images * spec.bytes()];
    let value = |at: usize| (f32::from(bytes[at]) - wanted.mean[at % 3]) / wanted.std[at % 3];
    if (wanted.side, wanted.geometry) != (spec.side, spec.geometry) {
        return Err(EngineError("the engine that takes over wants other pictures".into()));
    }
    let plane = spec.values() / 3;
    Ok(match wanted.format {
        PixelFormat::U8Nhwc => Arc::clone(pixels),
        PixelFormat::F32Nhwc => Arc::new((0..bytes.len()).map(value).collect::<Vec<f32>>()),
        PixelFormat::F32Nchw => {
            let place = |at: usize| {
                let (picture, rest) = (at / (3 * plane), at % (3 * plane));
                picture * 3 * plane + rest % plane * 3 + rest / plane
            };
            Arc::new((0..bytes.len()).map(|at| value(place(at))).collect::<Vec<f32>>())
        }
    })
}
