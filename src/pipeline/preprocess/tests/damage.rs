use super::*;
use proptest::prelude::*;

fn reason(bytes: &[u8]) -> &'static str {
    small(bytes).map_or_else(|error| error.reason(), |_| "fine")
}

#[test]
fn a_jpeg_that_is_cut_anywhere_is_truncated() {
    let flat = RgbImage::from_pixel(64, 64, image::Rgb([200, 200, 200]));
    let files = [
        ("photo", OTTER.to_vec()),
        ("small", jpeg_of(&picture(61, 47), |_| {})),
        ("progressive", jpeg_of(&picture(61, 47), |e| e.set_progressive(true))),
        ("restarts", jpeg_of(&picture(61, 47), |e| e.set_restart_interval(2))),
        ("flat", jpeg_of(&flat, |_| {})),
    ];
    for (what, jpeg) in files {
        assert_eq!(reason(&jpeg), "fine", "{what}");
        let step = (jpeg.len() / 60).max(1);
        // What is left of a scan's last byte may be padding, hence not the very end.
        for length in (1..jpeg.len() - 4).step_by(step) {
            assert_eq!(reason(&jpeg[..length]), "truncated", "{what}: {length} of {}", jpeg.len());
        }
    }
}

#[test]
fn a_whole_scan_is_fine_whatever_follows_it() {
    let restarts = jpeg_of(&picture(61, 47), |e| e.set_restart_interval(2));
    let progressive = jpeg_of(&picture(61, 47), |e| e.set_progressive(true));
    for jpeg in [WREN, OTTER, &restarts, &progressive] {
        let expected = small(jpeg).unwrap();
        let bare = &jpeg[..jpeg.len() - 2];
        for bytes in [
            bare.to_vec(),
            jpeg[..jpeg.len() - 1].to_vec(),
            [jpeg, &[0; 1000]].concat(),
            [jpeg, b"trailing words"].concat(),
            [jpeg, jpeg].concat(),
        ] {
            assert_eq!(small(&bytes).as_ref(), Ok(&expected), "{} bytes", bytes.len());
        }
    }
}

#[test]
fn a_progressive_jpeg_without_its_last_scans_is_truncated() {
    let jpeg = jpeg_of(&picture(61, 47), |e| e.set_progressive(true));
    let scans: Vec<_> = (0..jpeg.len() - 1).filter(|&i| jpeg[i..i + 2] == [0xff, 0xda]).collect();
    assert!(scans.len() > 4);
    for cut in &scans[1..] {
        assert_eq!(reason(&jpeg[..*cut]), "truncated");
    }
}

#[test]
fn the_last_bytes_of_flat_pictures_do_not_mislead() {
    let flat = RgbImage::from_pixel(640, 64, image::Rgb([255, 255, 255]));
    let jpeg = jpeg_of(&flat, |e| e.set_sampling_factor(SamplingFactor::F_2_2));
    assert_eq!(reason(&jpeg[..jpeg.len() - 2]), "fine");
}

#[test]
fn damaged_jpegs_are_corrupt() {
    let jpeg = jpeg_of(&picture(61, 47), |_| {});
    let at = |code: u8| jpeg.windows(2).position(|pair| pair == [0xff, code]).unwrap();
    // Huffman tables that name more codes than fit.
    let mut tables = jpeg.clone();
    tables[at(0xc4) + 5..at(0xc4) + 21].fill(200);
    assert_eq!(reason(&tables), "corrupt");
    // A scan of components that the frame does not have.
    let mut scan = jpeg.clone();
    scan[at(0xda) + 5] = 77;
    assert_eq!(reason(&scan), "corrupt");
    // No height.
    let mut frame = jpeg.clone();
    frame[at(0xc0) + 5..at(0xc0) + 7].fill(0);
    assert_eq!(reason(&frame), "corrupt");
    // The end right after the header.
    assert_eq!(reason(&[&jpeg[..2], &[0xff, 0xd9]].concat()), "corrupt");
    // A second frame header inside the scan.
    let middle = jpeg.len() - 200;
    let inside = [&jpeg[..middle], &jpeg[at(0xc0)..at(0xc0) + 19], &jpeg[middle..]].concat();
    assert_eq!(reason(&inside), "corrupt");
}

