//! Super-k-mers or adjacency lists of a part, and their counting. Bucket `b` belongs to part `b`
//! modulo the number of parts.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;

use crate::buckets::Buckets;
use crate::buckets::counting::{BucketCounts, Counting};
use crate::buckets::open::BLOCK_BYTES_MIN;
use crate::kernel::codec;
use crate::kernel::internal;
use crate::kernel::scan::ReadCounts;
use crate::kernel::spectrum::Spectrum;
use crate::method::TextStage;
use crate::stages::workers::{LevelParams, WorkerResults};

/// Largest part of the memory that super-k-mers take; further ones go to scratch.
const HELD_PART: u64 = 2;

/// Received super-k-mers of a part.
pub(super) struct BucketPart {
    k: usize,
    buckets: Buckets<'static>,
    /// Whether each bucket has records.
    filled: Vec<bool>,
    /// Records of each bucket that do not yet fill a block of [`BLOCK_BYTES_MIN`].
    open: Vec<Vec<u8>>,
    tally: ReadCounts,
}

impl BucketPart {
    /// Creates an empty part, with the memory and scratch folder of a request.
    pub(super) fn new(params: &LevelParams, request: &Request) -> Self {
        let (count, held_bytes) = (params.buckets(), request.budget.limit_bytes() / HELD_PART);
        Self {
            k: params.k,
            buckets: Buckets::of_part(params.k, count, held_bytes, &request.scratch),
            filled: vec![false; count],
            open: vec![Vec::new(); count],
            tally: ReadCounts::default(),
        }
    }

    /// Adds blocks of super-k-mers.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let tally = codec::each_block(bytes, |bucket, block| self.add(bucket, block))?;
        self.tally.add(&tally);
        Ok(())
    }

    /// Adds lines of a k-mer and its followers.
    pub(super) fn take_text(&mut self, text: &[u8], stage: &TextStage) -> Result<()> {
        let mut lists = vec![Vec::new(); self.filled.len()];
        self.tally.add(&(stage.lists)(text, self.k, &mut lists)?);
        self.buckets.lists = Some(stage.each_list);
        let mut lists = lists.iter().enumerate().filter(|(_, list)| !list.is_empty());
        lists.try_for_each(|(bucket, list)| self.add(bucket, list))
    }

    fn add(&mut self, bucket: usize, records: &[u8]) -> Result<()> {
        let open = self.open.get_mut(bucket).ok_or_else(|| internal("a block of no bucket"))?;
        self.filled[bucket] = true;
        if open.len() + records.len() > BLOCK_BYTES_MIN && !open.is_empty() {
            self.buckets.blocks.add(bucket, open)?;
            open.clear();
        }
        if records.len() > BLOCK_BYTES_MIN {
            return self.buckets.blocks.add(bucket, records);
        }
        if open.capacity() == 0 {
            *open = Vec::with_capacity(BLOCK_BYTES_MIN);
        }
        open.extend_from_slice(records);
        Ok(())
    }

    /// Completes the buckets; nothing may be added afterwards.
    pub(super) fn close(&mut self) -> Result<()> {
        for (bucket, open) in std::mem::take(&mut self.open).into_iter().enumerate() {
            if !open.is_empty() {
                self.buckets.blocks.add(bucket, &open)?;
            }
        }
        Ok(())
    }

    /// Returns the spectrum of the k-mers in the sampled buckets.
    pub(super) fn sample(&self, budget: &Budget, progress: &Progress) -> Result<Spectrum> {
        let _lease = self.lease(budget)?;
        self.counting(budget, progress, |counting| counting.sample())
    }

    /// Leases the memory of the blocks, which tables and fragments cannot have.
    pub(super) fn lease<'b>(&self, budget: &'b Budget) -> Result<Lease<'b>> {
        budget.take(self.buckets.blocks.taken_bytes(), "the super-k-mers of a part")
    }

    /// Returns the fragments of the solid k-mers, and the counts; the caller has the
    /// [lease](Self::lease) of the blocks.
    pub(super) fn results<'b>(
        self,
        params: &LevelParams,
        budget: &'b Budget,
        progress: &Progress,
    ) -> Result<WorkerResults<'b>> {
        let min_count = params.min_count.ok_or_else(|| internal("no smallest count"))?;
        let bucket_bytes = self.buckets.blocks.bytes();
        let counted = self
            .counting(budget, progress, |counting| counting.fragments(min_count, params.grain))?;
        let BucketCounts { fragments, spectrum, tally: edges } = counted;
        let mut tally = self.tally;
        tally.add(&edges);
        Ok(WorkerResults { fragments, spectrum, min_count, bucket_bytes, tally, traffic: None })
    }

    fn counting<'b, T>(
        &self,
        budget: &'b Budget,
        progress: &Progress,
        work: impl FnOnce(&Counting<'_, 'static, 'b>) -> Result<T>,
    ) -> Result<T> {
        let bucket_numbers: Vec<usize> =
            (0..self.filled.len()).filter(|&bucket| self.filled[bucket]).collect();
        work(&Counting {
            buckets: &self.buckets,
            bucket_numbers: &bucket_numbers,
            k: self.k,
            threads: 1,
            budget,
            progress,
            text_bytes: 0,
            repeated: None,
        })
    }
}
