//! Verifier of `network.graphml`: reads all bytes strictly, on all threads, and compares them with
//! the rows that are its edges.
//!
//! Each line has a single spelling, so a line that is accepted is the line that must be written.
//! Nodes are the genes that have an edge, in ascending order; edges are numbered from 1 on and have
//! the same keyed fingerprint as the rows, which n wrong edges have with a probability of at most n
//! / 2^60.

use std::path::Path;

use cuesta_core::fingerprint::{Fingerprint, Key};
use cuesta_core::job::{Context, Verdict};
use cuesta_core::{Error, Result};
use cuesta_input::GeneNames;
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::source::{TextFile, TextSource};
use cuesta_runtime::parallel;

use super::rows::{RowScan, announce, fault};
use super::sif;
use super::table::{Wrong, integer};
use super::text::line::canonical_score;
use super::text::pieces::{Buffer, PaddedLines, Pieces};
use crate::params::GraphFormat;
use crate::run::annotate::graph_file;

/// Parts that the graph must have.
pub struct Expected<'a> {
    /// Rows that are the edges of the graph.
    pub rows: &'a RowScan<'a>,
    /// Names of the genes, if any.
    pub names: Option<&'a GeneNames>,
    /// Communities of genes 1 to N, from 0, if any.
    pub labels: Option<&'a [u32]>,
}

/// Summary of rows or edges.
struct Edges {
    key: Key,
    sum: Fingerprint,
    /// Whether each gene has an edge.
    touched: Vec<bool>,
}

/// Summary of a part of the file.
#[derive(Default)]
struct Part {
    /// First and last gene of the nodes.
    genes: Option<(u64, u64)>,
    nodes: u64,
    /// First and last number of the edges.
    edges: Option<(u64, u64)>,
    sum: Fingerprint,
}

/// Verifies the network of an answer, in a format.
///
/// # Errors
/// `Input` for rows that cannot be read; `System`; `Cancelled`.
pub fn judge(
    context: &Context<'_>,
    format: GraphFormat,
    expected: &Expected<'_>,
    verdict: &mut Verdict,
) -> Result<()> {
    let Some(file) = graph_file(format) else { return Ok(()) };
    let path = context.request.output.join(file);
    let check = if format == GraphFormat::Sif { sif::check } else { check };
    if let Err(wrong) = super::judge(&path, check(context, &path, expected))? {
        verdict.require(false, &wrong);
    }
    Ok(())
}

/// Checks a graph; an error of kind `Input` states its fault.
fn check(context: &Context<'_>, path: &Path, expected: &Expected<'_>) -> Result<()> {
    let wrong = |what: &str| Error::input("verify", format!("{} {what}", path.display()));
    let system = |cause| Error::system("verify", "reading", path, &cause);
    let size_bytes = std::fs::metadata(path).map_err(system)?.len();
    announce(context.progress, expected.rows.paths.iter().chain([&path.to_owned()]));
    let edges = expected.edges()?;
    let file = TextFile { path: path.to_owned(), size_bytes, is_packed: false, zone: None };
    let source = TextSource { files: vec![file], shape: None, files_skipped: 0 };
    let (file, splits) = (&source.files[0], source.splits(SPLIT_BYTES));
    let head = expected.head();
    let foot = "  </graph>\n</graphml>\n";
    if size_bytes < (head.len() + foot.len()) as u64 {
        return Err(wrong("is cut short"));
    }
    let reader = Reader { expected, edges: &edges, head: &head, foot, size_bytes };
    let make = || (Buffer::default(), Vec::new());
    let work = |(buffer, parts): &mut (Buffer, Vec<(usize, Part)>), task: usize| {
        let mut part = Part::default();
        let mut pieces = Pieces::open(file, &splits[task], buffer)?;
        while let Some(piece) = pieces.next_piece()? {
            let read = reader.lines(&piece, &mut part);
            read.map_err(|(at, message)| fault(file, piece.offset, at, message))?;
            context.progress.advance((piece.end - piece.start) as u64)?;
        }
        parts.push((task, part));
        Ok(())
    };
    let states = parallel::run(context.request.threads, splits.len(), make, work, |_| {})?;
    let mut parts: Vec<_> = states.into_iter().flat_map(|(_, parts)| parts).collect();
    parts.sort_by_key(|&(task, _)| task);
    let mut sum = Part::default();
    for (_, part) in &parts {
        sum.append(part).map_err(wrong)?;
    }
    let nodes = edges.touched.iter().filter(|&&touched| touched).count() as u64;
    if sum.nodes != nodes {
        return Err(wrong("lacks genes that have an edge"));
    }
    if sum.edges.map_or(0, |(_, last)| last) != edges.sum.rows() || sum.sum != edges.sum {
        return Err(wrong("has other edges than the rows"));
    }
    Ok(())
}

