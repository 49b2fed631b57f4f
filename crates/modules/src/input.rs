//! Expression matrix of a run: read, filtered, and without genes and samples that are no use.

use cuesta_core::budget::Lease;
use cuesta_core::job::{Request, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::matrix::{self, ExpressionMatrix};

use crate::kernel::expression::{Expression, good_parts};
use crate::params::MatrixParams;

/// Operation that errors of the filters name.
pub const OPERATION: &str = "modules";

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

impl LeftOut {
    fn gene(matrix: &ExpressionMatrix, gene: usize, reason: fn(&[f64]) -> &'static str) -> Self {
        let (name, reason) = (matrix.genes[gene].clone(), reason(matrix.row(gene)));
        Self { kind: "gene", name, reason }
    }
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
    response.counts.extend(matrix.doubts(params.genes.log2));
    // The matrix that was read, and the one of the genes that are used.
    let lease = request.budget.take(16 * matrix.values.len() as u64, "the matrix")?;
    used(filtered(matrix, params)?, lease)
}

/// Matrix of the genes that pass the filters, and the number of genes before them.
struct Filtered {
    matrix: ExpressionMatrix,
    genes_read: u64,
    /// Genes without enough values.
    left_out: Vec<LeftOut>,
}

fn filtered(mut matrix: ExpressionMatrix, params: &MatrixParams) -> Result<Filtered> {
    let genes_read = matrix.genes.len() as u64;
    let mut left_out = Vec::new();
    if let Some(least) = params.min_samples {
        let has_enough = |gene| {
            let present = matrix.row(gene).iter().filter(|value| !value.is_nan());
            present.count() >= least as usize
        };
        let is_chosen: Vec<bool> = (0..matrix.genes.len()).map(has_enough).collect();
        let sparse = (0..matrix.genes.len()).filter(|&gene| !is_chosen[gene]);
        left_out = sparse.map(|gene| LeftOut::gene(&matrix, gene, sparse_reason)).collect();
        matrix = matrix.restricted(&is_chosen);
        if matrix.genes.is_empty() {
            let text =
                format!("no gene has values in {least} samples; give a smaller --min-samples");
            return Err(Error::input(OPERATION, text));
        }
    }
    let matrix = params.genes.apply(matrix, OPERATION)?;
    Ok(Filtered { matrix, genes_read, left_out })
}

fn used<'b>(filtered: Filtered, lease: Lease<'b>) -> Result<ModulesInput<'b>> {
    let Filtered { matrix, genes_read, mut left_out } = filtered;
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
    let genes = (0..matrix.genes.len()).filter(|&gene| !good.genes[gene]);
    left_out.extend(genes.map(|gene| LeftOut::gene(&matrix, gene, useless_reason)));
    let samples = matrix.samples.iter().zip(&good.samples).filter(|(_, used)| !**used);
    let samples = samples.map(|(name, _)| LeftOut {
        kind: "sample",
        name: name.clone(),
        reason: "too few values",
    });
    left_out.extend(samples);
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

/// Reason why a gene does not pass `--min-samples`.
fn sparse_reason(values: &[f64]) -> &'static str {
    match values.iter().all(|value| value.is_nan()) {
        true => "has no value",
        false => "has values in fewer samples than --min-samples",
    }
}

/// Reason why a gene is no use.
fn useless_reason(values: &[f64]) -> &'static str {
    let present = values.iter().filter(|value| !value.is_nan());
    let first = present.clone().next();
    match (present.clone().count(), present.clone().all(|value| Some(value) == first)) {
        (0, _) => "has no value",
        (2.., true) => "does not vary",
        _ => "too few values that vary",
    }
}

#[cfg(test)]
mod tests {
    use cuesta_core::budget::Budget;

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

    /// Genes without a value were neither in the table of what is left out nor in a remark.
    #[test]
    fn genes_without_enough_values_are_named_with_the_reason() {
        let nan = f64::NAN;
        let values = [1.0, 2.0, 4.0, 3.0];
        let [empty, sparse, constant] = [[nan; 4], [1.0, nan, nan, 2.0], [5.0; 4]];
        let varying = [[2.0, 1.0, 4.0, 3.0], [4.0, 1.0, 2.0, 3.0], [1.0, 4.0, 2.0, 3.0]];
        let rows: Vec<&[f64]> = [&values, &empty, &sparse, &constant]
            .into_iter()
            .chain(&varying)
            .map(|row| &row[..])
            .collect();
        let budget = Budget::new(1 << 20);
        let reasons = |min_samples| {
            let params = MatrixParams { min_samples, ..MatrixParams::default() };
            let filtered = filtered(matrix(&rows), &params).unwrap();
            let input = used(filtered, budget.take(1, "a matrix").unwrap()).unwrap();
            input.left_out.into_iter().map(|it| (it.name, it.reason)).collect::<Vec<_>>()
        };
        let owned =
            |pairs: [(&str, &'static str); 3]| pairs.map(|(name, it)| (name.to_owned(), it));
        assert_eq!(
            reasons(Some(3)),
            owned([
                ("g1", "has no value"),
                ("g2", "has values in fewer samples than --min-samples"),
                ("g3", "does not vary"),
            ])
        );
        assert_eq!(
            reasons(None),
            owned([
                ("g1", "has no value"),
                ("g2", "too few values that vary"),
                ("g3", "does not vary"),
            ])
        );
    }
}
