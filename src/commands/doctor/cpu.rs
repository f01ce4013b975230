//! The CPU and its vector units.

use sysinfo::{CpuRefreshKind, RefreshKind, System};

use super::Finding;
use crate::pipeline::preprocess::vector_instructions;

pub(super) fn examine() -> Vec<Finding> {
    let mut findings = vec![name()];
    let found = features();
    findings.push(if found.is_empty() {
        Finding::note("vector units", "none that is asked for here")
    } else {
        Finding::ok("vector units", found.join(" "))
    });
    findings.push(preprocessing());
    findings
}

fn name() -> Finding {
    let system =
        System::new_with_specifics(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()));
    let brand = system
        .ok()
        .and_then(|system| system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()));
    let architecture = std::env::consts::ARCH;
    match brand.filter(|brand| !brand.is_empty()) {
        Some(brand) => Finding::ok("model", format!("{brand} ({architecture})")),
        None => Finding::note("model", format!("the system does not tell ({architecture})")),
    }
}

/// What preprocessing takes is asked of itself.
fn preprocessing() -> Finding {
    match vector_instructions() {
        "baseline" => Finding::missing("preprocessing", "uses no vector unit: it is slow")
            .way_out("run it on a CPU with AVX2 (x86-64) or NEON (arm64)"),
        instructions => Finding::ok("preprocessing", format!("uses {instructions}")),
    }
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! ask {
        ($($name:tt)*) => { $(if std::arch::is_x86_feature_detected!($name) { found.push($name); })* };
    }
    ask!("sse4.1" "avx" "avx2" "fma" "f16c" "avx512f" "avx512bw" "avx512vl" "avx512vnni");
    found
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! ask {
        ($($name:tt)*) => {
            $(if std::arch::is_aarch64_feature_detected!($name) { found.push($name); })*
        };
    }
    ask!("neon" "fp16" "dotprod" "i8mm" "bf16" "sve" "sve2");
    found
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}
