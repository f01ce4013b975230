//! NVIDIA's driver, management library, GPUs and CUDA libraries.

use std::ffi::OsStr;
use std::path::Path;

use nvml_wrapper::{Device, Nvml};

use super::Finding;
use crate::pipeline::infer::cuda::device::probe;
use crate::pipeline::infer::cuda::libs::{self, Place, find, folders};

const ON_CPU: &str = "inference runs on the CPU";

pub(super) fn examine() -> Vec<Finding> {
    let driver = libs::open(libs::DRIVER[0]);
    let nvml = Nvml::builder().lib_path(OsStr::new("libnvidia-ml.so.1")).init();
    let nodes = ["/dev/nvidiactl", "/dev/dxg"].iter().any(|node| Path::new(node).exists());
    if driver.is_err() && nvml.is_err() && !nodes {
        return vec![Finding::note(
            "NVIDIA",
            format!("no driver and no GPU of NVIDIA's is seen here; {ON_CPU}"),
        )];
    }
    let mut findings = vec![match probe().and_then(|driver| driver.device(0).cloned()) {
        Ok(gpu) => Finding::ok("inference", format!("--engine cuda runs on {}", gpu.name)),
        Err(why) => Finding::missing("inference", format!("{ON_CPU}: {why}")).way_out(
            "with a driver of 525 or later and a GPU since 2016, --engine cuda infers there",
        ),
    }];
    findings.push(match &driver {
        Ok(driver) => {
            let version = libs::driver_version(driver);
            let version = version.map_or_else(String::new, |version| {
                format!(", for CUDA up to {}.{}", version / 1000, version % 1000 / 10)
            });
            Finding::ok("CUDA driver", format!("libcuda.so.1{version}"))
        }
        Err(error) => Finding::missing("CUDA driver", format!("libcuda.so.1: {error}")).way_out(
            "install NVIDIA's driver; in a container start it with the NVIDIA runtime (--gpus all)",
        ),
    });
    match nvml {
        Ok(nvml) => findings.extend(gpus(&nvml)),
        Err(error) => {
            findings.push(
                Finding::missing("NVML", format!("no figures of GPUs: {error}")).way_out(
                    "libnvidia-ml.so.1 comes with the driver; in a container set \
                 NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                ),
            );
        }
    }
    findings.push(cudnn(find(libs::CUDNN, &folders())));
    findings
}

/// Kernels of our own do without it, so that it is never missing.
fn cudnn(found: Option<(String, Place)>) -> Finding {
    const NAME: &str = "cuDNN";
    match found {
        Some((file, Place::Loader)) => Finding::ok(NAME, format!("{file}, on the loader's path")),
        Some((_, Place::File(path))) => Finding::ok(NAME, path.display().to_string()),
        Some((_, Place::Broken(path, error))) => {
            Finding::note(NAME, format!("{} does not open: {error}", path.display()))
        }
        None => Finding::note(
            NAME,
            format!(
                "not found; with it some convolutions run faster (pip install nvidia-cudnn-cu12, or its folder in {})",
                libs::FOLDERS_VARIABLE
            ),
        ),
    }
}

fn gpus(nvml: &Nvml) -> Vec<Finding> {
    let version = nvml.sys_driver_version().map_or_else(
        |error| format!("driver of unknown version ({error})"),
        |version| format!("driver {version}"),
    );
    let mut findings = vec![Finding::ok("NVML", version)];
    let count = nvml.device_count().unwrap_or(0);
    if count == 0 {
        findings.push(Finding::missing("GPUs", "the driver is there and shows none").way_out(
            "see what `nvidia-smi -L` says; in a container pass the GPUs to it (--gpus all)",
        ));
    }
    for index in 0..count {
        findings.push(match nvml.device_by_index(index) {
            Ok(device) => Finding::ok(format!("GPU {index}"), describe(&device)),
            Err(error) => Finding::missing(format!("GPU {index}"), error.to_string())
                .way_out("see what `nvidia-smi` says of it"),
        });
    }
    findings
}

/// What a GPU tells of itself; what it does not tell is left out or said to be unknown.
fn describe(device: &Device<'_>) -> String {
    let mut parts = vec![device.name().unwrap_or_else(|_| "of unknown name".into())];
    if let Ok(memory) = device.memory_info() {
        parts.push(format!("{:.0} GiB", memory.total as f64 / f64::from(1 << 30)));
    }
    if let Ok(capability) = device.cuda_compute_capability() {
        parts.push(format!("compute {}.{}", capability.major, capability.minor));
    }
    parts.push(match device.mig_mode() {
        Ok(mode) if mode.current == 1 => "MIG on: figures are those of the whole GPU".into(),
        Ok(_) => "MIG off".into(),
        Err(_) => "no MIG".into(),
    });
    parts.push(match device.gpm_support() {
        Ok(true) => "GPM: occupancy can be measured".into(),
        Ok(false) => "no GPM: occupancy needs Hopper or later".into(),
        Err(_) => "GPM unknown: the driver does not tell".into(),
    });
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn without_anything_of_nvidia_one_line_says_so() {
        let findings = examine();
        if findings.len() == 1 {
            assert!(findings[0].found.ends_with(ON_CPU), "{findings:?}");
            assert_eq!(findings[0].status, Status::Note);
        } else {
            assert!(findings.iter().any(|finding| finding.name == "inference"), "{findings:?}");
        }
    }

    #[test]
    fn a_library_that_only_helps_is_not_missing() {
        assert_eq!(cudnn(None).status, Status::Note);
        let found = cudnn(Some(("libcudnn.so.9".into(), Place::Loader)));
        assert_eq!(
            (found.status, found.found.as_str()),
            (Status::Ok, "libcudnn.so.9, on the loader's path")
        );
    }
}
