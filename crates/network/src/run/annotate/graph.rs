//! Network of an answer as GraphML, which Cytoscape, NetworkX, igraph and Gephi read.

use std::io::{BufRead, BufReader};
use std::path::Path;

use cuesta_core::fixed::{append_integer, append_text};
use cuesta_core::job::{Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::GeneNames;
use cuesta_runtime::atomic_file;
use cuesta_runtime::ordered::OrderedFile;

use super::edges::{Edge, EdgeSource, Genes};
use super::tables::gene_of;

/// Name of the network file.
pub const GRAPH_FILE: &str = "network.graphml";
/// Bytes of text written at once.
const PART_BYTES: usize = 1 << 20;
/// Text before the keys.
const HEAD: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"",
    " xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns",
    " http://graphml.graphdrawing.org/xmlns/1.1/graphml.xsd\">\n",
);
/// Text after the last edge.
const FOOT: &str = "  </graph>\n</graphml>\n";

/// Parts of a graph.
pub struct Maker<'a> {
    /// Edges of the graph.
    pub edges: &'a EdgeSource<'a>,
    /// Names of the genes, if any.
    pub names: Option<&'a GeneNames>,
    /// Table of communities, if any.
    pub communities: Option<&'a Path>,
}

impl Maker<'_> {
    /// Writes the graph into a folder: the genes that have an edge in ascending order, then the
    /// edges in the order of their rows. Reads the rows twice, with a bit of memory for each gene.
    ///
    /// # Errors
    /// `Input` for a gene without a name; `System`; `Cancelled`.
    pub fn write(&self, folder: &Path, response: &mut Response) -> Result<()> {
        let (nodes, edges) = timed(response, "graph", || {
            let (genes, parts) = self.edges.survey()?;
            let mut first = Vec::with_capacity(parts.len());
            let mut edges = 0;
            for count in parts {
                first.push(edges + 1);
                edges += count;
            }
            let bytes = atomic_file::write(&folder.join(GRAPH_FILE), |path| {
                let out = OrderedFile::create(path)?;
                self.write_nodes(&out, &genes)?;
                self.edges.to_text(&out, &first, |text, number, edge| {
                    append_edge(text, number, edge);
                    Ok(())
                })?;
                out.finish_task(first.len() + 1, &mut FOOT.as_bytes().to_vec())?;
                out.close()
            })?;
            Ok(((genes.len(), edges), bytes, edges))
        })?;
        response.counts.insert("graph_nodes", nodes);
        response.counts.insert("graph_edges", edges);
        Ok(())
    }

    /// Writes the text before the edges, as the first task of `out`.
    fn write_nodes(&self, out: &OrderedFile, genes: &Genes) -> Result<()> {
        let mut text = self.head().into_bytes();
        let mut append = |gene: u32, community: Option<u32>| {
            self.append_node(&mut text, gene, community)?;
            if text.len() >= PART_BYTES { out.write_part(0, &mut text) } else { Ok(()) }
        };
        match self.communities {
            None => genes.iter().try_for_each(|gene| append(gene, None))?,
            Some(path) => each_community(path, |gene, community| {
                if genes.contains(gene) { append(gene, Some(community)) } else { Ok(()) }
            })?,
        }
        out.finish_task(0, &mut text)
    }

    fn head(&self) -> String {
        let mut text = HEAD.to_owned();
        let mut key = |kind: &str, name: &str, value: &str| {
            text += &format!(
                "  <key id=\"{name}\" for=\"{kind}\" attr.name=\"{name}\" attr.type=\"{value}\"/>\n"
            );
        };
        key("node", "gene", "int");
        if self.names.is_some() {
            key("node", "name", "string");
        }
        if self.communities.is_some() {
            key("node", "community", "int");
        }
        key("edge", "score", "double");
        key("edge", "cluster", "int");
        text + "  <graph id=\"network\" edgedefault=\"undirected\">\n"
    }

    fn append_node(&self, out: &mut Vec<u8>, gene: u32, community: Option<u32>) -> Result<()> {
        out.extend_from_slice(b"    <node id=\"n");
        append_integer(u64::from(gene), out);
        out.extend_from_slice(b"\"><data key=\"gene\">");
        append_integer(u64::from(gene), out);
        if let Some(names) = self.names {
            out.extend_from_slice(b"</data><data key=\"name\">");
            append_escaped(names.name(gene)?, out);
        }
        if let Some(community) = community {
            out.extend_from_slice(b"</data><data key=\"community\">");
            append_integer(u64::from(community), out);
        }
        out.extend_from_slice(b"</data></node>\n");
        Ok(())
    }
}

fn append_edge(out: &mut Vec<u8>, number: u64, edge: Edge) {
    out.extend_from_slice(b"    <edge id=\"e");
    append_integer(number, out);
    out.extend_from_slice(b"\" source=\"n");
    append_integer(u64::from(edge.gene1), out);
    out.extend_from_slice(b"\" target=\"n");
    append_integer(u64::from(edge.gene2), out);
    out.extend_from_slice(b"\"><data key=\"score\">");
    append_text(edge.score, out);
    out.extend_from_slice(b"</data><data key=\"cluster\">");
    append_integer(u64::from(edge.cluster), out);
    out.extend_from_slice(b"</data></edge>\n");
}

/// Appends text escaped for use between XML tags.
fn append_escaped(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        match byte {
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
}

/// Calls `take(gene, community)` for each line of a table of communities.
fn each_community(path: &Path, mut take: impl FnMut(u32, u32) -> Result<()>) -> Result<()> {
    let failed = |cause| Error::system("annotate", "reading", path, &cause);
    let mut reader = BufReader::with_capacity(1 << 18, std::fs::File::open(path).map_err(failed)?);
    let mut line = Vec::new();
    let mut number = 0u64;
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut fields = text.split(|&byte| byte == b'\t').map(gene_of);
        match (number, fields.next().flatten(), fields.next().flatten()) {
            (1, ..) => {}
            (_, Some(gene), Some(community)) => take(gene, community)?,
            _ => {
                let text = format!(
                    "line {number} of {} has no gene and community; run the workload again",
                    path.display()
                );
                return Err(Error::input("annotate", text));
            }
        }
        line.clear();
    }
    Ok(())
}
