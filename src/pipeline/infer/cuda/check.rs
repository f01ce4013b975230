//! Whether fp16 is good enough for a model: two pictures on the GPU and on the CPU in fp32, before anything else runs.
//!
//! Trained classifiers lose 1e-3 or so of their largest logit. A network whose values grow or cancel on the way can lose all
//! meaning, and nothing would show it.

use std::sync::Arc;

use super::driver::Fault;
use super::gpu::Gpu;
use super::lane::Pictures;
use crate::pipeline::infer::cpu::CpuEngine;
use crate::pipeline::infer::graph::Graph;
use crate::pipeline::infer::{Engine, InputSpec, Output};

/// The most that logits may be off, as a share of the largest.
pub(super) const LIMIT: f64 = 1e-2;
const PICTURES: usize = 2;
/// Side of the squares of one colour, in pixels.
const PATCH: usize = 16;

/// How far the logits of a GPU are off those in fp32: the greatest difference as a share of the greatest logit; `None`
/// where they cannot be compared.
///
/// # Errors
/// Where the device fails.
pub(super) fn off(gpu: &Gpu, graph: &Graph, input: &InputSpec) -> Result<Option<f64>, Fault> {
    let pictures = pictures(input.side as usize);
    gpu.bind()?;
    let mut lane = gpu.next_lane()?;
    gpu.enqueue(&mut lane, Pictures { bytes: &pictures, pinned: false }, PICTURES)?;
    lane.wait()?;
    let found = lane.logits(PICTURES * graph.classes);
    gpu.return_lane(lane);
    let cpu = CpuEngine::new(String::new(), *input, Arc::new([]), graph);
    let exact = cpu.submit(Arc::new(pictures), PICTURES).and_then(super::super::Ticket::wait);
    Ok(match exact {
        Ok(Output::Logits(exact)) => difference(&found, &exact),
        _ => None,
    })
}

fn difference(found: &[f32], exact: &[f32]) -> Option<f64> {
    let largest = exact.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    if !(largest.is_finite() && largest > 0.0) || found.len() != exact.len() {
        return None;
    }
    let differences = found.iter().zip(exact).map(|(a, b)| f64::from((a - b).abs()));
    // What is no number is as far off as can be.
    let most =
        differences.fold(0.0, |most: f64, one| if one > most || one.is_nan() { one } else { most });
    Some(if most.is_nan() { f64::INFINITY } else { most / f64::from(largest) })
}

/// Patches of random colours with some noise: edges, flat parts, all three channels.
fn pictures(side: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let across = side.div_ceil(PATCH);
    let patches: Vec<u8> = (0..PICTURES * across * across * 3).map(|_| next()).collect();
    let mut bytes = Vec::with_capacity(PICTURES * side * side * 3);
    for picture in 0..PICTURES {
        for y in 0..side {
            for x in 0..side {
                let patch = (picture * across + y / PATCH) * across + x / PATCH;
                let colour = &patches[3 * patch..][..3];
                bytes.extend(colour.iter().map(|&value| value.saturating_add(next() >> 4)));
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_difference_counts_and_what_is_no_number_is_as_bad_as_can_be() {
        let off = |found: &[f32]| difference(found, &[1.0, -4.0]);
        assert_eq!(off(&[1.0, -4.0]), Some(0.0));
        assert_eq!(off(&[1.5, -4.25]), Some(0.125));
        assert_eq!(off(&[f32::NAN, -4.0]), Some(f64::INFINITY));
        assert_eq!(off(&[f32::INFINITY, -4.0]), Some(f64::INFINITY));
        assert_eq!(difference(&[0.0], &[0.0]), None);
        assert_eq!(difference(&[0.0], &[f32::NAN]), None);
    }

    #[test]
    fn pictures_are_whole_and_not_all_of_one_colour() {
        let bytes = pictures(20);
        assert_eq!(bytes.len(), 2 * 20 * 20 * 3);
        assert!(bytes.iter().max().unwrap() - bytes.iter().min().unwrap() > 200);
    }
}
