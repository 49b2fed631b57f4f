//! Files of the answer: unitigs, contigs, their graph, the spectrum, and statistics.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use cuesta_core::{Error, Result};
use serde_json::json;

use crate::kernel::depth::Depth;
use crate::kernel::glue::End;
use crate::kernel::kmer::Base;
use crate::kernel::sequences::PathSummary;
use crate::kernel::simplify::PathGraph;
use crate::kernel::spectrum::Spectrum;
use crate::pairs::SolidSequences;
use crate::pairs::scaffolds::Scaffolds;
use crate::stages::level::Level;
use crate::stages::scaffold_rows::{ScaffoldNumbers, ScaffoldRows};
use crate::stages::short_contigs::ShortContigs;

/// Unitigs with their links, in the format of BCALM.
pub const UNITIGS_FILE: &str = "unitigs.fa";
/// Contigs.
pub const CONTIGS_FILE: &str = "contigs.fa";
/// All paths of the simplified graph, in GFA 1.
pub const GRAPH_FILE: &str = "graph.gfa";
/// Solid sequences of each size of k-mers but the first: the contigs of the size before, and
/// bridges.
pub const BEFORE_FOLDER: &str = "before";
/// Numbers of distinct k-mers by count.
pub const SPECTRUM_FILE: &str = "spectrum.tsv";
/// Contigs in the order that read pairs show, and contigs that are in no scaffold.
pub const SCAFFOLDS_FILE: &str = "scaffolds.fa";
/// Statistics of the contigs, and of each size of k-mers.
pub const STATS_FILE: &str = "stats.json";

struct Output {
    path: std::path::PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl Output {
    fn create(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let file = File::create(&path)
            .map_err(|cause| Error::system("answer", "creating", &path, &cause))?;
        Ok(Self { path, file: BufWriter::with_capacity(1 << 20, file), bytes: 0 })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        self.file
            .write_all(bytes)
            .map_err(|cause| Error::system("answer", "writing", &self.path, &cause))
    }

    /// Writes a name, which begins with `>`, and bases, on a line each.
    fn put_sequence(&mut self, name: &str, codes: &[Base]) -> Result<()> {
        let mut text = Vec::with_capacity(name.len() + codes.len() + 2);
        text.extend_from_slice(name.as_bytes());
        text.push(b'\n');
        letters(codes, &mut text);
        text.push(b'\n');
        self.put(&text)
    }

    fn finish(mut self) -> Result<u64> {
        self.file
            .flush()
            .map_err(|cause| Error::system("answer", "writing", &self.path, &cause))?;
        Ok(self.bytes)
    }
}

/// Appends bases as letters, N for unknown ones.
pub fn letters(codes: &[Base], text: &mut Vec<u8>) {
    // From A to C, G, T, N by sums, and not from a table, so that the compiler vectorizes the loop.
    let letter = |base: Base| {
        let [c, g, t, n] = [1, 2, 3, 4].map(|code| u8::from(base == code));
        b'A' + 2 * c + 6 * g + 19 * t + 13 * n
    };
    text.extend(codes.iter().map(|&base| letter(base)));
}

/// Returns `+` where the path of `end` is read forwards when it is left by `end`, or entered if not
/// `left`.
pub fn sign(end: End, left: bool) -> char {
    if (end % 2 == 1) == left { '+' } else { '-' }
}

/// Writes the unitigs; returns the bytes written.
///
/// # Errors
/// `System`.
pub fn unitigs(folder: &Path, graph: &PathGraph<'_>) -> Result<u64> {
    let mut output = Output::create(folder, UNITIGS_FILE)?;
    let mut name = String::new();
    for index in 0..graph.paths.len() {
        let codes = graph.paths.codes(index);
        let facts = graph.paths.facts(index);
        let mean = facts.count_sum as f64 / graph.kmers(index) as f64;
        name.clear();
        _ = write!(name, ">{index} LN:i:{} KC:i:{} km:f:{mean:.1}", codes.len(), facts.count_sum);
        for end in [2 * index as End + 1, 2 * index as End] {
            for &next in graph.links.after(end) {
                let (from, to) = (sign(end, true), sign(next, false));
                _ = write!(name, " L:{from}:{}:{to}", next / 2);
            }
        }
        if facts.circular {
            name.push_str(" TP:Z:circular");
        }
        output.put_sequence(&name, codes)?;
    }
    output.finish()
}

/// Returns the first line of `graph.gfa`: paths that jump over gaps need version 1.2.
pub fn gfa_head(with_scaffolds: bool) -> &'static [u8] {
    if with_scaffolds { b"H\tVN:Z:1.2\n" } else { b"H\tVN:Z:1.0\n" }
}

