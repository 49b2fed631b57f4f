//! Rows of a matrix that count reads of no gene, as programs write them among the genes.

/// Rows of HTSeq-count, and of STAR's ReadsPerGene.
const SUMMARIES: [&str; 9] = [
    "__no_feature",
    "__ambiguous",
    "__too_low_aQual",
    "__not_aligned",
    "__alignment_not_unique",
    "N_unmapped",
    "N_multimapping",
    "N_noFeature",
    "N_ambiguous",
];

/// Whether a row counts reads of no gene, by its name.
pub fn is_summary(name: &str) -> bool {
    SUMMARIES.contains(&name)
}
