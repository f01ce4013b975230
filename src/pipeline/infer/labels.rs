//! Names of classes, from a file.

use serde_json::Value;
use std::path::Path;

use super::model::ModelError;

/// More is no list of class names.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the names of `classes` classes: a text file with one name a line, a JSON array of names, a
/// JSON map from index to name (`{"0": "tench", …}`; of an array as name, the last entry counts, as in
/// `["n01440764", "tench"]`), or a Hugging Face `config.json` with such a map as `id2label`.
///
/// # Errors
/// Where the file cannot be read or understood, or has another number of names.
pub fn read_labels(path: &Path, classes: usize) -> Result<Vec<String>, ModelError> {
    let text = read_text(path)?;
    let names = parse_labels(&text).map_err(|problem| bad(path, problem))?;
    if names.len() == classes {
        Ok(names)
    } else {
        Err(bad(
            path,
            format!(
                "it has {} names, where the model has {classes} classes; give the list that belongs to the model",
                names.len()
            ),
        ))
    }
}

fn bad(path: &Path, problem: String) -> ModelError {
    ModelError::Labels { file: path.to_owned(), problem }
}

/// A small text file, without a byte-order mark.
pub(super) fn read_text(path: &Path) -> Result<String, ModelError> {
    let unreadable = |source| ModelError::Unreadable { file: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_BYTES {
        return Err(unreadable(std::io::Error::other(format!(
            "{} MiB are too much for a list of names or settings",
            size >> 20
        ))));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Names by index from a text as [`read_labels`] takes it; the error is a sentence.
pub(super) fn parse_labels(text: &str) -> Result<Vec<String>, String> {
    let start = text.trim_start();
    if start.starts_with('{') || start.starts_with('[') {
        let json: Value =
            serde_json::from_str(text).map_err(|error| format!("it is no valid JSON: {error}"))?;
        return from_json(&json);
    }
    let names: Vec<_> = text.trim_end().lines().map(|line| line.trim().to_owned()).collect();
    match names.iter().position(String::is_empty) {
        _ if names.is_empty() => Err("it is empty; write one class name a line".into()),
        Some(line) => Err(format!("line {} is empty; write one class name a line", line + 1)),
        None => Ok(names),
    }
}

fn from_json(json: &Value) -> Result<Vec<String>, String> {
    match json {
        Value::Array(names) => names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                name_of(name).ok_or_else(|| format!("entry {index} is no name: {name}"))
            })
            .collect(),
        Value::Object(map) => match map.get("id2label") {
            Some(Value::Object(inner)) => from_map(inner),
            Some(_) => Err("its id2label is no map from index to name".into()),
            None => from_map(map),
        },
        _ => Err("it is neither a JSON array nor a map".into()),
    }
}

fn from_map(map: &serde_json::Map<String, Value>) -> Result<Vec<String>, String> {
    (0..map.len())
        .map(|index| {
            let name = map.get(&index.to_string()).ok_or_else(|| {
                format!(
                    "it is a map of {} entries without \"{index}\"; wanted are \"0\", \"1\", … or id2label",
                    map.len()
                )
            })?;
            name_of(name).ok_or_else(|| format!("entry \"{index}\" is no name: {name}"))
        })
        .collect()
}

fn name_of(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Array(parts) => parts.last().and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_gives_the_same_names() {
        for text in [
            "tench\ngoldfish\n",
            "tench\r\n goldfish \r\n\r\n",
            r#"["tench", "goldfish"]"#,
            r#" {"1": "goldfish", "0": "tench"}"#,
            r#"{"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"]}"#,
            r#"{"model_type": "vit", "id2label": {"0": "tench", "1": "goldfish"}}"#,
        ] {
            assert_eq!(parse_labels(text).unwrap(), ["tench", "goldfish"], "{text}");
        }
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        for (text, part) in [
            ("", "empty"),
            ("a\n\nb", "line 2 is empty"),
            ("[1, 2]", "entry 0 is no name"),
            ("[\"a\"", "no valid JSON"),
            (r#"{"0": "a", "2": "c"}"#, "without \"1\""),
            (r#"{"architectures": []}"#, "id2label"),
            (r#"{"id2label": 3}"#, "id2label"),
        ] {
            let error = parse_labels(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
