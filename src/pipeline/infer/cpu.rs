//! The engine on the CPU: a [`Graph`] over NHWC f32, with kernels of our own.
//!
//! | module | what |
//! |---|---|
//! | `simd` | the inner loops for AVX-512, AVX2 and any machine, chosen when a model is loaded |
//! | `product` | convolutions and matrix products: packed weights, blocks, gathered rows |
//! | `winograd` | 3×3 convolutions in fewer multiplications |
//! | `steps` | every other operation, and what is common to all: tasks that threads share |
//! | `intake` | pictures become what the graph takes |
//! | `network` | a graph made ready, and one batch going through it |
//! | `team` | threads that help with one batch |
//!
//! The pipeline's infer workers each compute a batch of their own, alone, on their own thread: that gives the most images a
//! second, since no thread ever waits for another. [`CpuEngine::with_threads`] makes a team that shares each batch instead, for
//! the least time a batch.

#![expect(
    unsafe_code,
    reason = "kernels read and write memory that threads share by turns, through raw pointers"
)]

mod buffer;
mod intake;
mod network;
mod product;
mod simd;
mod steps;
mod team;
#[cfg(test)]
mod tests;
mod winograd;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::graph::Graph;
use super::{Engine, EngineError, EngineInfo, InputSpec, Output, Pixels, Ticket, check_pictures};
use intake::Intake;
use network::{Batch, Idle, Network};
use simd::Isa;
use team::Team;

/// A model on the CPU. [`Ticket::wait`] computes on the calling thread.
pub struct CpuEngine {
    info: EngineInfo,
    input: InputSpec,
    names: Arc<[String]>,
    probabilities: bool,
    shared: Arc<Shared>,
}

/// What tickets need of the engine.
struct Shared {
    network: Arc<Network>,
    idle: Arc<Idle>,
    team: Option<Mutex<Team>>,
}

impl CpuEngine {
    /// Packs the weights of `graph` for this machine.
    pub fn new(model: String, input: InputSpec, names: Arc<[String]>, graph: &Graph) -> Self {
        Self::on(Isa::best(), model, input, names, graph)
    }

    fn on(
        isa: &'static Isa,
        model: String,
        input: InputSpec,
        names: Arc<[String]>,
        graph: &Graph,
    ) -> Self {
        let network = Arc::new(Network::new(isa, graph, Intake::of(&input)));
        let info = EngineInfo {
            kind: "cpu".into(),
            model,
            name: format!("CPU ({})", isa.name),
            side: input.side,
            classes: network.classes,
            device: false,
        };
        let shared = Arc::new(Shared { network, idle: Arc::default(), team: None });
        Self { info, input, names, probabilities: graph.probabilities, shared }
    }

    /// The same with a team of so many threads for each batch, one batch at a time.
    ///
    /// # Errors
    /// Where the system has no thread to give.
    pub fn with_threads(mut self, threads: usize) -> std::io::Result<Self> {
        let team = if threads > 1 { Some(Mutex::new(Team::new(threads)?)) } else { None };
        let network = Arc::clone(&self.shared.network);
        self.shared = Arc::new(Shared { network, idle: Arc::default(), team });
        Ok(self)
    }

    /// Runs a batch on the calling thread; how long each node took comes back with how long the input's conversion did, which is the first.
    ///
    /// # Errors
    /// Where the batch cannot be taken.
    pub fn profile(&self, pixels: Pixels, images: usize) -> Result<Vec<Duration>, EngineError> {
        self.check(&pixels, images)?;
        let batch = Batch::new(&self.shared.network, pixels, images, 1, &self.shared.idle);
        let mut times: Vec<Duration> = Vec::new();
        batch.go(0, |at, time| match times.get_mut(at) {
            Some(sum) => *sum += time,
            None => times.push(time),
        });
        Ok(times)
    }

    fn check(&self, pixels: &Pixels, images: usize) -> Result<(), EngineError> {
        check_pictures(pixels, images, (&self.input, &self.info.model))
    }
}

impl Engine for CpuEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn input(&self) -> &InputSpec {
        &self.input
    }

    fn class_names(&self) -> Arc<[String]> {
        Arc::clone(&self.names)
    }

    fn submit(&self, pixels: Pixels, images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        self.check(&pixels, images)?;
        Ok(Box::new(Ready { shared: Arc::clone(&self.shared), pixels, images }))
    }

    fn outputs_probabilities(&self) -> bool {
        self.probabilities
    }
}

struct Ready {
    shared: Arc<Shared>,
    pixels: Pixels,
    images: usize,
}

impl Ticket for Ready {
    fn wait(self: Box<Self>) -> Result<Output, EngineError> {
        let Self { shared, pixels, images } = *self;
        let logits = match &shared.team {
            None => shared.alone(pixels, images),
            Some(team) => shared.together(
                &team.lock().unwrap_or_else(PoisonError::into_inner),
                pixels,
                images,
            ),
        };
        logits
            .map(Output::Logits)
            .ok_or_else(|| EngineError("a thread of the engine broke off".into()))
    }
}

impl Shared {
    fn alone(&self, pixels: Pixels, images: usize) -> Option<Vec<f32>> {
        let batch = Batch::new(&self.network, pixels, images, 1, &self.idle);
        batch.take_part(0);
        batch.finish()
    }

    fn together(&self, team: &Team, pixels: Pixels, images: usize) -> Option<Vec<f32>> {
        let batch = Batch::new(&self.network, pixels, images, team.threads(), &self.idle);
        let batch = Arc::new(batch);
        team.call(&batch);
        batch.take_part(0);
        batch.finish()
    }
}
