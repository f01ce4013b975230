//! The values of all knobs together.

use serde::{Deserialize, Serialize, Serializer};

use super::{
    CACHES, DEVICES, FILTERS, GILS, KNOBS, KnobError, KnobId, KnobValue, LOCKS, MAX_THREADS,
    SCALED_DECODES, WORKS,
};

/// The values of all knobs, in the order of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct KnobValues(pub(super) [KnobValue; KNOBS.len()]);

impl KnobValues {
    /// The defaults for a machine of `cores` cores.
    pub fn defaults(cores: usize) -> Self {
        let threads = KnobValue::Int((cores as u64).clamp(1, MAX_THREADS));
        Self([
            KnobValue::Int(8),
            KnobValue::Millis(0.0),
            KnobValue::Rate(None),
            KnobValue::Choice(0, CACHES[0]),
            KnobValue::Int(64),
            threads,
            KnobValue::Choice(2, FILTERS[2]),
            KnobValue::Choice(0, SCALED_DECODES[0]),
            KnobValue::Choice(0, LOCKS[0]),
            KnobValue::Choice(0, GILS[0]),
            KnobValue::Millis(5.0),
            KnobValue::Number(10.0),
            KnobValue::Choice(0, WORKS[0]),
            KnobValue::Number(100.0),
            KnobValue::Int(4),
            KnobValue::Int(8),
            threads,
            KnobValue::Millis(50.0),
            KnobValue::Choice(0, DEVICES[0]),
        ])
    }

    /// One knob's value.
    pub fn get(&self, id: KnobId) -> KnobValue {
        self.0[id as usize]
    }

    /// Sets one knob.
    pub fn set(&mut self, id: KnobId, value: KnobValue) {
        self.0[id as usize] = value;
    }

    /// Sets a knob from a `NAME=VALUE` argument.
    ///
    /// # Errors
    /// Where the name, the value or the `=` is wrong; nothing is set then.
    pub fn set_from(&mut self, assignment: &str) -> Result<KnobId, KnobError> {
        let (name, value) =
            assignment.split_once('=').ok_or_else(|| KnobError::NoEquals(assignment.to_owned()))?;
        let id = KnobId::by_name(name.trim())?;
        self.set(id, id.spec().parse(value)?);
        Ok(id)
    }

    /// All knobs with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (KnobId, KnobValue)> + '_ {
        KnobId::all().map(|id| (id, self.get(id)))
    }
}

impl Serialize for KnobValues {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.iter().map(|(id, value)| (id.spec().name, value)))
    }
}

impl<'de> Deserialize<'de> for KnobValues {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let map = std::collections::BTreeMap::<String, serde_json::Value>::deserialize(d)?;
        let mut values = Self::defaults(1);
        for (name, value) in map {
            let text = match value {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            // A knob of another version: nothing here shows it.
            let Ok(id) = KnobId::by_name(&name) else { continue };
            values.set(id, id.spec().parse(&text).map_err(D::Error::custom)?);
        }
        Ok(values)
    }
}
