//! What is solid, and what was found, as little-endian bytes.

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use super::workers::WorkerResults;
use crate::kernel::codec::{ByteReader, put_codes, put_spectrum, tally_bytes};
use crate::kernel::fragments::Fragments;
use crate::kernel::internal;
use crate::kernel::kmer::Base;
use crate::kernel::scan::ReadCounts;
use crate::kernel::spectrum::Spectrum;
use crate::kernel::supersteps::control::Traffic;
use crate::pairs::{SolidFacts, SolidSequences};

/// What is solid.
pub fn solid_bytes(solid: &SolidSequences<'_>) -> Vec<u8> {
    solid_pieces(solid, usize::MAX).concat()
}

/// The same in pieces of about so many bytes, each of which is whole sequences.
pub fn solid_pieces(solid: &SolidSequences<'_>, piece_bytes: usize) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for index in 0..solid.len() {
        let facts = solid.facts(index);
        if pieces.last().is_none_or(|piece| piece.len() >= piece_bytes) {
            pieces.push(Vec::new());
        }
        let Some(bytes) = pieces.last_mut() else { continue };
        bytes.extend(facts.weight.to_le_bytes());
        bytes.push(u8::from(facts.bridge));
        put_codes(solid.codes(index), bytes);
    }
    pieces
}

/// Calls `take` for each solid sequence with its weight.
///
/// # Errors
/// `Defect` when bytes are missing.
pub fn each_solid(bytes: &[u8], mut take: impl FnMut(SolidFacts, &[Base])) -> Result<()> {
    let mut reader = ByteReader(bytes);
    let mut codes = Vec::new();
    while !reader.is_empty() {
        let weight = u16::from_le_bytes(reader.array()?);
        let [bridge] = reader.array()?;
        codes.clear();
        reader.codes(&mut codes)?;
        take(SolidFacts { weight, bridge: bridge != 0 }, &codes);
    }
    Ok(())
}

/// What was found.
pub fn results_bytes(found: &WorkerResults<'_>) -> Vec<u8> {
    let mut bytes = facts_bytes(found);
    found.fragments.blocks().for_each(|block| bytes.extend_from_slice(block));
    bytes
}

/// What was found, without the fragments.
pub fn facts_bytes(found: &WorkerResults<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(found.min_count.to_le_bytes());
    bytes.extend(found.bucket_bytes.to_le_bytes());
    bytes.extend(tally_bytes(&found.tally));
    let traffic = found.traffic.iter().flatten();
    bytes.extend((traffic.clone().count() as u32).to_le_bytes());
    for (name, traffic) in traffic {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        for number in [traffic.supersteps, traffic.messages, traffic.bytes] {
            bytes.extend(number.to_le_bytes());
        }
    }
    put_spectrum(&found.spectrum, &mut bytes);
    bytes
}

/// Nothing found yet.
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

/// Adds what was found elsewhere.
///
/// # Errors
/// `Defect` when bytes are missing; `Input` when the fragments do not fit in the budget.
pub fn add_results(bytes: &[u8], found: &mut WorkerResults<'_>) -> Result<()> {
    let mut reader = ByteReader(bytes);
    let min_count = reader.u32()?;
    if found.min_count != 0 && found.min_count != min_count {
        return Err(internal("workers differ in the smallest count"));
    }
    found.min_count = min_count;
    found.bucket_bytes = found.bucket_bytes.saturating_add(reader.u64()?);
    found.tally.add(&reader.tally()?);
    for _ in 0..reader.u32()? {
        let count = reader.u32()? as usize;
        let name = String::from_utf8_lossy(reader.bytes(count)?).into_owned();
        let (supersteps, messages, bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let traffic = Traffic { supersteps, messages, bytes };
        found.traffic.get_or_insert_default().insert(name, traffic);
    }
    reader.spectrum(&mut found.spectrum)?;
    found.fragments.append_bytes(reader.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{FragmentSummary, SequenceSource};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_found_arrives(
            pieces in prop::collection::vec(
                (prop::collection::vec(0u8..4, 1..40), any::<[bool; 3]>(), any::<[u32; 3]>()),
                0..9,
            ),
            counts in prop::collection::vec(0u32..20_000, 0..9),
        ) {
            let budget = Budget::new(1 << 30);
            let mut found = empty_results(&budget);
            (found.min_count, found.bucket_bytes) = (3, 99);
            found.tally = ReadCounts::of([77, 5, 4, 3, 2, 9]);
            counts.iter().for_each(|&count| found.spectrum.add(count));
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
                found.fragments.push(piece, |all| all.extend_from_slice(codes)).unwrap();
            }
            let bytes = results_bytes(&found);
            let mut again = empty_results(&budget);
            add_results(&bytes, &mut again).unwrap();
            prop_assert_eq!(results_bytes(&again), bytes.clone());
            prop_assert_eq!(again.spectrum.kmers(), found.spectrum.kmers());
            for (index, (codes, ..)) in pieces.iter().enumerate() {
                let mut found = Vec::new();
                again.fragments.read(index, &mut found).unwrap();
                prop_assert_eq!(&found, codes);
            }
            for cut in 0..bytes.len().min(60) {
                let _ = add_results(&bytes[..cut], &mut empty_results(&budget));
            }
        }
    }
}
