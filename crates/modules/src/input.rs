//! Expression matrix of a run: read, filtered, and without genes and samples that are no use.

use cuesta_core::budget::Lease;
use cuesta_core::job::{Request, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::matrix::{self, ExpressionMatrix};

use crate::kernel::expression::{Expression, good_parts};
use crate::params::MatrixParams;

const OPERATION: &str = "modules";

/// Fewest samples of a network.
pub const SAMPLES_MIN: usize = 4;

/// Fewest genes of a network.
const GENES_MIN: usize = 4;

/// Gene or sample that is left out, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// `gene`, `sample` or `trait`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Reason in a few words.
    pub reason: &'static str,
}

/// Genes and samples of a run.
#[derive(Debug)]
pub struct ModulesInput<'b> {
    /// Names of the genes that pass the filters, in the order of the file.
    pub genes: Vec<String>,
    /// Names of all samples.
    pub samples: Vec<String>,
    /// For each gene its row among those that are used; none if it is no use.
    pub row_of_gene: Vec<Option<usize>>,
    /// Whether each sample is used.
    pub is_used: Vec<bool>,
    /// Values of the used genes over the used samples.
    pub values: Vec<f64>,
    /// Number of genes in the file.
    pub genes_read: u64,
    /// Genes and samples that pass the filters and yet have no use.
    pub left_out: Vec<LeftOut>,
    _lease: Lease<'b>,
}

impl ModulesInput<'_> {
    /// Values of the used genes over the used samples, as the kernels take them.
    ///
    /// # Errors
    /// `Input` for values that are too large.
    pub fn expression(&self) -> Result<Expression<'_>> {
        Expression::new(&self.values, self.used_samples())
    }

    /// Number of used genes.
    pub fn used_genes(&self) -> usize {
        self.row_of_gene.iter().flatten().count()
    }

    /// Number of used samples.
    pub fn used_samples(&self) -> usize {
        self.is_used.iter().filter(|used| **used).count()
    }

    /// Counts genes, samples and what is left out.
    pub fn report(&self, response: &mut Response) {
        let counts = [
            ("genes", self.genes.len()),
            ("samples", self.samples.len()),
            ("genes_used", self.used_genes()),
            ("samples_used", self.used_samples()),
        ];
        response.counts.extend(counts.map(|(name, count)| (name, count as u64)));
        response.counts.insert("genes_read", self.genes_read);
    }
}

/// Returns sentences on the layout of the single input, and on doubts about it.
///
/// # Errors
/// As [`read`], as far as the first lines show.
pub fn recognised(request: &Request, params: &MatrixParams) -> Result<Vec<String>> {
    let path = path(request)?;
    let options = params.reading(1, request.budget.limit_bytes());
    matrix::describe(path, &options, params.transpose)
}

fn path(request: &Request) -> Result<&std::path::Path> {
    match request.inputs.as_slice() {
        [path] => Ok(path),
        inputs => {
            let text = format!("takes one matrix, {} inputs given", inputs.len());
            Err(Error::input(OPERATION, text))
        }
    }
}

/// Reads the single input in a phase of its own, filters it, and leaves genes and samples out that
/// have too few values or do not vary.
///
/// # Errors
/// `Input` for a file that is no matrix, and where no gene is left; `System`.
pub fn read<'b>(
    request: &'b Request,
    params: &MatrixParams,
    response: &mut Response,
) -> Result<ModulesInput<'b>> {
    let path = path(request)?;
    let matrix = timed(response, "parse", || {
        let options = params.reading(request.threads, request.budget.limit_bytes());
        let matrix = matrix::read(path, &options)?;
        let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        let rows = matrix.genes.len() as u64;
        Ok((matrix, bytes, rows))
    })?;
    let remarked =
        [("summary_rows", matrix.left_out), ("repeated_samples", matrix.repeated_samples())];
    response.counts.extend(remarked.into_iter().filter(|(_, count)| *count > 0));
    // The matrix that was read, and the one of the genes that are used.
    let lease = request.budget.take(16 * matrix.values.len() as u64, "the matrix")?;
    used(filtered(matrix, params)?, lease)
}

