//! Missing values of a module, replaced by the means of the nearest genes.
//!
//! Source: Troyanskaya et al., "Missing value estimation methods for DNA microarrays", 2001.

use cuesta_core::scale::{exponent, scaled};

/// Genes whose values are averaged.
const NEIGHBOURS: usize = 10;

/// Part of missing values above which a gene takes means of the samples.
const ROW_MAX: f64 = 0.5;

/// Returns the genes without missing values.
///
/// Neighbours are the genes of the least mean squared difference over shared samples; ties go to
/// the smaller gene. Where no neighbour has a value, and for genes with too few, the mean of the
/// sample over all genes is taken; 0 where there is none.
pub fn imputed(rows: &[&[f64]]) -> Vec<Vec<f64>> {
    let mut complete: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
    if !rows.iter().any(|row| row.iter().any(|value| value.is_nan())) {
        return complete;
    }
    let samples = rows.first().map_or(0, |row| row.len());
    // A power of two for all, so that no square or sum is out of range: no digit changes.
    let scale = rows.iter().map(|row| exponent(row)).max().unwrap_or(0);
    let small = |row: &&[f64]| row.iter().map(|value| scaled(*value, -scale)).collect();
    let rows: Vec<Vec<f64>> = rows.iter().map(small).collect();
    let usable: Vec<usize> = (0..rows.len())
        .filter(|&gene| missing(&rows[gene]) as f64 <= ROW_MAX * samples as f64)
        .collect();
    let means: Vec<f64> = (0..samples)
        .map(|sample| mean(rows.iter().map(|row| row[sample])).unwrap_or(0.0))
        .collect();
    for (gene, row) in complete.iter_mut().enumerate() {
        if missing(row) == 0 {
            continue;
        }
        let neighbours = match usable.binary_search(&gene) {
            Ok(_) => nearest(&rows, gene, &usable),
            Err(_) => Vec::new(),
        };
        for (sample, value) in row.iter_mut().enumerate() {
            if value.is_nan() {
                let of_neighbours = neighbours.iter().map(|&gene| rows[gene][sample]);
                *value = scaled(mean(of_neighbours).unwrap_or(means[sample]), scale);
            }
        }
    }
    complete
}

fn missing(row: &[f64]) -> usize {
    row.iter().filter(|value| value.is_nan()).count()
}

/// Returns the mean of the present values, if there is any.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values
        .filter(|value| !value.is_nan())
        .fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn nearest(rows: &[Vec<f64>], gene: usize, usable: &[usize]) -> Vec<usize> {
    let candidates = usable.iter().filter(|&&other| other != gene);
    let mut ranked: Vec<(f64, usize)> = candidates
        .filter_map(|&other| {
            let samples = rows[gene].iter().zip(&rows[other]);
            mean(samples.map(|(x, y)| (x - y) * (x - y))).map(|distance| (distance, other))
        })
        .collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let count = NEIGHBOURS.min(rows.len().saturating_sub(1));
    ranked.into_iter().take(count).map(|(_, gene)| gene).collect()
}
