//! Faults are reported, and no partial output remains.

use super::*;

#[test]
fn a_duplicate_row_is_an_error_and_leaves_nothing() {
    let rows = rows_of(&DENSE, 5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    for (memory, places) in [(400 * MIB, [3, 4]), (tiny(&DENSE), [3, 180_000])] {
        let mut doubled = rows.clone();
        doubled.insert(places[1], rows[places[0]].clone());
        let error = write(&path, options(&DENSE, folder.path()), memory, &doubled).unwrap_err();
        assert!(error.message().contains("is given twice; remove"), "{}", error.message());
        let _ = fs::remove_dir_all(folder.path().join("scratch"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn bad_options_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let good = options(&DENSE, folder.path());
    let try_with = |options: WriterOptions, memory: u64, path: &Path| {
        let budget = Budget::new(memory);
        Writer::create(path, options, &budget).map(|_| ()).unwrap_err().message()
    };
    let message = try_with(good.clone(), 5 * MIB, &path);
    assert!(message.contains("raise --memory or lower --threads"), "{message}");
    let message = try_with(WriterOptions { scores: 0, ..good.clone() }, 400 * MIB, &path);
    assert!(message.contains("expected 1 to 8"), "{message}");
    let names = vec!["a".to_owned()];
    let message = try_with(WriterOptions { gene_names: names, ..good.clone() }, 400 * MIB, &path);
    assert!(message.contains("1 gene names, expected 620"), "{message}");
    fs::create_dir(&path).unwrap();
    let message = try_with(good.clone(), 400 * MIB, &path);
    assert!(message.contains("exists; remove it"), "{message}");
    fs::write(folder.path().join("file"), "").unwrap();
    let message = try_with(good, 400 * MIB, &folder.path().join("file/x.zarr"));
    assert!(message.contains("creating"), "{message}");
}

/// Breaks one file after the other, each in several ways: reading gives the right rows or an error
/// of one line that says what to do.
#[test]
fn damage_is_noticed_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let kind = Kind { genes: 60, clusters: 2, scores: 2, honest: false, ..DENSE };
    let rows = rows_of(&kind, 2);
    write(&path, options(&kind, folder.path()), 400 * MIB, &rows).unwrap();
    let mut refused = 0;
    for (name, bytes) in files(&path) {
        // The metadata of single arrays is for other programs; ours is in the root.
        if name.ends_with("/zarr.json") {
            continue;
        }
        let file = path.join(&name);
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 3] ^= 0x10;
        let half = &bytes[..bytes.len() / 2];
        for broken in [None, Some(&b""[..]), Some(half), Some(flipped.as_slice())] {
            match broken {
                None => fs::remove_file(&file).unwrap(),
                Some(broken) => fs::write(&file, broken).unwrap(),
            }
            match read(&path, &ALL) {
                Ok(found) => assert!(found == rows, "{name}"),
                Err(error) => {
                    assert!(error.message().contains("again"), "{name}: {}", error.message());
                    refused += 1;
                }
            }
            fs::write(&file, &bytes).unwrap();
        }
    }
    assert!(refused > 100, "only {refused} were refused");
    assert!(read(&path, &ALL).unwrap() == rows);
}

#[test]
fn foreign_groups_and_other_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    write(&path, options(&DENSE, folder.path()), 400 * MIB, &[]).unwrap();
    let root = fs::read_to_string(path.join("zarr.json")).unwrap();
    for (from, to, expected) in [
        ("cuesta.pairs/1", "cuesta.pairs/2", "this version reads cuesta.pairs/1"),
        ("cuesta.pairs/1", "other", "not a pair matrix; give a folder"),
        ("\"genes\": 620", "\"genes\": 621", "otherwise than cuesta.pairs/1"),
        ("\"genes\": 620", "\"genes\": 99999999", "'genes' is impossible"),
        ("\"samples\": 21", "\"samples\": -1", "attributes are incomplete"),
        ("\"rows\": 0", "\"rows\": 5", "'rows' is impossible"),
    ] {
        assert!(root.contains(from), "{from} in {root}");
        fs::write(path.join("zarr.json"), root.replacen(from, to, 1)).unwrap();
        let error = PairMatrix::open(&path).map(|_| ()).unwrap_err();
        assert!(error.message().contains(expected), "{}", error.message());
    }
    let error = PairMatrix::open(folder.path()).map(|_| ()).unwrap_err();
    assert!(error.message().contains("is not a pair matrix"), "{}", error.message());
}
