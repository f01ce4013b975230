//! A classifier from an ONNX file: loaded, checked, run once.

use rten::{
    DataType, Dimension, LoadError, LoadErrorKind, Model, ModelOptions, NodeId, ThreadPool, Value,
    ValueType,
};
use rten_tensor::{AsView, Layout};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::builtin;
use super::model::{ModelError, not_onnx};
use super::rten::{Network, panic_text, run};

/// The largest side of an input in pixels: 200 MB of floats a picture.
pub const MAX_SIDE: u32 = 4096;

const WHOLE: &str = "give a whole .onnx file (fetch or export it again)";

/// The built-in model; nothing about it needs finding out.
pub(super) fn open_builtin() -> Network {
    let model = options().load_static_slice(builtin::MODEL).expect("the built-in model loads");
    let (input, output) = (model.input_ids()[0], model.output_ids()[0]);
    Network {
        model,
        input,
        output,
        side: builtin::INPUT.side as usize,
        classes: 1000,
        one_by_one: false,
        probabilities: false,
        helpers: OnceLock::new(),
    }
}

/// A user's model. `size` is the side to use where the model leaves it open.
///
/// # Errors
/// Where the file is no classifier that runs here.
pub(super) fn open(path: &Path, size: Option<u32>) -> Result<Network, ModelError> {
    let model = load(path)?;
    let found = Found { path, model: &model };
    let input = found.input()?;
    let Shape { batch, side } = found.shape(input, size)?;
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    let probe = found.probe(input, batch, side as usize, &pool)?;
    Ok(Network {
        input,
        output: probe.output,
        side: side as usize,
        classes: probe.classes,
        one_by_one: probe.one_by_one,
        probabilities: probe.probabilities,
        helpers: OnceLock::new(),
        model,
    })
}

fn options() -> ModelOptions {
    let mut options = ModelOptions::with_all_ops();
    options.prepack_weights(true);
    options
}

fn load(path: &Path) -> Result<Model, ModelError> {
    let unreadable = |source| ModelError::Unreadable { file: path.to_owned(), source };
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    if facts.is_dir() {
        return Err(not_onnx(path, "it is a folder", "give the .onnx file in it"));
    }
    if facts.len() == 0 {
        return Err(not_onnx(path, "it is empty", WHOLE));
    }
    let is_onnx = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("onnx"));
    // By path, weights in files beside it are found; by content, any name will do.
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        if is_onnx {
            return Ok(options().load_file(path));
        }
        std::fs::read(path).map(|bytes| options().load(bytes))
    }));
    match loaded {
        Ok(Ok(result)) => result.map_err(|error| load_error(path, &error)),
        Ok(Err(error)) => Err(unreadable(error)),
        Err(panic) => Err(not_onnx(path, panic_text(&*panic), WHOLE)),
    }
}

fn load_error(path: &Path, error: &LoadError) -> ModelError {
    let found = error.to_string();
    let file = path.to_owned();
    match error.kind() {
        LoadErrorKind::OperatorInvalid => ModelError::Unsupported {
            file,
            found,
            way_out: "export it again without that operator, as a float model of opset 11 to 20",
        },
        LoadErrorKind::ExternalDataError => ModelError::NotOnnx {
            file,
            found,
            way_out: "keep its files of weights (often NAME.onnx.data) beside it",
        },
        LoadErrorKind::OptimizeError | LoadErrorKind::ShapeInferenceFailed => {
            ModelError::Unsupported { file, found, way_out: "export it again with fixed shapes" }
        }
        _ => ModelError::NotOnnx { file, found, way_out: WHOLE },
    }
}

/// A loaded model, for looking at.
struct Found<'a> {
    path: &'a Path,
    model: &'a Model,
}

struct Shape {
    /// The batch that the model is fixed to.
    batch: Option<usize>,
    side: u32,
}

struct Probe {
    output: NodeId,
    classes: usize,
    one_by_one: bool,
    probabilities: bool,
}

