//! Public interface for writing: options, checks, and rows from any number of threads.

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
    /// A mask for each row, passed with the row.
    Stored,
    /// 9 where either gene is missing, else 1. One bit per gene and sample, set where
    /// missing; packed per gene by [`super::pack_flags`], gene 1 first.
    Genes(Vec<u8>),
}

/// Content of a pair matrix, and resources for writing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterOptions {
    /// Number of genes; 0 for the largest gene number of all rows.
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
    /// Memory to take from the budget; 0 for half of the free memory.
    pub memory_bytes: u64,
    /// Folder for data that exceeds the memory.
    pub scratch: PathBuf,
}

/// Summary of a written pair matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSummary {
    /// Rows.
    pub rows: u64,
    /// Genes.
    pub genes: u32,
    /// Bytes that were written to the scratch disk: 0 for input that is nearly in order.
    pub spilled_bytes: u64,
}

/// Writes a pair matrix; threads may share it.
pub struct Writer<'a> {
    // Dropped first: its threads must have ended before the folder is removed.
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
    summary: BatchSummary,
}

impl<'a> Writer<'a> {
    /// Starts the pair matrix `path`, which must not exist, and does not until
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
        let state = Mutex::new(State { intake, summary: BatchSummary::default() });
        let turns = Turns::default();
        Ok(Self { state, partial, options, shape, batch_bytes, turns, _memory: memory })
    }

    /// An empty batch for rows of this file.
    pub fn batch(&self) -> RowBatch {
        let genes = if self.options.genes == 0 { GENES_MAX } else { self.options.genes };
        RowBatch::new(self.shape, genes)
    }

    /// Adds the rows of a batch, in any order, and leaves it empty. Efficient for about a megabyte
    /// at a time.
    ///
    /// # Errors
    /// `Input` when a cluster of a pair occurs twice; `System`.
    pub fn push_batch(&self, batch: &mut RowBatch) -> Result<()> {
        let mut state = lock(&self.state);
        state.summary.add(batch.summary());
        let result = state.intake.push(batch.rows_mut());
        batch.clear();
        result
    }

    /// Adds the next rows of part `part` of the input (counted from 0), after those of all parts
    /// before it, so that input in order is written as it arrives. Call it after each block of a
    /// part. A small batch is left as it is unless it is the `last` of the part.
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
            // After rows arrived out of order, waiting gains nothing.
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

    /// Adds a row; [`Writer::push_batch`] is faster.
    ///
    /// # Errors
    /// `Input` for an invalid row; as [`Writer::push_batch`].
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
        state.summary.add(&BatchSummary { rows, has_nan, ..BatchSummary::default() });
        Ok(())
    }

    /// Writes the remaining rows and renames the folder to its path.
    ///
    /// # Errors
    /// `Input` when a cluster of a pair occurs twice; `System`; `Cancelled`. The path then does
    /// not exist.
    pub fn finish(self, progress: &Progress) -> Result<WriteSummary> {
        let state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (slots, spilled_bytes) = state.intake.finish(progress)?;
        let done = (&slots[..], &state.summary);
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
    (slots, summary): (&[SlotDone], &BatchSummary),
    spilled_bytes: u64,
) -> Result<WriteSummary> {
    let genes = match options.genes {
        0 => summary.gene_max,
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
        counts_match_masks: shape.masks == MaskKind::Stored && !summary.counts_differ,
        has_nan: summary.has_nan,
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
