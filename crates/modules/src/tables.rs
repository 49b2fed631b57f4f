//! Answer files of both workloads. Numbers are written so that reading them back gives the same
//! ones; `NA` is a missing one.

use std::fmt::Write as _;
use std::path::Path;

use cuesta_core::digest::{Digest, Tag};
use cuesta_core::{Error, Result};

use crate::input::{LeftOut, ModulesInput};
use crate::kernel::labels::colour;
use crate::kernel::power::PowerRow;
use crate::stages::Outcome;

/// Module of each gene.
pub const MODULES_FILE: &str = "modules.tsv";
/// Eigengene of each module over the samples.
pub const EIGENGENES_FILE: &str = "eigengenes.tsv";
/// Merges of the tree of genes.
pub const TREE_FILE: &str = "tree.tsv";
/// Modules as gene sets.
pub const SETS_FILE: &str = "modules.gmt";
/// All genes that were tested, for enrichment.
pub const BACKGROUND_FILE: &str = "background.txt";
/// Genes, samples and traits that are left out.
pub const LEFT_OUT_FILE: &str = "left_out.tsv";
/// Fit of the network at each power.
pub const POWERS_FILE: &str = "powers.tsv";
/// Correlations of eigengenes and traits.
pub const TRAITS_FILE: &str = "traits.tsv";

