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
    // Grey, 4:2:0 and 4:4:4 are among these.
    let source = Source::synthetic(7, 12).unwrap();
    assert_eq!(source.name(3), "synthetic-003-375x500");
    let all: Vec<u8> = (0..12).flat_map(|i| bytes_of(&source, i).to_vec()).collect();
    assert_eq!(hash(&all), 0x325f_a796_d1e0_afe1, "{:#x}", hash(&all));
    let more = Source::synthetic(7, 3).unwrap();
    assert_eq!(bytes_of(&more, 2), bytes_of(&source, 2), "an image depends on no other");
    let other = Source::synthetic(8, 1).unwrap();
    assert_ne!(bytes_of(&other, 0), bytes_of(&source, 0));
}

#[test]
fn synthetic_images_decode_and_weigh_what_photos_do() {
    let source = Source::synthetic(DEFAULT_SEED, 32).unwrap();
    assert_eq!(source.info().kind, "synthetic");
    assert_eq!((source.len(), source.info().images), (32, 32));
    let (mut weights, mut greys, mut sizes) = (Vec::new(), 0, Vec::new());
    for index in 0..source.len() {
        let bytes = bytes_of(&source, index);
        let picture = image::load_from_memory(&bytes).unwrap();
        let (width, height) = (picture.width(), picture.height());
        assert!(source.name(index).ends_with(&format!("-{width}x{height}")));
        weights.push(bytes.len() as f64 / f64::from(width * height));
        greys += u32::from(picture.color().channel_count() == 1);
        sizes.push((width, height));
        let luma = picture.into_luma8();
        let (min, max) = luma.iter().fold((255, 0), |(lo, hi), &v| (v.min(lo), v.max(hi)));
        assert!(max - min > 60, "{} is flat: {min} to {max}", source.name(index));
    }
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    // 500×375 photos at this quality have 0.24 bytes a pixel, 1920×1080 ones 0.19.
    assert!((0.15..0.30).contains(&mean), "{mean} bytes a pixel");
    assert_eq!(greys, 1);
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes.len(), 9);
    assert!(matches!(Source::synthetic(1, 0), Err(SourceError::NoInput)));
}

#[test]
#[ignore = "writes a sheet of the pictures for people to look at"]
fn write_contact_sheet() {
    let started = std::time::Instant::now();
    let source = Source::synthetic(DEFAULT_SEED, DEFAULT_COUNT).unwrap();
    println!("{} ms", started.elapsed().as_millis());
    let mut sheet = image::RgbImage::new(8 * 160, 8 * 120);
    for index in 0..source.len() {
        let picture = image::load_from_memory(&bytes_of(&source, index)).unwrap();
        let small = picture.resize(156, 116, image::imageops::FilterType::Triangle).into_rgb8();
        let (x, y) = (index % 8 * 160, index / 8 * 120);
        image::imageops::replace(
            &mut sheet,
            &small,
            x.cast_signed() as i64,
            y.cast_signed() as i64,
        );
    }
    let path = std::env::temp_dir().join("pipetop-synthetic.png");
    sheet.save(&path).unwrap();
    println!("{}", path.display());
}

/// A folder with these files in it, each holding its own name.
fn folder_with(names: &[&[u8]]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    folder
}

fn paths_of(source: &Source) -> Vec<PathBuf> {
    (0..source.len())
        .map(|index| match source.entry(index) {
            Entry::File(path) => path.to_owned(),
            Entry::Memory(_) => panic!("{} is in memory", source.name(index)),
        })
        .collect()
}

fn from_one(path: &Path) -> Result<Source, SourceError> {
    Source::from_paths(&[path.to_owned()], &[])
}

#[test]
fn a_folder_gives_every_file_under_it_sorted() {
    let names: [&[u8]; 8] = [
        b".hidden",
        b"a b.jpg",
        b"deep/.dir/x",
        b"deep/er/\xff\xfe.jpg",
        b"list.txt",
        b"no-ending",
        "\u{1f98a} \u{e9}\n.png".as_bytes(),
        b"z.JPG",
    ];
    let folder = folder_with(&names);
    fs::create_dir(folder.path().join("nothing")).unwrap();
    let source = from_one(folder.path()).unwrap();
    let found = paths_of(&source);
    assert!(found.is_sorted());
    let mut expected: Vec<_> =
        names.iter().map(|name| folder.path().join(OsStr::from_bytes(name))).collect();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(source.info().kind, "folder");
    assert_eq!(source.info().name, folder.path().display().to_string());
    let mut buffer = Vec::new();
    for path in &found {
        read_file(path, &mut buffer, MAX_BYTES).unwrap();
        assert!(path.as_os_str().as_bytes().ends_with(&buffer));
    }
}

