//! Lists of what readers of tables recognise and refuse. `tools/inputs.py` makes the guide's page
//! of them, and of [`super::kinds`].

/// A form of an input.
#[derive(Clone, Copy, Debug)]
pub struct InputForm {
    /// Kind of input.
    pub input: &'static str,
    /// The form.
    pub form: &'static str,
    /// Its handling, or a remedy.
    pub handling: &'static str,
}

const fn form(input: &'static str, form: &'static str, handling: &'static str) -> InputForm {
    InputForm { input, form, handling }
}

const MATRIX: &str = "expression matrix";
const POINTS: &str = "points";
const EDGES: &str = "gene pairs";
const EVERY: &str = "all";
const TABLES: &str = "matrix, points, edge list";

/// Forms that are read.
pub const READ: [InputForm; 30] = [
    form(TABLES, "fields separated by tabs, commas, semicolons or spaces", "recognised"),
    form(TABLES, "decimal commas (`1,5;2,25`)", "recognised"),
    form(TABLES, "text and numbers in double quotes", "quotes are left out"),
    form(TABLES, "blanks around names and numbers (`a, b, c`)", "left out"),
    form(TABLES, "lines that end in LF, CRLF or CR", "recognised"),
    form(TABLES, "a byte order mark of UTF-8", "skipped"),
    form(TABLES, "a first line `sep=;` (Excel)", "left out and said: it names the delimiter"),
    form(TABLES, "gzip, bgzip, bzip2, xz or Zstandard", "unpacked, by content"),
    form("matrix, points", "empty columns at the end of all lines", "left out"),
    form("matrix, points", "lines of delimiters alone", "skipped"),
    form(MATRIX, "a header with a label above the genes, or without one (R)", "recognised"),
    form(MATRIX, "an index of pandas, or several, in front of the genes", "left out"),
    form(MATRIX, "comments (`#`) above the table", "skipped"),
    form(MATRIX, "GCT 1.2 and 1.3", "Description and further columns left out, sizes checked"),
    form(MATRIX, "a GEO series matrix", "`!` lines left out, its end checked"),
    form(
        MATRIX,
        "featureCounts (`Geneid Chr Start End Strand Length`)",
        "the five columns behind the genes left out",
    ),
    form(
        MATRIX,
        "rows of HTSeq-count (`__no_feature`) and STAR (`N_unmapped`)",
        "left out and said: they count reads of no gene",
    ),
    form(MATRIX, "samples with the same name", "each counts, and it is said"),
    form(MATRIX, "samples in rows", "with `--transpose`; doubts are said"),
    form(POINTS, "NumPy `.npy`, float32 or float64", "read"),
    form(POINTS, "Parquet", "pandas' index columns left out"),
    form(POINTS, "a line with the names of the columns", "recognised"),
    form(POINTS, "an index of pandas (`Unnamed: 0`) or several, names of rows", "left out"),
    form(POINTS, "`centres.tsv` of an answer", "the three columns before the coordinates left out"),
    form(POINTS, "comments (`#`)", "skipped"),
    form(EDGES, "KINC text of version 1 and 3, a `clusters-*` tree", "read"),
    form(EDGES, "a pair matrix (Zarr)", "read"),
    form(EDGES, "KINC 3's tidy text (`Source Target sc ...`)", "read with its names"),
    form(EDGES, "an edge list (`gene1 gene2 score`), STRING's links", "read with its names"),
    form(EDGES, "scores of an edge list beyond six decimals", "rounded to millionths, and said"),
];

/// Forms that are refused because they can be read in two ways.
pub const TWO_READINGS: [InputForm; 19] = [
    form(
        POINTS,
        "`1,5` in every line: two numbers, or one",
        "`--delimiter comma` or `--decimal comma`",
    ),
    form(TABLES, "`1,234`: a decimal comma, or one between thousands", "`--decimal comma`"),
    form(TABLES, "`1.234` between semicolons: the same of a point", "`--decimal point`"),
    form(TABLES, "two delimiters fit", "`--delimiter`"),
    form(MATRIX, "a column of numbers without a name: a sample, or none", "a name, or `--columns`"),
    form(
        POINTS,
        "a first line `0,1,2`, or `2019,2020` above fractions: names, or a point",
        "`--header present` or `absent`",
    ),
    form(
        MATRIX,
        "a first line of numbers: numbered samples, or a gene",
        "`--header present` or `absent`",
    ),
    form(
        POINTS,
        "a first column that counts lines, named such as `id`, or beside fractions: index or not",
        "`--columns 2-`",
    ),
    form(POINTS, "a column `id` of whole numbers beside fractions: index or not", "`--columns`"),
    form(
        POINTS,
        "whole numbers called `label`, `cluster` or `class`, and `target` or `y` beside fractions",
        "`--columns`",
    ),
    form(
        MATRIX,
        "a column that counts the lines, named such as `id`, behind the genes: index, or a sample",
        "`--columns`",
    ),
    form(
        MATRIX,
        "an empty last field below an unlabelled header: a missing value, or nothing",
        "a label `gene`",
    ),
    form("matrix, points", "a column of text beside the first", "`--columns`"),
    form(MATRIX, "a column `Length`, `Start`: an annotation, or a sample", "`--columns`"),
    form(MATRIX, "a gene in two lines", "one line, their sum, or different names"),
    form(EDGES, "an edge with two scores", "keep one line"),
    form(
        EDGES,
        "a score beyond -1 to 1: of STRING, or no correlation",
        "a header with `combined_score`, or `weight`",
    ),
    form(EDGES, "a name twice in `--genes` for an edge list", "each name once"),
    form(EVERY, "the same file twice, by name, link or folder", "each input once"),
];
