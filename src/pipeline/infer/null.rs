//! The engine that drops every batch: what is left is the speed of all the rest.

use std::sync::Arc;

use super::{Engine, EngineError, EngineInfo, InputSpec, Output, Pixels, Ticket};
use crate::pipeline::pixels::PixelFormat;

/// Takes batches, does nothing, predicts nothing.
#[derive(Debug)]
pub struct NullEngine {
    info: EngineInfo,
    input: InputSpec,
}

impl NullEngine {
    /// An engine that wants pictures of that kind and form.
    pub fn new(input: InputSpec) -> Self {
        let info = EngineInfo {
            kind: "null".into(),
            model: "none".into(),
            name: match input.format {
                PixelFormat::F32Nchw => "null (drops batches)".into(),
                format => format!("null (drops batches of {format})"),
            },
            side: input.side,
            classes: 0,
            device: false,
        };
        Self { info, input }
    }
}

impl Engine for NullEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn input(&self) -> &InputSpec {
        &self.input
    }

    fn class_names(&self) -> Arc<[String]> {
        Arc::new([])
    }

    fn submit(&self, _pixels: Pixels, _images: usize) -> Result<Box<dyn Ticket>, EngineError> {
        Ok(Box::new(Dropped))
    }
}

struct Dropped;

impl Ticket for Dropped {
    fn wait(self: Box<Self>) -> Result<Output, EngineError> {
        Ok(Output::Nothing)
    }
}
