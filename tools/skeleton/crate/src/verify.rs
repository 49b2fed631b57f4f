//! Proves an answer by another method: the bytes of the numbers are added by their place, and the
//! sums of the places make the sum of the numbers.

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;

use crate::kernel::Total;
use crate::numbers::{NUMBER_BYTES, Numbers};
use crate::{run, table};

const METHOD: &str = "sums of the bytes of the numbers, by their place";
/// The first bytes of the name, which tell its records from those of other workloads.
const TAG: Tag = Tag::Named(*b"skeleton");
/// Numbers that are read at once.
const CHUNK: u64 = 1 << 15;

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the inputs cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let least = run::params(request)?.least.to_be_bytes();
    let numbers = Numbers::open(&request.inputs)?;
    progress.expect(numbers.count * NUMBER_BYTES);
    let (mut count, mut places, mut room) = (0u64, [0u128; 8], Vec::new());
    for first in (0..numbers.count).step_by(CHUNK as usize) {
        let end = numbers.count.min(first + CHUNK);
        numbers.read(first..end, &mut room, |bytes| {
            for number in bytes.chunks_exact(places.len()) {
                // The order of numbers is that of their bytes, the highest one first.
                if number.iter().rev().ge(least.iter()) {
                    count += 1;
                    let sums = places.iter_mut().zip(number);
                    sums.for_each(|(sum, &byte)| *sum += u128::from(byte));
                }
            }
            Ok(())
        })?;
        progress.advance((end - first) * NUMBER_BYTES)?;
    }
    let sum = places.iter().rev().fold(0, |sum, place| (sum << 8) + place);
    let answer = table::read(&request.output)?;
    let expected = digest(Total { count, sum });
    let actual = answer.map_or_else(Digest::default, digest);
    let mut verdict = Verdict::new(actual, expected, METHOD).covers(&[table::TOTAL_FILE]);
    verdict.require(answer.is_some(), "the table is not one of a count and a sum");
    verdict.counts.insert("numbers", count);
    Ok(verdict)
}

fn digest(total: Total) -> Digest {
    let mut digest = Digest::default();
    digest.add(TAG, &[total.count, total.sum as u64, (total.sum >> 64) as u64]);
    digest
}
