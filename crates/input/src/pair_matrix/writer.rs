//! The public side of writing: options, checks, and rows from any number of threads.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::fixed::Micro;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use super::assemble::SlotDone;
use super::header::{MaskKind, MatrixHeader, RowShape};
use super::intake::{Intake, IntakeMemory};
use super::mask::plane_bytes;
use super::publish::{self, MatrixNames, Partial};
use super::rank;
use super::record::{BatchSummary, RowBatch};
use crate::limits::{GENES_MAX, SAMPLES_MAX, SCORES_MAX};
use crate::row::Row;
use cuesta_runtime::ordered::Turns;
use cuesta_runtime::parallel::lock;

/// Sample masks of a pair matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Masks {
    /// There are none.
    #[default]
    None,
    /// One for each row, as it comes.
    Stored,
    /// 9 where one of the two genes is missing, else 1. One bit per gene and sample, set where
    /// missing; each gene as [`super::pack_flags`] packs it, gene 1 first.
    Genes(Vec<u8>),
}

/// What a pair matrix will hold, and the means to write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterOptions {
    /// Genes; 0 for the largest gene number that comes.
    pub genes: u32,
    /// Samples.
    pub samples: u32,
    /// Scores of a row, 1 to 8.
    pub scores: usize,
    /// Sample masks.
    pub masks: Masks,
    /// Names of the scores; may be empty.
    pub score_names: Vec<String>,
    /// Names of all genes; may be empty, or more when the number of genes is not known before.
    pub gene_names: Vec<String>,
    /// Names of all samples; may be empty.
    pub sample_names: Vec<String>,
    /// Threads that compress.
    pub threads: usize,
    /// Memory to take from the budget; 0 for half of what is free.
    pub memory_bytes: u64,
    /// Folder for what does not fit in memory.
    pub scratch: PathBuf,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSummary {
    /// Rows.
    pub rows: u64,
    /// Genes.
    pub genes: u32,
    /// Bytes that went through scratch disk: 0 for input that is nearly in order.
    pub spilled_bytes: u64,
}

/// Writes a pair matrix; threads may share it.
pub struct Writer<'a> {
    // Dropped first: its threads must be gone before the folder is removed.
    state: Mutex<State>,
    partial: Partial,
    options: WriterOptions,
    shape: RowShape,
    batch_bytes: usize,
    turns: Turns,
    _memory: Lease<'a>,
}

struct State {
    intake: Intake,
    facts: BatchSummary,
}

impl<'a> Writer<'a> {
    /// Starts the pair matrix `path`, which must not exist; nothing is there until
    /// [`Writer::finish`].
    ///
    /// # Errors
    /// `Input` for options out of range, too little memory or an existing `path`; `System`.
    pub fn create(path: &Path, options: WriterOptions, budget: &'a Budget) -> Result<Self> {
        let shape = check(&options).map_err(|text| Error::input("output.pairs", text))?;
        let memory_bytes = match options.memory_bytes {
            0 => budget.free_bytes() / 2,
            bytes => bytes,
        };
        let plan = IntakeMemory::new(shape, options.threads.max(1), memory_bytes)?;
        let memory = budget.take(memory_bytes, "writing the pair matrix")?;
        let partial = Partial::create(path)?;
        let batch_bytes = plan.batch_bytes() as usize;
        let intake = Intake::new(plan, partial.folder(), &options.scratch);
        let state = Mutex::new(State { intake, facts: BatchSummary::default() });
        let turns = Turns::default();
        Ok(Self { state, partial, options, shape, batch_bytes, turns, _memory: memory })
    }

    /// An empty batch for rows of this file.
    pub fn batch(&self) -> RowBatch {
        let genes = if self.options.genes == 0 { GENES_MAX } else { self.options.genes };
        RowBatch::new(self.shape, genes)
    }

    /// Takes the rows of a batch, in any order, and leaves it empty. Hand over about a megabyte
    /// at a time.
    ///
    /// # Errors
    /// `Input` when a cluster of a pair is given twice; `System`.
    pub fn push_batch(&self, batch: &mut RowBatch) -> Result<()> {
        let mut state = lock(&self.state);
        state.facts.add(batch.summary());
        let result = state.intake.push(batch.rows_mut());
        batch.clear();
        result
    }

    /// Takes the next rows of part `part` of the input, 0 the first, after those of all parts
    /// before it, so that input that is in order is written as it comes; call it after every block
    /// of a part. Leaves them in the batch while they are few, unless they are the `last`.
    ///
    /// # Errors
    /// As [`Writer::push_batch`]; `Cancelled` when a part before it failed.
    pub fn push_part(&self, part: usize, batch: &mut RowBatch, last: bool) -> Result<()> {
        if !last && batch.size_bytes() < self.batch_bytes {
            return Ok(());
        }
        self.turns.wait(part)?;
        self.push_batch(batch)?;
        if !lock(&self.state).intake.is_streaming() {
            // Once rows came out of order nothing is gained by waiting.
            self.turns.open();
        }
        if last {
            self.turns.pass();
        }
        Ok(())
    }

    /// Releases the parts that wait for `part`, which failed.
    pub fn fail_part(&self, part: usize) {
        self.turns.fail(part);
    }

