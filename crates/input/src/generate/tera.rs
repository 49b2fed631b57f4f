//! Synthetic 100-byte records: those of Hadoop's TeraGen, byte for byte, and some that are harder
//! to sort.
//!
//! TeraGen numbers its records and draws one 128-bit number for each, from the linear congruential
//! generator x -> A x + C of Chris Nyberg's `gensort` 1.1 (the multiplier is of P. L'Ecuyer, Math.
//! Comp. 68, 1999), so any range of records can be made without those before it.

use std::path::PathBuf;

use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use serde::Deserialize;

use crate::records::{KEY_BYTES, RECORD_BYTES, Record};
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Records of one task.
const TASK_ROWS: u64 = 8192;
/// Upper bound of record numbers, exclusive: TeraGen counts with signed 64-bit numbers.
const ROWS_MAX: u64 = 1 << 63;
/// Keys that many records of `skewed` share.
const HOT_KEYS: u32 = 8;

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
const INCREMENT: u128 = 0x4A69_6D47_7261_7952_4950_2020_2020_2001;

/// Distribution of the keys.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum KeyDistribution {
    /// TeraGen's records; there is no seed.
    #[default]
    Tera,
    /// Evenly spread, by seed.
    Random,
    /// Half of the records share one key, a quarter another, and so on; one in 256 has its own.
    Skewed,
    /// Ascending.
    Sorted,
    /// Descending.
    Reverse,
    /// All the same.
    Equal,
}

/// Parameters of the generated records.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file to write.
    pub output: PathBuf,
    /// Records.
    pub rows: u64,
    /// Number of the first one.
    #[serde(default)]
    pub first: u64,
    /// Distribution of the keys.
    #[serde(default)]
    pub kind: KeyDistribution,
    /// Seed of everything random but TeraGen's records.
    #[serde(default)]
    pub seed: u64,
    /// Threads.
    #[serde(default = "single_thread")]
    pub threads: usize,
}

fn single_thread() -> usize {
    1
}

impl Params {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the options and their range.
    pub fn check(&self) -> Result<()> {
        if self.first.checked_add(self.rows).is_none_or(|end| end > ROWS_MAX) {
            let text = format!(
                "--first is {} and --rows {}, together at most {ROWS_MAX}",
                self.first, self.rows
            );
            return Err(Error::input("data make tera", text));
        }
        Ok(())
    }
}

/// Writes the records; returns how many and their bytes.
///
/// # Errors
/// `Input` for bad parameters; `System`; `Cancelled`.
pub fn write(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    params.check()?;
    let out = OrderedFile::create(&params.output)?;
    progress.expect(params.rows);
    let work = |bytes: &mut Vec<u8>, task: usize| {
        let start = task as u64 * TASK_ROWS;
        let count = TASK_ROWS.min(params.rows - start);
        bytes.resize(count as usize * RECORD_BYTES, 0);
        fill(params, params.first + start, bytes.as_chunks_mut().0);
        out.finish_task(task, bytes)?;
        progress.advance(count)
    };
    let tasks = params.rows.div_ceil(TASK_ROWS) as usize;
    parallel::run(params.threads, tasks, Vec::new, work, |task| out.fail(task))?;
    Ok((params.rows, out.close()?))
}

/// Fills `records` with records number `first` and on, of the kind and seed of `params`.
pub fn fill(params: &Params, first: u64, records: &mut [Record]) {
    if params.kind == KeyDistribution::Tera {
        let mut number = state_after(first);
        for (row, record) in (first..).zip(records) {
            number = number.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
            put(record, number, row);
        }
        return;
    }
    let stream = Stream::new(params.seed, 100);
    for (row, record) in (first..).zip(records) {
        let (high, low) = (stream.bits(2 * row), stream.bits(2 * row + 1));
        let drawn = u128::from(high) << 64 | u128::from(low);
        let place = u128::from(row) << 64 | u128::from(high);
        let number = match params.kind {
            KeyDistribution::Tera | KeyDistribution::Random => drawn,
            KeyDistribution::Skewed => skewed(&stream, drawn),
            KeyDistribution::Sorted => place,
            KeyDistribution::Reverse => u128::from(!row) << 64 | u128::from(high),
            KeyDistribution::Equal => u128::from(stream.bits(u64::MAX)) << 64 | u128::from(low),
        };
        put(record, number, row);
        if params.kind == KeyDistribution::Equal {
            record[8..KEY_BYTES].fill(0);
        }
    }
}

/// `drawn`, or one of the keys that many share with the rest of `drawn`.
fn skewed(stream: &Stream, drawn: u128) -> u128 {
    let hot = drawn.trailing_ones();
    if hot >= HOT_KEYS {
        return drawn;
    }
    let high = stream.bits(u64::MAX - u64::from(hot));
    let key = u128::from(high) << 64 | u128::from(high & 0xFFFF) << 48;
    key | (drawn & ((1 << 48) - 1))
}

