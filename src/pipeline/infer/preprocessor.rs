//! Hugging Face's `preprocessor_config.json`: how a model wants its pictures.

use serde_json::{Map, Value};
use std::path::Path;

use super::labels::read_text;
use super::model::ModelError;

/// What a `preprocessor_config.json` says, as far as it can be followed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreprocessorConfig {
    /// What is subtracted, on a scale of 0 to 255.
    pub mean: Option<[f32; 3]>,
    /// By what is divided, on a scale of 0 to 255.
    pub std: Option<[f32; 3]>,
    /// Side of the square that the model sees, in pixels.
    pub side: Option<u32>,
    /// Length to which the shorter side is resized, in pixels.
    pub short_side: Option<u32>,
    /// Whether all of the picture is resized to the square, whatever its shape.
    pub squash: bool,
    /// What is in the file and done otherwise here, a sentence each.
    pub notes: Vec<String>,
}

/// Reads `image_mean`, `image_std`, `do_normalize`, `do_rescale`, `rescale_factor`, `rescale_offset`,
/// `do_resize`, `size`, `do_center_crop`, `crop_size` and `crop_pct`; the filter (`resample`) is a knob
/// here, and a note says so. In a `processor_config.json` they stand under `image_processor`.
///
/// # Errors
/// Where the file cannot be read or a value in it not be used.
pub fn read_preprocessor(path: &Path) -> Result<PreprocessorConfig, ModelError> {
    let text = read_text(path)?;
    parse_preprocessor(&text)
        .map_err(|problem| ModelError::Preprocessor { file: path.to_owned(), problem })
}

/// As [`read_preprocessor`], from the file's text; the error is a sentence.
pub(super) fn parse_preprocessor(text: &str) -> Result<PreprocessorConfig, String> {
    let json: Value =
        serde_json::from_str(text).map_err(|error| format!("it is no valid JSON: {error}"))?;
    let top = json.as_object().ok_or("it is no JSON object")?;
    let map = top.get("image_processor").and_then(Value::as_object).unwrap_or(top);
    let mut config = PreprocessorConfig::default();
    normalising(map, &mut config)?;
    geometry(map, &mut config)?;
    if map.get("resample").is_some_and(|value| !value.is_null()) {
        config.notes.push(
            "resample is not followed: the filter is the knob preprocess.filter, bicubic at first"
                .into(),
        );
    }
    Ok(config)
}

/// There x·factor is normalised, here x: (x·f − m) / s = (x − m/f) / (s/f).
fn normalising(map: &Map<String, Value>, config: &mut PreprocessorConfig) -> Result<(), String> {
    let known = ["image_mean", "image_std", "do_normalize", "do_rescale", "rescale_factor"];
    if !known.iter().any(|key| map.contains_key(*key)) {
        return Ok(());
    }
    let mut factor = 1.0;
    if flag(map, "do_rescale")?.unwrap_or(true) {
        factor = number(map, "rescale_factor")?.unwrap_or(1.0 / 255.0);
        if !(factor.is_finite() && factor > 0.0) {
            return Err(format!("its rescale_factor is {factor}; it must be above 0"));
        }
    }
    let (mut mean, mut std) = (Some([0.0; 3]), Some([1.0; 3]));
    if flag(map, "do_normalize")?.unwrap_or(true) {
        (mean, std) = (channels(map, "image_mean")?, channels(map, "image_std")?);
    }
    if flag(map, "rescale_offset")?.unwrap_or(false) {
        mean = mean.map(|mean| mean.map(|m| m + 1.0));
    }
    if std.is_some_and(|std| std.iter().any(|&s| s <= 0.0)) {
        return Err("its image_std must be above 0".into());
    }
    let scaled = |values: [f64; 3]| values.map(|v| (v / factor) as f32);
    config.mean = mean.map(scaled);
    config.std = std.map(scaled);
    Ok(())
}