/// Graph and contigs at the end of a run.
pub struct LastGraph<'g, 'c> {
    /// The last graph.
    pub graph: &'g PathGraph<'c>,
    /// Contigs that are too short for the graph.
    pub short: &'g ShortContigs,
    /// Scaffolds, if there are enough pairs.
    pub scaffolds: Option<&'g Scaffolds>,
}

/// A contig in the form in which it is written.
struct ContigRow<'c> {
    number: usize,
    codes: &'c [Base],
    count_sum: u64,
    depth: f64,
    circular: bool,
}

impl ContigRow<'_> {
    /// Writes it to the file of contigs, if it is long enough, and to that of the graph.
    fn put(&self, min_contig: u64, [fasta, gfa]: [&mut Output; 2]) -> Result<()> {
        let Self { number, codes, count_sum, depth, circular } = *self;
        let length = codes.len();
        let (mark, tag) = if circular { (" circular=true", "\tTP:Z:circular") } else { ("", "") };
        if length as u64 >= min_contig {
            let head = format!(">contig_{number} length={length} depth={depth:.1}{mark}");
            fasta.put_sequence(&head, codes)?;
        }
        let mut segment = format!("S\tcontig_{number}\t").into_bytes();
        letters(codes, &mut segment);
        let tags = format!("\tLN:i:{length}\tKC:i:{count_sum}\tDP:f:{depth:.1}{tag}\n");
        segment.extend_from_slice(tags.as_bytes());
        gfa.put(&segment)
    }
}

/// Writes the contigs of at least `min_contig` bases, the graph, and scaffolds if there may be any;
/// returns the bytes written, and statistics of scaffolds.
///
/// # Errors
/// `System`.
pub fn contigs(
    folder: &Path,
    last: &LastGraph<'_, '_>,
    (depth, min_contig): (Depth, u64),
) -> Result<(u64, Option<ScaffoldNumbers>)> {
    let &LastGraph { graph, short, scaffolds } = last;
    let mut output = Output::create(folder, CONTIGS_FILE)?;
    let mut gfa = Output::create(folder, GRAPH_FILE)?;
    gfa.put(gfa_head(scaffolds.is_some()))?;
    for index in 0..graph.paths.len() {
        let codes = graph.paths.written(index, graph.k);
        let &PathSummary { count_sum, circular, .. } = graph.paths.facts(index);
        let depth = depth.of(count_sum, graph.kmers(index));
        let row = ContigRow { number: index + 1, codes, count_sum, depth, circular };
        row.put(min_contig, [&mut output, &mut gfa])?;
    }
    for (number, contig) in (graph.paths.len() + 1..).zip(&short.all) {
        let (depth, count_sum) = contig.measures(short.k);
        let row = ContigRow { number, codes: &contig.codes, count_sum, depth, circular: false };
        row.put(min_contig, [&mut output, &mut gfa])?;
    }
    let mut lines = link_lines(graph);
    lines.extend(short.link_lines());
    let mut bytes = 0;
    let mut numbers = None;
    if let Some(scaffolds) = scaffolds {
        let mut output = Output::create(folder, SCAFFOLDS_FILE)?;
        let rows = ScaffoldRows::new((graph, short), (depth, min_contig));
        let (more, statistics) = rows.put(scaffolds, |row| output.put(row))?;
        lines.extend(more);
        bytes = output.finish()?;
        numbers = Some(statistics);
    }
    lines.iter().try_for_each(|line| gfa.put(line.as_bytes()))?;
    Ok((bytes + output.finish()? + gfa.finish()?, numbers))
}

/// Returns the lines of the links of a graph. A circle, whose bases are written once around, is
/// linked to itself without shared bases.
fn link_lines(graph: &PathGraph<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    graph.links.each(|end, next| {
        let (from, to) = (end / 2, next / 2);
        let is_circle = graph.paths.facts(from as usize).circular;
        let shared = if is_circle { 0 } else { graph.k - 1 };
        let (left, entered) = (sign(end, true), sign(next, false));
        let (from, to) = (from + 1, to + 1);
        lines.push(format!("L\tcontig_{from}\t{left}\tcontig_{to}\t{entered}\t{shared}M\n"));
    });
    lines
}

/// Writes the solid sequences at the size `k` of k-mers.
///
/// # Errors
/// `System`.
pub fn solid(folder: &Path, k: usize, solid: &SolidSequences<'_>) -> Result<u64> {
    let folder = folder.join(BEFORE_FOLDER);
    std::fs::create_dir_all(&folder)
        .map_err(|cause| Error::system("answer", "creating", &folder, &cause))?;
    let mut output = Output::create(&folder, &before_file(k))?;
    for index in 0..solid.len() {
        let facts = solid.facts(index);
        let mark = facts.kind.mark();
        let name = format!(">{index} weight={}{mark}", facts.weight);
        output.put_sequence(&name, solid.codes(index))?;
    }
    output.finish()
}

