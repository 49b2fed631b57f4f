//! Iteration over the rows of a chunk that pass a filter. Decodes only what they need: first the
//! score that the filter checks, then columns, then the masks of the rows that passed.

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::header::{COLUMNS, MaskKind};
use super::limits::{CHUNK_PAIRS, SLOTS_OPEN_MAX};
use super::matches::{CLUSTER_SAMPLES, Io, SlotRows};
use super::planes::SCORE_WIDTH;
use super::rank::Walker;
use super::reader::PairMatrix;
use super::select::{join, select};
use super::{damaged, mask};
use crate::filter::Filter;
use crate::limits::SCORES_MAX;
use crate::row::Row;

/// Requested fields of the rows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Need {
    /// Genes, cluster and the score that the filter checks (the first score without a
    /// filter); all other numbers are 0 and the mask is empty.
    Edge,
    /// All fields.
    Row,
}

/// Rows and fields to visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Requested rows; all, NaN scores included, when `None`.
    pub filter: Option<Filter>,
    /// Requested fields.
    pub need: Need,
}

/// Buffers of a thread, for a matrix.
pub struct Scratch {
    io: Io,
    scores: Vec<Micro>,
    slots: Vec<SlotRows>,
    /// Rows of all slots in order: position of the pair, slot, number in the slot.
    order: Vec<(u32, u32, u32)>,
    symbols: Vec<u8>,
}

impl PairMatrix {
    /// Buffers for a thread that visits chunks.
    ///
    /// # Errors
    /// When memory is short.
    pub fn scratch(&self) -> Result<Scratch> {
        Ok(Scratch {
            io: Io::new()?,
            scores: Vec::new(),
            slots: self.slots.iter().map(|_| SlotRows::new(&self.header().shape())).collect(),
            order: Vec::new(),
            symbols: Vec::new(),
        })
    }

    /// Memory of a [`Scratch`] when all rows of a chunk are requested, in bytes.
    pub fn scratch_bytes(&self) -> u64 {
        let scores = self.header().scores as u64;
        let slots = self.slots.len() as u64;
        CHUNK_PAIRS as u64 * (3 * 4 + slots * (4 * scores + 4 * COLUMNS.len() as u64 + 20))
    }

    /// Calls `visit` for each row of chunk `index` that passes, in the order of rank and cluster;
    /// returns how many did.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged or there is no such score; `System`; what `visit`
    /// returns.
    pub fn visit_chunk(
        &self,
        index: usize,
        query: &Query,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let method = query.filter.map_or(0, |filter| filter.score_index);
        if method >= self.header().scores {
            let text = format!(
                "--score-index is {method}, {} has {} scores per row; give a smaller number",
                self.path().display(),
                self.header().scores
            );
            return Err(Error::input("arguments", text));
        }
        for slot in 0..self.slots.len() {
            self.find(slot, index, query, scratch)?;
        }
        let rows: usize = scratch.slots.iter().map(|slot| slot.hits.len()).sum();
        if rows == 0 {
            return Ok(0);
        }
        scratch.sort_rows();
        let order = std::mem::take(&mut scratch.order);
        let mut walker = Walker::default();
        for &(place, slot, number) in &order {
            let genes = walker.genes_of(index as u64 * CHUNK_PAIRS as u64 + u64::from(place));
            let at = (slot as usize, number as usize);
            match query.need {
                Need::Edge => visit(&scratch.edge(at, method, genes))?,
                Need::Row => self.visit_row(index, at, genes, (&mut *scratch, &mut visit))?,
            }
        }
        scratch.order = order;
        scratch.slots.iter_mut().skip(SLOTS_OPEN_MAX).for_each(SlotRows::close);
        Ok(rows as u64)
    }