/// Answer file: its name and text.
pub type File = (&'static str, String);

/// Correlation of an eigengene and a trait.
#[derive(Clone, Debug, PartialEq)]
pub struct Association {
    /// Label of the module.
    pub module: u32,
    /// Number of the trait, from 0.
    pub trait_number: usize,
    /// Correlation over the samples that have the trait; NaN where there is none.
    pub r: f64,
    /// Its two-sided p-value by Student's t.
    pub p: f64,
    /// Its q-value among all modules and traits.
    pub q: f64,
    /// Number of samples.
    pub n: usize,
}

/// Writes a number, `NA` for a missing one.
pub(crate) fn number(value: f64) -> String {
    if value.is_nan() { "NA".to_owned() } else { format!("{value}") }
}

/// Writes a probability, a small one with an exponent.
fn probability(value: f64) -> String {
    if value > 0.0 && value < 1e-4 { format!("{value:e}") } else { number(value) }
}

/// Returns the files of the modules of genes, without those of powers and traits.
pub fn of_modules(input: &ModulesInput, outcome: &Outcome) -> Vec<File> {
    vec![
        (MODULES_FILE, modules(input, outcome)),
        (EIGENGENES_FILE, eigengenes(input, outcome)),
        (TREE_FILE, tree(input, outcome)),
        (SETS_FILE, sets(input, outcome)),
        (BACKGROUND_FILE, background(input)),
    ]
}

/// Label and membership of a gene of the matrix; 0 and NaN if it is not used.
fn of_gene(input: &ModulesInput, outcome: &Outcome, gene: usize) -> (u32, f64) {
    let row = input.row_of_gene[gene];
    row.map_or((0, f64::NAN), |row| (outcome.modules.labels[row], outcome.membership[row]))
}

fn modules(input: &ModulesInput, outcome: &Outcome) -> String {
    let mut text = "gene\tname\tmodule\tkme\n".to_owned();
    for (gene, name) in input.genes.iter().enumerate() {
        let (label, membership) = of_gene(input, outcome, gene);
        let _ = writeln!(text, "{}\t{name}\t{label}\t{}", gene + 1, number(membership));
    }
    text
}

fn eigengenes(input: &ModulesInput, outcome: &Outcome) -> String {
    let mut text = "sample".to_owned();
    for module in &outcome.modules.eigengenes {
        let _ = write!(text, "\tME{}", module.label);
    }
    text.push('\n');
    let mut used = 0..;
    for (name, is_used) in input.samples.iter().zip(&input.is_used) {
        text += name;
        let place = if *is_used { used.next() } else { None };
        for module in &outcome.modules.eigengenes {
            let value = place.map_or(f64::NAN, |place: usize| module.values[place]);
            let _ = write!(text, "\t{}", number(value));
        }
        text.push('\n');
    }
    text
}

/// Returns the merges; `-i` is gene `i` of the table of modules, from 1, `j` the cluster of merge
/// `j`.
fn tree(input: &ModulesInput, outcome: &Outcome) -> String {
    let genes: Vec<usize> =
        (0..input.genes.len()).filter(|&gene| input.row_of_gene[gene].is_some()).collect();
    let node = |node: i32| match usize::try_from(node) {
        Ok(merge) => merge.to_string(),
        Err(_) => format!("-{}", genes[node.unsigned_abs() as usize - 1] + 1),
    };
    let mut text = "merge\tfirst\tsecond\theight\n".to_owned();
    for (number, (merge, height)) in
        (1..).zip(outcome.tree.merges.iter().zip(&outcome.tree.heights))
    {
        let [first, second] = merge.map(node);
        let _ = writeln!(text, "{number}\t{first}\t{second}\t{height}");
    }
    text
}

fn sets(input: &ModulesInput, outcome: &Outcome) -> String {
    let mut genes_of = vec![Vec::new(); outcome.modules.eigengenes.len() + 1];
    for (gene, name) in input.genes.iter().enumerate() {
        genes_of[of_gene(input, outcome, gene).0 as usize].push(name.as_str());
    }
    let mut text = String::new();
    for (label, genes) in genes_of.iter().enumerate().skip(1) {
        let name = colour(label as u32);
        let _ = write!(text, "{name}\tmodule {label}, {} genes", genes.len());
        genes.iter().for_each(|gene| {
            let _ = write!(text, "\t{gene}");
        });
        text.push('\n');
    }
    text
}

fn background(input: &ModulesInput) -> String {
    let used = input.genes.iter().zip(&input.row_of_gene).filter(|(_, row)| row.is_some());
    used.map(|(name, _)| format!("{name}\n")).collect()
}

/// Returns the file of what is left out.
pub fn left_out(parts: &[LeftOut]) -> File {
    let mut text = "kind\tname\treason\n".to_owned();
    for part in parts {
        let _ = writeln!(text, "{}\t{}\t{}", part.kind, part.name, part.reason);
    }
    (LEFT_OUT_FILE, text)
}

/// Returns the file of the fits at powers.
pub fn powers(rows: &[PowerRow]) -> File {
    let header = "power\tr_squared\tslope\ttruncated_r_squared\tmean_connectivity\t\
                  median_connectivity\tmax_connectivity\n";
    let mut text = header.to_owned();
    for row in rows {
        let fit = row.fit;
        let values =
            [fit.r_squared, fit.slope, fit.truncated_r_squared, row.mean, row.median, row.largest];
        let _ = writeln!(text, "{}\t{}", row.power, values.map(number).join("\t"));
    }
    (POWERS_FILE, text)
}

/// Returns the file of associations with traits of these names.
pub fn traits(names: &[String], associations: &[Association]) -> File {
    let mut text = "module\ttrait\tr\tp\tq\tn\n".to_owned();
    for row in associations {
        let name = &names[row.trait_number];
        let values = [number(row.r), probability(row.p), probability(row.q)].join("\t");
        let _ = writeln!(text, "{}\t{name}\t{values}\t{}", row.module, row.n);
    }
    (TRAITS_FILE, text)
}

/// Writes files into a folder; returns their bytes.
///
/// # Errors
/// `System`.
pub fn write(folder: &Path, files: &[File]) -> Result<u64> {
    let mut bytes = 0;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|cause| Error::system("answer", "writing", &path, &cause))?;
        bytes += text.len() as u64;
    }
    Ok(bytes)
}

/// Returns the name of the first file whose content in a folder is another.
///
/// # Errors
/// `System`, except for a missing file, which is another.
pub fn first_difference(folder: &Path, files: &[File]) -> Result<Option<&'static str>> {
    for (name, text) in files {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(bytes) if bytes == text.as_bytes() => {}
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::system("verify", "reading", &path, &cause));
            }
            _ => return Ok(Some(name)),
        }
    }
    Ok(None)
}

/// Digest of files: a record a line, of the number of the file, that of the line, and its bytes.
pub fn digest(tag: Tag, files: &[File]) -> Digest {
    let mut digest = Digest::default();
    for (file, (_, text)) in files.iter().enumerate() {
        for (number, line) in text.lines().enumerate() {
            let mut record = cuesta_core::digest::Record::new(tag);
            record.push(file as u64);
            record.push(number as u64);
            record.push_bytes(line.as_bytes());
            digest.add_record(&record);
        }
    }
    digest
}
