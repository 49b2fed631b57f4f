//! A row of a gene-pair file, common to text, generators and the pair matrix.

use cuesta_core::digest::{Batch, Digest, Record, Tag};
use cuesta_core::fixed::{self, Micro};

/// Mask symbols of KINC version 1: 0 other cluster, 1 in the cluster, 6 below the threshold,
/// 7 outlier of the pair, 8 outlier of the cluster, 9 missing.
pub const MASK_SYMBOLS: &[u8; 6] = b"016789";

/// A row: a cluster of samples of a gene pair with its scores. Borrows from its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    /// The larger gene number, 1-based.
    pub gene1: u32,
    /// The smaller gene number, 1-based.
    pub gene2: u32,
    /// Number of this cluster of the pair, from 1.
    pub cluster: u32,
    /// Clusters found for the pair.
    pub num_clusters: u32,
    /// Samples in this cluster.
    pub cluster_samples: u32,
    /// Samples that are missing in either gene.
    pub missing: u32,
    /// Samples that are outliers of this cluster.
    pub outliers: u32,
    /// Samples that are outliers of the pair.
    pub pair_outliers: u32,
    /// Samples below the expression threshold.
    pub threshold: u32,
    /// A score per method, in millionths; [`fixed::NAN`] for none.
    pub scores: &'a [Micro],
    /// A symbol of [`MASK_SYMBOLS`] per sample; empty when the file has no masks.
    pub mask: &'a [u8],
}

impl Row<'_> {
    /// Checks the order of the genes, the cluster number, the scores and the mask symbols.
    ///
    /// # Errors
    /// A message naming the fault; the caller adds file and line.
    pub fn check(&self) -> Result<(), String> {
        self.check_pair()?;
        if self.scores.is_empty() {
            return Err("the row has no score".to_owned());
        }
        let fits = |score: &Micro| (-fixed::LIMIT..=fixed::LIMIT).contains(score);
        if !self.scores.iter().all(|score| *score == fixed::NAN || fits(score)) {
            return Err("a score is too large; the limit is 2000".to_owned());
        }
        check_mask(self.mask)
    }

    fn check_pair(&self) -> Result<(), String> {
        if self.gene2 == 0 {
            return Err("gene numbers start at 1, found 0".to_owned());
        }
        if self.gene1 <= self.gene2 {
            return Err(format!(
                "gene {} must be larger than gene {}: only the lower triangle is allowed",
                self.gene1, self.gene2
            ));
        }
        if self.cluster == 0 {
            return Err("cluster numbers start at 1, found 0".to_owned());
        }
        Ok(())
    }

    /// Appends the row as a line of KINC version 1 text: 11 fields, tabs, a line feed.
    pub fn append_kinc_v1(&self, out: &mut Vec<u8>) {
        for value in self.integers() {
            fixed::append_integer(u64::from(value), out);
            out.push(b'\t');
        }
        for (index, &score) in self.scores.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            fixed::append_text(score, out);
        }
        out.push(b'\t');
        out.extend_from_slice(self.mask);
        out.push(b'\n');
    }

    /// Adds the row to a digest (record `Pair` of `spec/workloads/scan`).
    pub fn digest_into(&self, digest: &mut Digest) {
        let mut record = Record::new(Tag::Pair);
        for value in self.integers() {
            record.push(u64::from(value));
        }
        record.push(self.scores.len() as u64);
        for &score in self.scores {
            record.push(i64::from(score) as u64);
        }
        record.push(self.mask.len() as u64);
        record.push_bytes(self.mask);
        digest.add_record(&record);
    }

    /// Adds the row to a batch of records `Pair`: several times as fast as one by one.
    #[inline]
    pub fn add_to(&self, batch: &mut Batch) {
        let integers = self.integers();
        let fixed = integers.len() + 2 + self.scores.len();
        let mut record = batch.record(fixed + self.mask.len().div_ceil(8));
        integers.iter().for_each(|&value| record.push(u64::from(value)));
        record.push(self.scores.len() as u64);
        self.scores.iter().for_each(|&score| record.push(i64::from(score) as u64));
        record.push(self.mask.len() as u64);
        record.push_bytes(self.mask);
    }

    /// The nine integers, in the order of the text.
    fn integers(&self) -> [u32; 9] {
        [
            self.gene1,
            self.gene2,
            self.cluster,
            self.num_clusters,
            self.cluster_samples,
            self.missing,
            self.outliers,
            self.pair_outliers,
            self.threshold,
        ]
    }
}

/// Checks that every byte is one of [`MASK_SYMBOLS`].
///
/// # Errors
/// The first symbol that is not, and its position.
pub fn check_mask(mask: &[u8]) -> Result<(), String> {
    // Without a branch for each symbol the check runs at the speed of the cache.
    let known = |symbol: u8| matches!(symbol, b'0' | b'1' | b'6'..=b'9');
    if mask.iter().fold(true, |good, &symbol| good & known(symbol)) {
        return Ok(());
    }
    match mask.iter().position(|&symbol| !known(symbol)) {
        None => Ok(()),
        Some(index) => Err(format!(
            "sample {} of the mask is '{}', expected one of 0 1 6 7 8 9",
            index + 1,
            mask[index].escape_ascii()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row<'static> = Row {
        gene1: 7,
        gene2: 3,
        cluster: 1,
        num_clusters: 2,
        cluster_samples: 5,
        missing: 1,
        outliers: 0,
        pair_outliers: 1,
        threshold: 0,
        scores: &[871_000, fixed::NAN],
        mask: b"11910711",
    };

    #[test]
    fn a_row_is_written_as_kinc_writes_it() {
        let mut out = Vec::new();
        ROW.append_kinc_v1(&mut out);
        assert_eq!(out, b"7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000,nan\t11910711\n");
    }

    #[test]
    fn the_digest_follows_the_specified_words() {
        let (mut by_row, mut by_words) = (Digest::default(), Digest::default());
        ROW.digest_into(&mut by_row);
        let nan = i64::from(i32::MIN) as u64;
        let mask = u64::from_le_bytes(*b"11910711");
        by_words.add(Tag::Pair, &[7, 3, 1, 2, 5, 1, 0, 1, 0, 2, 871_000, nan, 8, mask]);
        assert_eq!(by_row, by_words);
        for mask in [&b""[..], b"1", b"119107119"] {
            let row = Row { mask, ..ROW };
            let (mut alone, mut batch) = (Digest::default(), Batch::new(Tag::Pair));
            row.digest_into(&mut alone);
            row.add_to(&mut batch);
            assert_eq!(batch.digest(), alone);
        }
    }

    #[test]
    fn a_bad_row_has_a_message() {
        assert_eq!(ROW.check(), Ok(()));
        for (row, expected) in [
            (Row { gene1: 3, ..ROW }, "gene 3 must be larger than gene 3"),
            (Row { gene2: 0, ..ROW }, "start at 1"),
            (Row { cluster: 0, ..ROW }, "cluster numbers start at 1"),
            (Row { scores: &[], ..ROW }, "no score"),
            (Row { scores: &[i32::MAX], ..ROW }, "too large"),
            (Row { mask: b"1121", ..ROW }, "sample 3 of the mask is '2'"),
            (Row { mask: b"\n", ..ROW }, "'\\n'"),
        ] {
            let message = row.check().unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