/// Moves the unitigs of a size of k-mers that is not the last one to [`BEFORE_FOLDER`].
///
/// # Errors
/// `System`.
pub fn keep_unitigs(folder: &Path, k: usize) -> Result<()> {
    let to = folder.join(BEFORE_FOLDER);
    std::fs::create_dir_all(&to)
        .and_then(|()| std::fs::rename(folder.join(UNITIGS_FILE), to.join(unitigs_before_file(k))))
        .map_err(|cause| Error::system("answer", "creating", &to, &cause))
}

/// Restores the unitigs that [`keep_unitigs`] moved in another run.
///
/// # Errors
/// `System`.
pub fn restore_unitigs(folder: &Path, k: usize, bytes: &[u8]) -> Result<()> {
    let path = folder.join(BEFORE_FOLDER).join(unitigs_before_file(k));
    std::fs::create_dir_all(folder.join(BEFORE_FOLDER))
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|cause| Error::system("answer", "writing", &path, &cause))
}

/// Returns the name of the file in [`BEFORE_FOLDER`] with the unitigs of a size of k-mers.
pub fn unitigs_before_file(k: usize) -> String {
    format!("{k}.unitigs.fa")
}

/// Returns the name of the file in [`BEFORE_FOLDER`] with the solid sequences of a size of k-mers.
pub fn before_file(k: usize) -> String {
    format!("{k}.fa")
}

/// Writes the spectrum up to its last count; returns the bytes written.
///
/// # Errors
/// `System`.
pub fn spectrum(folder: &Path, spectrum: &Spectrum) -> Result<u64> {
    let mut output = Output::create(folder, SPECTRUM_FILE)?;
    output.put(b"count\tkmers\n")?;
    for (count, &kmers) in spectrum.kmers().iter().enumerate().skip(1) {
        if kmers > 0 {
            output.put(format!("{count}\t{kmers}\n").as_bytes())?;
        }
    }
    output.finish()
}

/// Writes statistics of the contigs of at least `min_contig` bases; returns the counts of the
/// response.
///
/// # Errors
/// `System`.
pub fn stats(
    folder: &Path,
    (graph, short): (&PathGraph<'_>, &ShortContigs),
    (levels, scaffolds): (&[Level], Option<&ScaffoldNumbers>),
    min_contig: u64,
) -> Result<BTreeMap<&'static str, u64>> {
    let chosen: Vec<&[u8]> = (0..graph.paths.len())
        .map(|index| graph.paths.written(index, graph.k))
        .chain(short.all.iter().map(|contig| &contig.codes[..]))
        .filter(|codes| codes.len() as u64 >= min_contig)
        .collect();
    let mut lengths: Vec<u64> = chosen.iter().map(|codes| codes.len() as u64).collect();
    lengths.sort_unstable_by(|left, right| right.cmp(left));
    let bases: u64 = lengths.iter().sum();
    let (n50, l50) = half_of(&lengths, bases);
    let squares: u128 = lengths.iter().map(|&length| u128::from(length).pow(2)).sum();
    let strong =
        |codes: &&[u8]| codes.iter().filter(|&&base| base == 1 || base == 2).count() as u64;
    let gc: u64 = chosen.iter().map(strong).sum();
    let per = |part: f64| if bases == 0 { 0.0 } else { part / bases as f64 };
    let mut output = Output::create(folder, STATS_FILE)?;
    let mut numbers = json!({
        "contigs": lengths.len(),
        "bases": bases,
        "largest": lengths.first(),
        "n50": n50,
        "l50": l50,
        "aun": per(squares as f64),
        "gc": per(gc as f64),
        "min_contig": min_contig,
        "levels": levels,
    });
    let mut counts = BTreeMap::new();
    if let Some(scaffolds) = scaffolds {
        numbers["scaffolds"] = scaffolds.stats();
        counts.insert("scaffolds", scaffolds.count());
    }
    output.put(format!("{numbers:#}\n").as_bytes())?;
    output.finish()?;
    counts.extend([
        ("contigs", lengths.len() as u64),
        ("bases", bases),
        ("largest", lengths.first().copied().unwrap_or(0)),
        ("n50", n50),
        ("unitigs", levels.last().map_or(0, |level| level.unitigs as u64)),
        ("kmers", levels.last().map_or(0, |level| level.solid)),
    ]);
    Ok(counts)
}

/// Returns the length of the contig at which half of all bases are reached, and its rank.
pub fn half_of(lengths: &[u64], bases: u64) -> (u64, usize) {
    let mut sum = 0;
    for (place, &length) in lengths.iter().enumerate() {
        sum += length;
        if 2 * sum >= bases {
            return (length, place + 1);
        }
    }
    (0, 0)
}