#[test]
fn links_are_followed_loops_and_broken_links_stop_nothing() {
    use std::os::unix::fs::symlink;
    let folder = folder_with(&[b"one/a.jpg", b"b.jpg"]);
    let root = folder.path();
    symlink(root, root.join("one/loop")).unwrap();
    symlink(root.join("missing"), root.join("broken.jpg")).unwrap();
    symlink("self", root.join("self")).unwrap();
    symlink(root.join("b.jpg"), root.join("c.jpg")).unwrap();
    let source = from_one(root).unwrap();
    let names: Vec<_> = ["b.jpg", "broken.jpg", "c.jpg", "one/a.jpg", "self"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    assert_eq!(paths_of(&source), names);
    assert_eq!(source.notices().len(), 1, "{:?}", source.notices());
    assert!(source.notices()[0].contains("one/loop: left out: the link leads back to"));
    let mut buffer = Vec::new();
    let error = read_file(&names[1], &mut buffer, MAX_BYTES).unwrap_err();
    assert_eq!(error.kind(), Reason::NotFound);
    assert!(read_file(&names[4], &mut buffer, MAX_BYTES).is_err());
    read_file(&names[2], &mut buffer, MAX_BYTES).unwrap();
}

#[test]
fn special_files_are_entries_that_fail_and_never_block() {
    let folder = folder_with(&[b"a.jpg"]);
    let pipe = folder.path().join("pipe.txt");
    let status = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(status.success());
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let source = from_one(folder.path()).unwrap();
    assert_eq!(source.len(), 3);
    let mut buffer = Vec::new();
    let device = PathBuf::from("/dev/null");
    for (path, what) in [
        (&pipe, "a pipe"),
        (&socket, "a socket"),
        (&device, "a device"),
        (&folder.path().to_owned(), "a folder"),
    ] {
        let error = read_file(path, &mut buffer, MAX_BYTES).unwrap_err();
        assert_eq!((error.kind(), error.reason()), (Reason::NotAFile, "not-a-file"));
        assert!(error.to_string().contains(what), "{error}");
    }
    assert_eq!(from_one(&pipe).unwrap().len(), 1);
}

#[test]
fn reading_keeps_to_its_limit_and_drops_what_was_before() {
    let folder = folder_with(&[b"0123456789"]);
    let path = folder.path().join("0123456789");
    let mut buffer = vec![7; 50];
    read_file(&path, &mut buffer, 10).unwrap();
    assert_eq!(buffer, b"0123456789");
    let error = read_file(&path, &mut buffer, 9).unwrap_err();
    assert_eq!(error.to_string(), "too-large: 10 bytes is more than the limit of 9 a file");
    fs::write(&path, b"").unwrap();
    assert_eq!(read_file(&path, &mut buffer, 9).unwrap_err().reason(), "empty");
}

#[test]
fn what_may_not_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder_with(&[b"a.jpg", b"in/b.jpg"]);
    let (file, inner) = (folder.path().join("a.jpg"), folder.path().join("in"));
    for path in [&file, &inner] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    // Root may read everything.
    if fs::File::open(&file).is_err() {
        let error = read_file(&file, &mut Vec::new(), MAX_BYTES).unwrap_err();
        assert_eq!(error.reason(), "unreadable");
        let source = from_one(folder.path()).unwrap();
        assert_eq!((source.len(), source.notices().len()), (1, 1));
        let error = from_one(&inner).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_list_names_files_beside_it() {
    let folder = folder_with(&[b"pictures/a b.jpg", b"\xff.png"]);
    let root = folder.path();
    let list = root.join("my.LST");
    let text = b"\xef\xbb\xbf# comment\r\n\npictures/a b.jpg\r\n  # more\n\xff.png\n/abs/c.jpg\nCargo.toml";
    fs::write(&list, text).unwrap();
    let expected = [
        root.join("pictures/a b.jpg"),
        root.join(OsStr::from_bytes(b"\xff.png")),
        PathBuf::from("/abs/c.jpg"),
        // Not beside the list, but in the current directory.
        PathBuf::from("Cargo.toml"),
    ];
    for source in [from_one(&list), Source::from_paths(&[], std::slice::from_ref(&list))] {
        let source = source.unwrap();
        assert_eq!(paths_of(&source), expected);
        assert_eq!(source.info().kind, "list");
    }
    fs::write(&list, "# nothing\n\n").unwrap();
    let error = from_one(&list).unwrap_err().to_string();
    assert!(error.contains("the list names no file: write one path a line"), "{error}");
}

#[test]
fn an_image_with_a_lists_ending_is_no_list() {
    let folder = folder_with(&[]);
    let path = folder.path().join("really-a-gif.txt");
    fs::write(&path, b"GIF89a\x01\x02\x01").unwrap();
    let source = from_one(&path).unwrap();
    assert_eq!((paths_of(&source), &*source.info().kind), (vec![path], "files"));
}

#[test]
fn several_inputs_keep_their_order_and_the_missing_one() {
    let folder = folder_with(&[b"f/2.jpg", b"f/1.jpg", b"3.jpg"]);
    let at = |name: &str| folder.path().join(name);
    let list = at("list");
    fs::write(&list, "3.jpg\n").unwrap();
    let source = Source::from_paths(&[at("missing.jpg"), at("f"), at("3.jpg")], &[list]).unwrap();
    let expected: Vec<_> =
        ["missing.jpg", "f/1.jpg", "f/2.jpg", "3.jpg", "3.jpg"].into_iter().map(at).collect();
    assert_eq!(paths_of(&source), expected);
    assert_eq!((&*source.info().kind, &*source.info().name), ("files", "4 inputs"));
    let error = read_file(&expected[0], &mut Vec::new(), MAX_BYTES).unwrap_err();
    assert_eq!(error.reason(), "not-found");
}

#[test]
fn errors_name_the_path_and_the_way_out() {
    let folder = folder_with(&[]);
    let missing = folder.path().join("photos");
    let shown = missing.display();
    assert_eq!(
        from_one(&missing).unwrap_err().to_string(),
        format!("{shown}: no such file or folder: check the spelling")
    );
    assert_eq!(
        Source::from_paths(&[], std::slice::from_ref(&missing)).unwrap_err().to_string(),
        format!("{shown}: no such file or folder: check the spelling")
    );
    fs::create_dir_all(missing.join("inner")).unwrap();
    assert_eq!(
        from_one(&missing).unwrap_err().to_string(),
        format!("{shown}: no file under this folder: name a folder that holds images")
    );
    assert!(matches!(Source::from_paths(&[], &[]), Err(SourceError::NoInput)));
}
