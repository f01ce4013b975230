//! The five stages; each file reads from top to bottom as what happens to an image.

pub(super) mod decode;
pub(super) mod infer;
pub(super) mod load;
pub(super) mod preprocess;
pub(super) mod respond;
