//! Products of all genes of a sparse matrix, sample by sample: for the verifier of `correlate`, by
//! another method than the kernel.
//!
//! The nonzeros of a sample are multiplied with each other, as in Gustavson's product of sparse
//! matrices (1978), and sums are corrected for the means at the end: sum (x - m)(y - m') is
//! sum x y - sum x sum y / n. The kernel centres first, and multiplies gene by gene.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_input::matrix::sparse::{SparseMatrix, SparseRow};
use cuesta_runtime::parallel::{self, lock};

use super::columns::ColumnForm;
use super::products::BLOCK;
use crate::params::{CorrelateParams, Correlation};

/// Largest ratio of the sum of squares of a column to that of its deviations: those of a column
/// beyond it take its place.
const RATIO_MAX: f64 = 64.0;

/// Entries of the samples that a thread multiplies before it continues with the next ones: they
/// stay in a cache.
const CHUNK_ENTRIES: usize = 1 << 16;

/// Nonzeros by sample, and the moments of their genes.
pub struct SampleLists {
    /// Samples (0-based) at which a chunk begins, and the number of all.
    chunks: Vec<usize>,
    /// Place of the first nonzero of each sample, and the number of all.
    starts: Vec<usize>,
    /// Genes (0-based), ascending for each sample.
    genes: Vec<u32>,
    numbers: Vec<f64>,
    /// Places of the nonzeros of each gene in these lists, ascending.
    places: Vec<Vec<u32>>,
    moments: Vec<Moments>,
}

/// Sums over the column of a gene.
#[derive(Clone, Copy, Default)]
struct Moments {
    /// Sum over its numbers, divided by the square root of the samples.
    mean: f64,
    /// Factor that makes the length of its deviations 1; 0 if they are all 0.
    factor: f64,
}

/// Column of a gene: its numbers for the nonzeros, or for all samples.
#[derive(Default)]
struct Numbers {
    values: Vec<f64>,
    is_full: bool,
    moments: Moments,
}

