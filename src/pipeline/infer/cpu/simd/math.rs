//! Functions of one value without branches, so that loops over them become vectors in whatever function they are
//! inlined into.

use crate::pipeline::infer::graph::{Activation, BinaryOp};

/// e^x to 2 units in the last place; 0 below −87, and held at e^88 above.
///
/// x = n · ln 2 + r, e^r by the polynomial of Cephes' expf (Moshier), and 2ⁿ put together from its bits.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // 1.5 · 2²³: what is added to it is rounded to a whole number, which then stands in its lowest bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = if x > 88.0 { 88.0 } else { x };
    let low = x < -87.0;
    let x = if low { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_1e-4_f32;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 0.166_666_65;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let power =
        f32::from_bits(shifted.to_bits().wrapping_sub(MAGIC.to_bits()).wrapping_add(127) << 23);
    if low { 0.0 } else { p * power }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of its caller's loop")]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The error function, as 1 − erfc(|x|) with erfc's rational fit of Numerical Recipes (`erfcc`): off by less than 2e-7.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of its caller's loop")]
fn erf(x: f32) -> f32 {
    let a = x.abs();
    // erfc(a) = t · e^(−a² + P(t)), t = 1 / (1 + a / 2).
    let t = 1.0 / (1.0 + 0.5 * a);
    let p = 0.170_872_77_f32;
    let p = p * t - 0.822_152_23;
    let p = p * t + 1.488_515_9;
    let p = p * t - 1.135_204;
    let p = p * t + 0.278_868_08;
    let p = p * t - 0.186_288_06;
    let p = p * t + 0.096_784_18;
    let p = p * t + 0.374_091_96;
    let p = p * t + 1.000_023_7;
    let p = p * t - 1.265_512_2;
    let result = 1.0 - t * exp(p - a * a);
    if x < 0.0 { -result } else { result }
}

/// Applies an activation; one loop for each, so that each becomes vectors.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of a function for these")]
pub(super) fn activate(activation: Activation, values: &mut [f32]) {
    #[inline(always)]
    fn each(values: &mut [f32], f: impl Fn(f32) -> f32) {
        for value in values {
            *value = f(*value);
        }
    }
    match activation {
        Activation::None => {}
        Activation::Relu => each(values, |x| if x > 0.0 { x } else { 0.0 }),
        Activation::Clip { min, max } => each(values, |x| {
            let x = if x < min { min } else { x };
            if x > max { max } else { x }
        }),
        Activation::LeakyRelu { slope } => each(values, |x| if x < 0.0 { slope * x } else { x }),
        Activation::Sigmoid => each(values, sigmoid),
        Activation::HardSigmoid { slope, shift } => each(values, |x| hard(slope * x + shift)),
        Activation::Silu => each(values, |x| x * sigmoid(x)),
        Activation::HardSwish => each(values, |x| x * hard(x / 6.0 + 0.5)),
        Activation::Gelu => {
            each(values, |x| 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)));
        }
        Activation::Tanh => each(values, |x| 2.0 * sigmoid(2.0 * x) - 1.0),
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of its caller's loop")]
fn hard(x: f32) -> f32 {
    let x = if x < 0.0 { 0.0 } else { x };
    if x > 1.0 { 1.0 } else { x }
}

/// out = a ∘ b, value by value; `a` is the second operand where `swapped`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of a function for these")]
pub(super) fn combine(op: BinaryOp, swapped: bool, out: &mut [f32], a: &[f32], b: &[f32]) {
    #[inline(always)]
    fn each(out: &mut [f32], a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = f(a, b);
        }
    }
    let (a, b) = if swapped { (b, a) } else { (a, b) };
    match op {
        BinaryOp::Add => each(out, a, b, |a, b| a + b),
        BinaryOp::Sub => each(out, a, b, |a, b| a - b),
        BinaryOp::Mul => each(out, a, b, |a, b| a * b),
        BinaryOp::Div => each(out, a, b, |a, b| a / b),
    }
}

/// out += x.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of a function for these")]
pub(super) fn accumulate(out: &mut [f32], x: &[f32]) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out += x;
    }
}

/// out = x · scale + shift.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of a function for these")]
pub(super) fn affine(out: &mut [f32], x: &[f32], scale: &[f32], shift: &[f32]) {
    for (((out, &x), &scale), &shift) in out.iter_mut().zip(x).zip(scale).zip(shift) {
        *out = x * scale + shift;
    }
}

/// One row of a layer normalisation.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it becomes vectors only inside of a function for these")]
pub(super) fn layer_norm(out: &mut [f32], x: &[f32], scale: &[f32], shift: &[f32], epsilon: f32) {
    // Sixteen sums side by side: one would have to be added up in order.
    #[inline(always)]
    fn sum(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
        let mut sums = [0.0; 16];
        let (whole, rest) = x.as_chunks::<16>();
        for chunk in whole {
            for (sum, &x) in sums.iter_mut().zip(chunk) {
                *sum += f(x);
            }
        }
        sums.iter().sum::<f32>() + rest.iter().map(|&x| f(x)).sum::<f32>()
    }
    let len = x.len() as f32;
    let mean = sum(x, |x| x) / len;
    let variance = sum(x, |x| (x - mean) * (x - mean)) / len;
    let factor = 1.0 / (variance + epsilon).sqrt();
    for (((out, &x), &scale), &shift) in out.iter_mut().zip(x).zip(scale).zip(shift) {
        *out = (x - mean) * factor * scale + shift;
    }
}
