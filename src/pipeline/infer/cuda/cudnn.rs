//! cuDNN, where it is found: its fused convolution, by which some layers run faster than by our kernels.
//!
//! The old interface fuses bias, residual and `ReLU`, with padding alike on both sides. Its implicit GEMM with
//! precomputed indices is the one algorithm asked for: recorded in a graph none of the others was faster.

use cudarc::cudnn::{result, sys};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use super::device::contained;
use super::driver::{Context, Fault, Stream};
use super::layers::Conv;
use super::libs::{self, Place};

/// What this module calls.
const FUNCTIONS: &[&str] = &[
    "cudnnGetVersion",
    "cudnnCreate",
    "cudnnDestroy",
    "cudnnSetStream",
    "cudnnCreateTensorDescriptor",
    "cudnnSetTensor4dDescriptor",
    "cudnnDestroyTensorDescriptor",
    "cudnnCreateFilterDescriptor",
    "cudnnSetFilter4dDescriptor",
    "cudnnDestroyFilterDescriptor",
    "cudnnCreateConvolutionDescriptor",
    "cudnnSetConvolution2dDescriptor",
    "cudnnSetConvolutionMathType",
    "cudnnDestroyConvolutionDescriptor",
    "cudnnCreateActivationDescriptor",
    "cudnnSetActivationDescriptor",
    "cudnnDestroyActivationDescriptor",
    "cudnnGetConvolutionForwardWorkspaceSize",
    "cudnnConvolutionBiasActivationForward",
];

const ALGORITHM: sys::cudnnConvolutionFwdAlgo_t =
    sys::cudnnConvolutionFwdAlgo_t::CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;

/// The library with a handle.
#[derive(Debug)]
pub(super) struct Cudnn {
    /// One thread at a time: a handle has one stream.
    handle: Mutex<Handle>,
    version: usize,
    /// Outlives the handle.
    _context: Arc<Context>,
}

#[derive(Debug)]
struct Handle(sys::cudnnHandle_t);

#[expect(unsafe_code, reason = "a handle may be used by any thread, one at a time")]
// SAFETY: it is behind a mutex.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: created once, destroyed once.
        let _ = unsafe { result::destroy_handle(self.0) };
    }
}

/// Device addresses of a convolution's operands, and memory for its own use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    /// Output.
    pub y: u64,
    /// Input.
    pub x: u64,
    /// Weights.
    pub w: u64,
    /// Biases, halves.
    pub bias: u64,
    /// What is added, or 0.
    pub z: u64,
    /// Memory.
    pub workspace: u64,
    /// Bytes of it.
    pub workspace_bytes: usize,
}

fn failed(error: result::CudnnError) -> Fault {
    Fault::Failed { what: "cuDNN", why: format!("{error:?}") }
}

impl Cudnn {
    /// Looks for the library and opens it, or says why it is not used. The context must be the thread's.
    pub(super) fn open(context: &Arc<Context>) -> Result<Self, String> {
        let folders = libs::folders();
        // It opens these by name; what is found beside it or not needed does no harm.
        for names in libs::CUBLAS {
            let _ = libs::find(names, &folders);
        }
        let (name, place) =
            libs::find(libs::CUDNN, &folders).ok_or("libcudnn.so.9 was not found")?;
        let library = match place {
            Place::Broken(path, why) => {
                return Err(format!("{} does not open: {why}", path.display()));
            }
            Place::Loader => libs::open(&name),
            Place::File(path) => libs::open(path),
        }?;
        if let Some(lacking) = library.lacks(FUNCTIONS) {
            return Err(format!("{name} lacks {lacking}"));
        }
        let made =
            contained(|| result::create_handle().map(|handle| (handle, result::get_version())));
        let (handle, version) = made
            .map_err(|why| why.to_string())?
            .map_err(|error| format!("{name} does not start: {error:?}"))?;
        let handle = Mutex::new(Handle(handle));
        Ok(Self { handle, version, _context: Arc::clone(context) })
    }

    /// `90_1400` is 9.14.
    pub(super) const fn version(&self) -> usize {
        self.version
    }

    /// Puts a convolution of n images on a stream.
    pub(super) fn start(
        &self,
        stream: &Stream,
        conv: &Conv,
        n: usize,
        operands: &Operands,
    ) -> Result<(), Fault> {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let shapes = Descriptors::new(conv, n)?;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: handle and stream live; both kinds of stream handle are the same thing.
        unsafe { result::set_stream(handle.0, stream.raw().cast()) }.map_err(failed)?;
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: handle and descriptors live.
        let bytes = unsafe {
            result::get_convolution_forward_workspace_size(
                handle.0,
                shapes.x,
                shapes.w,
                shapes.conv,
                shapes.y,
                ALGORITHM,
            )
        }
        .map_err(failed)?;
        if bytes > operands.workspace_bytes {
            let why = format!("it wants {} MiB to work in", bytes >> 20);
            return Err(Fault::Failed { what: "cuDNN", why });
        }
        let (one, zero) = (1.0_f32, 0.0_f32);
        let second = if operands.z == 0 { &raw const zero } else { &raw const one };
        let z = if operands.z == 0 { operands.y } else { operands.z };
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: descriptors say how large the operands are, which lie in memory of the lane and the model; factors
        // are read before the call returns.
        unsafe {
            result::convolution_bias_activation_forward(
                handle.0,
                (&raw const one).cast(),
                shapes.x,
                operands.x as *const c_void,
                shapes.w,
                operands.w as *const c_void,
                shapes.conv,
                ALGORITHM,
                operands.workspace as *mut c_void,
                bytes,
                second.cast(),
                shapes.y,
                z as *const c_void,
                shapes.bias,
                operands.bias as *const c_void,
                shapes.act,
                shapes.y,
                operands.y as *mut c_void,
            )
        }
        .map_err(failed)
    }
}

