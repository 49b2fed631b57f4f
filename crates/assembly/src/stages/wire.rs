//! Little-endian encoding of solid sequences and of results of workers.

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use super::workers::WorkerResults;
use crate::kernel::codec::{ByteReader, put_codes, put_spectrum, tally_bytes};
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;
use crate::kernel::kmer::Base;
use crate::kernel::scan::ReadCounts;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::program::Traffic;
use crate::pairs::{SolidFacts, SolidKind, SolidSequences};

/// Encodes solid sequences.
pub fn solid_bytes(solid: &SolidSequences<'_>) -> Vec<u8> {
    solid_pieces(solid, usize::MAX).concat()
}

/// Encodes solid sequences in pieces of about `piece_bytes`, each with complete sequences.
pub fn solid_pieces(solid: &SolidSequences<'_>, piece_bytes: usize) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for index in 0..solid.len() {
        let facts = solid.facts(index);
        if pieces.last().is_none_or(|piece| piece.len() >= piece_bytes) {
            pieces.push(Vec::new());
        }
        let Some(bytes) = pieces.last_mut() else { continue };
        bytes.extend(facts.weight.to_le_bytes());
        bytes.push(facts.kind as u8);
        put_codes(solid.codes(index), bytes);
    }
    pieces
}

/// Calls `take` for each encoded solid sequence with its facts.
///
/// # Errors
/// `Defect` when bytes are missing, or of no kind of sequence.
pub fn each_solid(bytes: &[u8], mut take: impl FnMut(SolidFacts, &[Base])) -> Result<()> {
    let mut reader = ByteReader(bytes);
    let mut codes = Vec::new();
    while !reader.is_empty() {
        let weight = u16::from_le_bytes(reader.array()?);
        let kind = match reader.array()? {
            [0] => SolidKind::Contig,
            [1] => SolidKind::Continuation,
            [2] => SolidKind::Bridge,
            [_] => return Err(internal("a solid sequence is of no kind")),
        };
        codes.clear();
        reader.codes(&mut codes)?;
        take(SolidFacts { weight, kind }, &codes);
    }
    Ok(())
}

/// Encodes results of workers.
pub fn results_bytes(results: &WorkerResults<'_>) -> Vec<u8> {
    let mut bytes = facts_bytes(results);
    bytes.reserve_exact(results.fragments.blocks().map(<[u8]>::len).sum());
    results.fragments.blocks().for_each(|block| bytes.extend_from_slice(block));
    bytes
}

/// Encodes results without the fragments.
pub fn facts_bytes(results: &WorkerResults<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(results.min_count.to_le_bytes());
    bytes.extend(results.bucket_bytes.to_le_bytes());
    bytes.extend(tally_bytes(&results.tally));
    let traffic = results.traffic.iter().flatten();
    bytes.extend((traffic.clone().count() as u32).to_le_bytes());
    for (name, traffic) in traffic {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        for number in [traffic.supersteps, traffic.messages, traffic.bytes] {
            bytes.extend(number.to_le_bytes());
        }
    }
    put_spectrum(&results.spectrum, &mut bytes);
    bytes
}

/// Returns empty results.
pub fn empty_results(budget: &Budget) -> WorkerResults<'_> {
    WorkerResults {
        fragments: Fragments::none(budget),
        spectrum: Spectrum::default(),
        min_count: 0,
        bucket_bytes: 0,
        tally: ReadCounts::default(),
        traffic: None,
    }
}

/// Decodes results and adds them.
///
/// # Errors
/// `Defect` when bytes are missing; `Input` when the fragments do not fit in the budget.
pub fn add_results(bytes: &[u8], results: &mut WorkerResults<'_>) -> Result<()> {
    let mut reader = ByteReader(bytes);
    let min_count = reader.u32()?;
    if results.min_count != 0 && results.min_count != min_count {
        return Err(internal("workers differ in the smallest count"));
    }
    results.min_count = min_count;
    results.bucket_bytes = results.bucket_bytes.saturating_add(reader.u64()?);
    results.tally.add(&reader.tally()?);
    for _ in 0..reader.u32()? {
        let count = reader.u32()? as usize;
        let name = String::from_utf8_lossy(reader.bytes(count)?).into_owned();
        let (supersteps, messages, bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let traffic = Traffic { supersteps, messages, bytes };
        results.traffic.get_or_insert_default().insert(name, traffic);
    }
    reader.spectrum(&mut results.spectrum)?;
    results.fragments.append_bytes(reader.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{FragmentSummary, SequenceSource};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn results_are_decoded_as_they_were_encoded(
            pieces in prop::collection::vec(
                (prop::collection::vec(0u8..4, 1..40), any::<[bool; 3]>(), any::<[u32; 3]>()),
                0..9,
            ),
            counts in prop::collection::vec(0u32..20_000, 0..9),
        ) {
            let budget = Budget::new(1 << 30);
            let mut results = empty_results(&budget);
            (results.min_count, results.bucket_bytes) = (3, 99);
            results.tally = ReadCounts::of([77, 5, 4, 3, 2, 9]);
            counts.iter().for_each(|&count| results.spectrum.add(count));
            for (codes, ends, [sum, first_count, last_count]) in &pieces {
                let [left_open, right_open, circular] = ends;
                let piece = FragmentSummary {
                    count_sum: u64::from(*sum) << 8,
                    first_count: *first_count,
                    last_count: *last_count,
                    merges: *first_count / 2,
                    left_open: *left_open,
                    right_open: *right_open,
                    circular: *circular,
                };
                results.fragments.push(piece, |all| all.extend_from_slice(codes)).unwrap();
            }
            let bytes = results_bytes(&results);
            let mut again = empty_results(&budget);
            add_results(&bytes, &mut again).unwrap();
            prop_assert_eq!(results_bytes(&again), bytes.clone());
            prop_assert_eq!(again.spectrum.kmers(), results.spectrum.kmers());
            for (index, (codes, ..)) in pieces.iter().enumerate() {
                let mut read_codes = Vec::new();
                again.fragments.read(index, &mut read_codes).unwrap();
                prop_assert_eq!(&read_codes, codes);
            }
            for cut in 0..bytes.len().min(60) {
                let _ = add_results(&bytes[..cut], &mut empty_results(&budget));
            }
        }
    }
}
