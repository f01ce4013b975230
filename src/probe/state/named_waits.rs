//! [`Waits`] in files: by name, so that a wait more or less in another version does no harm.

use serde::de::{Deserialize, Deserializer};
use serde::ser::Serializer;
use std::collections::BTreeMap;

use super::{Nanos, Wait, Waits};

/// Writes the waits by name.
///
/// # Errors
/// Where the serialiser fails.
pub fn serialize<S: Serializer>(waits: &Waits, s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(Wait::ALL.iter().map(|&wait| (wait.name(), waits[wait as usize])))
}

/// Reads the waits that are known here.
///
/// # Errors
/// Where there is no map from names to nanoseconds.
pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Waits, D::Error> {
    let named = BTreeMap::<String, Nanos>::deserialize(d)?;
    Ok(Wait::ALL.map(|wait| named.get(wait.name()).copied().unwrap_or(0)))
}

/// The same where the waits may be missing.
pub mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Waits;

    #[derive(Serialize, Deserialize)]
    struct Named(#[serde(with = "super")] Waits);

    /// Writes the waits by name, if there are any.
    ///
    /// # Errors
    /// Where the serialiser fails.
    pub fn serialize<S: Serializer>(waits: &Option<Waits>, s: S) -> Result<S::Ok, S::Error> {
        waits.map(Named).serialize(s)
    }

    /// Reads the waits, if there are any.
    ///
    /// # Errors
    /// Where there is something else.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Waits>, D::Error> {
        Ok(Option::<Named>::deserialize(d)?.map(|Named(waits)| waits))
    }
}
