//! Network of an answer as SIF, the simple interaction format, which Cytoscape reads: a line an
//! edge, with tabs between a gene, `coexp` and a gene.

use cuesta_core::Result;
use cuesta_core::fixed::append_integer;
use cuesta_core::job::{Context, Response, timed};
use cuesta_input::GeneNames;
use cuesta_runtime::atomic_file;
use cuesta_runtime::ordered::OrderedFile;

use super::edges::{EdgeSource, Genes};

/// Name of the network file.
pub const SIF_FILE: &str = "network.sif";
/// Text between the genes of an edge.
const INTERACTION: &[u8] = b"\tcoexp\t";

/// Writes the edges in the order of their rows into the folder of the answer. Reads the rows twice,
/// with 4 bytes of memory for each name.
///
/// # Errors
/// `Input` for a gene without a name, and for names beyond the memory; `System`; `Cancelled`.
pub fn write(
    context: &Context<'_>,
    edges: &EdgeSource<'_>,
    names: Option<&GeneNames>,
    response: &mut Response,
) -> Result<()> {
    let bytes = names.map_or(0, |names| 4 * names.len() as u64);
    let _lease = context.budget.take(bytes, "the order of the names")?;
    let nodes = timed(response, "graph", || {
        let nodes = Nodes::new(names);
        let (genes, parts) = edges.survey()?;
        let bytes = atomic_file::write(&context.request.output.join(SIF_FILE), |path| {
            let out = OrderedFile::create(path)?;
            out.finish_task(0, &mut Vec::new())?;
            edges.to_text(&out, &[], |text, _, edge| {
                nodes.append(edge.gene1, text)?;
                text.extend_from_slice(INTERACTION);
                nodes.append(edge.gene2, text)?;
                text.push(b'\n');
                Ok(())
            })?;
            out.close()
        })?;
        let edges: u64 = parts.iter().sum();
        Ok(((genes.len(), edges), bytes, edges))
    })?;
    response.counts.insert("graph_nodes", nodes.0);
    response.counts.insert("graph_edges", nodes.1);
    Ok(())
}

/// Nodes of a network without numbers of genes, in which a name must be that of one gene.
struct Nodes<'a> {
    names: Option<&'a GeneNames>,
    /// Genes whose number follows their name.
    numbered: Genes,
}

impl<'a> Nodes<'a> {
    /// Finds the names that several genes have, and those that look like numbered ones.
    fn new(names: Option<&'a GeneNames>) -> Self {
        let mut numbered = Genes::default();
        if let Some(names) = names {
            let name = |gene: u32| names.get(gene).unwrap_or_default().trim();
            let mut order: Vec<u32> = (1..=names.len() as u32).collect();
            order.sort_unstable_by_key(|gene| name(*gene));
            for pair in order.windows(2).filter(|pair| name(pair[0]) == name(pair[1])) {
                pair.iter().for_each(|gene| numbered.insert(*gene));
            }
            let odd = |gene: &u32| name(*gene).is_empty() || is_numbered(name(*gene));
            order.into_iter().filter(odd).for_each(|gene| numbered.insert(gene));
        }
        Self { names, numbered }
    }

    /// Appends the name of a gene, without space around it; its number where it has no name; and
    /// both where another gene has the same name.
    fn append(&self, gene: u32, out: &mut Vec<u8>) -> Result<()> {
        let Some(names) = self.names else {
            append_integer(u64::from(gene), out);
            return Ok(());
        };
        let name = names.name(gene)?.trim();
        out.extend_from_slice(name.as_bytes());
        if self.numbered.contains(gene) {
            out.extend_from_slice(if name.is_empty() { b"(gene " } else { b" (gene " });
            append_integer(u64::from(gene), out);
            out.push(b')');
        }
        Ok(())
    }
}

/// Whether a name ends like one with a number.
fn is_numbered(name: &str) -> bool {
    let digits = name.strip_suffix(')').and_then(|rest| rest.rsplit_once("(gene "));
    digits.is_some_and(|(_, digits)| digits.bytes().all(|byte| byte.is_ascii_digit()))
}
