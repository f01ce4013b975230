//! An engine on a GPU: the network alone, and batches as a pipeline hands them over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{in_form, noise};
use crate::commands::Failure;
use crate::pipeline::infer::cuda::CudaEngine;
use crate::pipeline::infer::{DeviceTimes, Engine, Pixels, Ticket};
use crate::pipeline::pixels::PixelsMut;
use crate::pipeline::slab::Filling;

/// Batches before any is counted, each thread.
const WARM_UP: usize = 4;

/// What a device did for one batch size; times are of one batch, in milliseconds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Device {
    /// Batches under way at a time.
    in_flight: usize,
    /// The network without copies and normalising, in a row: the median.
    network_ms: f64,
    /// Images a second of that.
    network_img_s: f64,
    /// What copies and normalising leave of it.
    of_network: f64,
    /// Share of the time in which the device computed.
    busy: f64,
    h2d_ms: f64,
    compute_ms: f64,
    d2h_ms: f64,
    /// Theoretical occupancy of the kernels, where the driver tells.
    occupancy: Option<f64>,
    /// Layers that cuDNN computes.
    cudnn_layers: usize,
    layers: usize,
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { in_flight, network_ms, network_img_s, h2d_ms, compute_ms, d2h_ms, .. } = self;
        writeln!(
            f,
            "{network_ms:.3} ms for the network alone ({network_img_s:.0} img/s); {in_flight} in flight reach {:.1} %",
            self.of_network * 100.0
        )?;
        write!(
            f,
            "  busy {:.1} %; a batch: upload {h2d_ms:.3}, compute {compute_ms:.3}, download {d2h_ms:.3} ms; {} of {} layers by cuDNN",
            self.busy * 100.0,
            self.cudnn_layers,
            self.layers
        )?;
        match self.occupancy {
            Some(occupancy) => write!(f, "; theoretical occupancy {:.0} %", occupancy * 100.0),
            None => Ok(()),
        }
    }
}

/// What came of it.
pub(super) struct Measured {
    /// Milliseconds from handing a batch over to its logits, sorted.
    pub latencies: Vec<f64>,
    /// Images a second.
    pub rate: f64,
    pub device: Device,
}

/// `in_flight` threads hand over batches of their own from pinned memory, one after another.
pub(super) fn measure(
    engine: &CudaEngine,
    batch: usize,
    in_flight: usize,
    time: Duration,
) -> Result<Measured, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    let tune = engine.prepare(batch).map_err(|error| failed(&error));
    tune?;
    // Before and after, since a device that has been at work is warmer and may be slower.
    let network = || engine.network(batch, time / 2).map_err(|error| failed(&error));
    let (_, before) = network()?;
    let pictures: Vec<Pixels> = (0..in_flight)
        .map(|_| pinned(engine, batch).ok_or_else(|| Failure::new("no memory for the pictures")))
        .collect::<Result<_, _>>()?;
    let over = AtomicBool::new(false);
    let barrier = std::sync::Barrier::new(in_flight + 1);
    let (latencies, elapsed, spent) = std::thread::scope(|scope| {
        let worker = |pixels: &Pixels| -> Result<Vec<f64>, String> {
            let run = || {
                let ticket = engine.submit(Arc::clone(pixels), batch);
                ticket.and_then(Ticket::wait).map_err(|error| error.to_string())
            };
            let warm = (0..WARM_UP).try_for_each(|_| run().map(drop));
            barrier.wait();
            warm?;
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begin = Instant::now();
                run()?;
                times.push(begin.elapsed().as_secs_f64() * 1e3);
            }
            Ok(times)
        };
        let workers: Vec<_> =
            pictures.iter().map(|pixels| scope.spawn(move || worker(pixels))).collect();
        barrier.wait();
        let (start, before) = (Instant::now(), engine.device_times().unwrap_or_default());
        std::thread::sleep(time);
        let (elapsed, after) = (start.elapsed(), engine.device_times().unwrap_or_default());
        over.store(true, Ordering::Relaxed);
        let mut latencies = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(Ok(times)) => latencies.extend(times),
                Ok(Err(error)) => return Err(Failure::new(error)),
                Err(_) => return Err(Failure::new("a thread broke off")),
            }
        }
        latencies.sort_by(f64::total_cmp);
        Ok((latencies, elapsed.as_secs_f64(), since(before, after)))
    })?;
    let network_ms = f64::midpoint(before, network()?.1);
    let batches = spent.batches.max(1) as f64;
    let each = |nanos: u64| nanos as f64 / 1e6 / batches;
    let rate = batches * batch as f64 / elapsed;
    let network_img_s = batch as f64 * 1e3 / network_ms;
    let (cudnn_layers, layers) = engine.by_cudnn(batch);
    Ok(Measured {
        latencies,
        rate,
        device: Device {
            in_flight,
            network_ms,
            network_img_s,
            of_network: rate / network_img_s,
            busy: spent.busy as f64 / 1e9 / elapsed,
            h2d_ms: each(spent.h2d),
            compute_ms: each(spent.compute),
            d2h_ms: each(spent.d2h),
            occupancy: (spent.occupancy_over > 0)
                .then(|| spent.occupancy as f64 / spent.occupancy_over as f64),
            cudnn_layers,
            layers,
        },
    })
}

fn since(before: DeviceTimes, after: DeviceTimes) -> DeviceTimes {
    DeviceTimes {
        batches: after.batches - before.batches,
        busy: after.busy - before.busy,
        h2d: after.h2d - before.h2d,
        compute: after.compute - before.compute,
        d2h: after.d2h - before.d2h,
        occupancy: after.occupancy - before.occupancy,
        occupancy_over: after.occupancy_over - before.occupancy_over,
        ..after
    }
}

/// Pictures in memory from which the device copies by itself.
fn pinned(engine: &CudaEngine, batch: usize) -> Option<Pixels> {
    let input = engine.input();
    let pixels = in_form(noise(batch * input.values()), input);
    let bytes = pixels.view().bytes()?;
    let mut filling = Filling::new_in(batch, input, 0, |bytes| engine.host_memory(bytes))?;
    for picture in bytes.chunks_exact(input.bytes()) {
        let mut slot = filling.take()?;
        if let PixelsMut::U8(place) = slot.pixels() {
            place.copy_from_slice(picture);
        }
        filling.filled(slot);
    }
    Some(Arc::new(filling.freeze()))
}
