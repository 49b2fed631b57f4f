//! Comparison of the files of an answer with their expected content, which is made from what was
//! proven.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;

use cuesta_core::digest::{Digest, Record, Tag};
use cuesta_core::{Error, Result};
use serde_json::{Value, json};

use super::OPERATION;
use super::faults::{Fault, Faults};
use super::files::{Compared, put_letters};
use super::last_paths::{LastPath, LastPaths};
use super::level::Proven;
use super::links::{End, sequence};
use super::packed::{Alignment, base};
use super::text::Text;
use crate::kernel::depth::Depth;
use crate::kernel::kmer::{Base, complement};
use crate::kernel::scan;
use crate::kernel::sequences::rotate;
use crate::kernel::spectrum::Spectrum;
use crate::stages::level::Level;
use crate::stages::scaffold_rows::ScaffoldNumbers;
use crate::stages::short_contigs::ShortContigs;
use crate::stages::write::gfa_head;

/// Kind of the sequence in a record of the digest.
#[derive(Clone, Copy)]
pub enum SequenceKind {
    /// A unitig.
    Unitig = 1,
    /// A path of the graph.
    Contig = 2,
    /// A scaffold, in which the bases of gaps have a code of their own.
    Scaffold = 3,
}

/// Statistics of the contigs of at least some length.
#[derive(Default)]
pub struct Contigs {
    lengths: Vec<u64>,
    strong_bases: u64,
}

/// Adds a sequence to the digest of an answer.
pub fn digest(
    all: &mut Digest,
    kind: SequenceKind,
    (codes, count_sum, is_circle): (&[Base], u64, bool),
) {
    let mut record = Record::new(Tag::Assembly);
    for word in [kind as u64, codes.len() as u64, count_sum, u64::from(is_circle)] {
        record.push(word);
    }
    record.push_bytes(codes);
    all.add_record(&record);
}

/// Returns `+` where the sequence of `end` is read forwards when it is left, or entered, by `end`.
fn sign(end: End, is_left: bool) -> char {
    if (end % 2 == 1) == is_left { '+' } else { '-' }
}

