//! Differences of two CBOR values: what changed, and nothing else.
//!
//! | before | after | difference |
//! |---|---|---|
//! | whole number | whole number | the number to add |
//! | map | map | a map of what differs; a key that is gone has the tag [`GONE`] |
//! | list | list no shorter | a map from place to what differs, new items whole |
//! | anything | anything else | the value itself, under the tag [`WHOLE`] where it could be mistaken |

use ciborium::Value;
use ciborium::value::Integer;

/// The tag of a value that stands for itself.
pub const WHOLE: u64 = 0x7074_0001;
/// The tag of a key that is no longer there.
pub const GONE: u64 = 0x7074_0002;

/// A difference that does not fit what it is applied to: the stream is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a difference does not fit the snapshot before it")]
pub struct Misfit;

/// What turns `old` into `new`; `None` where they are the same.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Integer(old), Value::Integer(new)) => {
            let by = i128::from(*new) - i128::from(*old);
            // Two numbers of 64 bits may be further apart than CBOR has numbers for.
            let by = (by != 0).then_some(by)?;
            Some(
                Integer::try_from(by).map_or_else(|_| whole(&Value::Integer(*new)), Value::Integer),
            )
        }
        (Value::Map(old), Value::Map(new)) => maps(old, new),
        (Value::Array(old), Value::Array(new)) if old.len() <= new.len() => lists(old, new),
        _ if old == new => None,
        _ => Some(whole(new)),
    }
}

fn whole(value: &Value) -> Value {
    match value {
        Value::Integer(_) | Value::Map(_) | Value::Array(_) | Value::Tag(..) => {
            Value::Tag(WHOLE, Box::new(value.clone()))
        }
        plain => plain.clone(),
    }
}

type Pairs = [(Value, Value)];

fn maps(old: &Pairs, new: &Pairs) -> Option<Value> {
    let mut changed = Vec::new();
    let mut matched = 0;
    // Keys come in one order, but for those that are new or gone: the next is mostly the next.
    let mut next = 0;
    for (key, value) in new {
        let place = if old.get(next).is_some_and(|(k, _)| k == key) {
            Some(next)
        } else {
            old.iter().position(|(k, _)| k == key)
        };
        match place {
            Some(place) => {
                (next, matched) = (place + 1, matched + 1);
                changed.extend(difference(&old[place].1, value).map(|by| (key.clone(), by)));
            }
            None => changed.push((key.clone(), whole(value))),
        }
    }
    if matched < old.len() {
        let gone = old.iter().filter(|(key, _)| !new.iter().any(|(k, _)| k == key));
        let gone = gone.map(|(key, _)| (key.clone(), Value::Tag(GONE, Box::new(Value::Null))));
        changed.extend(gone);
    }
    (!changed.is_empty()).then_some(Value::Map(changed))
}

fn lists(old: &[Value], new: &[Value]) -> Option<Value> {
    let mut changed = Vec::new();
    for (place, value) in new.iter().enumerate() {
        let by = match old.get(place) {
            Some(old) => difference(old, value),
            None => Some(whole(value)),
        };
        changed.extend(by.map(|by| (Value::from(place as u64), by)));
    }
    (!changed.is_empty()).then_some(Value::Map(changed))
}

/// Turns `value` into what it was when the difference was taken.
///
/// # Errors
/// Where the difference was taken to something else.
pub fn apply(value: &mut Value, by: Value) -> Result<(), Misfit> {
    match (&mut *value, by) {
        (_, Value::Tag(WHOLE, new)) => *value = *new,
        (Value::Integer(old), Value::Integer(by)) => {
            let sum = i128::from(*old) + i128::from(by);
            *old = Integer::try_from(sum).map_err(|_| Misfit)?;
        }
        (Value::Map(old), Value::Map(changed)) => {
            for (key, by) in changed {
                change(old, key, by)?;
            }
        }
        (Value::Array(old), Value::Map(changed)) => {
            for (place, by) in changed {
                let place = place.as_integer().and_then(|place| usize::try_from(place).ok());
                let place = place.ok_or(Misfit)?;
                if place == old.len() {
                    old.push(unwrapped(by)?);
                } else {
                    apply(old.get_mut(place).ok_or(Misfit)?, by)?;
                }
            }
        }
        (_, Value::Integer(_) | Value::Map(_) | Value::Array(_) | Value::Tag(..)) => {
            return Err(Misfit);
        }
        (_, plain) => *value = plain,
    }
    Ok(())
}

