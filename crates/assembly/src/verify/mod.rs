//! Verification of an answer by another method than the one that made it, from the bytes of the
//! reads.
//!
//! For each size of k-mers the reads are aligned to the unitigs of that size, a word of bases at a
//! time. Unaligned parts are cut by other minimizers into buckets, sorted and counted there. This
//! yields the counts of all k-mers, and shows whether the unitigs have exactly the solid ones.
//! Sorting their (k-1)-mers shows that unitigs continue where they can and end where they must. The
//! graph without errors, the contigs, the spectrum and all statistics are then recomputed, and the
//! files must be the same, byte by byte.
//!
//! The memory limit is that of the run: what does not fit goes to scratch.

mod again;
mod align;
mod answer;
mod branches;
mod bridges;
mod continuations;
mod counts;
mod cut;
mod edits;
mod error_lengths;
mod evidence;
mod faults;
mod files;
mod grouped;
mod index;
mod joints;
mod judge;
mod last_paths;
mod level;
mod links;
mod packed;
mod packed_reads;
mod paths;
mod reader;
pub mod reads;
mod repeats;
mod sampling;
mod stages;
mod tandem;
pub mod text;
pub mod trimming;
mod unique_kmers;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuesta_core::digest::Digest;
use cuesta_core::fingerprint::Key;
use cuesta_core::job::{self, Context, Request, SAMPLE_GROUP_SIZE, Verdict};
use cuesta_core::pages::release_freed;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::reads::cached::CachedReads;
use cuesta_input::reads::input_bytes;
use serde_json::Value;

use crate::kernel::kmer::with_kmer;
use crate::method::Method;
use crate::params::Plan;
use crate::run;
use crate::stages::level::Level;
use crate::stages::scaffold_rows::ScaffoldNumbers;
use crate::stages::write::{
    BEFORE_FOLDER, CONTIGS_FILE, GRAPH_FILE, SCAFFOLDS_FILE, SPECTRUM_FILE, STATS_FILE,
    UNITIGS_FILE, before_file, unitigs_before_file,
};
use answer::Contigs;
use evidence::Chosen;
use faults::Faults;
use packed_reads::PackedReads;
use repeats::RepeatFilter;
use stages::PendingLevel;

const OPERATION: &str = "verify";
const METHOD: &str = "reads laid along the unitigs, the rest and all places where k-mers meet \
                      sorted; files made anew from that and compared";
const METHOD_AGAIN: &str = "reads laid along the unitigs, the rest and all places where k-mers \
                            meet sorted; vertex programs run again and all files compared";
/// Files of each answer.
const FILES: [&str; 5] = [CONTIGS_FILE, GRAPH_FILE, SPECTRUM_FILE, STATS_FILE, UNITIGS_FILE];
/// Cutoff at all sizes of k-mers but the first.
const LATER_MIN_COUNT: u32 = 2;

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when a file cannot be read or memory is too little; `System`; `Cancelled`.
pub fn verify<M: Method>(request: &Request, progress: &Progress) -> Result<Verdict> {
    // Returns memory to the system that the run before has freed.
    release_freed();
    let context = Context::new(request, progress);
    let (plan, method) = run::plan::<M>(&context, sampling::sample)?;
    let claimed = claimed_levels(&request.output)?;
    let repetition = || -> Result<Option<String>> {
        if let Some(name) = again::differing_file(request, progress, run::run::<M>)? {
            return Ok(Some(wrong_file(&name)));
        }
        for level in &claimed {
            let fault = method.fault((level.k, &level.facts), request, progress)?;
            if fault.is_some() {
                return Ok(fault);
            }
        }
        Ok(None)
    };
    let has_programs = method.joining(plan.kmer_sizes[0]).is_some();
    verified(&context, plan, &claimed, has_programs.then_some(&repetition))
}

/// Repetition of a run; returns a fault of the answer in words.
type Repetition<'v> = &'v (dyn Fn() -> Result<Option<String>> + Sync);

