//! Eigengenes: the profile that explains most of the variance of a module.

use std::sync::Mutex;

use cuesta_core::scale::moderate;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::{self, lock};

use crate::kernel::correlate::dot;
use crate::kernel::eigenvector;
use crate::kernel::expression::Expression;
use crate::kernel::impute::imputed;

/// Eigengene of a module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Eigengene {
    /// Label of the module.
    pub label: u32,
    /// Value of each sample; the sum of squares is 1, the mean 0.
    pub values: Vec<f64>,
    /// Mean squared correlation of the genes with it.
    pub variance_explained: f64,
}

/// Returns the genes of each label, ascending; `genes[label]`.
pub fn members(labels: &[u32]) -> Vec<Vec<usize>> {
    let count = labels.iter().max().map_or(0, |label| *label as usize + 1);
    let mut members = vec![Vec::new(); count];
    for (gene, &label) in labels.iter().enumerate() {
        members[label as usize].push(gene);
    }
    members
}

/// Sum of products, as a part of their sizes, below which rounding decides its sign.
const CANCELLED: f64 = 1e-9;

/// Computes the eigengene of each module with a gene, by label, 0 left out; on threads.
///
/// # Errors
/// `Input` when no gene of a module varies.
pub fn eigengenes(
    expression: &Expression,
    labels: &[u32],
    threads: usize,
) -> Result<Vec<Eigengene>> {
    let members = members(labels);
    let numbered = members.iter().enumerate().skip(1).filter(|(_, genes)| !genes.is_empty());
    let slots: Vec<_> =
        numbered.map(|(label, genes)| Mutex::new((label, genes, Eigengene::default()))).collect();
    let work = |_: &mut (), task: usize| {
        let (label, genes, slot) = &mut *lock(&slots[task]);
        let rows: Vec<&[f64]> = genes.iter().map(|&gene| expression.row(gene)).collect();
        let (values, variance_explained) = eigengene(&rows).ok_or_else(|| {
            Error::input("modules", format!("module {label} has no gene that varies"))
        })?;
        *slot = Eigengene { label: *label as u32, values, variance_explained };
        Ok(())
    };
    parallel::run(threads, slots.len(), || (), work, |_| {})?;
    Ok(slots.iter().map(|slot| std::mem::take(&mut lock(slot).2)).collect())
}

/// Computes the first right singular vector of the standardised genes, with the sign of their mean
/// or as [`direction`] says, and the variance that it explains; `None` if no gene varies.
pub fn eigengene(rows: &[&[f64]]) -> Option<(Vec<f64>, f64)> {
    let samples = rows.first()?.len();
    let complete = imputed(rows);
    let scores: Vec<Vec<f64>> = complete.iter().filter_map(|row| standardised(row)).collect();
    let mut vector = eigenvector::largest(samples, |vector| {
        let mut product = vec![0.0; samples];
        for row in &scores {
            let part = dot(row, vector);
            product.iter_mut().zip(row).for_each(|(sum, value)| *sum += part * value);
        }
        product
    })?;
    if direction(scores.iter().map(|row| dot(row, &vector))) < 0.0 {
        vector.iter_mut().for_each(|value| *value = -*value);
    }
    let squares = scores.iter().map(|row| {
        let part = dot(row, &vector);
        part * part / dot(row, row)
    });
    let explained = squares.sum::<f64>() / scores.len() as f64;
    Some((vector, explained.clamp(0.0, 1.0)))
}

/// Returns a number with the sign of the sum of products of genes with a vector. Where they cancel
/// each other out, such as of two genes that fall as the other rises, it is the first of them.
fn direction(products: impl Iterator<Item = f64>) -> f64 {
    let products: Vec<f64> = products.collect();
    let (sum, size) = products.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
    if f64::abs(sum) > CANCELLED * size {
        return sum;
    }
    let largest = products.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    products.into_iter().find(|x| x.abs() > CANCELLED * largest).unwrap_or(sum)
}

/// Returns a gene with mean 0 and variance 1 (n - 1), if it varies.
fn standardised(row: &[f64]) -> Option<Vec<f64>> {
    if row.iter().all(|value| *value == row[0]) {
        return None;
    }
    let row = moderate(row);
    let count = row.len() as f64;
    let mean = row.iter().sum::<f64>() / count;
    let mut scores: Vec<f64> = row.iter().map(|value| value - mean).collect();
    let largest = scores.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    scores.iter_mut().for_each(|value| *value /= largest);
    let deviation = (dot(&scores, &scores) / (count - 1.0)).sqrt();
    scores.iter_mut().for_each(|value| *value /= deviation);
    Some(scores)
}
