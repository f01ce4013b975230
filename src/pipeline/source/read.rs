//! Reading one file into a buffer that is kept.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::pipeline::failure::{ImageError, Reason};

/// Bytes that one file may have: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;

/// Reads the whole file into `buffer`, whose earlier content is dropped and whose room is reused.
///
/// Pipes, sockets and devices are not opened: a pipe would block for ever.
///
/// # Errors
/// `not-found`, `unreadable`, `not-a-file`, `empty`, or `too-large` for more than `limit` bytes.
pub fn read_file(path: &Path, buffer: &mut Vec<u8>, limit: u64) -> Result<(), ImageError> {
    buffer.clear();
    let meta = fs::metadata(path).map_err(|error| from_io(&error))?;
    if !meta.is_file() {
        return Err(ImageError::new(Reason::NotAFile, kind_of(&meta)));
    }
    let too_large = |length: u64| {
        ImageError::new(
            Reason::TooLarge,
            format!("{length} bytes is more than the limit of {limit} a file"),
        )
    };
    if meta.len() > limit {
        return Err(too_large(meta.len()));
    }
    let file = File::open(path).map_err(|error| from_io(&error))?;
    // One byte more shows that there is no more.
    let wanted = usize::try_from(meta.len()).unwrap_or(usize::MAX).saturating_add(1);
    buffer.try_reserve(wanted).map_err(|_| too_large(meta.len()))?;
    let read = file.take(limit.saturating_add(1)).read_to_end(buffer);
    let read = read.map_err(|error| from_io(&error))? as u64;
    if read > limit {
        return Err(too_large(read));
    }
    if read == 0 {
        return Err(ImageError::new(Reason::Empty, "the file has no bytes"));
    }
    Ok(())
}

fn from_io(error: &io::Error) -> ImageError {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => Reason::NotFound,
        io::ErrorKind::IsADirectory => Reason::NotAFile,
        _ => Reason::Unreadable,
    };
    ImageError::new(reason, error.to_string())
}

fn kind_of(meta: &fs::Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = meta.file_type();
    if kind.is_dir() {
        "it is a folder"
    } else if kind.is_fifo() {
        "it is a pipe"
    } else if kind.is_socket() {
        "it is a socket"
    } else {
        "it is a device"
    }
}