/// Verifies an answer; by repetition where vertex programs join chains and remove errors.
fn verified(
    context: &Context<'_>,
    mut plan: Plan,
    claimed: &[Level],
    repetition: Option<Repetition<'_>>,
) -> Result<Verdict> {
    let (request, progress) = (context.request, context.progress);
    if let Some(first) = claimed.first()
        && let Some(longest) = first.longest_read
    {
        // The proof of the first size compares these lengths with the reads.
        plan.choose(longest, first.common_stretch)?;
    }
    let amount = input_bytes(&request.inputs)?;
    let chosen = match request.verify {
        job::VerificationLevel::Full => Chosen::ALL,
        job::VerificationLevel::Sample => {
            let of = SAMPLE_GROUP_SIZE as usize;
            Chosen { of, which: (Key::random().salt() % SAMPLE_GROUP_SIZE) as usize }
        }
    };
    let verification = Verification {
        context,
        plan: &plan,
        claimed,
        repetition,
        chosen,
        amount,
        faults: Faults::default(),
        repeats: OnceLock::new(),
        packed: OnceLock::new(),
        cached: OnceLock::new(),
    };
    progress.expect(verification.work());
    let mut state = State::default();
    let mut next = Some(PendingLevel { k: plan.kmer_sizes[0], pair_facts: None });
    while let Some(stage) = next.take() {
        next = with_kmer!(stage.k, K => verification.stage::<K>(&stage, &mut state))?;
    }
    verification.verdict(state)
}

