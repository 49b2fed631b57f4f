//! Sentences on what was recognised.

use std::collections::HashMap;

use super::fit::{Dialect, delimiter_name};
use super::matrix::{MatrixForm, MatrixKind};
use super::points::PointsForm;
use super::{Role, shown};

/// Begins of names that genes, transcripts and probes have.
const GENE_NAMES: [&str; 10] =
    ["ENSG", "ENSMUSG", "ENST", "ENSDARG", "FBgn", "WBGene", "NM_", "Os0", "LOC", "HGNC:"];
/// Begins of names that samples have.
const SAMPLE_NAMES: [&str; 8] = ["GSM", "SRR", "ERR", "DRR", "TCGA-", "GTEX-", "sample", "patient"];

/// The layout of a matrix, in a sentence.
pub fn matrix(form: &MatrixForm, rows: Option<u64>, is_turned: bool) -> String {
    let (columns, lines) = if is_turned { ("gene", "sample") } else { ("sample", "gene") };
    let columns = if form.samples.len() == 1 { columns } else { &format!("{columns}s") };
    let lines = if rows == Some(1) { lines } else { &format!("{lines}s") };
    let rows = rows.map_or(String::new(), |rows| format!("{} ", grouped(rows)));
    let count = grouped(form.samples.len() as u64);
    let mut parts = vec![
        format!("{rows}{lines} in rows ({})", first_ones(&form.first_names)),
        format!("{count} {columns} ({})", first_ones(&form.samples)),
    ];
    parts.push(match form.kind {
        MatrixKind::Gct(version) => format!("GCT 1.{version}"),
        MatrixKind::Series => "a GEO series matrix".to_owned(),
        MatrixKind::Delimited => separators(form.signs),
        MatrixKind::FeatureCounts => format!("featureCounts, {}", separators(form.signs)),
    });
    match (form.kind, form.has_header, form.is_header_short) {
        (MatrixKind::Delimited, true, true) => {
            parts.push("a header without a label above the names".to_owned());
        }
        (MatrixKind::Delimited, true, false) => parts.push("a header".to_owned()),
        (MatrixKind::Delimited, false, _) => parts.push("no header".to_owned()),
        _ => {}
    }
    parts.extend(left_out(&form.roles));
    parts.extend(declaration(form.is_declared));
    parts.join(", ")
}

/// Doubts about which side of a matrix is which, in a sentence.
pub fn orientation(form: &MatrixForm, rows: Option<u64>, is_turned: bool) -> Option<String> {
    let columns = form.samples.len() as u64;
    let is_gene = |name: &String| {
        let is_locus = name.len() == 9 && name.starts_with("AT") && name[3..].starts_with('G');
        is_locus || name.ends_with("_at") || begins(name, &GENE_NAMES)
    };
    let is_sample = |name: &String| begins(name, &SAMPLE_NAMES);
    let (genes, samples) = match is_turned {
        false => (&form.first_names, &form.samples),
        true => (&form.samples, &form.first_names),
    };
    let most = |names: &[String], test: &dyn Fn(&String) -> bool| {
        let names = &names[..names.len().min(100)];
        !names.is_empty() && 2 * names.iter().filter(|name| test(name)).count() > names.len()
    };
    let remedy = match is_turned {
        false => "if rows are samples, give --transpose",
        true => "if rows are genes, leave --transpose out",
    };
    if most(samples, &is_gene) && !most(genes, &is_gene) {
        return Some(format!(
            "its samples are named like genes ({}); {remedy}",
            first_ones(samples)
        ));
    }
    if most(genes, &is_sample) && !most(samples, &is_sample) {
        return Some(format!("its genes are named like samples ({}); {remedy}", first_ones(genes)));
    }
    let rows = rows?;
    let (genes, samples) = if is_turned { (columns, rows) } else { (rows, columns) };
    (samples > genes)
        .then(|| format!("{}, {} samples; {remedy}", genes_in_words(genes), grouped(samples)))
}

fn genes_in_words(count: u64) -> String {
    if count == 1 { "1 gene".to_owned() } else { format!("{} genes", grouped(count)) }
}

/// Samples that have the name of another, in a sentence.
pub fn repeated_samples(form: &MatrixForm, is_turned: bool) -> Option<String> {
    // The samples of a turned matrix are known when all lines are read.
    let names = if is_turned { &[][..] } else { &form.samples[..] };
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let repeated = (1..).zip(names).find_map(|(number, name)| {
        numbers.insert(name, number).map(|before| (name, before, number))
    });
    repeated.map(|(name, before, number)| {
        format!(
            "samples {before} and {number} are both named {}; each counts, so if one is a copy, \
             leave it out with --columns",
            shown(name.as_bytes())
        )
    })
}

fn begins(name: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| name.starts_with(start))
}

/// The layout of points, in a sentence.
pub fn points(form: &PointsForm) -> String {
    let dimensions = form.dimensions();
    let noun = if dimensions == 1 { "dimension" } else { "dimensions" };
    let names = match form.names.is_empty() {
        true => String::new(),
        false => format!(" ({})", first_ones(&form.names)),
    };
    let header = if form.header > 0 { "a header" } else { "no header" };
    let mut parts = vec![format!("{} {noun}{names}", grouped(dimensions as u64))];
    parts.push(separators(form.signs));
    parts.push(header.to_owned());
    parts.extend(form.left_out.clone());
    parts.extend(declaration(form.is_declared));
    parts.join(", ")
}

fn declaration(is_declared: bool) -> Option<String> {
    is_declared.then(|| "the first line (sep=) left out".to_owned())
}

fn separators(signs: Dialect) -> String {
    let comma = if signs.decimal == b',' { ", decimal commas" } else { "" };
    match delimiter_name(signs.delimiter) {
        "nothing" => format!("a number a line{comma}"),
        name => format!("separated by {name}{comma}"),
    }
}

fn left_out(roles: &[Role]) -> Option<String> {
    let count = roles.iter().filter(|&&role| role == Role::Skipped).count();
    match count {
        0 => None,
        1 => Some("1 column left out".to_owned()),
        count => Some(format!("{count} columns left out")),
    }
}

fn first_ones(names: &[String]) -> String {
    let short: Vec<String> =
        names.iter().take(2).map(|name| name.chars().take(24).collect()).collect();
    format!("{}{}", short.join(", "), if names.len() > 2 { ", ..." } else { "" })
}

fn grouped(number: u64) -> String {
    crate::names::grouped(number as usize)
}