fn geometry(map: &Map<String, Value>, config: &mut PreprocessorConfig) -> Result<(), String> {
    let resized = match flag(map, "do_resize")? {
        Some(false) => None,
        _ => size(map, "size")?,
    };
    let crops = flag(map, "do_center_crop")?.unwrap_or(map.contains_key("crop_size"));
    let crop = if crops { size(map, "crop_size")? } else { None };
    let squashes = match (resized, crop) {
        (Some(Size::Square(short)), Some(crop)) => {
            (config.side, config.short_side) = (Some(crop.pixels()), Some(short));
            true
        }
        (Some(resized), Some(crop)) => {
            (config.side, config.short_side) = (Some(crop.pixels()), Some(resized.pixels()));
            false
        }
        (None, Some(crop)) => {
            config.side = Some(crop.pixels());
            false
        }
        // ConvNeXt: below 384 the shorter side is resized to edge / crop_pct, then cropped.
        (Some(Size::Edge(edge)), None) if map.contains_key("crop_pct") => {
            config.side = Some(edge);
            let share = number(map, "crop_pct")?.unwrap_or(1.0);
            if !(share > 0.1 && share <= 1.0) {
                return Err(format!("its crop_pct is {share}; it must be from 0.1 to 1"));
            }
            config.short_side =
                Some(if edge < 384 { (f64::from(edge) / share) as u32 } else { edge });
            edge >= 384
        }
        (Some(resized), None) => {
            (config.side, config.short_side) = (Some(resized.pixels()), Some(resized.pixels()));
            matches!(resized, Size::Square(_))
        }
        (None, None) => false,
    };
    config.squash = squashes && crop.is_none();
    if squashes && crop.is_some() {
        config.notes.push(
            "it squashes pictures to a square before it crops; here the shorter side is resized and the middle cut out"
                .into(),
        );
    }
    if let (Some(side), Some(short)) = (config.side, config.short_side)
        && short < side
    {
        return Err(format!("it resizes to {short} and crops {side}; the crop must not be larger"));
    }
    Ok(())
}

/// A size as Hugging Face writes it.
#[derive(Clone, Copy)]
enum Size {
    /// Of the shorter side.
    Edge(u32),
    /// Of both.
    Square(u32),
}

impl Size {
    const fn pixels(self) -> u32 {
        match self {
            Self::Edge(pixels) | Self::Square(pixels) => pixels,
        }
    }
}

fn size(map: &Map<String, Value>, key: &str) -> Result<Option<Size>, String> {
    let pixels = |value: &Value| {
        value
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .filter(|&n| n > 0)
            .ok_or_else(|| format!("its {key} has {value}, which is no number of pixels"))
    };
    let value = match map.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    let Some(parts) = value.as_object() else {
        // A bare number: the old way to write both sides, or with a crop the shorter one.
        let crops = map.get("crop_size").is_some_and(|crop| !crop.is_null());
        let n = pixels(value)?;
        return Ok(Some(if crops || map.contains_key("crop_pct") {
            Size::Edge(n)
        } else {
            Size::Square(n)
        }));
    };
    if let Some(edge) = parts.get("shortest_edge") {
        return Ok(Some(Size::Edge(pixels(edge)?)));
    }
    match (parts.get("height"), parts.get("width")) {
        (Some(height), Some(width)) if height == width => Ok(Some(Size::Square(pixels(height)?))),
        (Some(height), Some(width)) => {
            Err(format!("its {key} is {height} × {width}; pipetop feeds squares only"))
        }
        _ => Err(format!("its {key} has neither shortest_edge nor height and width: {value}")),
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(other) => Err(format!("its {key} is {other}, neither true nor false")),
    }
}

fn number(map: &Map<String, Value>, key: &str) -> Result<Option<f64>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_f64()
            .map(Some)
            .ok_or_else(|| format!("its {key} is {value}, which is no number")),
    }
}

