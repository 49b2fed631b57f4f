//! Headers of matrices, and columns that count rows.

use super::super::counters;
use super::super::fields::{self, is_blank};
use super::super::fit::{Dialect, TableFit};
use super::super::{Role, TableLine, no_utf8};
use super::above::Above;
use super::{FormError, MatrixForm, MatrixKind};

/// Columns that programs write beside samples: letters and digits of their labels, in lower case.
const ANNOTATIONS: [&str; 47] = [
    "adjpval",
    "aveexpr",
    "basemean",
    "chr",
    "chrom",
    "chromosome",
    "chromosomename",
    "description",
    "effectivelength",
    "efflength",
    "end",
    "endposition",
    "entrez",
    "entrezgene",
    "entrezgeneid",
    "entrezid",
    "fdr",
    "gccontent",
    "genebiotype",
    "genedescription",
    "geneid",
    "genelength",
    "index",
    "length",
    "lfcse",
    "log2foldchange",
    "logfc",
    "mean",
    "median",
    "ncbigeneid",
    "padj",
    "percentagegenegccontent",
    "probeid",
    "probesetid",
    "pval",
    "pvalue",
    "qval",
    "qvalue",
    "seqname",
    "seqnames",
    "start",
    "startposition",
    "stat",
    "stop",
    "strand",
    "transcriptlength",
    "width",
];

/// Whether a column is no sample by its label.
pub fn is_annotation(label: &[u8]) -> bool {
    let lower = String::from_utf8_lossy(label).to_lowercase();
    let plain: String = lower.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let is_index = counters::is_unnamed(label) && !plain.is_empty() || lower == "...1";
    is_index || ANNOTATIONS.contains(&plain.as_str())
}

/// First columns of featureCounts, in lower case: a gene and its annotation.
const FEATURE_COUNTS: [&str; 6] = ["geneid", "chr", "start", "end", "strand", "length"];

/// The annotation of featureCounts, from 0: all of its first columns but the gene.
pub const FEATURE_COUNTS_ANNOTATION: std::ops::Range<usize> = 1..FEATURE_COUNTS.len();

/// Whether a header is that of featureCounts, with a sample at least.
pub fn is_feature_counts(labels: &[&[u8]]) -> bool {
    let is_label = |(label, known): (&&[u8], &&str)| {
        fields::bare(label).eq_ignore_ascii_case(known.as_bytes())
    };
    labels.len() > FEATURE_COUNTS.len() && labels.iter().zip(&FEATURE_COUNTS).all(is_label)
}

/// Labels of a column of names.
const LABELS: [&str; 16] = [
    "gene",
    "genes",
    "gene_id",
    "geneid",
    "gene_name",
    "gene_symbol",
    "symbol",
    "name",
    "id",
    "id_ref",
    "probe",
    "probe_id",
    "probeset",
    "feature",
    "ensembl",
    "transcript",
];

/// Whether a field stands above names of genes, by its words.
pub fn is_label(field: &[u8]) -> bool {
    let text = String::from_utf8_lossy(fields::bare(field)).to_lowercase();
    text.is_empty() || text.contains("gene") || LABELS.contains(&text.as_str())
}

/// Whether a field stands above an index.
pub fn is_index_label(field: &[u8]) -> bool {
    counters::is_unnamed(field) || fields::bare(field).eq_ignore_ascii_case(b"index")
}

/// Whether a column counts the rows from 0 or 1.
pub fn counts_rows(fit: &TableFit<'_>, column: usize) -> bool {
    counters::counts(fit.rows.iter().map(|row| row[column]))
}

/// Names in fields of a line.
pub fn texts(line: &TableLine, fields: &[&[u8]]) -> Result<Vec<String>, FormError> {
    let text = |field: &&[u8]| {
        fields::unquoted(field).ok_or_else(|| FormError::line(line, no_utf8(field)))
    };
    fields.iter().map(text).collect()
}

/// The error of a GEO series matrix without values.
pub fn no_values() -> FormError {
    FormError::file(
        "is a GEO series matrix without values; those of such a series are in its supplementary \
         files",
    )
}

/// The layout of a form that declares it: GCT, or a GEO series matrix.
pub fn declared(
    above: &Above,
    table: &[TableLine],
    ends: &[(usize, usize)],
) -> Result<MatrixForm, FormError> {
    let header = &table[0];
    let first = fields::fields(header.text, b'\t');
    let named = first.iter().rposition(|field| !is_blank(field)).map_or(0, |last| last + 1);
    let (skipped, about_samples) = match above.kind {
        MatrixKind::Gct(3) => (above.sizes[2] as usize, above.sizes[3] as usize),
        MatrixKind::Gct(_) => (1, 0),
        _ => (0, 0),
    };
    let samples = named.saturating_sub(1 + skipped);
    if let Some(&claimed) = above.sizes.get(1)
        && claimed != samples as u64
    {
        let what = format!("names {samples} samples, line 2 says {claimed}; obtain the file again");
        return Err(FormError::line(header, what));
    }
    let rows_from = 1 + about_samples;
    if samples == 0 {
        return Err(FormError::line(header, "names no samples; add their names"));
    }
    let Some(&begins_at) = ends.get(about_samples).filter(|_| table.len() > rows_from) else {
        return Err(match above.kind {
            MatrixKind::Series => no_values(),
            _ => FormError::line(header, "is the last one, expected a line a gene after it"),
        });
    };
    let mut roles = vec![Role::Value; 1 + skipped + samples];
    roles[0] = Role::Name;
    roles[1..=skipped].fill(Role::Skipped);
    let fields = fields::count(table[rows_from].text, b'\t');
    // Spreadsheets end all lines alike.
    roles.resize(roles.len().max(fields), Role::Empty);
    Ok(MatrixForm {
        kind: above.kind,
        signs: Dialect { delimiter: b'\t', decimal: b'.' },
        roles,
        samples: texts(header, &first[1 + skipped..named])?,
        has_header: true,
        is_header_short: false,
        begins_at,
        first_names: Vec::new(),
        missing: Vec::new(),
        rows: above.sizes.first().copied(),
        is_declared: false,
        has_open_sign: false,
    })
}
