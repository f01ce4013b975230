//! Kernels, as the driver makes them from PTX.

use cudarc::driver::{result, sys};
use std::ffi::CString;
use std::sync::Arc;

use super::{Context, Fault, failed};

/// Kernels, made from PTX by the driver.
#[derive(Debug)]
pub(crate) struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

#[expect(unsafe_code, reason = "modules may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Send for Module {}
#[expect(unsafe_code, reason = "modules may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Sync for Module {}

/// A kernel; it is valid as long as its module, which outlives everything that starts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(pub(super) sys::CUfunction);

#[expect(unsafe_code, reason = "functions may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Send for Function {}
#[expect(unsafe_code, reason = "functions may be used by any thread")]
// SAFETY: as for `Context`.
unsafe impl Sync for Function {}

impl Module {
    /// The driver compiles the text for its device, and remembers it for the next process.
    pub(crate) fn new(context: &Arc<Context>, ptx: &str) -> Result<Self, Fault> {
        let text = CString::new(ptx).expect("PTX has no zero byte in it");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: a zero-terminated text.
        let raw = unsafe { result::module::load_data(text.as_ptr().cast()) }
            .map_err(failed("the driver does not take the kernels"))?;
        Ok(Self { context: Arc::clone(context), raw })
    }

    /// The kernel of that name, allowed so many bytes of shared memory a block besides its own few.
    pub(crate) fn function(&self, name: &str, shared: u32) -> Result<Function, Fault> {
        let name = CString::new(name).expect("names of kernels have no zero byte");
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: the module is loaded.
        let function = unsafe { result::module::get_function(self.raw, name) }
            .map_err(failed("a kernel is missing"))?;
        if shared > 47 << 10 {
            let attribute =
                sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
            // SAFETY: the function was just found.
            unsafe {
                result::function::set_function_attribute(function, attribute, shared.cast_signed())
            }
            .map_err(failed("shared memory for a kernel"))?;
        }
        Ok(Function(function))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let _ = self.context.bind();
        #[expect(unsafe_code, reason = "the bindings' calls are unsafe")]
        // SAFETY: loaded once, unloaded once.
        let _ = unsafe { result::module::unload(self.raw) };
    }
}