impl Part {
    /// Appends the next part.
    fn append(&mut self, next: &Self) -> std::result::Result<(), &'static str> {
        if let Some((first, last)) = next.genes {
            if self.edges.is_some() || self.genes.is_some_and(|(_, before)| first <= before) {
                return Err("has a node in the wrong place");
            }
            self.genes = Some((first, last));
        }
        if let Some((first, last)) = next.edges {
            if first != self.edges.map_or(0, |(_, before)| before) + 1 {
                return Err("has an edge in the wrong place");
            }
            self.edges = Some((first, last));
        }
        self.nodes += next.nodes;
        self.sum.merge(&next.sum);
        Ok(())
    }
}

impl Expected<'_> {
    /// Returns the summary of the rows.
    fn edges(&self) -> Result<Edges> {
        let key = Key::random();
        let make = || (Fingerprint::default(), Vec::new());
        let states = self.rows.each(make, |(sum, touched), written| {
            let row = &written.row;
            let score = self.rows.wanted.score(row);
            sum.add_words(&key, &words(row.gene1, row.gene2, row.cluster, score));
            for gene in [row.gene1, row.gene2] {
                if gene as usize >= touched.len() {
                    touched.resize(gene as usize + 1, false);
                }
                touched[gene as usize] = true;
            }
            Ok(())
        })?;
        let mut all = Edges { key, sum: Fingerprint::default(), touched: Vec::new() };
        for (sum, touched) in states {
            all.sum.merge(&sum);
            let genes = touched.len().max(all.touched.len());
            all.touched.resize(genes, false);
            all.touched.iter_mut().zip(touched).for_each(|(is_touched, more)| *is_touched |= more);
        }
        Ok(all)
    }

    /// Returns the lines before the nodes.
    fn head(&self) -> String {
        let xsd = "http://graphml.graphdrawing.org/xmlns/1.1/graphml.xsd";
        let name = "  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n";
        let community = "  <key id=\"community\" for=\"node\" attr.name=\"community\" \
                         attr.type=\"int\"/>\n";
        [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
            "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" ",
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" ",
            "xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns ",
            xsd,
            "\">\n",
            "  <key id=\"gene\" for=\"node\" attr.name=\"gene\" attr.type=\"int\"/>\n",
            if self.names.is_some() { name } else { "" },
            if self.labels.is_some() { community } else { "" },
            "  <key id=\"score\" for=\"edge\" attr.name=\"score\" attr.type=\"double\"/>\n",
            "  <key id=\"cluster\" for=\"edge\" attr.name=\"cluster\" attr.type=\"int\"/>\n",
            "  <graph id=\"network\" edgedefault=\"undirected\">\n",
        ]
        .concat()
    }
}

fn words(gene1: u32, gene2: u32, cluster: u32, score: i32) -> [u64; 2] {
    [u64::from(gene1) << 32 | u64::from(gene2), u64::from(cluster) << 32 | u64::from(score as u32)]
}

/// Reader of the lines of a graph.
struct Reader<'a> {
    expected: &'a Expected<'a>,
    edges: &'a Edges,
    head: &'a str,
    foot: &'a str,
    size_bytes: u64,
}

