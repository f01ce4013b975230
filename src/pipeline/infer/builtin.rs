//! The classifier compiled into the binary: EfficientNet-Lite0; `assets/models/README.md` says where
//! it comes from and what it wants.

use super::{Geometry, InputSpec};
use crate::pipeline::pixels::PixelFormat;

/// The model's name.
pub const NAME: &str = "efficientnet_lite0";

/// The model's file.
pub static MODEL: &[u8] = include_bytes!("../../../assets/models/efficientnet_lite0.onnx");

/// The names of its 1000 classes, a JSON array.
pub static CLASSES: &str = include_str!("../../../assets/models/imagenet_classes.json");

/// What it wants of each picture.
pub const INPUT: InputSpec = InputSpec {
    side: 224,
    geometry: Geometry::Crop { short_side: 256 },
    mean: [127.0; 3],
    std: [128.0; 3],
    format: PixelFormat::F32Nchw,
};
