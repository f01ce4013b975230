//! Inference on NVIDIA GPUs, with nothing but the driver: the kernels are in the program, as PTX.
//!
//! | module | what |
//! |---|---|
//! | [`libs`] | NVIDIA's libraries are looked for and opened |
//! | [`device`] | whether there is a GPU, and if not, why |
//! | `driver` | the driver behind safe types |
//! | `kernels` | the kernels; their sources are in `kernels/` |
//! | `layers`, `pack` | a graph becomes layers and packed weights |
//! | `tiles` | how a convolution is cut into tiles |
//! | `tuning` | which kernel is fastest for each convolution |
//! | `alone` | a network without copies, and layer by layer |
//! | `check` | whether fp16 is good enough for a model |
//! | `cudnn` | cuDNN's fused convolution, where it is found |
//! | `lower`, `launch` | layers become launches, for a batch size |
//! | `gpu` | a device with a model on it |
//! | `lane` | a stream with its memory: upload, graph, download |
//! | `pinned` | memory for batches from which a device uploads by itself |
//! | `busy` | how long the device computed |
//! | `flight` | a batch under way, on a GPU or on the engine that takes over |
//! | [`engine`] | the engine over all of them |
//!
//! **A batch.** Its pictures are bytes. They are written into pinned memory, from which
//! the device uploads them, normalises them, and runs the network as one CUDA graph, recorded once for each
//! lane and power of two. A batch of another size runs in the next size up; what pads it is not reported as work. Each worker
//! of `infer.threads` has one batch under way on a lane of its own (up to four a GPU), so that copies and
//! computing overlap.

mod alone;
mod busy;
mod check;
mod cudnn;
pub mod device;
mod driver;
pub mod engine;
mod flight;
mod gpu;
mod half;
mod kernels;
mod lane;
mod launch;
mod layers;
pub mod libs;
mod lower;
mod pack;
mod pinned;
mod tiles;
mod tuning;

pub use alone::StepTime;
pub use busy::Spent;
pub use device::NoCuda;
pub use driver::Facts;
pub use engine::{CudaEngine, Devices, Setup};
pub use layers::Precision;