impl Reader<'_> {
    /// Reads the lines of a piece; an error has the offset of its line in the piece.
    fn lines(
        &self,
        piece: &PaddedLines<'_>,
        part: &mut Part,
    ) -> std::result::Result<(), (usize, Wrong)> {
        let mut start = piece.start;
        for feed in memchr::memchr_iter(b'\n', &piece.buffer[piece.start..piece.end]) {
            let next = piece.start + feed + 1;
            let at = start - piece.start;
            let line = &piece.buffer[start..next];
            self.line(line, piece.offset + at as u64, part).map_err(|message| (at, message))?;
            start = next;
        }
        match piece.cut {
            true => Err((piece.end - piece.start - 1, "has no line feed".to_owned())),
            false => Ok(()),
        }
    }

    /// Reads the line, with its line feed, at an offset of the file.
    fn line(&self, line: &[u8], place: u64, part: &mut Part) -> std::result::Result<(), Wrong> {
        let end = place + line.len() as u64;
        let behind = self.size_bytes - self.foot.len() as u64;
        let fixed = match (place < self.head.len() as u64, place >= behind) {
            (true, _) => self.head.as_bytes().get(place as usize..end as usize),
            (_, true) => {
                self.foot.as_bytes().get((place - behind) as usize..(end - behind) as usize)
            }
            _ => None,
        };
        match fixed {
            Some(fixed) if fixed == line => return Ok(()),
            None if place >= self.head.len() as u64 && end <= behind => {}
            _ => return Err("is not the line of a graph that has its place there".to_owned()),
        }
        let mut rest = Rest(line);
        match rest.literal("    <edge id=\"e").is_ok() {
            true => self.edge(rest, part),
            false => self.node(rest, part),
        }
    }

    fn node(&self, mut rest: Rest<'_>, part: &mut Part) -> std::result::Result<(), Wrong> {
        rest.literal("    <node id=\"n")?;
        let gene = rest.number(b'"')?;
        rest.literal("\"><data key=\"gene\">")?;
        if rest.number(b'<')? != gene {
            return Err("has two genes".to_owned());
        }
        if let Some(names) = self.expected.names {
            let name = u32::try_from(gene).ok().and_then(|gene| names.get(gene));
            let name = name.ok_or_else(|| format!("has gene {gene}, which has no name"))?;
            let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            rest.literal("</data><data key=\"name\">")?;
            rest.literal(&name)?;
        }
        if let Some(labels) = self.expected.labels {
            rest.literal("</data><data key=\"community\">")?;
            let label = (gene as usize).checked_sub(1).and_then(|index| labels.get(index));
            if Some(rest.number(b'<')?) != label.map(|&label| u64::from(label) + 1) {
                return Err(format!("has another community than gene {gene}"));
            }
        }
        rest.literal("</data></node>\n")?;
        rest.end()?;
        if self.edges.touched.get(gene as usize) != Some(&true) {
            return Err(format!("has gene {gene}, which has no edge"));
        }
        let (first, last) = part.genes.unwrap_or((gene, 0));
        if part.edges.is_some() || gene <= last {
            return Err(format!("has gene {gene} in the wrong place"));
        }
        part.genes = Some((first, gene));
        part.nodes += 1;
        Ok(())
    }

    fn edge(&self, mut rest: Rest<'_>, part: &mut Part) -> std::result::Result<(), Wrong> {
        let number = rest.number(b'"')?;
        rest.literal("\" source=\"n")?;
        let gene1 = rest.number(b'"')?;
        rest.literal("\" target=\"n")?;
        let gene2 = rest.number(b'"')?;
        rest.literal("\"><data key=\"score\">")?;
        let score = rest.until(b'<')?;
        let score = canonical_score(score).ok_or("has a score without six decimals")?;
        rest.literal("</data><data key=\"cluster\">")?;
        let cluster = rest.number(b'<')?;
        rest.literal("</data></edge>\n")?;
        rest.end()?;
        let (first, last) = part.edges.unwrap_or((number, number.wrapping_sub(1)));
        if number != last.wrapping_add(1) {
            return Err(format!("has edge {number} behind edge {last}"));
        }
        part.edges = Some((first, number));
        match [gene1, gene2, cluster].map(u32::try_from) {
            [Ok(gene1), Ok(gene2), Ok(cluster)] => {
                part.sum.add_words(&self.edges.key, &words(gene1, gene2, cluster, score));
                Ok(())
            }
            _ => Err(format!("has edge {number} of genes that cannot be")),
        }
    }
}

/// Remainder of a line.
struct Rest<'l>(&'l [u8]);

impl<'l> Rest<'l> {
    fn literal(&mut self, text: &str) -> std::result::Result<(), Wrong> {
        match self.0.strip_prefix(text.as_bytes()) {
            Some(rest) => {
                self.0 = rest;
                Ok(())
            }
            None => Err(format!("lacks {:?}", text.trim())),
        }
    }

    fn until(&mut self, end: u8) -> std::result::Result<&'l [u8], Wrong> {
        let place = memchr::memchr(end, self.0).ok_or("is no node and no edge")?;
        let (field, rest) = self.0.split_at(place);
        self.0 = rest;
        Ok(field)
    }

    fn number(&mut self, end: u8) -> std::result::Result<u64, Wrong> {
        integer(self.until(end)?)
    }

    fn end(&self) -> std::result::Result<(), Wrong> {
        if self.0.is_empty() { Ok(()) } else { Err("has more than a node or an edge".to_owned()) }
    }
}