impl SampleLists {
    /// Lists the nonzeros of a matrix on `threads` threads.
    ///
    /// # Errors
    /// None of its own.
    pub fn new(matrix: &SparseMatrix, params: &CorrelateParams, threads: usize) -> Result<Self> {
        let (genes, samples) = (matrix.genes.len(), matrix.samples.len());
        let columns: Vec<Mutex<Numbers>> = (0..genes).map(|_| Mutex::default()).collect();
        let work = |_: &mut (), gene: usize| {
            *lock(&columns[gene]) = numbers(matrix, gene, params);
            Ok(())
        };
        parallel::run(threads, genes, || (), work, |_| {})?;
        let columns = columns
            .into_iter()
            .map(|column| column.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        let columns: Vec<Numbers> = columns.collect();
        let mut starts = vec![0; samples + 1];
        let of_all: Vec<u32> = (0..samples as u32).collect();
        for (gene, column) in columns.iter().enumerate() {
            let places = if column.is_full { &of_all } else { matrix.row(gene).samples };
            places.iter().for_each(|&sample| starts[sample as usize + 1] += 1);
        }
        for sample in 0..samples {
            starts[sample + 1] += starts[sample];
        }
        let mut next = starts.clone();
        let (mut numbers, mut owners) = (vec![0.0; starts[samples]], vec![0; starts[samples]]);
        let (mut moments, mut places_of) = (Vec::with_capacity(genes), Vec::with_capacity(genes));
        // Each column is released when it is listed.
        for (gene, column) in columns.into_iter().enumerate() {
            let row = if column.is_full { &of_all } else { matrix.row(gene).samples };
            let mut places = Vec::with_capacity(row.len());
            for (&sample, value) in row.iter().zip(&column.values) {
                let place = &mut next[sample as usize];
                (owners[*place], numbers[*place]) = (gene as u32, *value);
                places.push(*place as u32);
                *place += 1;
            }
            places_of.push(places);
            moments.push(column.moments);
        }
        let mut chunks = vec![0];
        for sample in 1..=samples {
            let first = starts[chunks[chunks.len() - 1]];
            if sample == samples || starts[sample + 1] - first > CHUNK_ENTRIES {
                chunks.push(sample);
            }
        }
        Ok(Self { chunks, starts, genes: owners, numbers, places: places_of, moments })
    }

    /// Whether the values of each gene are not all equal.
    pub fn varying(&self) -> Vec<bool> {
        self.moments.iter().map(|moments| moments.factor > 0.0).collect()
    }

    /// Computes the correlations of each gene in `left`, at most [`BLOCK`] and descending, with all
    /// smaller genes; those of `left[i]` begin at i times the number of all genes.
    pub fn strip(&self, left: &[usize], strip: &mut Vec<f64>) {
        let width = self.moments.len();
        strip.clear();
        strip.resize(left.len() * width, 0.0);
        let mut next = vec![0; left.len()];
        for chunk in self.chunks.windows(2) {
            let end = self.starts[chunk[1]];
            for (row, &gene) in left.iter().enumerate() {
                let sums = &mut strip[row * width..][..gene];
                let places = &self.places[gene][next[row]..];
                let (mut sample, mut count) = (chunk[0], 0);
                for &place in places {
                    let place = place as usize;
                    if place >= end {
                        break;
                    }
                    while self.starts[sample + 1] <= place {
                        sample += 1;
                    }
                    count += 1;
                    // The genes of the sample that are smaller.
                    let range = self.starts[sample]..place;
                    let number = self.numbers[place];
                    let smaller = self.genes[range.clone()].iter().zip(&self.numbers[range]);
                    for (&second, &second_number) in smaller {
                        sums[second as usize] += number * second_number;
                    }
                }
                next[row] += count;
            }
        }
        for (&gene, sums) in left.iter().zip(strip.chunks_mut(width)) {
            let first = self.moments[gene];
            for (sum, second) in sums[..gene].iter_mut().zip(&self.moments) {
                *sum = (*sum - first.mean * second.mean) * first.factor * second.factor;
            }
        }
    }

    /// Copies the correlations of a strip with the genes `right` to places `i * BLOCK + j`.
    pub fn copy(&self, strip: &[f64], right: std::ops::Range<usize>, out: &mut [f64]) {
        for (row, out) in strip.chunks(self.moments.len()).zip(out.chunks_mut(BLOCK)) {
            out[..right.len()].copy_from_slice(&row[right.clone()]);
        }
    }
}

/// Returns the column of a gene (0-based); without moments if all values are equal.
fn numbers(matrix: &SparseMatrix, gene: usize, params: &CorrelateParams) -> Numbers {
    let row = matrix.row(gene);
    let samples = matrix.samples.len();
    let is_equal = match row.values {
        [] => true,
        [first, rest @ ..] => {
            row.values.len() == samples && rest.iter().all(|value| value == first)
        }
    };
    if is_equal {
        return Numbers { values: vec![0.0; row.values.len()], ..Numbers::default() };
    }
    let values = match params.method {
        Correlation::Spearman => ranks_above_zeros(row, samples),
        Correlation::Pearson | Correlation::Bicor => {
            let most = row.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
            // By a power of two, so that no value is rounded.
            let scale = 2f64.powi(-(most.log2().floor().clamp(-1000.0, 1000.0) as i32));
            row.values.iter().map(|value| value * scale).collect()
        }
    };
    let (sum, squares) = values
        .iter()
        .fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    let mean = sum / (samples as f64).sqrt();
    let deviations = squares - mean * mean;
    if deviations * RATIO_MAX >= squares {
        let moments = Moments { mean, factor: 1.0 / deviations.sqrt() };
        return Numbers { values, is_full: false, moments };
    }
    let column = ColumnForm::of(params).column(&matrix.dense_row(gene));
    let moments = Moments { mean: 0.0, factor: 1.0 };
    Numbers { values: column.unwrap_or_default(), is_full: true, moments }
}

/// Returns ranks of the nonzeros, less that of the zeros; equal values share their mean rank.
fn ranks_above_zeros(row: SparseRow<'_>, samples: usize) -> Vec<f64> {
    let mut order: Vec<(f64, u32)> = row.values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let zeros = samples - order.len();
    let negative = order.partition_point(|(value, _)| *value < 0.0);
    // Ranks count from 1; those of all samples have the mean (n + 1) / 2.
    let of_zeros = match zeros {
        0 => (samples as f64 + 1.0) / 2.0,
        _ => negative as f64 + (zeros as f64 + 1.0) / 2.0,
    };
    let mut ranks = vec![0.0; order.len()];
    let mut start = 0;
    while start < order.len() {
        let end = start + order[start..].partition_point(|(value, _)| *value <= order[start].0);
        let first = if start >= negative { start + zeros } else { start };
        let rank = first as f64 + ((end - start) as f64 + 1.0) / 2.0;
        order[start..end].iter().for_each(|&(_, place)| ranks[place as usize] = rank - of_zeros);
        start = end;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use cuesta_core::random::Stream;
    use cuesta_input::matrix::ExpressionMatrix;

    use super::super::columns::dot;
    use super::*;

    #[test]
    fn correlations_are_those_of_the_columns_with_zeros() {
        let (genes, samples) = (70, 203);
        let stream = Stream::new(8, 0);
        let value = |index: usize| {
            let (gene, normal) = (index / samples, stream.normal(2 * index as u64));
            let is_zero = stream.uniform(2 * index as u64 + 1) > [0.1, 0.5, 1.0, 0.03][gene % 4];
            let value = [normal.round(), normal.exp(), 1e3 + normal.round(), -1.0][gene % 4];
            if is_zero { 0.0 } else { value }
        };
        let dense = ExpressionMatrix {
            genes: (0..genes).map(|gene| format!("g{gene}")).collect(),
            samples: (0..samples).map(|sample| format!("s{sample}")).collect(),
            values: (0..genes * samples).map(value).collect(),
            left_out: 0,
        };
        let sparse = SparseMatrix::of(&dense);
        for method in [Correlation::Pearson, Correlation::Spearman] {
            let params = CorrelateParams { method, ..Default::default() };
            let lists = SampleLists::new(&sparse, &params, 2).unwrap();
            let columns: Vec<Option<Vec<f64>>> =
                (0..genes).map(|gene| ColumnForm::of(&params).column(dense.row(gene))).collect();
            let varying: Vec<bool> = columns.iter().map(Option::is_some).collect();
            assert_eq!(lists.varying(), varying);
            let (left, mut strip) = ([69, 68, 40, 3], Vec::new());
            lists.strip(&left, &mut strip);
            let mut out = vec![f64::NAN; BLOCK * BLOCK];
            lists.copy(&strip, 32..40, &mut out);
            for (row, &gene) in left.iter().enumerate() {
                for second in 0..gene {
                    let exact = match (&columns[gene], &columns[second]) {
                        (Some(a), Some(b)) => dot(a, b),
                        _ => continue,
                    };
                    let score = strip[row * genes + second];
                    assert!((score - exact).abs() < 1e-11, "{gene} {second}: {score} {exact}");
                    if (32..40).contains(&second) {
                        assert_eq!(out[row * BLOCK + second - 32], score);
                    }
                }
            }
        }
    }
}