    /// Takes one row; [`Writer::push_batch`] is faster.
    ///
    /// # Errors
    /// `Input` for a row that cannot be right; as [`Writer::push_batch`].
    pub fn push(&self, row: &Row<'_>) -> Result<()> {
        let mut batch = self.batch();
        batch.push(row).map_err(|what| {
            let (gene1, gene2) = (row.gene1, row.gene2);
            Error::input("output.pairs", format!("the row of the pair {gene1} {gene2} {what}"))
        })?;
        self.push_batch(&mut batch)
    }

    /// Takes consecutive pairs from rank `first` on, one score each ([`super::ABSENT`] for no
    /// row); `counts` has the common samples of each pair, all samples when `None`. Bands come in
    /// ascending order and are not mixed with other rows.
    ///
    /// # Errors
    /// `System`.
    ///
    /// # Panics
    /// When the file has several scores or stored masks, the lengths differ, or bands overlap.
    pub fn push_band(&self, first: u64, scores: &[Micro], counts: Option<&[u32]>) -> Result<()> {
        assert!(self.shape.scores == 1, "bands have one score");
        assert!(self.shape.masks != MaskKind::Stored, "bands have no masks of their own");
        assert!(counts.is_none_or(|counts| counts.len() == scores.len()), "one count per score");
        let end = first + scores.len() as u64;
        assert!(end <= rank::pairs_of(self.options.genes), "the band ends behind the last pair");
        let mut state = lock(&self.state);
        let (rows, has_nan) = state.intake.push_band(first, scores, counts)?;
        state.facts.add(&BatchSummary { rows, has_nan, ..BatchSummary::default() });
        Ok(())
    }

    /// Writes what is left and gives the file its name.
    ///
    /// # Errors
    /// `Input` when a cluster of a pair is given twice; `System`; `Cancelled`. The path then does
    /// not exist.
    pub fn finish(self, progress: &Progress) -> Result<WriteSummary> {
        let state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (slots, spilled_bytes) = state.intake.finish(progress)?;
        let done = (&slots[..], &state.facts);
        let written = store(self.partial.folder(), self.shape, &self.options, done, spilled_bytes)?;
        self.partial.publish()?;
        Ok(written)
    }
}

/// Stores what is not in the arrays yet, from what is done of the slots and what is known of all
/// rows.
///
/// # Errors
/// `Input` when genes have no names; `System`.
pub(super) fn store(
    folder: &Path,
    shape: RowShape,
    options: &WriterOptions,
    (slots, facts): (&[SlotDone], &BatchSummary),
    spilled_bytes: u64,
) -> Result<WriteSummary> {
    let genes = match options.genes {
        0 => facts.gene_max,
        genes => genes,
    };
    let gene_names = &options.gene_names;
    let names_of_genes = match gene_names.get(..genes as usize) {
        Some(names) => names,
        None if gene_names.is_empty() => &[],
        None => {
            let text = format!("there are {} gene names for {genes} genes", gene_names.len());
            return Err(Error::input("output.pairs", text));
        }
    };
    let slot_rows = slots.iter().map(|slot| slot.rows).collect();
    let header = MatrixHeader {
        score_names: options.score_names.clone(),
        masks: shape.masks,
        counts_match_masks: shape.masks == MaskKind::Stored && !facts.counts_differ,
        has_nan: facts.has_nan,
        gene_names: !names_of_genes.is_empty(),
        sample_names: !options.sample_names.is_empty(),
        ..MatrixHeader::of(shape, genes, slot_rows)
    };
    let gene_missing = match &options.masks {
        Masks::Genes(bits) => bits.as_slice(),
        Masks::None | Masks::Stored => &[],
    };
    let samples = &options.sample_names;
    let names = MatrixNames { genes: names_of_genes, samples, gene_missing };
    publish::store(folder, &header, slots, &names)?;
    Ok(WriteSummary { rows: header.rows, genes: header.genes, spilled_bytes })
}

/// Checks the options; an error is a sentence.
pub(super) fn check(options: &WriterOptions) -> std::result::Result<RowShape, String> {
    let (genes, samples) = (options.genes as usize, options.samples as usize);
    if genes > GENES_MAX as usize || samples > SAMPLES_MAX {
        return Err(format!(
            "{genes} genes and {samples} samples are too many; the limits are {GENES_MAX} and \
             {SAMPLES_MAX}"
        ));
    }
    if !(1..=SCORES_MAX).contains(&options.scores) {
        return Err(format!("{} scores per row, expected 1 to {SCORES_MAX}", options.scores));
    }
    let gene_names = match options.genes {
        0 => 0,
        _ => options.gene_names.len(),
    };
    let lists = [
        ("score names", options.score_names.len(), options.scores),
        ("gene names", gene_names, genes),
        ("sample names", options.sample_names.len(), samples),
    ];
    for (what, found, expected) in lists {
        if found != 0 && found != expected {
            return Err(format!("there are {found} {what}, expected {expected}"));
        }
    }
    let masks = match &options.masks {
        Masks::None => MaskKind::None,
        Masks::Stored | Masks::Genes(_) if samples == 0 => {
            return Err("masks need at least one sample".to_owned());
        }
        Masks::Stored => MaskKind::Stored,
        Masks::Genes(bits) => {
            let expected = genes * plane_bytes(samples);
            if bits.len() != expected {
                return Err(format!(
                    "the masks of genes have {} bytes, not {expected}",
                    bits.len()
                ));
            }
            MaskKind::Genes
        }
    };
    Ok(RowShape { scores: options.scores, samples: options.samples, masks })
}
