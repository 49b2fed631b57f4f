//! Runs that resume from the checkpoint of another run: they have the answer of an uninterrupted
//! run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cuesta_assembly::buckets::blocks::BucketBlocks;
use cuesta_assembly::buckets::chunks::BlockMemory;
use cuesta_assembly::kernel::packed::PADDING;
use cuesta_assembly::kernel::scan::ReadCounts;
use cuesta_assembly::method::BuiltIn;
use cuesta_assembly::stages::checkpoint::stage::StageCheckpoint;
use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::error::ErrorKind;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::write_reads;

fn run(folder: &Path, parameters: &Value) -> Result<(Response, BTreeMap<String, Vec<u8>>)> {
    let output = tempfile::tempdir().unwrap();
    let request = Request {
        inputs: vec![folder.join("reads.fa")],
        parameters: parameters.clone(),
        output: output.path().to_owned(),
        seed: 0,
        threads: 2,
        budget: Budget::new(1 << 28).into(),
        scratch: folder.to_owned(),
        verify: Default::default(),
        names: None,
    };
    let response = cuesta_assembly::run::<BuiltIn>(&request, &Progress::default())?;
    let files = fs::read_dir(output.path()).unwrap().map(std::result::Result::unwrap);
    let files = files.filter(|entry| entry.path().is_file());
    let named = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    Ok((response, files.map(named).collect()))
}

const BUCKETS: (&str, &str) = ("default", "buckets");

/// Returns parameters with a folder for checkpoints.
fn with_checkpoints(folder: &Path, (profile, chains): (&str, &str), min_count: u32) -> Value {
    json!({
        "kmer_sizes": "15", "min_count": min_count, "profile": profile, "chains": chains,
        "resume": folder.join("kept"), "min_contig": 0,
    })
}

fn phases(response: &Response) -> Vec<&str> {
    response.phases.iter().map(|phase| &*phase.name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_run_resumes_after_any_stage(
        reads in prop::collection::vec("[ACGT]{20,60}", 1..30),
        method in prop::sample::select(vec![BUCKETS, ("default", "ranking")]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        write_reads(folder, &reads);
        let mut parameters = with_checkpoints(folder, method, 1);
        let (first, expected) = run(folder, &parameters).unwrap();
        prop_assert!(phases(&first).contains(&"partition"));
        for (removed, again) in [("", ""), ("0.paths", "simplify"), ("0.fragments", "compact")] {
            _ = fs::remove_file(folder.join("kept").join(removed));
            let (response, files) = run(folder, &parameters).unwrap();
            prop_assert_eq!(&files, &expected);
            let done = phases(&response);
            let has = |name: &str| done.contains(&name);
            prop_assert_eq!(has("compact"), again == "compact");
            prop_assert_eq!(has("simplify"), again == "simplify" && method.1 == "buckets");
        }
        parameters.as_object_mut().unwrap().remove("resume");
        let (_, uninterrupted) = run(folder, &parameters).unwrap();
        prop_assert_eq!(uninterrupted, expected);
    }

    #[test]
    fn buckets_are_restored_completely(
        added in prop::collection::vec(
            (0usize..8, prop::collection::vec(any::<u8>(), 1..99)),
            0..99,
        ),
        memory_bytes in 0u64..20_000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = StageCheckpoint { folder: folder.path(), run: b"this", number: 0 };
        let blocks = |budget| {
            let path = folder.path().join("scratch");
            let memory = BlockMemory::Budget(budget, 0);
            BucketBlocks::new("test", 8, memory, path).saved_in(checkpoint.buckets_path())
        };
        let budget = Budget::new(memory_bytes);
        let (before, mut after) = (blocks(&budget), blocks(&budget));
        prop_assert_eq!(checkpoint.restore(&mut after).unwrap(), None);
        for (bucket, block) in &added {
            before.add(*bucket, block).unwrap();
        }
        checkpoint.save(&before, &ReadCounts::of([9, 8, 0, 0, 7, 6])).unwrap();
        let counts = checkpoint.restore(&mut after).unwrap();
        prop_assert_eq!(counts, Some(ReadCounts::of([9, 8, 0, 0, 7, 6])));
        let bytes = |blocks: &BucketBlocks<'_>, bucket| {
            let (mut all, mut buffer) = (Vec::new(), Vec::new());
            blocks.each(bucket, &mut buffer, |block| {
                all.extend_from_slice(&block[..block.len() - PADDING]);
                Ok(())
            }).unwrap();
            all
        };
        for bucket in 0..8 {
            let mut expected = Vec::new();
            for (_, block) in added.iter().filter(|(number, _)| *number == bucket) {
                expected.extend_from_slice(block);
            }
            // Blocks may be written to the file in another order.
            let mut restored = bytes(&after, bucket);
            prop_assert_eq!(&restored, &bytes(&before, bucket));
            restored.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(restored, expected);
        }
        prop_assert_eq!(after.bytes(), before.bytes());
    }
}

const READ: &str = "ACGTTGCATTGACCATGCATTTGACCAGTA";

#[test]
fn checkpoints_of_another_run_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_reads(folder, &[READ.to_owned(), READ[..20].to_owned()]);
    run(folder, &with_checkpoints(folder, BUCKETS, 1)).unwrap();
    let error = run(folder, &with_checkpoints(folder, BUCKETS, 2)).unwrap_err();
    assert!(error.message().contains("kept is of other reads or parameters; delete it, or give"));
    // Without its state the folder may be anybody's; an empty one is new.
    fs::remove_file(folder.join("kept/state.json")).unwrap();
    let error = run(folder, &with_checkpoints(folder, BUCKETS, 2)).unwrap_err();
    assert!(
        error.message().contains("but no run that can go on; give another --resume"),
        "{error}"
    );
    fs::remove_dir_all(folder.join("kept")).unwrap();
    let (response, files) = run(folder, &with_checkpoints(folder, BUCKETS, 2)).unwrap();
    assert!(phases(&response).contains(&"compact"));
    let mut parameters = with_checkpoints(folder, BUCKETS, 2);
    parameters.as_object_mut().unwrap().remove("resume");
    assert_eq!(files, run(folder, &parameters).unwrap().1);
}

