//! Opening shared libraries at run time: the one place of the doctor that the compiler cannot check.

use std::ffi::{OsStr, c_int};

use libloading::Library;

/// A library that was opened; it stays loaded until the process ends, since unloading the driver's
/// libraries is what they are worst at.
pub(super) struct Opened(std::mem::ManuallyDrop<Library>);

/// Opens a library by name (then the system's search path is used) or by path.
pub(super) fn open(name: impl AsRef<OsStr>) -> Result<Opened, String> {
    #[expect(unsafe_code, reason = "loading a library runs its initialisers")]
    // SAFETY: only NVIDIA's own libraries are opened here, by their fixed names; their initialisers
    // ask nothing of the caller.
    let library = unsafe { Library::new(name.as_ref()) };
    match library {
        Ok(library) => Ok(Opened(std::mem::ManuallyDrop::new(library))),
        Err(error) => Err(error.to_string()),
    }
}

/// The CUDA version that the driver supports, as `major * 1000 + minor * 10`.
pub(super) fn driver_version(driver: &Opened) -> Option<i32> {
    let mut version: c_int = 0;
    #[expect(unsafe_code, reason = "a C function is called through its address")]
    // SAFETY: `CUresult cuDriverGetVersion(int *)` has this signature in every driver, needs no
    // `cuInit`, and writes one int to a place that lives through the call.
    let result = unsafe {
        let call =
            driver.0.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion\0");
        call.ok().map(|call| call(&raw mut version))
    };
    (result == Some(0)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_an_error_and_no_panic() {
        assert!(open("libpipetop-has-no-such-library.so.1").is_err());
        assert!(open("/nowhere/libcuda.so.1").is_err());
    }
}