impl Found<'_> {
    fn name(&self, id: NodeId) -> String {
        self.model.node_info(id).and_then(|info| info.name()).unwrap_or("without a name").to_owned()
    }

    fn bad_input(&self, found: String, way_out: impl Into<String>) -> ModelError {
        ModelError::Input { file: self.path.to_owned(), found, way_out: way_out.into() }
    }

    fn input(&self) -> Result<NodeId, ModelError> {
        match *self.model.input_ids() {
            [one] => Ok(one),
            [] if self.model.output_ids().is_empty() => {
                Err(not_onnx(self.path, "there is no graph in it", WHOLE))
            }
            [] => Err(self.bad_input("the model has no input".into(), "give an image classifier")),
            ref several => {
                let names: Vec<_> = several.iter().map(|&id| self.name(id)).collect();
                Err(self.bad_input(
                    format!("the model has {} inputs: {}", names.len(), names.join(", ")),
                    "export it with the picture as its only input",
                ))
            }
        }
    }

    fn shape(&self, input: NodeId, given: Option<u32>) -> Result<Shape, ModelError> {
        let info = self.model.node_info(input);
        let name = self.name(input);
        let dtype = info.as_ref().and_then(rten::NodeInfo::dtype);
        if let Some(dtype) = dtype
            && dtype != ValueType::Tensor(DataType::Float)
        {
            return Err(self.bad_input(
                format!("its input `{name}` is {dtype}"),
                "export it with a float input (and normalise outside: --mean and --std)",
            ));
        }
        let Some(dims) = info.and_then(|info| info.shape()) else {
            return match given {
                Some(side) => self.checked(None, side, &name, "no shape"),
                None => Err(self.bad_input(
                    format!("its input `{name}` says no shape"),
                    "say the side: --size 224",
                )),
            };
        };
        let text = shape_text(&dims);
        let found = || format!("its input `{name}` is {text}");
        let [batch, channels, height, width] = dims.as_slice() else {
            return Err(self.bad_input(
                found(),
                format!("a picture has 4 dimensions, not {}: export it so", dims.len()),
            ));
        };
        match channels {
            Dimension::Fixed(3) | Dimension::Symbolic(_) => {}
            _ if *width == Dimension::Fixed(3) => {
                return Err(self.bad_input(
                    format!("{}, channels last", found()),
                    "export it with channels first (NCHW; tf2onnx: --inputs-as-nchw)",
                ));
            }
            Dimension::Fixed(n) => {
                return Err(self.bad_input(
                    format!("{}, {n} channels", found()),
                    "pictures have red, green and blue: export it with 3 channels",
                ));
            }
        }
        let batch = match *batch {
            Dimension::Symbolic(_) => None,
            Dimension::Fixed(1) => Some(1),
            Dimension::Fixed(n) => {
                return Err(self.bad_input(
                    format!("{}, a fixed batch of {n}", found()),
                    "export it with a free batch (dynamic axis 0), or of 1",
                ));
            }
        };
        let side = match (height, width, given) {
            (Dimension::Fixed(h), Dimension::Fixed(w), _) if h != w => {
                return Err(
                    self.bad_input(format!("{}, not square", found()), "export it for a square")
                );
            }
            (Dimension::Fixed(fixed), ..) | (_, Dimension::Fixed(fixed), _) => {
                u32::try_from(*fixed).unwrap_or(u32::MAX)
            }
            (_, _, Some(side)) => side,
            _ => {
                return Err(self.bad_input(
                    format!("{}, any size", found()),
                    "say the side that it was trained for: --size 224",
                ));
            }
        };
        self.checked(batch, side, &name, &text)
    }

    fn checked(
        &self,
        batch: Option<usize>,
        side: u32,
        name: &str,
        text: &str,
    ) -> Result<Shape, ModelError> {
        if (1..=MAX_SIDE).contains(&side) {
            return Ok(Shape { batch, side });
        }
        Err(self.bad_input(
            format!("its input `{name}` is {text}, a side of {side} pixels"),
            format!("1 to {MAX_SIDE} pixels can be fed"),
        ))
    }

    /// Runs two pictures of zeros, or one where two won't do: the batch may be fixed, also where only
    /// a reshape inside the model says so.
    fn probe(
        &self,
        input: NodeId,
        batch: Option<usize>,
        side: usize,
        pool: &Arc<ThreadPool>,
    ) -> Result<Probe, ModelError> {
        let run = |images: usize| {
            let pixels = vec![0.0; images * 3 * side * side];
            let outputs = self.model.output_ids();
            run(self.model, input, outputs, [images, 3, side, side], &pixels, pool)
        };
        if batch.is_none()
            && let Ok(values) = run(2)
            && let Ok(probe) = self.classes(&values, 2)
        {
            return Ok(probe);
        }
        let values = run(1).map_err(|error| ModelError::Unsupported {
            file: self.path.to_owned(),
            found: format!("a first picture of {side} × {side} pixels failed: {error}"),
            way_out: "check --size, or export it again as a float model of opset 11 to 20",
        })?;
        self.classes(&values, 1)
    }

    fn classes(&self, values: &[Value], images: usize) -> Result<Probe, ModelError> {
        for (&output, value) in self.model.output_ids().iter().zip(values) {
            let (shape, Some(view)) = (value.shape(), value.as_tensor_view::<f32>()) else {
                continue;
            };
            let classes = match *shape.as_slice() {
                [n, classes] | [n, classes, 1, 1] if n == images && classes > 1 => classes,
                _ => continue,
            };
            let scores = view.to_vec();
            return Ok(Probe {
                output,
                classes,
                one_by_one: images == 1,
                probabilities: scores.chunks_exact(classes).all(are_probabilities),
            });
        }
        let mut found = String::from("its outputs for ");
        let _ = write!(found, "{images} picture{} are ", if images == 1 { "" } else { "s" });
        for (index, (&output, value)) in self.model.output_ids().iter().zip(values).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let (name, dtype) = (self.name(output), value.dtype());
            let _ = write!(found, "{comma}`{name}` {dtype} {:?}", value.shape().as_slice());
        }
        Err(ModelError::Output {
            file: self.path.to_owned(),
            found,
            way_out: "give a classifier with two classes or more, not a detector or a backbone",
        })
    }
}

/// Whether a softmax is in the model already.
fn are_probabilities(scores: &[f32]) -> bool {
    let sum: f64 = scores.iter().copied().map(f64::from).sum();
    scores.iter().all(|&score| score >= 0.0) && (sum - 1.0).abs() < 1e-3
}

/// `N×3×224×224`.
fn shape_text(dims: &[Dimension]) -> String {
    if dims.is_empty() {
        return "a single number".into();
    }
    let dims: Vec<_> = dims
        .iter()
        .map(|dim| match dim {
            Dimension::Fixed(size) => size.to_string(),
            Dimension::Symbolic(name) if name.starts_with("unnamed_") => "?".into(),
            Dimension::Symbolic(name) => name.clone(),
        })
        .collect();
    dims.join("×")
}
