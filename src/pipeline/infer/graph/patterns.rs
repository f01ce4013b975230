//! Functions that exports write out in several operators: found before translation and done as one.
//!
//! | function | as it is written out |
//! |---|---|
//! | `SiLU` | x · Sigmoid(x) |
//! | `HardSwish` | x · HardSigmoid(x), or x · Clip(x + 3, 0, 6) / 6 in either order |
//! | GELU | x · (1 + Erf(x / √2)) · ½ in any order |
//! | layer normalisation | (x − mean) / √(mean((x − mean)²) + ε) |
//!
//! What lies inside of a pattern must be used nowhere else.

use rten_onnx::onnx::{GraphProto, NodeProto};
use std::collections::{HashMap, HashSet};

use super::Activation;
use super::translate::Value;
use super::translate::attributes::Attributes;

/// What a pattern comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fused {
    Activation { input: String, activation: Activation },
    LayerNorm { input: String, axis: i64, epsilon: f32 },
}

impl Fused {
    pub(super) fn input(&self) -> &str {
        match self {
            Self::Activation { input, .. } | Self::LayerNorm { input, .. } => input,
        }
    }
}

/// The patterns of a model, by the index of the last node of each.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    pub(super) roots: HashMap<usize, Fused>,
    /// Nodes before the last, which need no translation.
    pub(super) inner: HashSet<usize>,
}

/// Looks for patterns among the `needed` nodes; `constants` are the initialisers.
pub(super) fn find(
    proto: &GraphProto,
    needed: &[usize],
    constants: &HashMap<String, Value>,
) -> Patterns {
    let mut finder = Finder { proto, makers: HashMap::new(), uses: HashMap::new(), constants };
    for &at in needed {
        for name in &proto.node[at].output {
            finder.makers.insert(name, at);
        }
        for name in &proto.node[at].input {
            *finder.uses.entry(name).or_default() += 1;
        }
    }
    for output in &proto.output {
        *finder.uses.entry(output.name.as_deref().unwrap_or_default()).or_default() += 1;
    }
    let mut patterns = Patterns::default();
    // From the end, so that the longest form of a function is found before a part of it.
    for &at in needed.iter().rev() {
        if patterns.inner.contains(&at) {
            continue;
        }
        if let Some((fused, inner)) = finder.at(at) {
            patterns.inner.extend(inner);
            patterns.roots.insert(at, fused);
        }
    }
    patterns
}

struct Finder<'a> {
    proto: &'a GraphProto,
    makers: HashMap<&'a str, usize>,
    uses: HashMap<&'a str, usize>,
    constants: &'a HashMap<String, Value>,
}

/// A pattern with the nodes inside of it.
type Found = (Fused, Vec<usize>);

