//! Names of the columns of edge lists, as programs write them.

const SOURCES: [&str; 14] = [
    "source",
    "gene1",
    "gene_1",
    "genea",
    "gene_a",
    "protein1",
    "node1",
    "from",
    "fromnode",
    "regulator",
    "tf",
    "name1",
    "regulatorygene",
    "item1",
];
const TARGETS: [&str; 13] = [
    "target",
    "gene2",
    "gene_2",
    "geneb",
    "gene_b",
    "protein2",
    "node2",
    "to",
    "tonode",
    "name2",
    "targetgene",
    "item2",
    "gene",
];
const SCORES: [&str; 16] = [
    "combined_score",
    "score",
    "sc",
    "similarity_score",
    "similarity",
    "weight",
    "correlation",
    "cor",
    "r",
    "rho",
    "pearson",
    "spearman",
    "importance",
    "value",
    "freq",
    "mi",
];
/// Columns of both genes, names that mean such only together: of pandas' `stack` and `melt`, and of
/// R's `melt`, `as.data.frame(as.table())` and flattened matrices.
const PAIRS: [[&str; 2]; 6] = [
    ["level_0", "level_1"],
    ["var1", "var2"],
    ["index", "variable"],
    ["rowname", "variable"],
    ["row", "column"],
    ["x", "y"],
];
/// Label that pandas gives a column of values without a name.
const NAMELESS: &str = "0";
/// First columns of [`PAIRS`] that tables of other kinds have too: of points and of cells.
const COMMON: [&str; 4] = ["index", "rowname", "row", "x"];
/// Columns of [`SCORES`] that may be beyond -1 to 1: they are no correlations.
pub const UNBOUNDED: [&str; 4] = ["mi", "weight", "importance", "value"];
/// Columns that number the clusters of a pair.
pub const CLUSTERS: [&str; 2] = ["cluster", "cluster_index"];

/// Whether a table with such a first column is an edge list only where its genes are words.
pub fn needs_words(label: &str) -> bool {
    COMMON.contains(&label)
}

/// Columns of the first gene, the second gene and the score in a header in lower case; `None` for
/// each that no label names.
pub fn columns(labels: &[String]) -> [Option<usize>; 3] {
    let label = |word: &str| labels.iter().position(|label| label == word);
    let place = |words: &[&str]| words.iter().find_map(|word| label(word));
    let (mut genes, mut score) = ([place(&SOURCES), place(&TARGETS)], place(&SCORES));
    let mut pairs = PAIRS.iter().map(|words| words.map(label));
    if genes.contains(&None)
        && let Some(columns) = pairs.find(|columns| !columns.contains(&None))
    {
        // Names such as x and y may be those of genes, but for a header's third name.
        let is_pandas = labels.iter().any(|label| label == "level_0");
        score = score.or_else(|| label(NAMELESS).filter(|_| is_pandas));
        genes = if score.is_some() { columns } else { genes };
    }
    // The index of a stacked matrix without names of its levels.
    if let [first, second, third] = labels
        && first.is_empty()
        && second.is_empty()
        && (third == NAMELESS || score == Some(2))
    {
        return [Some(0), Some(1), Some(2)];
    }
    [genes[0], genes[1], score]
}
