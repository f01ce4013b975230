//! The attributes of an ONNX node.

use rten_onnx::onnx::{AttributeProto, NodeProto};

use crate::pipeline::infer::graph::constant::Constant;

/// What a node is told besides its inputs.
pub(in super::super) struct Attributes<'a>(&'a [AttributeProto]);

impl<'a> Attributes<'a> {
    pub(in super::super) fn of(node: &'a NodeProto) -> Self {
        Self(&node.attribute)
    }

    fn find(&self, name: &str) -> Option<&'a AttributeProto> {
        self.0.iter().find(|attribute| attribute.name.as_deref() == Some(name))
    }

    pub(in super::super) fn int(&self, name: &str, default: i64) -> i64 {
        self.find(name).and_then(|attribute| attribute.i).unwrap_or(default)
    }

    pub(in super::super) fn float(&self, name: &str, default: f32) -> f32 {
        self.find(name).and_then(|attribute| attribute.f).unwrap_or(default)
    }

    pub(in super::super) fn text(&self, name: &str) -> Option<&'a str> {
        self.find(name).and_then(|attribute| attribute.s.as_deref())
    }

    pub(in super::super) fn ints(&self, name: &str) -> Option<&'a [i64]> {
        self.find(name).map(|attribute| attribute.ints.as_slice())
    }

    /// A pair of sizes; the default where the attribute is absent.
    pub(in super::super) fn pair(&self, name: &str, default: usize) -> Result<[usize; 2], String> {
        match self.ints(name) {
            None => Ok([default; 2]),
            Some(&[a, b]) if a >= 0 && b >= 0 => Ok([a as usize, b as usize]),
            Some(other) => {
                Err(format!("its {name} are {other:?}, where two sizes are taken (images alone)"))
            }
        }
    }

    pub(in super::super) fn tensor(&self, name: &str) -> Result<Option<Constant>, String> {
        let tensor = self.find(name).and_then(|attribute| attribute.t.as_ref());
        tensor.map(|proto| Constant::decode(proto, None)).transpose()
    }

    /// What a Constant node holds.
    pub(in super::super) fn constant(&self) -> Result<Constant, String> {
        use crate::pipeline::infer::graph::constant::Int;

        if let Some(value) = self.tensor("value")? {
            return Ok(value);
        }
        let whole = |n: i64| Int::Is(n);
        if let Some(value) = self.find("value_float").and_then(|a| a.f) {
            return Ok(Constant::floats(vec![], vec![value]));
        }
        if let Some(value) = self.find("value_int").and_then(|a| a.i) {
            return Ok(Constant::ints(vec![], vec![whole(value)]));
        }
        if let Some(found) = self.find("value_floats") {
            return Ok(Constant::floats(vec![found.floats.len()], found.floats.clone()));
        }
        if let Some(found) = self.find("value_ints") {
            return Ok(Constant::ints(
                vec![found.ints.len()],
                found.ints.iter().copied().map(whole).collect(),
            ));
        }
        Err("it holds neither a tensor nor numbers".into())
    }
}