fn change(map: &mut Vec<(Value, Value)>, key: Value, by: Value) -> Result<(), Misfit> {
    let place = map.iter().position(|(k, _)| *k == key);
    match (place, by) {
        (Some(place), Value::Tag(GONE, _)) => drop(map.remove(place)),
        (Some(place), by) => apply(&mut map[place].1, by)?,
        (None, by) => map.push((key, unwrapped(by)?)),
    }
    Ok(())
}

/// A new item.
fn unwrapped(by: Value) -> Result<Value, Misfit> {
    match by {
        Value::Tag(WHOLE, value) => Ok(*value),
        Value::Integer(_) | Value::Map(_) | Value::Array(_) | Value::Tag(..) => Err(Misfit),
        plain => Ok(plain),
    }
}

#[cfg(test)]
mod tests {
    use ciborium::cbor;
    use proptest::prelude::*;

    use super::*;

    /// Map keys in one order: what they are is told by their names.
    fn sorted(value: &mut Value) {
        match value {
            Value::Map(map) => {
                for (_, value) in map.iter_mut() {
                    sorted(value);
                }
                map.sort_by_key(|(key, _)| format!("{key:?}"));
            }
            Value::Array(list) => list.iter_mut().for_each(sorted),
            _ => {}
        }
    }

    fn back(old: &Value, new: &Value) {
        let mut value = old.clone();
        match difference(old, new) {
            Some(by) => apply(&mut value, by).unwrap(),
            None => assert_eq!(old, new),
        }
        let mut new = new.clone();
        sorted(&mut value);
        sorted(&mut new);
        assert_eq!(value, new);
    }

    #[test]
    fn only_what_changed_is_in_a_difference() {
        let old = cbor!({ "a" => 5, "b" => [1, 2], "c" => "x", "d" => 1.5 }).unwrap();
        let new = cbor!({ "a" => 7, "b" => [1, 2, 9], "c" => "x", "e" => null }).unwrap();
        let by = difference(&old, &new).unwrap();
        let Value::Map(by_keys) = &by else { panic!("{by:?}") };
        let keys: Vec<_> = by_keys.iter().map(|(key, _)| key.as_text().unwrap()).collect();
        assert_eq!(keys, ["a", "b", "e", "d"]);
        assert_eq!(by_keys[0].1, Value::from(2));
        back(&old, &new);
        assert_eq!(difference(&new, &new), None);
    }

    #[test]
    fn the_largest_numbers_come_back() {
        for (old, new) in [(0, u64::MAX), (u64::MAX, 0), (1 << 63, 3)] {
            back(&Value::from(old), &Value::from(new));
        }
        back(&Value::from(-5), &Value::from(u64::MAX));
        back(&Value::from(u64::MAX), &Value::from(i64::MIN));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for by in [cbor!({ "a" => 1 }), cbor!([1])] {
            assert_eq!(apply(&mut Value::from("text"), by.unwrap()), Err(Misfit));
        }
        let mut list = cbor!([1, 2]).unwrap();
        assert_eq!(apply(&mut list, cbor!({ 9 => 1 }).unwrap()), Err(Misfit));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (0..9u64).prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::Float),
            "[a-c]{0,2}".prop_map(Value::from),
            (0..3u64).prop_map(|n| Value::Tag(WHOLE, Box::new(n.into()))),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            let keys = prop_oneof!["[a-e]".prop_map(Value::from), (0..6u64).prop_map(Value::from)];
            let maps = prop::collection::vec((keys, inner.clone()), 0..5).prop_map(|pairs| {
                let mut map: Vec<(Value, Value)> = Vec::new();
                for (key, value) in pairs {
                    if !map.iter().any(|(k, _)| *k == key) {
                        map.push((key, value));
                    }
                }
                Value::Map(map)
            });
            prop_oneof![prop::collection::vec(inner, 0..5).prop_map(Value::Array), maps]
        })
    }

    proptest! {
        #[test]
        fn any_value_comes_back_from_its_difference_to_any_other(old in values(), new in values()) {
            back(&old, &new);
        }
    }
}
