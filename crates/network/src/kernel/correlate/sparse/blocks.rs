//! Nonzeros of all genes, block of samples after block, so that a panel of a block stays in a
//! cache while the nonzeros pass over it in the order of memory.

use cuesta_input::matrix::sparse::SparseMatrix;

use super::super::share::share;
use super::columns::List;

/// Samples of a block.
pub const BLOCK: usize = 1024;

/// Nonzero in memory.
pub trait Nonzero: Copy + Default + Send + Sync + Into<f64> {
    /// Returns the nearest such number.
    fn of(value: f64) -> Self;
    /// Returns the number in single precision.
    fn single(self) -> f32;
}

impl Nonzero for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }

    fn single(self) -> f32 {
        self
    }
}

impl Nonzero for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn single(self) -> f32 {
        self as f32
    }
}

/// Nonzeros by block of samples, then by gene, then by sample.
#[derive(Debug)]
pub struct SampleBlocks<V> {
    genes: usize,
    /// Number of blocks.
    pub count: usize,
    /// Place of the first nonzero of each gene in each block, and the number of all.
    starts: Vec<usize>,
    /// Samples within their block.
    places: Vec<u16>,
    values: Vec<V>,
}

/// Part of a layout for a block.
struct Part<'p, V> {
    places: &'p mut [u16],
    values: &'p mut [V],
}

impl<V: Nonzero> SampleBlocks<V> {
    /// Lays out the nonzeros of a list for each gene, on `threads` threads.
    pub fn new(matrix: &SparseMatrix, lists: &[List<V>], threads: usize) -> Self {
        let (genes, samples) = (lists.len(), matrix.samples.len());
        let count = samples.div_ceil(BLOCK);
        let range = |gene: usize, block: usize| {
            let (first, end) = (block * BLOCK, samples.min((block + 1) * BLOCK));
            if lists[gene].is_full {
                return first..end;
            }
            let row = matrix.row(gene).samples;
            let before = |sample: usize| row.partition_point(|&place| (place as usize) < sample);
            before(first)..before(end)
        };
        let mut starts = vec![0; count * genes + 1];
        for block in 0..count {
            for gene in 0..genes {
                let place = block * genes + gene;
                starts[place + 1] = starts[place] + range(gene, block).len();
            }
        }
        let nonzeros = starts[count * genes];
        let (mut places, mut values) = (vec![0u16; nonzeros], vec![V::default(); nonzeros]);
        let mut parts = Vec::with_capacity(count);
        let (mut places_left, mut values_left) = (&mut places[..], &mut values[..]);
        for block in 0..count {
            let length = starts[(block + 1) * genes] - starts[block * genes];
            let (part, rest) = places_left.split_at_mut(length);
            let (part_values, values_rest) = values_left.split_at_mut(length);
            (places_left, values_left) = (rest, values_rest);
            parts.push(Part { places: part, values: part_values });
        }
        share(&mut parts, threads, |block, part| {
            let mut next = 0;
            for (gene, list) in lists.iter().enumerate() {
                let range = range(gene, block);
                let end = next + range.len();
                part.values[next..end].copy_from_slice(&list.values[range.clone()]);
                let places = &mut part.places[next..end];
                if list.is_full {
                    (0..).zip(places).for_each(|(sample, place)| *place = sample);
                } else {
                    let row = &matrix.row(gene).samples[range];
                    let within = |&sample: &u32| (sample as usize % BLOCK) as u16;
                    places.iter_mut().zip(row).for_each(|(place, sample)| *place = within(sample));
                }
                next = end;
            }
        });
        Self { genes, count, starts, places, values }
    }

    /// Returns the nonzeros of a gene (0-based) in a block: samples within the block, and values.
    #[inline(always)]
    pub fn nonzeros(&self, block: usize, gene: usize) -> (&[u16], &[V]) {
        let place = block * self.genes + gene;
        let range = self.starts[place]..self.starts[place + 1];
        (&self.places[range.clone()], &self.values[range])
    }
}