#[test]
fn a_file_that_was_cut_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_reads(folder, &[READ.to_owned()]);
    let parameters = with_checkpoints(folder, BUCKETS, 1);
    run(folder, &parameters).unwrap();
    let path = folder.join("kept/0.fragments");
    let content = fs::read(&path).unwrap();
    for size_bytes in 0..content.len() {
        fs::write(&path, &content[..size_bytes]).unwrap();
        let error = run(folder, &parameters).unwrap_err();
        assert!(error.message().contains("kept/0.fragments"), "{size_bytes}: {}", error.message());
    }
}

/// A damaged file was reported as a defect of Cuesta, without its name; a position beyond the end
/// of the file of super-k-mers ended the process for lack of memory.
#[test]
fn a_file_that_was_damaged_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = StageCheckpoint { folder: folder.path(), run: b"this", number: 0 };
    let frames = |contents: &[&[u8]]| -> Vec<u8> {
        let frame = |content: &&[u8]| [&(content.len() as u64).to_le_bytes(), *content].concat();
        contents.iter().flat_map(frame).collect()
    };
    let budget = Budget::new(1 << 20);
    let refused = |error: Option<cuesta_core::Error>, name: &str| {
        let error = error.unwrap();
        assert_eq!(error.kind, ErrorKind::Input, "{error}");
        assert!(
            error.message().contains(&format!("{name} is damaged; delete the folder")),
            "{error}"
        );
    };
    for (name, content) in [("0.fragments", &b"short"[..]), ("0.paths", b"{}")] {
        fs::write(folder.path().join(name), frames(&[b"this", content, b""])).unwrap();
    }
    refused(checkpoint.load_results(&budget).err(), "0.fragments");
    refused(checkpoint.load_paths(&budget).err(), "0.paths");
    fs::write(checkpoint.buckets_path(), [7; 100]).unwrap();
    for (offset, size_bytes) in [(0, 1 << 60), (u64::MAX, 1), (60, 41)] {
        let places = [1, 1, offset, size_bytes].map(u64::to_le_bytes).concat();
        let content = frames(&[b"this", &places, &[0; 32]]);
        fs::write(folder.path().join("0.super-k-mers.places"), content).unwrap();
        let path = folder.path().join("scratch");
        let blocks = BucketBlocks::new("test", 1, BlockMemory::Budget(&budget, 0), path);
        let mut blocks = blocks.saved_in(checkpoint.buckets_path());
        refused(checkpoint.restore(&mut blocks).err(), "0.super-k-mers.places");
    }
}

#[test]
fn a_folder_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_reads(folder, &[READ.to_owned()]);
    fs::create_dir(folder.join("kept")).unwrap();
    let lock = fs::File::create(folder.join("kept/lock")).unwrap();
    lock.try_lock().unwrap();
    let error = run(folder, &with_checkpoints(folder, BUCKETS, 1)).unwrap_err();
    assert!(
        error.message().contains("kept is in use by another run; wait for it, or give another")
    );
    drop(lock);
    run(folder, &with_checkpoints(folder, BUCKETS, 1)).unwrap();
}
