//! Checkpoints of `assemble`: a damaged file is refused as bad input, not as a defect, and what is
//! taken from a file is the same when it was saved and taken again.
#![no_main]

use std::fs;
use std::path::Path;

use cuesta_assembly::buckets::blocks::BucketBlocks;
use cuesta_assembly::buckets::chunks::BlockMemory;
use cuesta_assembly::stages::checkpoint::Checkpoint;
use cuesta_assembly::stages::checkpoint::stage::StageCheckpoint;
use cuesta_assembly::stages::wire;
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_fuzz::{accepted, file, folder};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

const MEMORY_BYTES: u64 = 16 << 20;
const BUCKETS: usize = 4;
const RUN: &[u8] = b"run";

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let stage = StageCheckpoint { folder: folder(), run: RUN, number: 0 };
    let of_this_run = |name: &str| {
        let mut content = (RUN.len() as u64).to_le_bytes().to_vec();
        content.extend(RUN);
        content.extend(bytes);
        file(name, &content);
    };
    match choice % 5 {
        0 => {
            of_this_run("0.super-k-mers.places");
            blocks(&stage);
        }
        1 => {
            of_this_run("0.fragments");
            load_results(&stage);
        }
        2 => {
            of_this_run("0.paths");
            left(&stage);
        }
        3 => state(|_| bytes.to_vec(), b""),
        _ => state(
            |begun| {
                let mut state: serde_json::Value =
                    serde_json::from_slice(begun).expect("it was begun here");
                state["sizes"] = json!([15]);
                state.to_string().into_bytes()
            },
            bytes,
        ),
    }
});

fn blocks(stage: &StageCheckpoint<'_>) {
    let budget = Budget::new(MEMORY_BYTES);
    let content: Vec<u8> = (0..200).collect();
    fs::write(stage.buckets_path(), &content).expect("a small file can be written");
    let scratch = folder().join("scratch");
    let blocks = BucketBlocks::new("test", BUCKETS, BlockMemory::Budget(&budget, 0), scratch);
    let mut blocks = blocks.saved_in(stage.buckets_path());
    let Some(Some(_)) = accepted(stage.restore(&mut blocks)) else { return };
    let mut buffer = Vec::new();
    for bucket in 0..blocks.count() {
        let read = blocks.each(bucket, &mut buffer, |block| {
            assert!(block.len() <= content.len() + 4096);
            Ok(())
        });
        read.expect("all places are in the file");
    }
}

fn load_results(stage: &StageCheckpoint<'_>) {
    let budget = Budget::new(MEMORY_BYTES);
    let Some(Some(results)) = accepted(stage.load_results(&budget)) else { return };
    stage.save_results(&results).expect("a small file can be written");
    let again = stage.load_results(&budget).expect("it was saved here").expect("it is of this run");
    assert_eq!(wire::results_bytes(&again), wire::results_bytes(&results));
}

fn left(stage: &StageCheckpoint<'_>) {
    let budget = Budget::new(MEMORY_BYTES);
    let Some(Some((paths, level))) = accepted(stage.load_paths(&budget)) else { return };
    stage.save_paths(&paths, &level).expect("a small file can be written");
    let (again, level_again) =
        stage.load_paths(&budget).expect("it was saved here").expect("it is of this run");
    assert_eq!(json!(level_again), json!(level));
    assert_eq!((again.len(), again.bases()), (paths.len(), paths.bases()));
    for index in 0..paths.len() {
        assert_eq!(again.codes(index), paths.codes(index));
        assert_eq!(again.facts(index), paths.facts(index));
    }
}

/// A folder whose state is what `make` makes of that of a run that has just begun.
fn state(make: impl FnOnce(&[u8]) -> Vec<u8>, solid: &[u8]) {
    let (kept, output) = (folder().join("kept"), folder().join("output"));
    for folder in [&kept, &output] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).expect("a folder can be made");
    }
    let request = request(&output);
    let budget = Budget::new(MEMORY_BYTES);
    let checkpoint = Checkpoint::open(&kept, &request).expect("it is new");
    assert!(checkpoint.load(&output, &budget).expect("it is new").is_none());
    let put = |name: &str, bytes: &[u8]| {
        fs::write(kept.join(name), bytes).expect("a small file can be written");
    };
    let begun = fs::read(kept.join("state.json")).expect("it has begun");
    put("state.json", &make(&begun));
    put("15.trusted", solid);
    put("spectrum.tsv", b"");
    accepted(checkpoint.load(&output, &budget));
}

fn request(output: &Path) -> Request {
    Request {
        inputs: vec![file("reads.fa", b">a\nACGT\n")],
        parameters: json!({}),
        output: output.to_owned(),
        seed: 0,
        threads: 1,
        budget: Budget::new(MEMORY_BYTES).into(),
        scratch: folder().to_owned(),
        verify: Default::default(),
        names: None,
    }
}