fn channels(map: &Map<String, Value>, key: &str) -> Result<Option<[f64; 3]>, String> {
    let value = match map.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value,
    };
    if let Some(one) = value.as_f64() {
        return Ok(Some([one; 3]));
    }
    let numbers: Option<Vec<f64>> =
        value.as_array().and_then(|list| list.iter().map(Value::as_f64).collect());
    numbers
        .and_then(|list| <[f64; 3]>::try_from(list).ok())
        .map(Some)
        .ok_or_else(|| format!("its {key} is {value}; three numbers are wanted: red, green, blue"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Side and short side of a file, whether it squashes, and how many notes there are on it.
    fn geometry_of(text: &str) -> (Option<u32>, Option<u32>, bool, usize) {
        let config = parse_preprocessor(text).unwrap();
        (config.side, config.short_side, config.squash, config.notes.len())
    }

    #[test]
    fn every_way_to_write_a_size_is_followed() {
        for (text, expected) in [
            (r#"{"size": 224}"#, (Some(224), Some(224), true, 0)),
            (r#"{"size": {"height": 224, "width": 224}}"#, (Some(224), Some(224), true, 0)),
            (r#"{"size": {"shortest_edge": 224}}"#, (Some(224), Some(224), false, 0)),
            (
                r#"{"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}"#,
                (Some(224), Some(256), false, 0),
            ),
            (r#"{"size": 256, "crop_size": 224}"#, (Some(224), Some(256), false, 0)),
            (
                r#"{"size": 256, "do_center_crop": false, "crop_size": 224}"#,
                (Some(256), Some(256), false, 0),
            ),
            (
                r#"{"size": {"height": 256, "width": 256}, "do_center_crop": true, "crop_size": 224}"#,
                (Some(224), Some(256), false, 1),
            ),
            (
                r#"{"size": {"shortest_edge": 224}, "crop_pct": 0.875}"#,
                (Some(224), Some(256), false, 0),
            ),
            (
                r#"{"size": {"shortest_edge": 384}, "crop_pct": 0.875}"#,
                (Some(384), Some(384), true, 0),
            ),
            (r#"{"do_resize": false, "size": 99, "crop_size": 224}"#, (Some(224), None, false, 0)),
            (
                r#"{"image_processor": {"size": {"shortest_edge": 32}}}"#,
                (Some(32), Some(32), false, 0),
            ),
            (r#"{"resample": 3}"#, (None, None, false, 1)),
            ("{}", (None, None, false, 0)),
        ] {
            assert_eq!(geometry_of(text), expected, "{text}");
        }
    }

    fn normalising_of(text: &str) -> (Option<f32>, Option<f32>) {
        let config = parse_preprocessor(text).unwrap();
        let first = |values: Option<[f32; 3]>| values.map(|values| values[0]);
        (first(config.mean), first(config.std))
    }

    #[test]
    fn normalising_is_brought_to_the_scale_of_bytes() {
        let close = |text: &str, mean: f32, std: f32| {
            let (m, s) = normalising_of(text);
            let near = |a: Option<f32>, b: f32| a.is_some_and(|a| (a - b).abs() < 1e-3);
            assert!(near(m, mean) && near(s, std), "{text}: {m:?} {s:?}");
        };
        let half = r#""image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]"#;
        close(&format!("{{{half}}}"), 127.5, 63.75);
        close(&format!("{{{half}, \"rescale_factor\": 0.5}}"), 1.0, 0.5);
        close(&format!("{{{half}, \"do_rescale\": false}}"), 0.5, 0.25);
        close(&format!("{{{half}, \"do_normalize\": false}}"), 0.0, 255.0);
        close(
            r#"{"rescale_factor": 0.00784313725490196, "rescale_offset": true, "do_normalize": false}"#,
            127.5,
            127.5,
        );
        close(r#"{"image_mean": 0.5, "image_std": 0.5}"#, 127.5, 127.5);
        assert_eq!(normalising_of(r#"{"size": 224}"#), (None, None));
        assert_eq!(normalising_of(r#"{"do_normalize": true}"#), (None, None));
    }

    #[test]
    fn bad_files_say_what_is_wrong() {
        for (text, part) in [
            ("", "no valid JSON"),
            ("[]", "no JSON object"),
            (r#"{"image_mean": [0.5]}"#, "image_mean"),
            (r#"{"image_std": [0.5, 0, 0.5]}"#, "image_std must be above 0"),
            (r#"{"image_mean": "x"}"#, "three numbers"),
            (r#"{"rescale_factor": 0}"#, "rescale_factor"),
            (r#"{"do_resize": 1}"#, "do_resize"),
            (r#"{"size": -3}"#, "size has -3"),
            (r#"{"size": {"longest_edge": 3}}"#, "neither shortest_edge"),
            (r#"{"size": {"height": 3, "width": 4}}"#, "3 × 4"),
            (r#"{"size": {"shortest_edge": 128}, "crop_size": 224}"#, "crop must not be larger"),
            (r#"{"size": 224, "crop_pct": 0}"#, "crop_pct"),
        ] {
            let error = parse_preprocessor(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
