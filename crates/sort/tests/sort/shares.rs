//! A sort distributed over processes writes the file of a single process.

use crate::common::{KINDS, Workspace, made, sorted};
use cuesta_core::progress::Progress;
use cuesta_input::records::{Record, RecordFiles};
use cuesta_sort::run::shares;

/// Sorts `files` in `parts` parts; each source reads `share` records.
fn spread(workspace: &Workspace, files: &RecordFiles, parts: usize, share: u64) -> Vec<u64> {
    let quiet = Progress::default();
    let shares: Vec<_> = (0..files.records())
        .step_by(share as usize)
        .map(|first| (first, share.min(files.records() - first)))
        .collect();
    let mut sample: Vec<_> =
        shares.iter().flat_map(|&one| shares::sample(files, one, 40, &quiet).unwrap()).collect();
    let cuts = shares::cuts(&mut sample, parts).unwrap();
    let mut received: Vec<Vec<Record>> = vec![Vec::new(); cuts.len() + 1];
    for (share, head_bytes) in shares.into_iter().zip([0, 16].into_iter().cycle()) {
        let how = (cuts.clone(), head_bytes);
        let blocks = shares::divide(files, share, how, &quiet).unwrap();
        for (part, received) in received.iter_mut().enumerate() {
            received.extend_from_slice(blocks.of_part(part)[head_bytes..].as_chunks().0);
        }
    }
    let folder = workspace.path("answer");
    shares::create(&folder, files.records()).unwrap();
    let mut first = 0;
    for part in &received {
        shares::write(part, &folder, first, &quiet).unwrap();
        first += part.len() as u64;
    }
    received.iter().map(|part| part.len() as u64).collect()
}

#[test]
fn any_shares_and_parts_give_the_sorted_file() {
    let workspace = Workspace::new();
    for kind in KINDS {
        let records = made(kind, 20_000, 3);
        let (a, b) = records.split_at(7_001);
        let paths = [workspace.write("a", a), workspace.write("b", b)];
        let files = RecordFiles::open(&paths).unwrap();
        for (parts, share) in [(1, 20_000), (3, 6_007), (40, 900)] {
            let sizes = spread(&workspace, &files, parts, share);
            assert!(workspace.answer() == sorted(&records), "{kind:?} {parts} {share}");
            let even = 20_000 / parts as u64;
            assert!(sizes.iter().all(|&size| size <= 2 * even + 1), "{kind:?} {sizes:?}");
        }
    }
}

#[test]
fn more_parts_than_records_leave_some_empty() {
    let workspace = Workspace::new();
    let records = made(KINDS[1], 3, 1);
    let files = RecordFiles::open(&[workspace.write("few", &records)]).unwrap();
    spread(&workspace, &files, 10, 2);
    assert!(workspace.answer() == sorted(&records));
    let none = RecordFiles::open(&[workspace.write("none", &[])]).unwrap();
    assert_eq!(spread(&workspace, &none, 4, 5), [0]);
    assert!(workspace.answer().is_empty());
}

#[test]
fn an_answer_that_was_not_created_cannot_be_written() {
    let workspace = Workspace::new();
    let error =
        shares::write(&[], &workspace.path("nowhere"), 0, &Progress::default()).unwrap_err();
    assert!(error.message().contains("nowhere/sorted.dat"), "{}", error.message());
    assert!(shares::cuts(&mut [], shares::PARTS_MAX + 1).is_err());
}