    /// The scores of all pairs of a chunk, [`super::ABSENT`] for a pair without a row; `None` when
    /// no pair has a row in this slot. Slot 0 holds the first cluster of each pair.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged; `System`.
    ///
    /// # Panics
    /// When there is no such chunk, slot or method.
    pub fn read_scores<'a>(
        &self,
        index: usize,
        slot: usize,
        method: usize,
        scratch: &'a mut Scratch,
    ) -> Result<Option<&'a [Micro]>> {
        assert!(method < self.header().scores, "there is no method {method}");
        let from = &self.slots[slot];
        if from.zones[index].rows == 0 {
            return Ok(None);
        }
        let reader = &mut scratch.slots[slot].readers[method];
        let size = CHUNK_PAIRS * SCORE_WIDTH;
        let planes = scratch.io.read(reader, &from.arrays[method], index as u64, size)?;
        join(planes, &mut scratch.scores);
        scratch.scores.truncate((self.header().pairs() as usize) - index * CHUNK_PAIRS);
        Ok(Some(&scratch.scores))
    }

    /// Selects the rows of a slot that pass, and reads their values.
    fn find(&self, slot: usize, index: usize, query: &Query, scratch: &mut Scratch) -> Result<()> {
        scratch.slots[slot].hits.clear();
        let from = &self.slots[slot];
        if !from.zones[index].may_pass(query.filter.as_ref()) {
            return Ok(());
        }
        let method = query.filter.map_or(0, |filter| filter.score_index);
        if self.read_scores(index, slot, method, scratch)?.is_none() {
            return Err(damaged(self.path(), "its chunk ranges and rows do not fit together"));
        }
        let Scratch { io, scores, slots, .. } = scratch;
        let matches = &mut slots[slot];
        match &query.filter {
            Some(filter) => {
                select(scores, filter, &mut matches.hits);
                matches.keep_samples(self, (from, index), filter, io)?;
            }
            None => matches.hits_of_all(scores),
        }
        if matches.hits.is_empty() {
            return Ok(());
        }
        matches.scores[method].clear();
        matches.scores[method].extend(matches.hits.iter().map(|&hit| scores[hit as usize]));
        if query.need == Need::Edge {
            return matches.read_column(self, (from, index), 0, io);
        }
        matches.count_positions(scores, from, index);
        if matches.positions.len() != matches.hits.len() {
            return Err(damaged(self.path(), "a chunk has other rows than its side array says"));
        }
        for further in (0..self.header().scores).filter(|&further| further != method) {
            matches.read_score(from, index, further, io)?;
        }
        let columns = if self.header().counts_match_masks { 2 } else { COLUMNS.len() };
        (0..columns).try_for_each(|c| matches.read_column(self, (from, index), c, io))
    }

    /// Passes a complete row to `visit`.
    fn visit_row<V: FnMut(&Row<'_>) -> Result<()>>(
        &self,
        index: usize,
        at: (usize, usize),
        (gene1, gene2): (u32, u32),
        (scratch, visit): (&mut Scratch, &mut V),
    ) -> Result<()> {
        let Scratch { slots, symbols, .. } = scratch;
        let rows = &mut slots[at.0];
        let number = at.1;
        let mut columns = [0; COLUMNS.len()];
        for (value, column) in columns.iter_mut().zip(&rows.columns) {
            *value = column.get(number).copied().unwrap_or(0);
        }
        symbols.clear();
        let samples = self.header().samples as usize;
        match self.header().masks {
            MaskKind::None => {}
            MaskKind::Genes => {
                let bytes = mask::plane_bytes(samples);
                let bits = |gene: u32| &self.gene_missing[(gene as usize - 1) * bytes..][..bytes];
                mask::unpack_missing(bits(gene1), bits(gene2), samples, symbols);
            }
            MaskKind::Stored => {
                let planes = rows.read_mask(self, (&self.slots[at.0], index), number)?;
                mask::unpack(planes, samples, symbols);
                if self.header().counts_match_masks {
                    columns[CLUSTER_SAMPLES..].copy_from_slice(&mask::tally(planes));
                }
            }
        }
        let mut scores = [0; SCORES_MAX];
        for (score, values) in scores.iter_mut().zip(&rows.scores) {
            *score = values[number];
        }
        let [cluster, num_clusters, cluster_samples, missing, outliers, pair_outliers, threshold] =
            columns;
        visit(&Row {
            gene1,
            gene2,
            cluster,
            num_clusters,
            cluster_samples,
            missing,
            outliers,
            pair_outliers,
            threshold,
            scores: &scores[..self.header().scores],
            mask: symbols,
        })
    }
}

impl Scratch {
    /// Sorts the rows of all slots by rank, then cluster.
    fn sort_rows(&mut self) {
        self.order.clear();
        for (slot, matches) in self.slots.iter().enumerate() {
            let rows = matches.hits.iter().zip(0..);
            self.order.extend(rows.map(|(&hit, number)| (hit, slot as u32, number)));
        }
        if self.slots.iter().skip(1).any(|matches| !matches.hits.is_empty()) {
            self.order.sort_unstable();
        }
    }

    fn edge(&self, at: (usize, usize), method: usize, genes: (u32, u32)) -> Row<'_> {
        let rows = &self.slots[at.0];
        Row {
            gene1: genes.0,
            gene2: genes.1,
            cluster: rows.columns[0][at.1],
            num_clusters: 0,
            cluster_samples: 0,
            missing: 0,
            outliers: 0,
            pair_outliers: 0,
            threshold: 0,
            scores: std::slice::from_ref(&rows.scores[method][at.1]),
            mask: &[],
        }
    }
}
