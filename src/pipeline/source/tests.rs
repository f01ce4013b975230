use super::*;
use crate::pipeline::failure::Reason;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

fn bytes_of(source: &Source, index: usize) -> Arc<[u8]> {
    match source.entry(index) {
        Entry::Memory(bytes) => Arc::clone(bytes),
        Entry::File(path) => panic!("{} is a file", path.display()),
    }
}

/// FNV-1a, 64 bit.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn synthetic_images_are_the_same_bytes_everywhere() {
    let source = Source::synthetic(7, 4).unwrap();
    assert_eq!(source.name(3), "synthetic-003-375x500");
    let hashes: Vec<_> = (0..4).map(|i| hash(&bytes_of(&source, i))).collect();
    assert_eq!(hashes, [0, 0, 0, 0], "{hashes:#x?}");
    let more = Source::synthetic(7, 6).unwrap();
    assert_eq!(bytes_of(&more, 2), bytes_of(&source, 2), "an image depends on no other");
    let other = Source::synthetic(8, 1).unwrap();
    assert_ne!(bytes_of(&other, 0), bytes_of(&source, 0));
}

#[test]
#[ignore = "writes the pictures for people to look at"]
fn write_synthetic_images() {
    let folder = std::env::temp_dir().join("pipetop-synthetic");
    fs::create_dir_all(&folder).unwrap();
    let started = std::time::Instant::now();
    let source = Source::synthetic(DEFAULT_SEED, DEFAULT_COUNT).unwrap();
    println!("{} ms", started.elapsed().as_millis());
    let mut total = 0.0;
    for index in 0..source.len() {
        let bytes = bytes_of(&source, index);
        let name = source.name(index);
        let (w, h) = name.rsplit('-').next().unwrap().split_once('x').unwrap();
        let area = w.parse::<f64>().unwrap() * h.parse::<f64>().unwrap();
        total += bytes.len() as f64 / area;
        println!("{name} {} bytes, {:.3} a pixel", bytes.len(), bytes.len() as f64 / area);
        fs::write(folder.join(format!("{name}.jpg")), &bytes).unwrap();
    }
    println!("mean {:.3} bytes a pixel", total / source.len() as f64);
}
