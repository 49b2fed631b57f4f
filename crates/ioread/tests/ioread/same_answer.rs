//! The answer equals the reference for any threads, tasks and files, and no other answer passes.

use std::fs;

use crate::common::{Place, run, verify};
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_ioread::rounds::{lead, work};
use cuesta_ioread::table;
use cuesta_runtime::rounds::{RandomEngine, Resources};
use proptest::prelude::*;

const MUTANTS: u64 = 400;

/// Computes CRC-32C bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82F6_3B78))
    })
}

/// Returns the table of the answer, computed from bytes in memory.
fn reference(files: &[Vec<u8>], request: usize, skip: usize) -> String {
    let mut text = table::HEADER.to_owned();
    for (number, file) in files.iter().enumerate() {
        let pieces: Vec<&[u8]> =
            file.chunks(request + skip).map(|chunk| &chunk[..chunk.len().min(request)]).collect();
        let (bytes, count) = (pieces.concat(), pieces.len());
        text += &format!("{number}\t{count}\t{}\t{:08x}\n", bytes.len(), crc(&bytes));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_answer_equals_the_reference_in_all_engines(
        files in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..4),
        request_bytes in 1usize..700,
        skip_bytes in 0usize..900,
        threads in 1usize..4,
        tasks in 1usize..6,
    ) {
        let place = Place::new();
        let mut request = place.request(&files, request_bytes as u64, skip_bytes as u64);
        request.threads = threads;
        run(&request);
        let wanted = reference(&files, request_bytes, skip_bytes);
        prop_assert_eq!(place.text(), &*wanted);
        prop_assert!(verify(&request).verified);
        fs::remove_file(place.answer()).unwrap();
        let resources = Resources { slots: 2, tasks: Some(tasks), ..Resources::default() };
        let worker = || work(&request, resources);
        let engine = RandomEngine { worker: &worker, chance: Stream::new(tasks as u64, 0) };
        let mut leader = lead(&request, resources).unwrap();
        engine.run(leader.as_mut(), &Progress::default()).unwrap();
        prop_assert_eq!(place.text(), wanted);
    }
}

#[test]
fn files_of_several_tasks_are_read_by_all_threads() {
    let place = Place::new();
    let files = [0u8, 1].map(|first| {
        (0..40_000_000u32).map(|place| (place.wrapping_mul(77) >> 13) as u8 ^ first).collect()
    });
    let request = place.request(&files, 300_000, 1000);
    run(&request);
    assert_eq!(place.text(), reference(&files, 300_000, 1000));
    let progress = Progress::default();
    assert!(cuesta_ioread::verify(&request, &progress).unwrap().verified);
    let (done, total) = progress.state();
    assert_eq!(done, total);
}

#[test]
fn no_mutant_of_an_answer_passes() {
    let place = Place::new();
    let request = place.request(&[vec![7; 5000], vec![], vec![1, 2, 3]], 700, 50);
    run(&request);
    let right = fs::read(place.answer()).unwrap();
    let (mut made, mut index) = (0, 0);
    while made < MUTANTS {
        index += 1;
        let Some((what, wrong)) = mutant(&right, RowFormat::Lines, 3, index) else { continue };
        fs::write(place.answer(), wrong).unwrap();
        assert!(!verify(&request).verified, "mutant {index}: {what}");
        made += 1;
    }
    fs::write(place.answer(), right).unwrap();
    assert!(verify(&request).verified);
}

#[test]
fn a_changed_byte_of_a_file_is_detected() {
    let place = Place::new();
    let request = place.request(&[vec![7; 5000]], 700, 50);
    run(&request);
    let mut bytes = vec![7; 5000];
    bytes[720] = 8;
    place.write("0", &bytes);
    assert!(verify(&request).verified, "a byte that was skipped");
    bytes[4999] = 8;
    place.write("0", &bytes);
    assert!(!verify(&request).verified);
}