#[test]
fn jpegs_of_other_kinds_are_unsupported_by_name() {
    let jpeg = jpeg_of(&picture(61, 47), |_| {});
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    for (offset, value, what) in [
        (1, 0xc3, "lossless"),
        (1, 0xc9, "arithmetic"),
        (4, 12, "12 bits a sample"),
        (9, 2, "2 colour"),
    ] {
        let mut bytes = jpeg.clone();
        bytes[frame + offset] = value;
        let error = small(&bytes).unwrap_err();
        assert_eq!(error.kind(), Reason::Unsupported);
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn other_formats_that_are_cut_are_truncated() {
    for format in [Format::Png, Format::WebP, Format::Gif, Format::Bmp, Format::Tiff] {
        let bytes = encoded(picture(61, 47), format);
        assert_eq!(reason(&bytes), "fine");
        for part in [4, 10, 30, 60, 90, 98] {
            let cut = &bytes[..bytes.len() * part / 100];
            // TIFF tells lengths in tables that may lie at its end: what is missing looks wrong.
            let allowed: &[&str] =
                if format == Format::Tiff { &["truncated", "corrupt"] } else { &["truncated"] };
            assert!(allowed.contains(&reason(cut)), "{} {part} %: {}", format.name(), reason(cut));
        }
    }
}

#[test]
fn what_is_no_image_is_named() {
    let ftyp = |brand: &[u8]| [b"\0\0\0\x18ftyp", brand, &[0; 40]].concat();
    let cases: Vec<(Vec<u8>, &str, &str)> = vec![
        (vec![], "empty", "no bytes"),
        (b"Hello, this is text.\n".to_vec(), "not-an-image", "text (`Hello, this is text.`"),
        ("caf\u{e9} \u{1f98a}".into(), "not-an-image", "text"),
        (b"<!DOCTYPE html><html>".to_vec(), "not-an-image", "a web page"),
        (b"PK\x03\x04rest".to_vec(), "not-an-image", "ZIP"),
        (vec![0; 100], "not-an-image", "zeros"),
        (vec![1, 2, 3, 200, 5], "not-an-image", "unknown binary data (begins with 01 02 03 c8)"),
        (b"BMW is a car maker, they say".to_vec(), "not-an-image", "text"),
        (b"RIFF\x10\0\0\0WAVEfmt ".to_vec(), "not-an-image", "RIFF file of kind `WAVE`"),
        (ftyp(b"heic"), "unsupported", "HEIC"),
        (ftyp(b"avif"), "unsupported", "AVIF"),
        (ftyp(b"isom"), "not-an-image", "video"),
        (b"<?xml version='1.0'?>\n<svg xmlns=''>".to_vec(), "unsupported", "SVG"),
        (b"%PDF-1.7".to_vec(), "unsupported", "PDF"),
        (b"\xff\x0ajxl".to_vec(), "unsupported", "JPEG XL"),
        (b"P6\n2 2\n255\n".to_vec(), "unsupported", "Netpbm"),
        (b"\x89PN".to_vec(), "truncated", "PNG"),
        (b"\x1b[31mred".to_vec(), "not-an-image", "text (` [31mred`"),
    ];
    for (bytes, reason, detail) in cases {
        let error = small(&bytes).unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert!(error.detail().contains(detail), "{error} lacks {detail}");
        assert!(!error.to_string().contains('\x1b'));
    }
}

#[test]
fn pixels_over_the_limit_are_refused_from_the_header() {
    let mut png = encoded(picture(8, 8), Format::Png);
    png[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let checksum = crc(&png[12..29]).to_be_bytes();
    png[29..33].copy_from_slice(&checksum);
    let mut jpeg = jpeg_of(&picture(16, 16), |_| {});
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xea);
    let mut bmp = encoded(picture(8, 8), Format::Bmp);
    bmp[18..26].copy_from_slice(&[0x60, 0xea, 0, 0, 0x60, 0xea, 0, 0]);
    let preprocessor = Preprocessor::new(&SMALL, MAX_PIXELS);
    for (bytes, size) in [(png, "60000×60000"), (jpeg, "60138×60138"), (bmp, "60000×60000")] {
        let error = preprocessor.header(&bytes).unwrap_err();
        assert_eq!(error.reason(), "too-large", "{error}");
        assert!(error.to_string().contains(size), "{error}");
        assert!(error.to_string().contains("more than 100000000 pixels: raise"), "{error}");
    }
}

#[test]
fn the_limit_itself_is_allowed() {
    for format in [Format::Jpeg, Format::Png, Format::Gif, Format::Tiff, Format::WebP, Format::Bmp]
    {
        let bytes = encoded(picture(50, 40), format);
        assert!(Preprocessor::new(&SMALL, 2000).header(&bytes).is_ok(), "{}", format.name());
        let error = Preprocessor::new(&SMALL, 1999).header(&bytes).unwrap_err();
        assert_eq!(error.reason(), "too-large");
    }
}

#[test]
fn a_panic_costs_one_image() {
    let error = guard::guard::<()>(|| {
        assert!(guarded());
        panic!("odd {}", 7)
    });
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "internal: the decoder panicked: odd 7");
    assert!(!guarded());
}

/// Files of all formats, to be damaged.
fn originals() -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        [Format::Png, Format::WebP, Format::Gif, Format::Bmp, Format::Tiff, Format::Jpeg]
            .into_iter()
            .map(|format| encoded(picture(33, 21), format))
            .collect();
    files.push(jpeg_of(&picture(33, 21), |e| e.set_progressive(true)));
    files.push(jpeg_of(&picture(33, 21), |e| e.set_sampling_factor(SamplingFactor::F_2_2)));
    files.push(jpeg_of(&picture(33, 21), |e| e.set_restart_interval(1)));
    files
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0..8) {
        const STARTS: [&[u8]; 8] = [
            b"", b"\xff\xd8\xff\xc0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"II*\0", b"MM\0*",
            b"RIFF\x90\x01\0\0WEBPVP8 ", b"BM",
        ];
        let _ = Preprocessor::new(&SMALL, 10_000).header(&[STARTS[kind as usize], &bytes].concat());
        let _ = small(&bytes);
    }

    #[test]
    fn no_damage_makes_it_panic(
        kind in 0..9_usize,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        keep in any::<bool>(),
    ) {
        let mut bytes = originals().swap_remove(kind);
        for (at, value) in hits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !keep {
            bytes.truncate(cut.index(bytes.len()));
        }
        let mut preprocessor = Preprocessor::new(&SMALL, 1_000_000);
        if let Ok(header) = preprocessor.header(&bytes) {
            let mut out = vec![0.0; SMALL.values()];
            let _ = preprocessor.run(&bytes, &header, Filter::Cubic, PixelsMut::F32(&mut out));
        }
    }
}