/// Returns whether a file has the expected unitigs with their counts and links; adds them to the
/// digest.
///
/// # Errors
/// `System`.
pub fn unitigs(
    path: &Path,
    (proven, k): (&Proven<'_>, usize),
    (all, faults): (&mut Digest, &Faults),
) -> Result<bool> {
    let mut file = Compared::open(path)?;
    let (mut codes, mut head, mut row) = (Vec::new(), String::new(), Vec::new());
    let text = &proven.text;
    for index in 0..text.len() {
        if !is_in_form((text, index), k) || index > 0 && !is_in_order((text, index), k) {
            faults.add(Fault::Form);
        }
        let (length, sum) = (text.length(index), proven.sums[index]);
        let is_circle = text.claim(index).is_marked;
        let mean = sum as f64 / text.kmers(index, k) as f64;
        head.clear();
        _ = write!(head, ">{index} LN:i:{length} KC:i:{sum} km:f:{mean:.1}");
        for end in [2 * index as End + 1, 2 * index as End] {
            for &next in proven.links.after(end) {
                let (from, to) = (sign(end, true), sign(next, false));
                _ = write!(head, " L:{from}:{}:{to}", next / 2);
            }
        }
        head.push_str(if is_circle { " TP:Z:circular\n" } else { "\n" });
        codes.clear();
        text.unpack(index, &mut codes);
        digest(all, SequenceKind::Unitig, (&codes, sum, is_circle));
        row.clear();
        put_letters(&codes, &mut row);
        row.push(b'\n');
        file.put(head.as_bytes())?;
        file.put(&row)?;
    }
    file.finish()
}

/// Returns whether a sequence is in canonical form: on the smaller strand, and a circle in its
/// least rotation.
fn is_in_form((text, index): (&Text<'_>, usize), k: usize) -> bool {
    let (start, end) = text.range(index);
    if text.claim(index).is_marked {
        let mut codes = Vec::new();
        text.unpack(index, &mut codes);
        codes.truncate(end - start + 1 - k);
        let before = codes.clone();
        rotate(&mut codes);
        return codes == before;
    }
    let words = text.words();
    let turned = Alignment { origin: (start + end - 1) as i64, is_turned: true };
    let same = turned.same_ahead(words, words, start, end - start);
    same == end - start || base(words, start + same) < complement(base(words, end - 1 - same))
}

/// Returns whether a sequence sorts after the one before it: it is shorter, or its bases are
/// greater.
fn is_in_order((text, index): (&Text<'_>, usize), k: usize) -> bool {
    let ((before, _), (start, end)) = (text.range(index - 1), text.range(index));
    let bases = |index: usize| {
        // A circle has its first k - 1 bases again at its end.
        let repeated = if text.claim(index).is_marked { k - 1 } else { 0 };
        text.length(index) - repeated
    };
    if bases(index - 1) != bases(index) {
        return bases(index - 1) > bases(index);
    }
    let words = text.words();
    let both = text.length(index - 1).min(end - start);
    let away = Alignment { origin: before as i64 - start as i64, is_turned: false };
    let same = away.same_ahead(words, words, start, both);
    if same == both {
        return text.length(index - 1) < end - start;
    }
    base(words, before + same) < base(words, start + same)
}

/// Returns whether `contigs.fa` and `graph.gfa` have the expected paths; adds these to the digest.
///
/// # Errors
/// `System`.
pub fn graph(
    [contigs, graph]: [&Path; 2],
    (paths, k): (&LastPaths<'_, '_, '_>, usize),
    (depth, min_contig): (Depth, u64),
    (short, lines, all): (&ShortContigs, Option<&[String]>, &mut Digest),
) -> Result<([bool; 2], Contigs)> {
    let mut files = GraphFiles {
        fasta: Compared::open(contigs)?,
        gfa: Compared::open(graph)?,
        min_contig: min_contig as usize,
        numbers: Contigs::default(),
        letters: Vec::new(),
    };
    files.gfa.put(gfa_head(lines.is_some()))?;
    for index in 0..paths.count() {
        let LastPath { codes, count_sum, kmers, is_circle } = paths.path(index);
        let depth = depth.of(count_sum, kmers);
        files.put(index + 1, &codes, (depth, (count_sum, is_circle)), all)?;
    }
    for (name, contig) in (paths.count() + 1..).zip(&short.all) {
        let (depth, sum) = contig.measures(short.k);
        files.put(name, &contig.codes, (depth, (sum, false)), all)?;
    }
    let GraphFiles { fasta, mut gfa, numbers, .. } = files;
    let mut line = String::new();
    paths.each_link(|left, entered| {
        line.clear();
        let (from, to) = (left / 2 + 1, entered / 2 + 1);
        let (sign_left, sign_entered) = (sign(left, true), sign(entered, false));
        let shared = if paths.is_circle(sequence(left)) { 0 } else { k - 1 };
        _ = writeln!(line, "L\tcontig_{from}\t{sign_left}\tcontig_{to}\t{sign_entered}\t{shared}M");
        gfa.put(line.as_bytes())
    })?;
    short.link_lines().try_for_each(|line| gfa.put(line.as_bytes()))?;
    lines.into_iter().flatten().try_for_each(|line| gfa.put(line.as_bytes()))?;
    Ok(([fasta.finish()?, gfa.finish()?], numbers))
}

/// Comparison of the files of a graph, and statistics of its contigs.
struct GraphFiles {
    fasta: Compared,
    gfa: Compared,
    min_contig: usize,
    numbers: Contigs,
    /// Letters of the contig that is compared.
    letters: Vec<u8>,
}

impl GraphFiles {
    /// Compares a contig with both files, and adds it to the statistics and the digest.
    fn put(
        &mut self,
        name: usize,
        codes: &[Base],
        (depth, (sum, is_circle)): (f64, (u64, bool)),
        all: &mut Digest,
    ) -> Result<()> {
        let length = codes.len();
        digest(all, SequenceKind::Contig, (codes, sum, is_circle));
        self.letters.clear();
        put_letters(codes, &mut self.letters);
        if length >= self.min_contig {
            self.numbers.lengths.push(length as u64);
            self.numbers.strong_bases +=
                codes.iter().filter(|&&code| code == 1 || code == 2).count() as u64;
            let mark = if is_circle { " circular=true" } else { "" };
            let head = format!(">contig_{name} length={length} depth={depth:.1}{mark}\n");
            self.fasta.put(head.as_bytes())?;
            self.fasta.put(&self.letters)?;
            self.fasta.put(b"\n")?;
        }
        let mark = if is_circle { "\tTP:Z:circular" } else { "" };
        self.gfa.put(format!("S\tcontig_{name}\t").as_bytes())?;
        self.gfa.put(&self.letters)?;
        let tags = format!("\tLN:i:{length}\tKC:i:{sum}\tDP:f:{depth:.1}{mark}\n");
        self.gfa.put(tags.as_bytes())
    }
}

/// Returns whether a file has this spectrum.
///
/// # Errors
/// `System`.
pub fn spectrum(path: &Path, spectrum: &Spectrum) -> Result<bool> {
    let mut file = Compared::open(path)?;
    file.put(b"count\tkmers\n")?;
    for (count, &kmers) in spectrum.kmers().iter().enumerate().skip(1) {
        if kmers > 0 {
            file.put(format!("{count}\t{kmers}\n").as_bytes())?;
        }
    }
    file.finish()
}

/// Adds the paths of a graph, as read from its file, to a digest.
///
/// # Errors
/// `Input` naming a line that is not a segment; `System`.
pub fn digest_of_graph(path: &Path, mut all: Digest) -> Result<Digest> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let file = std::fs::File::open(path).map_err(failed)?;
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(failed)?;
        let mut fields = line.split('\t');
        if fields.next() != Some("S") {
            continue;
        }
        let letters = fields.nth(1).unwrap_or_default();
        let tags: Vec<&str> = fields.collect();
        let sum = tags.iter().find_map(|tag| tag.strip_prefix("KC:i:")?.parse().ok());
        let sum = sum.ok_or_else(|| {
            let text = format!("line {} of {} has no count KC:i:", index + 1, path.display());
            Error::input(OPERATION, text)
        })?;
        let codes: Vec<Base> = letters.bytes().map(scan::code).collect();
        digest(&mut all, SequenceKind::Contig, (&codes, sum, tags.contains(&"TP:Z:circular")));
    }
    Ok(all)
}

/// Adds the scaffolds of a file to a digest.
///
/// # Errors
/// `System`.
pub fn digest_of_scaffolds(path: &Path, all: &mut Digest) -> Result<()> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut is_circle = false;
    for line in BufReader::new(file).lines() {
        let line = line.map_err(failed)?;
        if line.starts_with('>') {
            is_circle = line.ends_with(" circular=true");
            continue;
        }
        let codes: Vec<Base> = line.bytes().map(scan::code).collect();
        digest(all, SequenceKind::Scaffold, (&codes, 0, is_circle));
    }
    Ok(())
}

/// Reads a spectrum from a file.
///
/// # Errors
/// `Input` naming the first invalid line; `System`.
pub fn read_spectrum(path: &Path) -> Result<Spectrum> {
    let text = std::fs::read_to_string(path)
        .map_err(|cause| Error::system(OPERATION, "reading", path, &cause))?;
    let mut spectrum = Spectrum::default();
    for (index, line) in text.lines().enumerate().skip(1) {
        let numbers = line.split_once('\t');
        let numbers = numbers.and_then(|(count, kmers)| count.parse().ok().zip(kmers.parse().ok()));
        let (count, kmers) = numbers.ok_or_else(|| {
            let text = format!("line {} of {} is no count", index + 1, path.display());
            Error::input(OPERATION, text)
        })?;
        spectrum.add_many(count, kmers);
    }
    Ok(spectrum)
}

impl Contigs {
    /// Returns the number of contigs.
    pub fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// Returns the bases of all contigs.
    pub fn bases(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Returns the expected content of `stats.json`.
    pub fn stats(
        &self,
        min_contig: u64,
        (levels, scaffolds): (&[Level], Option<&ScaffoldNumbers>),
    ) -> Value {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable_by(|left, right| right.cmp(left));
        let bases = self.bases();
        let mut upto = 0;
        let half = lengths.iter().position(|&length| {
            upto += length;
            2 * upto >= bases
        });
        let squares: u128 = lengths.iter().map(|&length| u128::from(length).pow(2)).sum();
        let part = |of: f64| if bases == 0 { 0.0 } else { of / bases as f64 };
        let mut numbers = json!({
            "contigs": lengths.len(),
            "bases": bases,
            "largest": lengths.first(),
            "n50": half.map_or(0, |place| lengths[place]),
            "l50": half.map_or(0, |place| place + 1),
            "aun": part(squares as f64),
            "gc": part(self.strong_bases as f64),
            "min_contig": min_contig,
            "levels": levels,
        });
        if let Some(scaffolds) = scaffolds {
            numbers["scaffolds"] = scaffolds.stats();
        }
        numbers
    }
}
