//! Paths of the last graph as they are written: those that were proven, or those that scaffolds
//! join.

use cuesta_core::Result;

use super::links::End;
use super::paths::Paths;
use crate::kernel::kmer::Base;
use crate::kernel::simplify::PathGraph;

/// Paths of the last graph.
pub enum LastPaths<'p, 't, 'a> {
    /// Paths that were proven.
    Proven(&'p Paths<'t, 'a>),
    /// Paths of a graph in which contigs are joined.
    Joined(&'p PathGraph<'a>),
}

/// A path with its measures.
pub struct LastPath {
    /// Bases; those of a circle once around.
    pub codes: Vec<Base>,
    /// Sum of the counts of its k-mers.
    pub count_sum: u64,
    /// Number of its k-mers.
    pub kmers: usize,
    /// Whether it is a circle.
    pub is_circle: bool,
}

impl LastPaths<'_, '_, '_> {
    /// Returns the number of paths.
    pub fn count(&self) -> usize {
        match self {
            Self::Proven(paths) => paths.all.len(),
            Self::Joined(graph) => graph.paths.len(),
        }
    }

    /// Returns a path.
    pub fn path(&self, index: usize) -> LastPath {
        match self {
            Self::Proven(paths) => {
                let path = &paths.all[index];
                let (count_sum, kmers) = (path.count_sum, path.kmers() as usize);
                let (mut codes, is_circle) = (paths.spelled(index), path.is_circle());
                if is_circle {
                    codes.truncate(kmers);
                }
                LastPath { codes, count_sum, kmers, is_circle }
            }
            Self::Joined(graph) => {
                let facts = graph.paths.facts(index);
                LastPath {
                    codes: graph.paths.written(index, graph.k).to_vec(),
                    count_sum: facts.count_sum,
                    kmers: graph.kmers(index),
                    is_circle: facts.circular,
                }
            }
        }
    }

    /// Returns whether a path is a circle.
    pub fn is_circle(&self, index: usize) -> bool {
        match self {
            Self::Proven(paths) => paths.all[index].is_circle(),
            Self::Joined(graph) => graph.paths.facts(index).circular,
        }
    }

    /// Calls `take` for each link once, with the end that is left and the end that is entered.
    ///
    /// # Errors
    /// Errors of `take`.
    pub fn each_link(&self, mut take: impl FnMut(End, End) -> Result<()>) -> Result<()> {
        match self {
            Self::Proven(paths) => paths.each_link(take),
            Self::Joined(graph) => {
                let mut result = Ok(());
                graph.links.each(|left, entered| {
                    if result.is_ok() {
                        result = take(left, entered);
                    }
                });
                result
            }
        }
    }
}
