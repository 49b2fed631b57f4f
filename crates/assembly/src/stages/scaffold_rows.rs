//! Scaffolds as they are written: `scaffolds.fa`, their lines in `graph.gfa`, and statistics.

use cuesta_core::Result;
use serde_json::{Value, json};

use super::short_contigs::ShortContigs;
use super::write::{half_of, letters, sign};
use crate::kernel::depth::Depth;
use crate::kernel::kmer::Base;
use crate::kernel::libraries::LibraryFacts;
use crate::kernel::placements::Joint;
use crate::kernel::simplify::PathGraph;
use crate::pairs::scaffolds::{ANY, Part, Scaffold, Scaffolds, Seam, with_contigs};

/// The scaffolds of a graph, with the options and data for writing them.
pub struct ScaffoldRows<'s, 'g> {
    graph: &'s PathGraph<'g>,
    short: &'s ShortContigs,
    depth: Depth,
    min_contig: u64,
}

/// Statistics of the scaffolds of at least some length.
#[derive(Default)]
pub struct ScaffoldNumbers {
    lengths: Vec<u64>,
    gaps: usize,
    gap_bases: usize,
    libraries: Vec<LibraryFacts>,
}

impl<'s, 'g> ScaffoldRows<'s, 'g> {
    /// Creates the writer for a graph and the contigs that are too short for it.
    pub fn new(
        (graph, short): (&'s PathGraph<'g>, &'s ShortContigs),
        (depth, min_contig): (Depth, u64),
    ) -> Self {
        Self { graph, short, depth, min_contig }
    }

    /// Passes all lines of `scaffolds.fa` to `put`; returns the lines of `graph.gfa` and
    /// statistics.
    ///
    /// # Errors
    /// Errors of `put`.
    pub fn put(
        &self,
        scaffolds: &Scaffolds,
        mut put: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<(Vec<String>, ScaffoldNumbers)> {
        let libraries = scaffolds.libraries.clone();
        let mut numbers = ScaffoldNumbers { libraries, ..ScaffoldNumbers::default() };
        let (mut lines, mut row) = (Vec::new(), Vec::new());
        let all = with_contigs(self.graph, &scaffolds.chains);
        for (index, (scaffold, codes)) in all.iter().enumerate() {
            let name = format!("scaffold_{}", index + 1);
            if scaffold.parts.len() > 1 {
                lines.extend(self.lines(&name, scaffold));
            }
            if (codes.len() as u64) < self.min_contig {
                continue;
            }
            let gaps = scaffold.parts.iter().filter(|part| part.is_after_gap()).count();
            numbers.lengths.push(codes.len() as u64);
            numbers.gaps += gaps;
            numbers.gap_bases += codes.iter().filter(|&&base| base == ANY).count();
            let mark = if scaffold.circular { " circular=true" } else { "" };
            let (length, depth) = (codes.len(), self.depth_of(scaffold));
            let head = format!(">{name} length={length} depth={depth:.1} gaps={gaps}{mark}\n");
            put(sequence_row(&head, codes, &mut row))?;
        }
        for (number, contig) in (all.len() + 1..).zip(&self.short.all) {
            let length = contig.codes.len() as u64;
            if length >= self.min_contig {
                let (depth, _) = contig.measures(self.short.k);
                let head = format!(">scaffold_{number} length={length} depth={depth:.1} gaps=0\n");
                numbers.lengths.push(length);
                put(sequence_row(&head, &contig.codes, &mut row))?;
            }
        }
        Ok((lines, numbers))
    }

    /// Returns the depth of all contigs of a scaffold together.
    fn depth_of(&self, scaffold: &Scaffold) -> f64 {
        let (mut counts, mut kmers) = (0, 0);
        for part in &scaffold.parts {
            let path = (part.entered / 2) as usize;
            counts += self.graph.paths.facts(path).count_sum;
            kmers += self.graph.kmers(path);
        }
        self.depth.of(counts, kmers)
    }

    /// Returns the jumps of a scaffold, which are not links of the graph, and its path.
    fn lines(&self, name: &str, scaffold: &Scaffold) -> Vec<String> {
        let (mut lines, mut path, mut steps) = (Vec::new(), String::new(), Vec::new());
        let mut before: Option<String> = None;
        for part in &scaffold.parts {
            let here = format!("contig_{}", part.entered / 2 + 1);
            let sign = sign(part.entered, false);
            let jump = part.joined.as_ref().and_then(|joined| self.jump(joined));
            match (&part.joined, jump) {
                (None, _) => {}
                (Some(_), None) => {
                    path.push(',');
                    steps.push(format!("{}M", self.graph.k - 1));
                }
                (Some(_), Some(bases)) => {
                    path.push(';');
                    steps.push(format!("{bases}J"));
                    let before = before.unwrap_or_default();
                    lines.push(format!("J\t{before}\t{here}\t{sign}\t{bases}\n"));
                }
            }
            path.push_str(&format!("{here}{sign}"));
            before = Some(format!("{here}\t{sign}"));
        }
        lines.push(format!("P\t{name}\t{path}\t{}\n", steps.join(",")));
        lines
    }

    /// Returns the distance between a contig and the one before, where they are not linked.
    fn jump(&self, joined: &Seam) -> Option<i64> {
        match joined {
            Seam::Joint(Joint::Shared(bases)) if bases + 1 == self.graph.k => None,
            Seam::Joint(Joint::Shared(bases)) => Some(-(*bases as i64)),
            Seam::Joint(Joint::Between(bases)) => Some(bases.len() as i64),
            Seam::Gap(bases) => Some(*bases as i64),
        }
    }
}

/// Returns the rows of a sequence: a head, which ends with a line break, and a line of bases.
fn sequence_row<'r>(head: &str, codes: &[Base], row: &'r mut Vec<u8>) -> &'r [u8] {
    row.clear();
    row.extend_from_slice(head.as_bytes());
    letters(codes, row);
    row.push(b'\n');
    row
}

impl Part {
    /// Returns whether it follows a gap.
    fn is_after_gap(&self) -> bool {
        matches!(self.joined, Some(Seam::Gap(_)))
    }
}

impl ScaffoldNumbers {
    /// Returns the number of scaffolds.
    pub fn count(&self) -> u64 {
        self.lengths.len() as u64
    }

    /// Returns the statistics as in `stats.json`.
    pub fn stats(&self) -> Value {
        let bases: u64 = self.lengths.iter().sum();
        let (n50, l50) = half_of(&self.lengths, bases);
        json!({
            "scaffolds": self.lengths.len(),
            "bases": bases,
            "largest": self.lengths.first(),
            "n50": n50,
            "l50": l50,
            "gaps": self.gaps,
            "gap_bases": self.gap_bases,
            "libraries": self.libraries,
        })
    }
}
