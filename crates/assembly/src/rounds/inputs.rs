//! Shares of the reads for tasks.

use std::path::PathBuf;

use cuesta_core::budget::human;
use cuesta_core::job::Response;
use cuesta_core::{Error, Result};
use cuesta_input::reads::shares::{self, Share};
use cuesta_input::reads::{NameSums, Pairing, input_bytes};
use cuesta_runtime::operation::RoundPlan;

use super::count::CountRecords;
use super::remote::{PAIRS_PHASE, RemoteWorkers};
use super::shares::{ReadShare, SourceShares};
use crate::kernel::internal;
use crate::method::Method;
use crate::stages::workers::LevelParams;

/// Default bytes of reads that a task divides. Workers that keep their parts receive all blocks of
/// such a round of tasks at once, so their tasks are smaller.
const SHARE_BYTES: u64 = 16 << 20;
const KEPT_SHARE_BYTES: u64 = 8 << 20;
/// Tasks that place reads, per slot, and their least bytes: each task indexes all paths.
const PLACED_TASKS: u64 = 2;
const PLACED_SHARE_BYTES: u64 = 8 << 20;

impl<'r, M: Method> RemoteWorkers<'r, '_, M> {
    /// Returns the shares of the reads that tasks divide. Reads of pairs that are trimmed are
    /// together.
    pub(super) fn shares(
        &self,
        params: &LevelParams,
        response: &mut Response,
    ) -> Result<Vec<ReadShare>> {
        if params.only_solid {
            return Ok(Vec::new());
        }
        let (mut all, mut singles) = (Vec::new(), &self.context.request.inputs[..]);
        if params.pairing.are_together() && params.pairing.has_pairs() {
            for (index, source) in self.sources(params.pairing, response)?.iter().enumerate() {
                source
                    .shares
                    .iter()
                    .flatten()
                    .try_for_each(|(share, _)| self.require_room(share))?;
                let divided = source.divided((index, 1), params.pairing);
                all.extend(divided.unwrap_or_else(|| vec![source.undivided(index)]));
            }
            singles = params.pairing.split_files(singles).1;
        }
        let shares = shares::split(singles, self.share_bytes())?;
        shares.iter().try_for_each(|share| self.require_room(share))?;
        all.extend(self.singles(shares, params.pairing, response)?);
        Ok(all)
    }

    /// Returns shares of files of single reads, with the number of reads before each in its file if
    /// they are sampled; tasks count these.
    pub(super) fn singles(
        &self,
        shares: Vec<Share>,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<Vec<ReadShare>> {
        let mut counts = vec![0; shares.len()];
        if !pairing.sampling.is_all() {
            let plan = RoundPlan::new(CountRecords, shares.clone());
            let plan = RoundPlan { phase: PAIRS_PHASE.to_owned(), ..plan };
            counts = self.rounds.run(plan, response)?.iter().map(|sums| sums.reads).collect();
        }
        let (mut numbered, mut file, mut first) = (Vec::new(), PathBuf::new(), 0);
        for (share, count) in shares.into_iter().zip(counts) {
            if share.path != file {
                (file, first) = (share.path.clone(), 0);
            }
            numbered.push(ReadShare::Single(share, first));
            first += count;
        }
        Ok(numbered)
    }

    /// Returns the bytes of reads that a task divides.
    pub(super) fn share_bytes(&self) -> u64 {
        let share_bytes = if self.resources.keeps { KEPT_SHARE_BYTES } else { SHARE_BYTES };
        self.resources.task_bytes.unwrap_or(share_bytes)
    }

    /// Checks that a task has memory for its share, where that cannot be divided: its blocks take
    /// about as much as its text.
    fn require_room(&self, share: &Share) -> Result<()> {
        let room_bytes = self.resources.worker_bytes();
        let Some(text_bytes) = shares::unpacked_bytes(share, room_bytes)? else { return Ok(()) };
        let text = format!(
            "{} is packed in pieces too large for a task: one has some {} of reads, and {} of \
             memory; pack it with bgzip, unpack it, raise --memory, or use --engine native",
            share.path.display(),
            human(text_bytes),
            human(room_bytes),
        );
        Err(Error::input("memory", text))
    }

    /// Returns the shares of all sources of pairs, with their names; tasks count their records
    /// once.
    pub(super) fn sources(
        &self,
        pairing: Pairing,
        response: &mut Response,
    ) -> Result<&'r [SourceShares]> {
        if let Some(sources) = self.records.get() {
            return Ok(sources);
        }
        let (inputs, _) = pairing.split_files(&self.context.request.inputs);
        let (files, size_bytes) = (pairing.files(), self.source_bytes(pairing)?);
        let split = |path: &PathBuf| shares::split(std::slice::from_ref(path), size_bytes);
        let all: Vec<Vec<Share>> = inputs.iter().map(split).collect::<Result<_>>()?;
        let plan = RoundPlan::new(CountRecords, all.iter().flatten().cloned().collect());
        let plan = RoundPlan { phase: PAIRS_PHASE.to_owned(), ..plan };
        let mut counted = self.rounds.run(plan, response)?.into_iter();
        let (mut shares, mut names) = (Vec::new(), Vec::new());
        for file in all {
            let mut of_file = NameSums::default();
            let with_records: Vec<(Share, u64)> = file
                .into_iter()
                .map(|share| {
                    let sums = counted.next().ok_or_else(|| internal("a share not counted"))?;
                    of_file.append(&sums);
                    Ok((share, sums.reads))
                })
                .collect::<Result<_>>()?;
            shares.push(with_records);
            names.push(of_file);
        }
        let chunks = inputs.chunks(files).zip(shares.chunks(files)).zip(names.chunks(files));
        let sources: Vec<SourceShares> = chunks
            .map(|((paths, shares), names)| SourceShares {
                paths: paths.to_vec(),
                shares: shares.to_vec(),
                names: names.to_vec(),
            })
            .collect();
        sources.iter().try_for_each(|source| source.require_pairs(pairing))?;
        Ok(self.records.get_or_init(|| sources))
    }

    /// Returns the bytes of the shares of pairs, which tasks place, and divide where they trim or
    /// sample them.
    pub(super) fn source_bytes(&self, pairing: Pairing) -> Result<u64> {
        let placed_bytes = self.placed_bytes()?;
        Ok(if pairing.are_together() { placed_bytes.min(self.share_bytes()) } else { placed_bytes })
    }

    /// Returns the bytes of reads that a task places.
    pub(super) fn placed_bytes(&self) -> Result<u64> {
        let all_bytes = input_bytes(&self.context.request.inputs)?;
        let tasks = PLACED_TASKS * self.resources.slots as u64;
        let share_bytes = all_bytes.div_ceil(tasks).max(PLACED_SHARE_BYTES);
        Ok(self.resources.task_bytes.unwrap_or(share_bytes))
    }
}