/// The generator's number after `steps` steps from 0, by squaring the map.
fn state_after(mut steps: u64) -> u128 {
    let (mut multiplier, mut increment) = (MULTIPLIER, INCREMENT);
    let mut state = 0u128;
    while steps > 0 {
        if steps & 1 == 1 {
            state = state.wrapping_mul(multiplier).wrapping_add(increment);
        }
        increment = increment.wrapping_mul(multiplier.wrapping_add(1));
        multiplier = multiplier.wrapping_mul(multiplier);
        steps >>= 1;
    }
    state
}

/// The layout of a record: ten bytes of key, the record's number in 32 hexadecimal digits, each of
/// the twelve last digits of the drawn number four times, and fixed bytes between.
fn put(record: &mut Record, number: u128, row: u64) {
    record[..KEY_BYTES].copy_from_slice(&number.to_be_bytes()[..KEY_BYTES]);
    record[10..12].copy_from_slice(&[0x00, 0x11]);
    for (place, digit) in record[12..44].iter_mut().rev().enumerate() {
        *digit = hexadecimal(u128::from(row) >> (4 * place));
    }
    record[44..48].copy_from_slice(&[0x88, 0x99, 0xAA, 0xBB]);
    for (place, four) in record[48..96].chunks_exact_mut(4).rev().enumerate() {
        four.fill(hexadecimal(number >> (4 * place)));
    }
    record[96..].copy_from_slice(&[0xCC, 0xDD, 0xEE, 0xFF]);
}

fn hexadecimal(number: u128) -> u8 {
    b"0123456789ABCDEF"[(number & 15) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(kind: KeyDistribution) -> Params {
        Params { output: PathBuf::new(), rows: 0, first: 0, kind, seed: 5, threads: 1 }
    }

    fn made(params: &Params, first: u64, count: usize) -> Vec<Record> {
        let mut records = vec![[0; RECORD_BYTES]; count];
        fill(params, first, &mut records);
        records
    }

    #[test]
    fn records_equal_those_of_teragen() {
        for (first, golden) in [
            (0, include_bytes!("../../../../spec/workloads/sort/cases/teragen-0.dat")),
            (
                4_294_967_290,
                include_bytes!("../../../../spec/workloads/sort/cases/teragen-4294967290.dat"),
            ),
        ] {
            let records = made(&params(KeyDistribution::Tera), first, golden.len() / RECORD_BYTES);
            assert_eq!(records.as_flattened(), golden);
        }
    }

    #[test]
    fn a_record_depends_on_its_number_only() {
        for kind in [
            KeyDistribution::Tera,
            KeyDistribution::Random,
            KeyDistribution::Skewed,
            KeyDistribution::Sorted,
            KeyDistribution::Equal,
        ] {
            let params = params(kind);
            let all = made(&params, 1000, 50);
            assert_eq!(all[20..], made(&params, 1020, 30)[..], "{kind:?}");
        }
    }

    #[test]
    fn the_kinds_keep_their_promises() {
        let keys = |kind| -> Vec<Vec<u8>> {
            let records = made(&params(kind), 0, 4096);
            records.iter().map(|record| record[..KEY_BYTES].to_vec()).collect()
        };
        assert!(keys(KeyDistribution::Sorted).is_sorted());
        assert!(keys(KeyDistribution::Reverse).iter().rev().is_sorted());
        assert!(keys(KeyDistribution::Equal).windows(2).all(|pair| pair[0] == pair[1]));
        let mut skewed = keys(KeyDistribution::Skewed);
        skewed.sort();
        let runs = skewed.chunk_by(|a, b| a == b).map(<[_]>::len);
        assert!(runs.max().unwrap() > 1900);
        let mut random = keys(KeyDistribution::Random);
        random.sort();
        random.dedup();
        assert_eq!(random.len(), 4096);
    }

    #[test]
    fn any_number_of_threads_writes_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.dat");
        let files = [1, 3].map(|threads| {
            let output = output.clone();
            let rows = 3 * TASK_ROWS + 5;
            let params =
                Params { output: output.clone(), rows, threads, ..params(KeyDistribution::Tera) };
            let (rows, bytes) = write(&params, &Progress::default()).unwrap();
            assert_eq!((rows * 100, bytes), (bytes, 100 * params.rows));
            std::fs::read(&output).unwrap()
        });
        assert!(files[0] == files[1]);
    }

    #[test]
    fn numbers_beyond_those_of_teragen_are_refused() {
        let params = Params { first: u64::MAX, rows: 1, ..params(KeyDistribution::Tera) };
        assert!(params.check().unwrap_err().message().contains("--first"));
    }
}
