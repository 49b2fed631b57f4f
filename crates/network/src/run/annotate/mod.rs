//! Names, graphs and tests added to an answer, whichever engine wrote it: columns of names, a table
//! of edges with names, the network as GraphML or SIF, the differences of a join tested, and p- and
//! q-values of correlations. Runs after the engine and before verification.

mod edges;
mod graph;
mod sif;
mod significance;
mod tables;

use cuesta_core::Result;
use cuesta_core::budget::Lease;
use cuesta_core::job::{Context, Request, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_input::GeneNames;
use cuesta_input::names::{GENES_FILE, write_table};
use cuesta_runtime::atomic_file;

use super::{communities, degrees, differential, join};
use crate::params::{CommunitiesParams, CorrelateParams, GraphFormat, JoinParams, ScanParams};

pub use edges::{EDGES_FILE, EDGES_HEADER};

/// Returns the name of the network file of a format, if it is one.
pub fn graph_file(format: GraphFormat) -> Option<&'static str> {
    match format {
        GraphFormat::None => None,
        GraphFormat::Graphml => Some(graph::GRAPH_FILE),
        GraphFormat::Sif => Some(sif::SIF_FILE),
    }
}

/// Adds to the answer in `request.output` what `request.names` and the parameters `graph`, `test`
/// and `p_values` request: nothing if they request nothing.
///
/// # Errors
/// `Input` for names that cannot be read, for a gene without a name, and for an answer of another
/// workload; `System`; `Cancelled`. After an error the files of the engine are unchanged.
pub fn annotate(workload: &str, request: &Request, progress: &Progress) -> Result<Response> {
    let context = Context::new(request, progress);
    let mut response = Response::default();
    match workload {
        "scan" => scan(&context, &mut response)?,
        "join" => join(&context, &mut response)?,
        "correlate" => {
            let params: CorrelateParams = context.parameters()?;
            if params.p_values {
                significance::write(&context, &params, &mut response)?;
            }
        }
        "degrees" => {
            let table =
                Table { file: degrees::DEGREES_FILE, header: degrees::HEADER, gene_columns: 1 };
            table.name(&context, &mut response)?;
        }
        "communities" => communities(&context, &mut response)?,
        _ => {}
    }
    Ok(response)
}

/// Names of a request, with the lease of their memory.
pub struct LeasedNames<'a> {
    /// Names of the genes.
    pub names: GeneNames,
    _lease: Lease<'a>,
}

impl<'a> LeasedNames<'a> {
    /// Reads the names of a request, if it has any.
    ///
    /// # Errors
    /// As [`GeneNames::read`].
    pub fn of(context: &Context<'a>) -> Result<Option<Self>> {
        let Some(path) = &context.request.names else { return Ok(None) };
        let names = GeneNames::read(path, context.budget.free_bytes())?;
        let lease = context.budget.take(names.size_bytes(), "the names of the genes")?;
        Ok(Some(Self { names, _lease: lease }))
    }
}

/// Table of an answer whose first columns are genes.
struct Table {
    file: &'static str,
    header: &'static str,
    /// Number of columns of gene numbers, which are the first.
    gene_columns: usize,
}

impl Table {
    /// Adds the names, if the request has any.
    fn name(&self, context: &Context<'_>, response: &mut Response) -> Result<()> {
        match read_names(context, response)? {
            Some(names) => self.add(context, response, &names.names),
            None => Ok(()),
        }
    }

    fn add(&self, context: &Context<'_>, response: &mut Response, names: &GeneNames) -> Result<()> {
        timed(response, "name", || {
            let path = context.request.output.join(self.file);
            Ok(((), tables::add_names(context, self, &path, names)?, 0))
        })
    }
}

/// Reads the names of a request, if it has any, as a separate phase.
///
/// # Errors
/// As [`GeneNames::read`].
pub fn read_names<'a>(
    context: &Context<'a>,
    response: &mut Response,
) -> Result<Option<LeasedNames<'a>>> {
    if context.request.names.is_none() {
        return Ok(None);
    }
    timed(response, "read names", || {
        let names = LeasedNames::of(context)?;
        let rows = names.as_ref().map_or(0, |names| names.names.len() as u64);
        Ok((names, 0, rows))
    })
}

fn join(context: &Context<'_>, response: &mut Response) -> Result<()> {
    let params: JoinParams = context.parameters()?;
    if params.test {
        differential::write(context, &params, response)?;
    }
    let Some(names) = read_names(context, response)? else { return Ok(()) };
    let pairs = Table { file: join::PAIRS_FILE, header: join::HEADER, gene_columns: 2 };
    pairs.add(context, response, &names.names)?;
    if params.test {
        let (file, header) = (differential::DIFFERENCES_FILE, differential::DIFFERENCES_HEADER);
        Table { file, header, gene_columns: 2 }.add(context, response, &names.names)?;
    }
    Ok(())
}

fn scan(context: &Context<'_>, response: &mut Response) -> Result<()> {
    let params: ScanParams = context.parameters()?;
    let output = &context.request.output;
    let names = read_names(context, response)?;
    let names = names.as_ref().map(|names| &names.names);
    let source = edges::EdgeSource::of_scan(context, &params)?;
    if let Some(names) = names {
        timed(response, "name", || {
            let rows =
                atomic_file::write(&output.join(EDGES_FILE), |path| source.write(path, names))?;
            let table = atomic_file::write(&output.join(GENES_FILE), |path| {
                write_table(path, names.iter())
            })?;
            Ok(((), table + rows, names.len() as u64))
        })?;
    }
    match params.graph {
        GraphFormat::None => Ok(()),
        GraphFormat::Graphml => {
            let maker = graph::Maker { edges: &source, names, communities: None };
            maker.write(output, response)
        }
        GraphFormat::Sif => sif::write(context, &source, names, response),
    }
}

fn communities(context: &Context<'_>, response: &mut Response) -> Result<()> {
    let params: CommunitiesParams = context.parameters()?;
    let path = context.request.output.join(communities::COMMUNITIES_FILE);
    let names = read_names(context, response)?;
    let names = names.as_ref().map(|names| &names.names);
    let edges = edges::EdgeSource::of_inputs(context, &params)?;
    match params.graph {
        GraphFormat::None => {}
        GraphFormat::Graphml => {
            let maker = graph::Maker { edges: &edges, names, communities: Some(&path) };
            maker.write(&context.request.output, response)?;
        }
        GraphFormat::Sif => sif::write(context, &edges, names, response)?,
    }
    let Some(names) = names else { return Ok(()) };
    timed(response, "name", || {
        let header = communities::HEADER;
        let table = Table { file: communities::COMMUNITIES_FILE, header, gene_columns: 1 };
        Ok(((), tables::add_names(context, &table, &path, names)?, 0))
    })
}