/// Returns the levels that `stats.json` claims.
fn claimed_levels(folder: &Path) -> Result<Vec<Level>> {
    let path = folder.join(STATS_FILE);
    let bad = |error: &dyn std::fmt::Display| {
        Error::input(OPERATION, format!("{}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))?;
    let mut stats: Value = serde_json::from_str(&text).map_err(|error| bad(&error))?;
    serde_json::from_value(stats["levels"].take()).map_err(|error| bad(&error))
}

/// Results so far.
#[derive(Default)]
struct State {
    levels: Vec<Level>,
    contigs: Contigs,
    scaffolds: Option<ScaffoldNumbers>,
    digest: Digest,
    /// The first fault, in words.
    wrong: Option<String>,
}

impl State {
    fn require(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        if !holds && self.wrong.is_none() {
            self.wrong = Some(wrong());
        }
    }
}

/// A running verification.
struct Verification<'v, 'a> {
    context: &'a Context<'a>,
    plan: &'v Plan,
    /// Levels that `stats.json` claims.
    claimed: &'v [Level],
    /// Repetition of the run, where vertex programs join chains and remove errors.
    repetition: Option<Repetition<'v>>,
    chosen: Chosen,
    amount: u64,
    faults: Faults,
    /// Filter of repeated k-mers of the first size, where all of the answer is verified and has
    /// other sizes.
    repeats: OnceLock<RepeatFilter<'a>>,
    /// Caches of the reads, where they are counted or placed more than once.
    packed: OnceLock<PackedReads<'a>>,
    cached: OnceLock<CachedReads<'a>>,
}

impl Verification<'_, '_> {
    fn output(&self, name: &str) -> PathBuf {
        self.context.request.output.join(name)
    }

    fn before(&self, name: &str) -> PathBuf {
        self.output(BEFORE_FOLDER).join(name)
    }

    fn is_full(&self) -> bool {
        self.chosen.of == 1
    }

    /// Returns the expected progress, by the claims of the answer: all reads for each size of
    /// k-mers, half of them where k-mers come from contigs and bridges, and all each time that they
    /// are placed.
    fn work(&self) -> u64 {
        let unread = self.claimed.iter().filter(|level| level.pair_facts.is_some()).count();
        self.amount * (self.claimed.len() + self.placings()) as u64
            - self.amount / 2 * unread as u64
    }

    /// Returns how often all reads are placed on a graph, by the claims of the answer: for bridges
    /// after each size of k-mers that is counted in reads, and for scaffolds.
    fn placings(&self) -> usize {
        if self.repetition.is_some() {
            return 0;
        }
        let (options, levels) = (&self.plan.options, self.claimed);
        let is_thin = || options.bridges_by_reads(levels.first().map(|level| &level.fit));
        let bridged = match (self.is_full(), options.places_pairs()) {
            (false, _) => 0,
            (true, true) => levels.iter().filter(|level| level.pair_facts.is_none()).count(),
            (true, false) => usize::from(levels.len() > 1 && is_thin()),
        };
        bridged + usize::from(options.places_pairs())
    }

    fn verdict(mut self, mut state: State) -> Result<Verdict> {
        // The repetition of a run needs their memory.
        (self.repeats, self.packed, self.cached) = Default::default();
        if let Some(wrong) = self.faults.first() {
            state.wrong = Some(wrong.to_owned());
        }
        let mut verdict = match self.repetition {
            Some(repetition) => self.verdict_by_repetition(repetition, &mut state)?,
            None => self.verdict_by_numbers(&mut state)?,
        };
        let unitigs = state.levels.last().map_or(0, |level| level.unitigs as u64);
        verdict.counts.insert("unitigs", unitigs);
        if let Some(wrong) = state.wrong {
            verdict.require(false, &wrong);
        }
        Ok(verdict)
    }

    /// Runs the vertex programs again, and compares all their files.
    fn verdict_by_repetition(
        &self,
        repetition: &dyn Fn() -> Result<Option<String>>,
        state: &mut State,
    ) -> Result<Verdict> {
        if self.is_full() {
            let fault = repetition()?;
            state.require(fault.is_none(), || fault.unwrap_or_default());
        }
        let mut digest = answer::digest_of_graph(&self.output(GRAPH_FILE), state.digest)?;
        let scaffolds = self.output(SCAFFOLDS_FILE);
        let optional: &[_] = if scaffolds.exists() { &[SCAFFOLDS_FILE] } else { &[] };
        if scaffolds.exists() {
            answer::digest_of_scaffolds(&scaffolds, &mut digest)?;
        }
        let verdict = Verdict::new(digest, digest, METHOD_AGAIN);
        Ok(verdict.covers(&FILES).covers(&[BEFORE_FOLDER]).covers(optional))
    }

    /// Verifies the statistics, and that no unexpected files are in the answer.
    fn verdict_by_numbers(&self, state: &mut State) -> Result<Verdict> {
        let path = self.output(STATS_FILE);
        let statistics = (&state.levels[..], state.scaffolds.as_ref());
        let stats = state.contigs.stats(self.plan.options.min_contig, statistics);
        let mut file = files::Compared::open(&path)?;
        file.put(format!("{stats:#}\n").as_bytes())?;
        let is_same = file.finish()?;
        state.require(is_same, || wrong_file(&path));
        let sizes = state
            .levels
            .windows(2)
            .flat_map(|two| [unitigs_before_file(two[0].k), before_file(two[1].k)]);
        let unexpected = unexpected_file(&self.output(BEFORE_FOLDER), &sizes.collect::<Vec<_>>())?;
        state.require(unexpected.is_none(), || unexpected.unwrap_or_default());
        if state.scaffolds.is_some() {
            answer::digest_of_scaffolds(&self.output(SCAFFOLDS_FILE), &mut state.digest)?;
        }
        let mut verdict = Verdict::new(state.digest, state.digest, METHOD).covers(&FILES);
        if let Some(scaffolds) = &state.scaffolds {
            verdict = verdict.covers(&[SCAFFOLDS_FILE]);
            verdict.counts.insert("scaffolds", scaffolds.count());
        }
        if state.levels.len() > 1 {
            verdict = verdict.covers(&[BEFORE_FOLDER]);
        }
        verdict.counts.insert("contigs", state.contigs.count());
        verdict.counts.insert("bases", state.contigs.bases());
        Ok(verdict)
    }
}

/// Returns a message if a folder has a file that it should not have.
fn unexpected_file(folder: &Path, expected: &[String]) -> Result<Option<String>> {
    let failed = |cause| Error::system(OPERATION, "reading", folder, &cause);
    if !folder.exists() {
        return Ok(None);
    }
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if !expected.iter().any(|expected| name == **expected) {
            let name = name.display();
            return Ok(Some(format!(
                "{BEFORE_FOLDER} has a file that nothing is known of: {name}"
            )));
        }
    }
    Ok(None)
}

fn wrong_file(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().display();
    format!("{name} is not what the reads give")
}
