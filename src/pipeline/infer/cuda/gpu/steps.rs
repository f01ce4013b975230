//! How a device computes its model: which kernel for which layer, and what a batch is, step by step.

use super::{Choice, Gpu, Step, lock};
use crate::pipeline::infer::cuda::cudnn::{self, Cudnn, Operands};
use crate::pipeline::infer::cuda::driver::{Fault, Stream};
use crate::pipeline::infer::cuda::launch::{Addresses, Place};
use crate::pipeline::infer::cuda::layers::{Layer, Precision};
use crate::pipeline::infer::cuda::tiles::PARTIAL_BYTES;
use crate::pipeline::infer::cuda::{lower, tuning};

impl Gpu {
    /// Uses cuDNN, if it is found; else says why not.
    pub(crate) fn add_cudnn(&mut self) -> Result<(), String> {
        if self.model.precision == Precision::Halves {
            self.cudnn = Some(Cudnn::open(&self.context)?);
        }
        Ok(())
    }

    /// cuDNN, where it is used.
    pub(crate) const fn cudnn(&self) -> Option<&Cudnn> {
        self.cudnn.as_ref()
    }

    /// Finds out how each layer is computed fastest for batches of that size: from what was measured before by a driver of
    /// that version, or by measuring. `tell` is told where that takes a while.
    ///
    /// # Errors
    /// Where the device fails or has no memory for such a batch.
    pub(crate) fn tune(&self, driver: i32, size: usize, tell: &dyn Fn(&str)) -> Result<(), Fault> {
        let file = tuning::place(self, driver, size);
        let before = file.as_ref().and_then(|file| tuning::read(self, file, size));
        let choices = if let Some(choices) = before {
            choices
        } else {
            tell(&format!("measuring kernels for batches of {size} on {} …", self.facts.name));
            let mut lane = self.next_lane()?;
            let measured =
                lane.reserve(self, size).and_then(|()| tuning::measure(self, &lane, size));
            match measured {
                Ok(_) => self.return_lane(lane),
                Err(_) => self.drop_lane(lane),
            }
            let choices = measured?;
            if let Some(file) = file {
                tuning::write(&file, &choices);
            }
            choices
        };
        lock(&self.measured).insert(size, choices.into());
        Ok(())
    }

    /// How each layer is computed for batches of that size.
    pub(crate) fn choices(&self, size: usize) -> Vec<Choice> {
        let measured = lock(&self.measured);
        match measured.get(&size) {
            Some(choices) => choices.to_vec(),
            None => tuning::transfer(&measured, self.guesses(size), size),
        }
    }

    /// What promises to be fastest without having been measured, layer by layer.
    pub(crate) fn guesses(&self, size: usize) -> Vec<Choice> {
        self.model.layers.iter().map(|layer| self.guess(layer, size)).collect()
    }

    fn guess(&self, layer: &Layer, size: usize) -> Choice {
        match layer {
            Layer::Conv(conv) if lower::on_tensor_cores(&self.model, conv) => {
                let cuts = conv.product(size).cuts(&self.facts);
                cuts.first().map_or(Choice::Plain, |&cut| Choice::Cut(cut))
            }
            _ => Choice::Plain,
        }
    }

    /// Whether a layer can be computed so.
    pub(crate) fn may(&self, index: usize, choice: Choice, size: usize) -> bool {
        let Layer::Conv(conv) = &self.model.layers[index] else { return choice == Choice::Plain };
        match choice {
            Choice::Plain => self.guess(&self.model.layers[index], size) == Choice::Plain,
            Choice::Cut(cut) => {
                lower::on_tensor_cores(&self.model, conv)
                    && conv.product(size).cuts(&self.facts).contains(&cut)
            }
            Choice::Cudnn => self.cudnn.is_some() && cudnn::can(conv),
        }
    }

    /// What a batch of that size is, step by step.
    pub(crate) fn steps(&self, size: usize) -> Vec<Step> {
        let mut steps = vec![Step::Launch(lower::normalise(&self.model, size))];
        for (index, choice) in self.choices(size).into_iter().enumerate() {
            steps.extend(self.layer_steps(index, choice, size));
        }
        steps.extend(lower::logits(&self.model, size).map(Step::Launch));
        steps
    }

    /// One layer, step by step.
    pub(crate) fn layer_steps(&self, index: usize, choice: Choice, size: usize) -> Vec<Step> {
        let layer = &self.model.layers[index];
        let cut = match choice {
            Choice::Cudnn => return vec![Step::Cudnn { layer: index, images: size }],
            Choice::Plain => None,
            Choice::Cut(cut) => Some(cut),
        };
        lower::layer(&self.model, layer, size, cut).into_iter().map(Step::Launch).collect()
    }

    /// What must be done once before `steps` can be recorded: cuDNN loads its kernels when first called.
    pub(crate) fn before_capture(
        &self,
        steps: &[Step],
        stream: &Stream,
        addresses: &Addresses,
    ) -> Result<(), Fault> {
        let others = steps.iter().filter(|step| matches!(step, Step::Cudnn { .. }));
        others.into_iter().try_for_each(|step| self.start(step, stream, addresses))
    }

    /// Puts a step on a stream.
    pub(crate) fn start(
        &self,
        step: &Step,
        stream: &Stream,
        addresses: &Addresses,
    ) -> Result<(), Fault> {
        match step {
            Step::Launch(launch) => {
                let function = self.functions.get(launch.kernel).ok_or(Fault::Failed {
                    what: "a kernel is missing",
                    why: launch.kernel.to_owned(),
                })?;
                launch.start(stream, *function, addresses)
            }
            Step::Cudnn { layer, images } => {
                let (Layer::Conv(conv), Some(cudnn)) = (&self.model.layers[*layer], &self.cudnn)
                else {
                    unreachable!("chosen for convolutions, where cuDNN is used");
                };
                let places = lower::operands(&self.model, conv, *images, false);
                let [y, x, w, _, z] = places.map(|place| addresses.of(place));
                let operands = Operands {
                    y,
                    x,
                    w,
                    bias: addresses.of(Place::Weights(conv.half_bias)),
                    z,
                    workspace: addresses.partial,
                    workspace_bytes: PARTIAL_BYTES,
                };
                cudnn.start(stream, conv, *images, &operands)
            }
        }
    }
}