/// Whether the fused call can do this layer at all.
pub(super) fn can(conv: &Conv) -> bool {
    let reaches = |axis: usize| {
        let span = conv.dilation[axis] * (conv.kernel[axis] - 1) + 1;
        let room = conv.input[axis] + 2 * conv.pad[axis];
        room >= span && (room - span) / conv.stride[axis] + 1 == conv.size[axis]
    };
    conv.groups == 1
        && !conv.depthwise
        && conv.channels.is_multiple_of(8)
        && conv.outputs.is_multiple_of(8)
        && conv.pitch == conv.channels
        && conv.row == conv.kernel[0] * conv.kernel[1] * conv.channels
        && reaches(0)
        && reaches(1)
        && (conv.is_relu() || conv.is_linear())
}

/// The shapes of a convolution, as cuDNN keeps them.
struct Descriptors {
    x: sys::cudnnTensorDescriptor_t,
    y: sys::cudnnTensorDescriptor_t,
    bias: sys::cudnnTensorDescriptor_t,
    w: sys::cudnnFilterDescriptor_t,
    conv: sys::cudnnConvolutionDescriptor_t,
    act: sys::cudnnActivationDescriptor_t,
}

impl Descriptors {
    #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
    fn new(conv: &Conv, n: usize) -> Result<Self, Fault> {
        use sys::{
            cudnnActivationMode_t as Mode, cudnnConvolutionMode_t as Kind, cudnnDataType_t as Type,
            cudnnMathType_t as Math, cudnnNanPropagation_t as Nan,
            cudnnTensorFormat_t::CUDNN_TENSOR_NHWC as NHWC,
        };
        let int = |size: usize| c_int::try_from(size).unwrap_or(c_int::MAX);
        let (channels, outputs) = (int(conv.channels), int(conv.outputs));
        let half = Type::CUDNN_DATA_HALF;
        let shapes = Self {
            x: result::create_tensor_descriptor().map_err(failed)?,
            y: result::create_tensor_descriptor().map_err(failed)?,
            bias: result::create_tensor_descriptor().map_err(failed)?,
            w: result::create_filter_descriptor().map_err(failed)?,
            conv: result::create_convolution_descriptor().map_err(failed)?,
            act: result::create_activation_descriptor().map_err(failed)?,
        };
        let mode = if conv.is_relu() {
            Mode::CUDNN_ACTIVATION_RELU
        } else {
            Mode::CUDNN_ACTIVATION_IDENTITY
        };
        let set = || {
            // SAFETY: the descriptors were just created.
            unsafe {
                let x = [int(n), channels, int(conv.input[0]), int(conv.input[1])];
                result::set_tensor4d_descriptor(shapes.x, NHWC, half, x)?;
                let y = [int(n), outputs, int(conv.size[0]), int(conv.size[1])];
                result::set_tensor4d_descriptor(shapes.y, NHWC, half, y)?;
                result::set_tensor4d_descriptor(shapes.bias, NHWC, half, [1, outputs, 1, 1])?;
                let w = [outputs, channels, int(conv.kernel[0]), int(conv.kernel[1])];
                result::set_filter4d_descriptor(shapes.w, half, NHWC, w)?;
                result::set_convolution2d_descriptor(
                    shapes.conv,
                    int(conv.pad[0]),
                    int(conv.pad[1]),
                    int(conv.stride[0]),
                    int(conv.stride[1]),
                    int(conv.dilation[0]),
                    int(conv.dilation[1]),
                    Kind::CUDNN_CROSS_CORRELATION,
                    Type::CUDNN_DATA_FLOAT,
                )?;
                result::set_convolution_math_type(shapes.conv, Math::CUDNN_TENSOR_OP_MATH)?;
                let nan = Nan::CUDNN_NOT_PROPAGATE_NAN;
                result::set_activation_descriptor(shapes.act, mode, nan, 0.0)
            }
        };
        set().map_err(failed)?;
        Ok(shapes)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: each was created once and is destroyed once; what was put on a stream does not need them.
        unsafe {
            for tensor in [self.x, self.y, self.bias] {
                let _ = result::destroy_tensor_descriptor(tensor);
            }
            let _ = result::destroy_filter_descriptor(self.w);
            let _ = result::destroy_convolution_descriptor(self.conv);
            let _ = sys::cudnnDestroyActivationDescriptor(self.act);
        }
    }
}