/// Matrix of the genes that pass the filters, and the number of genes before them.
struct Filtered {
    matrix: ExpressionMatrix,
    genes_read: u64,
}

fn filtered(mut matrix: ExpressionMatrix, params: &MatrixParams) -> Result<Filtered> {
    let genes_read = matrix.genes.len() as u64;
    if let Some(least) = params.min_samples {
        let has_enough = |gene| {
            let present = matrix.row(gene).iter().filter(|value| !value.is_nan());
            present.count() >= least as usize
        };
        let is_chosen: Vec<bool> = (0..matrix.genes.len()).map(has_enough).collect();
        matrix = matrix.restricted(&is_chosen);
        if matrix.genes.is_empty() {
            let text =
                format!("no gene has values in {least} samples; give a smaller --min-samples");
            return Err(Error::input(OPERATION, text));
        }
    }
    let matrix = params.genes.apply(matrix, OPERATION)?;
    Ok(Filtered { matrix, genes_read })
}

fn used<'b>(filtered: Filtered, lease: Lease<'b>) -> Result<ModulesInput<'b>> {
    let Filtered { matrix, genes_read } = filtered;
    let width = matrix.samples.len();
    if width < SAMPLES_MIN {
        let noun = if width == 1 { "sample" } else { "samples" };
        let text = format!(
            "{width} {noun}; correlations need at least {SAMPLES_MIN}, and modules some 15 (if \
             rows are samples, give --transpose)"
        );
        return Err(Error::input(OPERATION, text));
    }
    if matrix.genes.len() < GENES_MIN {
        let used = match matrix.genes.len() {
            1 => "1 gene is used".to_owned(),
            count => format!("{count} genes are used"),
        };
        let text = format!("{used}; a network needs at least {GENES_MIN}");
        return Err(Error::input(OPERATION, text));
    }
    let good = good_parts(&Expression::new(&matrix.values, width)?)?;
    let mut rows = 0..;
    let row_of_gene: Vec<Option<usize>> =
        good.genes.iter().map(|good| if *good { rows.next() } else { None }).collect();
    let mut values = Vec::with_capacity(matrix.values.len());
    for gene in (0..matrix.genes.len()).filter(|&gene| good.genes[gene]) {
        let row = matrix.row(gene).iter().zip(&good.samples);
        values.extend(row.filter(|(_, used)| **used).map(|(value, _)| *value));
    }
    let reason = |gene: usize| {
        let present = matrix.row(gene).iter().filter(|value| !value.is_nan());
        let first = present.clone().next();
        match present.clone().all(|value| Some(value) == first) && present.count() > 1 {
            true => "does not vary",
            false => "too few values that vary",
        }
    };
    let genes = (0..matrix.genes.len()).filter(|&gene| !good.genes[gene]).map(|gene| LeftOut {
        kind: "gene",
        name: matrix.genes[gene].clone(),
        reason: reason(gene),
    });
    let samples = matrix.samples.iter().zip(&good.samples).filter(|(_, used)| !**used);
    let samples = samples.map(|(name, _)| LeftOut {
        kind: "sample",
        name: name.clone(),
        reason: "too few values",
    });
    let left_out = genes.chain(samples).collect();
    Ok(ModulesInput {
        genes: matrix.genes,
        samples: matrix.samples,
        row_of_gene,
        is_used: good.samples,
        values,
        genes_read,
        left_out,
        _lease: lease,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> ExpressionMatrix {
        ExpressionMatrix {
            genes: (0..rows.len()).map(|gene| format!("g{gene}")).collect(),
            samples: (0..rows[0].len()).map(|sample| format!("s{sample}")).collect(),
            values: rows.concat(),
            left_out: 0,
        }
    }

    #[test]
    fn a_gene_with_values_in_too_few_samples_does_not_pass() {
        let params = MatrixParams { min_samples: Some(3), ..MatrixParams::default() };
        let error = filtered(matrix(&[&[1.0, 2.0]]), &params).err().unwrap();
        assert!(error.message().contains("--min-samples"), "{error}");
    }
}
