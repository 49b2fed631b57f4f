//! Complete check of a pair matrix that trusts none of its content, for verifiers.
//!
//! Besides the rows, the audit compares with them everything that a reader relies on: the ranges
//! and counts of the chunks, the columns even if they could be counted from masks, fill values of
//! pairs without a row, the order of the slots, the padding of masks, the index of each shard, the
//! bytes of each `zarr.json`, and that there is no other file.

mod chunk;
mod files;

use std::path::Path;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use super::header::MaskKind;
use super::reader::PairMatrix;
use super::{CHUNK_PAIRS, damaged};
use crate::row::Row;
use chunk::{ChunkFindings, Scratch};
use cuesta_runtime::parallel;

/// Resources of an audit.
#[derive(Clone, Copy)]
pub struct AuditResources<'a> {
    /// Maximum number of threads.
    pub threads: usize,
    /// Memory in bytes: fewer threads are used if it is short.
    pub memory_bytes: u64,
    /// Progress, advanced by the bytes of the files as they are read.
    pub progress: &'a Progress,
    /// Bytes of all files.
    pub size_bytes: u64,
}

impl PairMatrix {
    /// Calls `keep` for each row, in order within a chunk, on several threads; returns the states.
    ///
    /// # Errors
    /// `Input` for any difference from what [`super::Writer`] writes for these rows, or for a row
    /// that `keep` refuses with a sentence; `System`; `Cancelled`.
    pub fn audit<S: Send>(
        &self,
        resources: &AuditResources<'_>,
        make: impl Fn() -> S + Sync,
        keep: impl Fn(&mut S, &Row<'_>) -> std::result::Result<(), String> + Sync,
    ) -> Result<Vec<S>> {
        files::check(self)?;
        let chunks = self.chunk_count();
        let share = resources.size_bytes / chunks.max(1) as u64;
        let work = |(state, findings, scratch): &mut (S, ChunkFindings, Option<Scratch>),
                    index: usize| {
            let scratch = match scratch {
                Some(scratch) => scratch,
                none => none.insert(Scratch::new(self)?),
            };
            *findings = findings.and(self.audit_chunk(index, scratch, &mut |row| {
                keep(state, row).map_err(|what| {
                    let place = format!("pair {} {} of", row.gene1, row.gene2);
                    let text = format!("{place} {} {what}", self.path().display());
                    Error::input("verify", text)
                })
            })?);
            resources.progress.advance(share)
        };
        let make = || (make(), ChunkFindings::default(), None);
        let states = parallel::run(self.audit_threads(resources), chunks, make, work, |_| {})?;
        let findings = states
            .iter()
            .fold(ChunkFindings::default(), |sum, (_, findings, _)| sum.and(*findings));
        self.check_findings(findings)?;
        Ok(states.into_iter().map(|(state, ..)| state).collect())
    }

    fn audit_threads(&self, resources: &AuditResources<'_>) -> usize {
        let threads_max = resources.memory_bytes / Scratch::size_bytes(self).max(1);
        resources.threads.min(threads_max as usize).max(1)
    }

    fn check_findings(&self, findings: ChunkFindings) -> Result<()> {
        let header = self.header();
        let stored = header.masks == MaskKind::Stored;
        let checks = [
            ("has_nan", header.has_nan == findings.has_nan),
            (
                "counts_match_masks",
                header.counts_match_masks == (stored && !findings.counts_differ),
            ),
        ];
        match checks.iter().find(|(_, right)| !right) {
            None => Ok(()),
            Some((name, _)) => Err(wrong(self.path(), &format!("'{name}' is not what rows say"))),
        }
    }

    /// Number of pairs of a chunk; the last chunk has fewer.
    fn pairs_in(&self, index: usize) -> usize {
        let first = index as u64 * CHUNK_PAIRS as u64;
        (self.header().pairs() - first).min(CHUNK_PAIRS as u64) as usize
    }
}

fn wrong(path: &Path, what: &str) -> Error {
    damaged(path, what)
}
