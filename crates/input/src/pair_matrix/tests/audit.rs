//! An audit gives the rows that were written, and notices whatever is changed in any file.

use cuesta_core::mutation::{RowFormat, mutant};

use super::*;

fn audit(path: &Path) -> Result<Vec<Owned>> {
    let progress = Progress::default();
    let resources =
        AuditResources { threads: 1, memory_bytes: MIB, progress: &progress, size_bytes: 1 };
    let states = PairMatrix::open(path)?.audit(&resources, Vec::new, |rows, row| {
        rows.push(Owned::of(row));
        Ok(())
    })?;
    Ok(states.concat())
}

fn kinds() -> [Kind; 4] {
    [
        Kind { genes: 40, ..DENSE },
        Kind { genes: 40, ..CLUSTERS },
        Kind { genes: 40, sparse: 3, honest: false, scores: 2, ..DENSE },
        Kind { genes: 40, masks: false, ..DENSE },
    ]
}

#[test]
fn the_rows_come_back_with_any_number_of_chunks_and_slots() {
    for kind in [DENSE, CLUSTERS].into_iter().chain(kinds()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zarr");
        let rows = rows_of(&kind, 3);
        write(&path, options(&kind, folder.path()), 400 * MIB, &rows).unwrap();
        assert!(audit(&path).unwrap() == rows, "{kind:?}");
    }
}

#[test]
fn nothing_can_be_changed_in_any_file() {
    for kind in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.zarr");
        write(&path, options(&kind, folder.path()), 400 * MIB, &rows_of(&kind, 2)).unwrap();
        for (name, bytes) in files(&path) {
            for index in 0..9 {
                let Some((what, wrong)) = mutant(&bytes, RowFormat::Fixed(16), 9, index) else {
                    continue;
                };
                fs::write(path.join(&name), wrong).unwrap();
                assert!(audit(&path).is_err(), "{name}: {what}");
            }
            fs::remove_file(path.join(&name)).unwrap();
            assert!(audit(&path).is_err(), "{name} is missing");
            fs::write(path.join(&name), bytes).unwrap();
        }
        for name in ["more.txt", "score/c/7", "extra/zarr.json"] {
            let more = path.join(name);
            if more.exists() {
                continue;
            }
            fs::create_dir_all(more.parent().unwrap()).unwrap();
            fs::write(&more, "{}").unwrap();
            assert!(audit(&path).unwrap_err().message().contains("does not belong"), "{name}");
            fs::remove_file(more).unwrap();
        }
        audit(&path).unwrap();
    }
}

/// Such a file could come from another program, with all checksums right.
#[test]
fn a_header_that_differs_from_the_rows_is_reported() {
    let kind = Kind { genes: 40, ..DENSE };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    write(&path, options(&kind, folder.path()), 400 * MIB, &rows_of(&kind, 2)).unwrap();
    let root: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap();
    let good = root["attributes"].clone();
    for (name, value) in [
        ("counts_match_masks", serde_json::json!(false)),
        ("has_nan", serde_json::json!(false)),
        ("score_names", serde_json::json!(["other"])),
        ("sample_names", serde_json::json!(true)),
    ] {
        let mut attributes = good.clone();
        attributes[name] = value;
        let header: MatrixHeader = serde_json::from_value(attributes).unwrap();
        let arrays = schema::Arrays::of(&header, &path).unwrap();
        arrays.store_metadata(&header).unwrap();
        let outcome = audit(&path);
        // The caller must check the names of scores.
        assert_eq!(outcome.is_ok(), name == "score_names", "{name}");
        let _ = fs::remove_dir_all(path.join("sample_name"));
    }
}
