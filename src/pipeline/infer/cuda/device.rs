//! Whether there is a GPU to infer on, and if not, why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::driver::{self, FUNCTIONS, Facts};
use super::libs;

/// CUDA 12.0, as `cuDriverGetVersion` writes it: the kernels are PTX of ISA 8.0.
const LEAST_VERSION: i32 = 12_000;

/// Pascal; older chips are not compiled for.
const LEAST_CAPABILITY: (i32, i32) = (6, 0);

/// Why there is no GPU to infer on: one line for the person who asked for one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCuda {
    /// Nothing of NVIDIA's.
    #[error("no NVIDIA driver (libcuda.so.1) was found{}", in_container())]
    NoDriver,
    /// A driver that is too old.
    #[error("the NVIDIA driver is too old: it serves CUDA {}.{}, and 12.0 is needed (driver 525 or later)", .0 / 1000, .0 % 1000 / 10)]
    OldDriver(i32),
    /// A driver without a function that is needed.
    #[error(
        "the NVIDIA driver is too old or not whole: it lacks {0} (driver 525 or later is needed)"
    )]
    Lacks(String),
    /// A driver that does not start, as without a device.
    #[error("{0}")]
    Failed(String),
    /// A driver that shows no device.
    #[error("the NVIDIA driver shows no GPU{}", hidden())]
    NoDevice,
    /// No device of that number.
    #[error("there is no GPU {asked}: the driver shows {}", numbers(*.count))]
    NoSuchDevice {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        count: usize,
    },
    /// A device that is too old.
    #[error("{name} has compute capability {}.{}, and 6.0 is needed", .capability.0, .capability.1)]
    OldDevice {
        /// Its name.
        name: String,
        /// What it has.
        capability: (i32, i32),
    },
}

fn in_container() -> &'static str {
    let marks = ["/.dockerenv", "/run/.containerenv"];
    if marks.iter().any(|mark| std::path::Path::new(mark).exists()) {
        "; a container gets it when started with --gpus all"
    } else {
        ""
    }
}

fn hidden() -> String {
    std::env::var("CUDA_VISIBLE_DEVICES")
        .map_or_else(|_| String::new(), |value| format!(" (CUDA_VISIBLE_DEVICES is `{value}`)"))
}

fn numbers(count: usize) -> String {
    match count {
        1 => "GPU 0 alone".into(),
        count => format!("GPUs 0 to {}", count.saturating_sub(1)),
    }
}

/// The driver, started, with what it shows.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The CUDA version that it serves, as `major * 1000 + minor * 10`.
    pub version: i32,
    /// The GPUs that it shows, in its order; `CUDA_VISIBLE_DEVICES` counts.
    pub devices: Vec<Facts>,
}

/// Looks for the driver and starts it.
///
/// # Errors
/// Where GPUs cannot be used, and why.
pub fn probe() -> Result<Driver, NoCuda> {
    // Open by its path, it is found by its name too.
    let (name, place) = libs::find(libs::DRIVER, &libs::folders()).ok_or(NoCuda::NoDriver)?;
    let opened = match place {
        libs::Place::Broken(path, why) => {
            return Err(NoCuda::Failed(format!("{} does not open: {why}", path.display())));
        }
        libs::Place::Loader => libs::open(&name),
        libs::Place::File(path) => libs::open(path),
    };
    let library = opened.map_err(NoCuda::Failed)?;
    // Version before functions: it says more.
    let version = libs::driver_version(&library);
    if let Some(old) = version.filter(|&version| version < LEAST_VERSION) {
        return Err(NoCuda::OldDriver(old));
    }
    if let Some(lacking) = library.lacks(FUNCTIONS) {
        return Err(NoCuda::Lacks(lacking.to_owned()));
    }
    let version =
        version.ok_or_else(|| NoCuda::Failed("the NVIDIA driver tells no version".into()))?;
    let devices = contained(|| {
        let count = driver::start()?;
        (0..count).map(driver::facts).collect::<Result<Vec<_>, _>>()
    })?
    .map_err(|fault| NoCuda::Failed(fault.to_string()))?;
    if devices.is_empty() {
        return Err(NoCuda::NoDevice);
    }
    Ok(Driver { version, devices })
}

impl Driver {
    /// Device `index`, if the engine can use it.
    ///
    /// # Errors
    /// Where there is none, or one that is too old.
    pub fn device(&self, index: usize) -> Result<&Facts, NoCuda> {
        let count = self.devices.len();
        let facts = self.devices.get(index).ok_or(NoCuda::NoSuchDevice { asked: index, count })?;
        if facts.capability < LEAST_CAPABILITY {
            return Err(NoCuda::OldDevice {
                name: facts.name.clone(),
                capability: facts.capability,
            });
        }
        Ok(facts)
    }
}

/// Runs `body`; a panic in it, which is what the bindings do about a missing function, becomes an error, and says
/// nothing on stderr.
pub(super) fn contained<T>(body: impl FnOnce() -> T) -> Result<T, NoCuda> {
    static QUIET: Once = Once::new();
    thread_local! {
        static WITHIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    QUIET.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !WITHIN.get() {
                before(info);
            }
        }));
    });
    let outer = WITHIN.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    WITHIN.set(outer);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
        NoCuda::Failed(format!("the NVIDIA driver cannot be used: {text}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_fit_on_one_line_and_say_what_is_needed() {
        let old = NoCuda::OldDriver(11_080).to_string();
        assert!(old.contains("CUDA 11.8") && old.contains("525"), "{old}");
        let none = NoCuda::NoSuchDevice { asked: 3, count: 2 }.to_string();
        assert!(none.contains("GPU 3") && none.contains("GPUs 0 to 1"), "{none}");
        assert!(NoCuda::NoDriver.to_string().lines().count() == 1);
    }

    #[test]
    fn a_panic_inside_is_an_error() {
        let error = contained(|| panic!("no library")).unwrap_err();
        assert!(error.to_string().ends_with("no library"), "{error}");
    }

    #[test]
    fn an_unknown_or_old_device_is_refused() {
        let facts = Facts {
            index: 0,
            name: "Old".into(),
            capability: (5, 2),
            multiprocessors: 1,
            shared_per_block: 0,
            shared_per_multiprocessor: 0,
            threads_per_multiprocessor: 0,
            memory: 0,
            uuid: String::new(),
        };
        let driver = Driver { version: 12_000, devices: vec![facts] };
        assert!(matches!(driver.device(0), Err(NoCuda::OldDevice { .. })));
        assert_eq!(driver.device(1), Err(NoCuda::NoSuchDevice { asked: 1, count: 1 }));
    }
}
