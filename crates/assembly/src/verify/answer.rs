//! Reads the files of an answer.

use std::path::Path;

use cuesta_core::{Error, Result};
use serde::Deserialize;

use crate::glue::End;
use crate::kmer::Base;
use crate::scan;
use crate::write::{CONTIGS_FILE, GRAPH_FILE, STATS_FILE, UNITIGS_FILE};

const OPERATION: &str = "verify";

/// What of `stats.json` is needed to repeat the work.
#[derive(Deserialize)]
pub struct Stats {
    /// Shortest contig.
    pub min_contig: u64,
    /// By size of k-mers.
    pub levels: Vec<LevelStats>,
}

/// One of them.
#[derive(Deserialize)]
pub struct LevelStats {
    /// Size of k-mers.
    pub k: usize,
    /// Smallest count.
    pub min_count: u32,
    /// Of mates, where k-mers come from contigs and bridges alone.
    pub mates: Option<serde_json::Value>,
}

/// A unitig or contig as a file has it.
pub struct Segment {
    /// Bases.
    pub codes: Vec<Base>,
    /// Counts of its k-mers, added up.
    pub count_sum: u64,
    /// Whether it is marked: as a circle, or as a bridge.
    pub marked: bool,
}

impl Segment {
    /// Its bases.
    pub fn bases(&self) -> &[Base] {
        &self.codes
    }
}

/// What the files say.
pub struct Answer {
    /// `stats.json`.
    pub stats: Stats,
    /// `unitigs.fa`.
    pub unitigs: Vec<Segment>,
    /// Segments of `graph.gfa`.
    pub segments: Vec<Segment>,
    /// Links of `graph.gfa`: the end that is left, the end that is entered.
    pub links: Vec<(End, End)>,
    /// Sequences of `contigs.fa`.
    pub contigs: Vec<Vec<Base>>,
}

impl Answer {
    /// Reads all files.
    ///
    /// # Errors
    /// `Input` naming file and line; `System`.
    pub fn read(folder: &Path) -> Result<Self> {
        let stats = folder.join(STATS_FILE);
        let stats = serde_json::from_str(&text(&stats)?)
            .map_err(|error| Error::input(OPERATION, format!("{}: {error}", stats.display())))?;
        let (segments, links) = graph(&folder.join(GRAPH_FILE))?;
        let unitigs = records(&folder.join(UNITIGS_FILE), |name| {
            let count_sum = name.split(" KC:i:").nth(1)?.split(' ').next()?.parse().ok()?;
            Some((count_sum, name.ends_with(" TP:Z:circular")))
        })?;
        let contigs = records(&folder.join(CONTIGS_FILE), |_| Some((0, false)))?;
        let contigs = contigs.into_iter().map(|contig| contig.codes).collect();
        Ok(Self { stats, unitigs, segments, links, contigs })
    }
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|cause| Error::system(OPERATION, "reading", path, &cause))
}

fn bad(path: &Path, line: usize, what: &str) -> Error {
    Error::input(OPERATION, format!("line {line} of {} {what}", path.display()))
}

fn codes(path: &Path, line: usize, letters: &str) -> Result<Vec<Base>> {
    let codes: Vec<Base> = letters.bytes().map(scan::code).collect();
    if codes.is_empty() || codes.iter().any(|&code| code > 3) {
        return Err(bad(path, line, "is no sequence of A, C, G, T"));
    }
    Ok(codes)
}

/// The records of a FASTA file with a line each for name and bases.
pub fn records(path: &Path, facts: impl Fn(&str) -> Option<(u64, bool)>) -> Result<Vec<Segment>> {
    let whole = text(path)?;
    let mut lines = whole.lines().enumerate();
    let mut found = Vec::new();
    while let Some((line, name)) = lines.next() {
        let (count_sum, marked) = name
            .strip_prefix('>')
            .and_then(&facts)
            .ok_or_else(|| bad(path, line + 1, "is no name of a sequence"))?;
        let letters = lines.next().map_or("", |(_, letters)| letters);
        found.push(Segment { codes: codes(path, line + 2, letters)?, count_sum, marked });
    }
    Ok(found)
}

type Graph = (Vec<Segment>, Vec<(End, End)>);

fn graph(path: &Path) -> Result<Graph> {
    let (mut segments, mut links) = (Vec::new(), Vec::new());
    for (line, row) in text(path)?.lines().enumerate() {
        let fields: Vec<&str> = row.split('\t').collect();
        match fields[..] {
            ["H", ..] => {}
            ["S", _, letters, ref tags @ ..] => {
                let sum = tags.iter().find_map(|tag| tag.strip_prefix("KC:i:")?.parse().ok());
                segments.push(Segment {
                    codes: codes(path, line + 1, letters)?,
                    count_sum: sum.ok_or_else(|| bad(path, line + 1, "has no count KC:i:"))?,
                    marked: tags.contains(&"TP:Z:circular"),
                });
            }
            ["L", from, left, to, entered, _] => {
                let link = end(from, left == "+").zip(end(to, entered == "-"));
                links.push(link.ok_or_else(|| bad(path, line + 1, "names no contigs"))?);
            }
            _ => return Err(bad(path, line + 1, "is neither segment nor link")),
        }
    }
    Ok((segments, links))
}

/// The right or left end of `contig_N`.
fn end(name: &str, right: bool) -> Option<End> {
    let number: End = name.strip_prefix("contig_")?.parse().ok()?;
    Some(2 * number.checked_sub(1)? + End::from(right))
}
