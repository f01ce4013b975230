//! `pipetop doctor --capture-gpu FILE`: watches the GPUs for a while, writes down every answer of the
//! driver, and tells what each question costs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::commands::{Exit, Failure, print};
use crate::probe::clock::{self, RealClock};
use crate::probe::gpu::call::Call;
use crate::probe::gpu::nvml::Driver;
use crate::probe::gpu::trace::{Cost, Recorder, SCHEMA};
use crate::probe::gpu::{GpuWatch, Gpus};
use crate::probe::os;
use crate::probe::registry::Registry;

/// Records for `length`, with the very threads that a run has.
///
/// # Errors
/// Where the file cannot be written or there is no GPU.
pub(super) fn run(path: &Path, length: Duration) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        Failure::output(&path.display().to_string(), &error)
            .hint("name another file after --capture-gpu")
    };
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    let clock = Arc::new(RealClock);
    let recorder = Recorder::new(Arc::new(Driver::default()), clock, file).map_err(failed)?;
    let recorder = Arc::new(recorder);
    let registry = Arc::new(Registry::default());
    let source = Arc::<Recorder<BufWriter<File>>>::clone(&recorder);
    let gpus = Gpus::start(source, &registry, clock::now())
        .map_err(|error| Failure::new(format!("no thread could be started: {error}")))?;
    let (watch, ready) = wait_until_open(&gpus);
    if let GpuWatch::Missing(missing) = watch {
        drop(gpus);
        recorder.finish().map_err(failed)?;
        return Err(Failure::new(missing.what).hint(missing.way_out));
    }
    let before = cpu(&registry);
    std::thread::sleep(length);
    let used = cpu(&registry).saturating_sub(before);
    drop(gpus);
    let costs = recorder.finish().map_err(failed)?;
    let share = used as f64 / length.as_nanos().max(1) as f64;
    let mut text = table(&costs);
    let _ = writeln!(
        text,
        "\nwatching took {:.2}% of a core, after {ready:.1} s to open the driver; {SCHEMA} in {}",
        share * 100.0,
        path.display()
    );
    print(&text)?;
    Ok(Exit::Fine)
}

/// Waits until the driver has answered, ten seconds at most; tells how long that took.
fn wait_until_open(gpus: &Gpus) -> (GpuWatch, f64) {
    let began = clock::now();
    loop {
        let (watch, _) = gpus.read();
        let waited = clock::now().saturating_sub(began) as f64 / 1e9;
        if watch != GpuWatch::Starting || waited > 10.0 {
            return (watch, waited);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// CPU time of the threads that watch.
fn cpu(registry: &Registry) -> u64 {
    registry.threads().iter().filter_map(|thread| os::thread_cpu(thread.tid)).sum()
}

fn table(costs: &BTreeMap<Call, Cost>) -> String {
    let mut text = format!(
        "{:<14}{:>8}{:>9}{:>12}{:>12}{:>12}\n",
        "question", "asked", "refused", "median µs", "p90 µs", "longest µs"
    );
    for (call, cost) in costs {
        let mut took = cost.took_us.clone();
        took.sort_unstable();
        let at = |share: usize| took.get((took.len() - 1) * share / 100).copied().unwrap_or(0);
        let name = serde_json::to_value(call).ok();
        let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or("?");
        let _ = writeln!(
            text,
            "{name:<14}{:>8}{:>9}{:>12}{:>12}{:>12}",
            took.len(),
            cost.refused,
            at(50),
            at(90),
            at(100)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_quantiles_of_what_was_asked() {
        let cost = Cost { took_us: vec![9, 1, 2, 3, 4, 5, 6, 7, 8, 700], refused: 2 };
        let text = table(&BTreeMap::from([(Call::GpmKeep, cost)]));
        let row: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(row, ["gpm_keep", "10", "2", "5", "9", "700"]);
    }

    #[test]
    fn without_a_gpu_it_says_so_and_leaves_a_trace_that_says_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.jsonl");
        let Err(failure) = run(&path, Duration::from_millis(10)) else { return };
        assert_eq!((failure.exit, failure.hints.len()), (Exit::Nothing, 1));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("\"missing\""), "{text}");
        let nowhere = run(Path::new("/nowhere/trace"), Duration::ZERO).unwrap_err();
        assert!(nowhere.to_string().contains("/nowhere/trace"));
    }
}
