//! Constants: what the file holds, as f32 or as whole numbers, of which one kind is "the batch".

use rten_onnx::onnx::{DataLocation, DataType, TensorProto};
use std::path::Path;
use std::rc::Rc;

/// A whole number of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int {
    /// A number.
    Is(i64),
    /// However many images a batch has.
    Batch,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Floats(Rc<Vec<f32>>),
    Ints(Rc<Vec<Int>>),
}

/// A tensor that is known before any picture is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constant {
    pub(super) dims: Vec<usize>,
    pub(super) data: Data,
}

impl Constant {
    pub(super) fn floats(dims: Vec<usize>, data: Vec<f32>) -> Self {
        Self { dims, data: Data::Floats(Rc::new(data)) }
    }

    pub(super) fn ints(dims: Vec<usize>, data: Vec<Int>) -> Self {
        Self { dims, data: Data::Ints(Rc::new(data)) }
    }

    pub(super) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    pub(super) fn as_floats(&self) -> Option<&[f32]> {
        match &self.data {
            Data::Floats(data) => Some(data),
            Data::Ints(_) => None,
        }
    }

    pub(super) fn as_ints(&self) -> Option<&[Int]> {
        match &self.data {
            Data::Ints(data) => Some(data),
            Data::Floats(_) => None,
        }
    }

    /// Its whole numbers, where none is the batch.
    pub(super) fn known_ints(&self) -> Option<Vec<i64>> {
        let known = |int: &Int| match int {
            Int::Is(n) => Some(*n),
            Int::Batch => None,
        };
        self.as_ints()?.iter().map(known).collect()
    }

    /// Its only value, as a float.
    pub(super) fn scalar(&self) -> Option<f32> {
        match &self.data {
            Data::Floats(data) => match ***data {
                [one] => Some(one),
                _ => None,
            },
            Data::Ints(data) => match ***data {
                [Int::Is(one)] => Some(one as f32),
                _ => None,
            },
        }
    }

    /// Decodes a tensor of the file. `folder` is where weights outside of the file are looked for.
    pub(super) fn decode(proto: &TensorProto, folder: Option<&Path>) -> Result<Self, String> {
        let dims: Option<Vec<usize>> =
            proto.dims.iter().map(|&d| usize::try_from(d).ok()).collect();
        let dims = dims.ok_or("it has a negative size")?;
        let count =
            dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)).ok_or("it is too large")?;
        let external;
        let held;
        let raw: Option<&[u8]> = if proto.data_location == Some(DataLocation::EXTERNAL) {
            external = read_external(proto, folder)?;
            Some(&external)
        } else {
            held = proto.raw_data.as_ref().map(|raw| raw.borrow());
            held.as_deref().map(Vec::as_slice).filter(|raw| !raw.is_empty())
        };
        let typed = proto.data_type.unwrap_or(DataType(0));
        let data = match typed {
            DataType::FLOAT => Self::floats(
                dims,
                raw.map_or_else(
                    || proto.float_data.clone(),
                    |raw| numbers(raw, f32::from_le_bytes),
                ),
            ),
            DataType::DOUBLE => Self::floats(
                dims,
                raw.map_or_else(
                    || proto.double_data.clone(),
                    |raw| numbers(raw, f64::from_le_bytes),
                )
                .into_iter()
                .map(|value| value as f32)
                .collect(),
            ),
            DataType::FLOAT16 | DataType::BFLOAT16 => {
                let bits = raw.map_or_else(
                    || proto.int32_data.iter().map(|&bits| bits as u16).collect(),
                    |raw| numbers(raw, u16::from_le_bytes),
                );
                let wide = if typed == DataType::FLOAT16 { half } else { brain };
                Self::floats(dims, bits.into_iter().map(wide).collect())
            }
            DataType::INT64 => Self::ints(
                dims,
                raw.map_or_else(
                    || proto.int64_data.clone(),
                    |raw| numbers(raw, i64::from_le_bytes),
                )
                .into_iter()
                .map(Int::Is)
                .collect(),
            ),
            DataType::INT32 => Self::ints(
                dims,
                raw.map_or_else(
                    || proto.int32_data.clone(),
                    |raw| numbers(raw, i32::from_le_bytes),
                )
                .into_iter()
                .map(|value| Int::Is(value.into()))
                .collect(),
            ),
            DataType::BOOL => Self::ints(
                dims,
                raw.map_or_else(
                    || proto.int32_data.iter().map(|&value| Int::Is(value.into())).collect(),
                    |raw| raw.iter().map(|&value| Int::Is(value.into())).collect(),
                ),
            ),
            other => {
                return Err(format!(
                    "it is of type {other}; float, float16 and whole numbers are taken"
                ));
            }
        };
        let have = match &data.data {
            Data::Floats(data) => data.len(),
            Data::Ints(data) => data.len(),
        };
        if have != count {
            return Err(format!(
                "it holds {have} values, where its shape {:?} has {count}",
                data.dims
            ));
        }
        Ok(data)
    }
}

fn numbers<const N: usize, T>(raw: &[u8], read: fn([u8; N]) -> T) -> Vec<T> {
    raw.as_chunks::<N>().0.iter().map(|&bytes| read(bytes)).collect()
}

/// IEEE 754 half precision.
pub(super) fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 31;
    let fraction = u32::from(bits) & 0x3ff;
    match exponent {
        0 => {
            let value = fraction as f32 / f32::from(1_u16 << 14) / 1024.0;
            if sign == 0 { value } else { -value }
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | (fraction << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13)),
    }
}

/// bfloat16: the upper half of an f32.
fn brain(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Weights in a file beside the model.
fn read_external(proto: &TensorProto, folder: Option<&Path>) -> Result<Vec<u8>, String> {
    use std::io::{Read, Seek, SeekFrom};

    let entry = |key: &str| {
        let found = proto.external_data.iter().find(|entry| entry.key.as_deref() == Some(key));
        found.and_then(|entry| entry.value.clone())
    };
    let number = |key: &str| {
        entry(key).map(|text| text.parse::<u64>().map_err(|_| format!("its {key} is no number")))
    };
    let location =
        entry("location").ok_or("it lies outside of the file, which does not say where")?;
    let folder = folder.ok_or("it lies in another file, where the model has no folder")?;
    let plain = Path::new(&location)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    if !plain {
        return Err(format!("it lies in `{location}`, outside of the model's folder"));
    }
    let name = location.clone();
    let problem =
        |error: std::io::Error| format!("`{name}`, which holds it, cannot be read: {error}");
    let mut file = std::fs::File::open(folder.join(location)).map_err(problem)?;
    if let Some(offset) = number("offset").transpose()? {
        file.seek(SeekFrom::Start(offset)).map_err(problem)?;
    }
    let mut bytes = Vec::new();
    match number("length").transpose()? {
        Some(length) => file.take(length).read_to_end(&mut bytes),
        None => file.read_to_end(&mut bytes),
    }
    .map_err(problem)?;
    Ok(bytes)
}
