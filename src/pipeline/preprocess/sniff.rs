//! What a file is, by its first bytes.

use image::ImageFormat;

use crate::pipeline::failure::{ImageError, Reason};

/// Formats that are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG: baseline, extended and progressive, 8 bit.
    Jpeg,
    /// PNG; of an animated one the default image.
    Png,
    /// WebP; of an animated one the first frame.
    WebP,
    /// GIF, first frame.
    Gif,
    /// Windows bitmap.
    Bmp,
    /// TIFF, first page.
    Tiff,
}

impl Format {
    /// Its usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
        }
    }

    pub(super) const fn in_image_crate(self) -> ImageFormat {
        match self {
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Png => ImageFormat::Png,
            Self::WebP => ImageFormat::WebP,
            Self::Gif => ImageFormat::Gif,
            Self::Bmp => ImageFormat::Bmp,
            Self::Tiff => ImageFormat::Tiff,
        }
    }
}

/// First bytes of formats that are decoded.
const DECODED: &[(&[u8], Format)] = &[
    (b"\xff\xd8\xff", Format::Jpeg),
    (b"\x89PNG\r\n\x1a\n", Format::Png),
    (b"GIF87a", Format::Gif),
    (b"GIF89a", Format::Gif),
    (b"II*\0", Format::Tiff),
    (b"MM\0*", Format::Tiff),
];

/// First bytes of images that are known by name only.
const IMAGES: &[(&[u8], &str)] = &[
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"8BPS", "Photoshop"),
    (b"\0\0\x01\0", "icon"),
    (b"\x76\x2f\x31\x01", "OpenEXR"),
    (b"#?RADIANCE", "Radiance HDR"),
    (b"qoif", "QOI"),
    (b"DDS ", "DirectDraw surface"),
    (b"II+\0", "BigTIFF"),
    (b"MM\0+", "BigTIFF"),
    (b"gimp xcf", "GIMP"),
    (b"%PDF", "PDF"),
    (b"%!PS", "PostScript"),
    (b"FUJIFILMCCD-RAW", "raw camera"),
    (b"farbfeld", "farbfeld"),
];

/// First bytes of what is no image.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ID3", "an audio file"),
    (b"OggS", "an Ogg file"),
    (b"\x1a\x45\xdf\xa3", "a Matroska file"),
];

/// The format of `bytes`, by content alone.
///
/// # Errors
/// `empty`, `unsupported` with the format's name, or `not-an-image` with what it looks like.
pub fn sniff(bytes: &[u8]) -> Result<Format, ImageError> {
    if bytes.is_empty() {
        return Err(ImageError::new(Reason::Empty, "the file has no bytes"));
    }
    if let Some(&(_, format)) = DECODED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Ok(format);
    }
    if bytes.starts_with(b"RIFF") {
        return match bytes.get(8..12) {
            Some(b"WEBP") => Ok(Format::WebP),
            Some(kind) => Err(no_image(&format!("a RIFF file of kind `{}`", printable(kind)))),
            None => Err(ImageError::new(Reason::Truncated, "a RIFF header, cut off")),
        };
    }
    // "BM" alone is too little: two reserved words are zero, and a known header size follows.
    if bytes.starts_with(b"BM")
        && bytes.get(6..10).is_none_or(|reserved| reserved == [0; 4])
        && bytes.get(15..18).is_none_or(|high| high == [0; 3])
    {
        return Ok(Format::Bmp);
    }
    if let Some(name) = named_image(bytes) {
        return Err(ImageError::new(
            Reason::Unsupported,
            format!("{name} is not decoded here: convert it to JPEG, PNG, WebP, GIF, BMP or TIFF"),
        ));
    }
    if let Some((_, name)) = OTHERS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(no_image(name));
    }
    // A file cut within its signature, as a full disk leaves it.
    let cut = |magic: &[u8]| magic.starts_with(bytes);
    if let Some((_, format)) = DECODED.iter().find(|(magic, _)| cut(magic)) {
        let detail = format!("{} bytes, which might begin a {}", bytes.len(), format.name());
        return Err(ImageError::new(Reason::Truncated, detail));
    }
    Err(no_image(&looks_like(bytes)))
}

fn no_image(what: &str) -> ImageError {
    ImageError::new(Reason::NotAnImage, format!("it looks like {what}"))
}

fn named_image(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = IMAGES.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(name);
    }
    // ISO media files name their brand after "ftyp".
    if bytes.get(4..8) == Some(b"ftyp") {
        return match bytes.get(8..12)? {
            b"avif" | b"avis" => Some("AVIF"),
            b"heic" | b"heix" | b"hevc" | b"heim" | b"heis" | b"mif1" | b"msf1" => Some("HEIC"),
            b"crx " => Some("raw camera"),
            _ => None,
        };
    }
    if bytes.len() > 2
        && bytes[0] == b'P'
        && matches!(bytes[1], b'1'..=b'7')
        && bytes[2].is_ascii_whitespace()
    {
        return Some("Netpbm");
    }
    let head = &bytes[..bytes.len().min(1024)];
    let svg = head.windows(4).any(|w| w.eq_ignore_ascii_case(b"<svg"));
    (svg && head.trim_ascii_start().starts_with(b"<")).then_some("SVG")
}

fn looks_like(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(512)];
    if bytes.get(4..8) == Some(b"ftyp") {
        return "a video or audio file".to_owned();
    }
    if head.iter().all(|&b| b == 0) {
        return "zeros".to_owned();
    }
    // A cut may split the last character.
    let text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    let control = |b: &u8| b.is_ascii_control() && !b.is_ascii_whitespace() && *b != 0x1b;
    if !text || head.iter().any(control) {
        let shown: Vec<_> = head.iter().take(4).map(|b| format!("{b:02x}")).collect();
        return format!("unknown binary data (begins with {})", shown.join(" "));
    }
    let start = head.trim_ascii_start();
    if start.len() >= 5
        && (start[..5].eq_ignore_ascii_case(b"<html") || start[..5].eq_ignore_ascii_case(b"<!doc"))
    {
        return "a web page".to_owned();
    }
    format!("text (`{}`…)", printable(&start[..start.len().min(24)]))
}

/// Bytes as one line of text that is safe on a terminal.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim_end_matches('\u{fffd}')
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>()
        .trim_end()
        .to_owned()
}