impl<'a> Finder<'a> {
    fn node(&self, at: usize) -> &'a NodeProto {
        &self.proto.node[at]
    }

    fn kind(&self, at: usize) -> &'a str {
        self.node(at).op_type.as_deref().unwrap_or_default()
    }

    /// The node that makes `name`, if it is of that kind.
    fn maker(&self, name: &str, kind: &str) -> Option<usize> {
        self.makers.get(name).copied().filter(|&at| self.kind(at) == kind)
    }

    /// As [`Self::maker`], where `name` is used once.
    fn only(&self, name: &str, kind: &str) -> Option<usize> {
        (self.uses.get(name) == Some(&1)).then(|| self.maker(name, kind)).flatten()
    }

    fn input(&self, at: usize, index: usize) -> Option<&'a str> {
        self.node(at).input.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    fn attributes(&self, at: usize) -> Attributes<'a> {
        Attributes::of(self.node(at))
    }

    /// The one number behind `name`, if it is a constant.
    fn scalar(&self, name: &str) -> Option<f32> {
        if let Some(Value::Constant(constant)) = self.constants.get(name) {
            return constant.scalar();
        }
        let at = self.makers.get(name).copied()?;
        match self.kind(at) {
            "Constant" => self.attributes(at).constant().ok()?.scalar(),
            "Cast" | "Identity" => self.scalar(self.input(at, 0)?),
            _ => None,
        }
    }

    fn is(&self, name: &str, value: f32) -> bool {
        // Half precision rounds √2 and 1/6 to three digits.
        self.scalar(name).is_some_and(|found| (found - value).abs() <= 1e-3 * value.abs())
    }

    /// Both orders of a node's two inputs.
    fn pairs(&self, at: usize) -> Vec<(&'a str, &'a str)> {
        match (self.input(at, 0), self.input(at, 1)) {
            (Some(a), Some(b)) => vec![(a, b), (b, a)],
            _ => Vec::new(),
        }
    }

    /// The other factor, where `name` is made by a product with `factor` or a division by its inverse.
    fn scaled(&self, at: usize, factor: f32) -> Option<&'a str> {
        match self.kind(at) {
            "Mul" => self.pairs(at).into_iter().find(|&(_, c)| self.is(c, factor)).map(|(x, _)| x),
            "Div" => self
                .input(at, 0)
                .filter(|_| self.input(at, 1).is_some_and(|c| self.is(c, factor.recip()))),
            _ => None,
        }
    }

    fn at(&self, at: usize) -> Option<Found> {
        match self.kind(at) {
            "Mul" => self.gelu(at).or_else(|| self.hard_swish(at)).or_else(|| self.silu(at)),
            "Div" => self.layer_norm(at).or_else(|| self.hard_swish(at)),
            _ => None,
        }
    }

    fn silu(&self, at: usize) -> Option<Found> {
        self.pairs(at).into_iter().find_map(|(x, gate)| {
            if let Some(sigmoid) = self.only(gate, "Sigmoid")
                && self.input(sigmoid, 0) == Some(x)
            {
                return Some((activation(x, Activation::Silu), vec![sigmoid]));
            }
            let hard = self.only(gate, "HardSigmoid")?;
            let attributes = self.attributes(hard);
            let (slope, shift) = (attributes.float("alpha", 0.2), attributes.float("beta", 0.5));
            let sixth = (slope - 1.0 / 6.0).abs() < 1e-4 && (shift - 0.5).abs() < 1e-4;
            (sixth && self.input(hard, 0) == Some(x))
                .then(|| (activation(x, Activation::HardSwish), vec![hard]))
        })
    }

    /// Clip(x + 3, 0, 6), made by `name`: x and the nodes.
    fn relu6_of_x_plus_3(&self, name: &str) -> Option<(&'a str, [usize; 2])> {
        let clip = self.only(name, "Clip")?;
        let attributes = self.attributes(clip);
        let limit = |index: usize, key: &str, value: f32| match self.input(clip, index) {
            Some(name) => self.scalar(name) == Some(value),
            None => attributes.float(key, f32::NAN).to_bits() == value.to_bits(),
        };
        let add = self.only(self.input(clip, 0)?, "Add")?;
        let (x, _) = self.pairs(add).into_iter().find(|&(_, c)| self.is(c, 3.0))?;
        (limit(1, "min", 0.0) && limit(2, "max", 6.0)).then_some((x, [clip, add]))
    }

    fn hard_swish(&self, at: usize) -> Option<Found> {
        let sixth = 1.0 / 6.0;
        // (x · clip) / 6
        if let Some(product) = self.scaled(at, sixth)
            && let Some(mul) = self.only(product, "Mul")
        {
            for (x, clip) in self.pairs(mul) {
                if let Some((inner, [clip, add])) = self.relu6_of_x_plus_3(clip)
                    && inner == x
                {
                    return Some((activation(x, Activation::HardSwish), vec![mul, clip, add]));
                }
            }
        }
        // x · (clip / 6)
        if self.kind(at) != "Mul" {
            return None;
        }
        self.pairs(at).into_iter().find_map(|(x, gate)| {
            let scale = self.only(gate, "Div").or_else(|| self.only(gate, "Mul"))?;
            let (inner, [clip, add]) = self.relu6_of_x_plus_3(self.scaled(scale, sixth)?)?;
            (inner == x).then(|| (activation(x, Activation::HardSwish), vec![scale, clip, add]))
        })
    }

    /// 1 + Erf(x / √2), made by `name`: x and the nodes.
    fn one_plus_erf(&self, name: &str) -> Option<(&'a str, Vec<usize>)> {
        let add = self.only(name, "Add")?;
        let (erf, _) = self.pairs(add).into_iter().find(|&(_, c)| self.is(c, 1.0))?;
        let erf = self.only(erf, "Erf")?;
        let scaled = self.input(erf, 0)?;
        let scale = self.only(scaled, "Div").or_else(|| self.only(scaled, "Mul"))?;
        Some((self.scaled(scale, std::f32::consts::FRAC_1_SQRT_2)?, vec![add, erf, scale]))
    }

    fn gelu(&self, at: usize) -> Option<Found> {
        let gelu = |x: &str, inner: Vec<usize>| Some((activation(x, Activation::Gelu), inner));
        // (x · (1 + erf)) · ½
        if let Some(product) = self.scaled(at, 0.5)
            && let Some(mul) = self.only(product, "Mul")
        {
            for (x, factor) in self.pairs(mul) {
                if let Some((inner_x, mut inner)) = self.one_plus_erf(factor)
                    && inner_x == x
                {
                    inner.push(mul);
                    return gelu(x, inner);
                }
            }
        }
        // (x · ½) · (1 + erf), and x · ((1 + erf) · ½)
        self.pairs(at).into_iter().find_map(|(left, right)| {
            let half = self.only(left, "Mul").or_else(|| self.only(left, "Div"))?;
            let halved = self.scaled(half, 0.5)?;
            if let Some((x, mut inner)) = self.one_plus_erf(right)
                && x == halved
            {
                inner.push(half);
                return gelu(x, inner);
            }
            let (x, mut inner) = self.one_plus_erf(halved)?;
            inner.push(half);
            if x == right { gelu(x, inner) } else { None }
        })
    }

    /// The axis of a `ReduceMean` over one axis that keeps it.
    fn mean_axis(&self, at: usize) -> Option<i64> {
        let attributes = self.attributes(at);
        if attributes.int("keepdims", 1) == 0 {
            return None;
        }
        let axes = match self.input(at, 1) {
            Some(name) => match self.constants.get(name) {
                Some(Value::Constant(constant)) => constant.known_ints()?,
                _ => self.attributes(*self.makers.get(name)?).constant().ok()?.known_ints()?,
            },
            None => attributes.ints("axes")?.to_vec(),
        };
        match axes[..] {
            [axis] => Some(axis),
            _ => None,
        }
    }

    fn layer_norm(&self, at: usize) -> Option<Found> {
        let sub = self.maker(self.input(at, 0)?, "Sub")?;
        let root = self.only(self.input(at, 1)?, "Sqrt")?;
        let add = self.only(self.input(root, 0)?, "Add")?;
        let (variance, epsilon) =
            self.pairs(add).into_iter().find(|&(_, c)| self.scalar(c).is_some())?;
        let variance = self.only(variance, "ReduceMean")?;
        let squared = self.input(variance, 0)?;
        let square = self.only(squared, "Pow").or_else(|| self.only(squared, "Mul"))?;
        let centred = self.input(at, 0)?;
        let is_square = match self.kind(square) {
            "Pow" => self.input(square, 0) == Some(centred) && self.is(self.input(square, 1)?, 2.0),
            _ => self.input(square, 0) == Some(centred) && self.input(square, 1) == Some(centred),
        };
        let mean = self.only(self.input(sub, 1)?, "ReduceMean")?;
        let x = self.input(sub, 0)?;
        let axis = self.mean_axis(mean)?;
        let uses = 1 + self.node(square).input.iter().filter(|name| *name == centred).count();
        let whole = is_square
            && self.input(mean, 0) == Some(x)
            && self.mean_axis(variance) == Some(axis)
            && self.uses.get(centred) == Some(&uses);
        whole.then(|| {
            let epsilon = self.scalar(epsilon).unwrap_or_default();
            let fused = Fused::LayerNorm { input: x.to_owned(), axis, epsilon };
            (fused, vec![sub, root, add, variance, square, mean])
        })
    }
}

fn activation(input: &str, activation: Activation) -> Fused {
    Fused::Activation { input: input.to_owned(), activation }
}
