//! PGA's rules without messages: a list of sequences, whose edges are recomputed in each step by
//! comparing ends, and which are merged or removed one at a time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use cuesta_assembly::kernel::supersteps::messages::Name;
use cuesta_assembly::kernel::supersteps::part::name_of;
use cuesta_pga::kernel::steps::is_tail;

use crate::common::{code, turned};

/// Most edits between sides of a bubble, as a part of the longer side.
pub const EDITS: f64 = 0.2;

fn canonical(text: &str) -> String {
    turned(text).min(text.to_owned())
}

/// The bounds of a run.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub k: usize,
    pub min_count: u32,
    pub rounds: Option<u64>,
    pub jobs: u64,
}

#[derive(Clone, Debug)]
struct Vertex {
    name: Name,
    bases: String,
    count_sum: u64,
    merges: u32,
}

/// A side of a vertex: its name, and whether it is the right side.
type End = (Name, bool);

/// Vertices by name.
pub struct Graph {
    bounds: Bounds,
    vertices: BTreeMap<Name, Vertex>,
}

impl Graph {
    /// Creates the graph of the solid k-mers of reads without ambiguous letters.
    pub fn new(reads: &[String], bounds: Bounds) -> Self {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let is_unambiguous = |read: &&String| read.bytes().all(|base| b"ACGT".contains(&base));
        for read in reads.iter().filter(is_unambiguous).filter(|read| read.len() >= bounds.k) {
            for start in 0..=read.len() - bounds.k {
                *counts.entry(canonical(&read[start..start + bounds.k])).or_insert(0) += 1;
            }
        }
        counts.retain(|_, count| *count >= u64::from(bounds.min_count));
        let vertices = counts.into_iter().map(|(bases, count_sum)| Vertex {
            name: 0,
            bases,
            count_sum,
            merges: 0,
        });
        let mut graph = Self { bounds, vertices: BTreeMap::new() };
        graph.name_all(vertices.collect());
        graph
    }

    /// Names all vertices by their bases, as a program does at its start.
    fn name_all(&mut self, vertices: Vec<Vertex>) {
        let forms: Vec<String> = vertices.iter().map(|vertex| self.form(vertex)).collect();
        self.vertices.clear();
        for (mut vertex, form) in vertices.into_iter().zip(forms) {
            vertex.bases = form;
            let codes: Vec<u8> = vertex.bases.bytes().map(code).collect();
            vertex.name = name_of(&codes);
            self.vertices.insert(vertex.name, vertex);
        }
    }

    /// Returns the canonical form of a vertex: of a circle its least rotation, on the smaller
    /// strand.
    fn form(&self, vertex: &Vertex) -> String {
        if !self.is_circle(vertex) {
            return canonical(&vertex.bases);
        }
        let kmers = vertex.bases.len() + 1 - self.bounds.k;
        let around = |text: &str| text[..kmers].to_owned();
        let (forward, backward) = (around(&vertex.bases), around(&turned(&vertex.bases)));
        let rotations = |text: &str| -> String {
            (0..kmers).map(|at| format!("{}{}", &text[at..], &text[..at])).min().unwrap()
        };
        let least = rotations(&forward).min(rotations(&backward));
        let letters: Vec<char> = least.chars().collect();
        (0..vertex.bases.len()).map(|place| letters[place % kmers]).collect()
    }

    fn is_circle(&self, vertex: &Vertex) -> bool {
        let edges = self.edges();
        let of = |right: bool| edges.get(&(vertex.name, right)).cloned().unwrap_or_default();
        self.vertices.contains_key(&vertex.name)
            && of(true) == BTreeSet::from([(vertex.name, false)])
            && of(false) == BTreeSet::from([(vertex.name, true)])
    }

    /// Returns the edges of each end: to all ends that begin with its last k - 1 bases.
    fn edges(&self) -> HashMap<End, BTreeSet<End>> {
        let overlap = self.bounds.k - 1;
        let mut entered: HashMap<String, Vec<End>> = HashMap::new();
        let ends = |vertex: &Vertex| [(false, turned(&vertex.bases)), (true, vertex.bases.clone())];
        for vertex in self.vertices.values() {
            for (right, leaving) in ends(vertex) {
                let first = turned(&leaving)[..overlap].to_owned();
                entered.entry(first).or_default().push((vertex.name, right));
            }
        }
        let mut edges = HashMap::new();
        for vertex in self.vertices.values() {
            for (right, leaving) in ends(vertex) {
                let last = &leaving[leaving.len() - overlap..];
                let entered_ends = entered.get(last).into_iter().flatten().copied().collect();
                edges.insert((vertex.name, right), entered_ends);
            }
        }
        edges
    }

    /// Returns the vertices with one edge in and one out, not to themselves, and these edges.
    fn compressible(&self) -> HashMap<Name, [End; 2]> {
        let edges = self.edges();
        let only = |end: End| match edges[&end].len() {
            1 => edges[&end].first().copied().filter(|entered| entered.0 != end.0),
            _ => None,
        };
        let both = |&name: &Name| Some((name, [only((name, false))?, only((name, true))?]));
        self.vertices.keys().filter_map(both).collect()
    }

    /// Compresses chains, with the coins from `round` on; returns whether the chains are complete.
    fn compress(&mut self, round: &mut u64) -> bool {
        let mut of_job = 0;
        loop {
            let compressible = self.compressible();
            let is_complete = !compressible
                .values()
                .any(|ends| ends.iter().any(|(name, _)| compressible.contains_key(name)));
            let mut moves = Vec::new();
            for (&name, ends) in &compressible {
                let labelled = |end: &End, tail: bool| {
                    compressible.contains_key(&end.0) && is_tail(end.0, *round) == tail
                };
                let waits = ends.iter().any(|end| labelled(end, true) && end.0 < name);
                if is_tail(name, *round) && !waits {
                    let to = [ends[1], ends[0]].into_iter().find(|end| labelled(end, false));
                    moves.extend(to.map(|to| (name, to, to == ends[1])));
                }
            }
            for (tail, head, by_right) in moves {
                self.merge(tail, head, by_right);
            }
            *round += 1;
            of_job += 1;
            if is_complete || Some(of_job) == self.bounds.rounds {
                return is_complete;
            }
        }
    }

    fn merge(&mut self, tail: Name, (head, at_right): End, by_right: bool) {
        let overlap = self.bounds.k - 1;
        let tail = self.vertices.remove(&tail).unwrap();
        let head = self.vertices.get_mut(&head).unwrap();
        // The tail, as read from the head on.
        let further = if by_right { turned(&tail.bases) } else { tail.bases };
        let outwards = if at_right { head.bases.clone() } else { turned(&head.bases) };
        let grown = format!("{outwards}{}", &further[overlap..]);
        head.bases = if at_right { grown } else { turned(&grown) };
        head.count_sum += tail.count_sum;
        head.merges += 1;
    }

    /// Removes vertices of less than 2 k bases with an end without edges.
    fn tips(&mut self) -> u64 {
        let edges = self.edges();
        let most = 2 * self.bounds.k;
        let before = self.vertices.len();
        self.vertices.retain(|&name, vertex| {
            let open = [false, true].iter().any(|&right| edges[&(name, right)].is_empty());
            !open || vertex.bases.len() >= most
        });
        (before - self.vertices.len()) as u64
    }

    /// Removes the less frequent of similar vertices of less than 5 k bases between the same
    /// neighbours.
    fn bubbles(&mut self) -> u64 {
        let edges = self.edges();
        let most = 5 * self.bounds.k;
        let mut bubbles: BTreeMap<(End, End), Vec<(Vertex, String)>> = BTreeMap::new();
        for vertex in self.vertices.values().filter(|vertex| vertex.bases.len() < most) {
            let [left, right] = [false, true].map(|right| &edges[&(vertex.name, right)]);
            if left.len() != 1 || right.len() != 1 {
                continue;
            }
            let (left, right) = (*left.first().unwrap(), *right.first().unwrap());
            let (ends, bases) = if left <= right {
                ((left, right), vertex.bases.clone())
            } else {
                ((right, left), turned(&vertex.bases))
            };
            bubbles.entry(ends).or_default().push((vertex.clone(), bases));
        }
        let mut removed = 0;
        for sides in bubbles.values_mut() {
            sides.sort_by_key(|(side, bases)| {
                (Reverse(side.merges), Reverse(bases.len()), bases.clone())
            });
            let mut distinct: Vec<&str> = Vec::new();
            for (side, bases) in sides.iter() {
                if distinct.iter().any(|larger| are_similar(bases, larger)) {
                    self.vertices.remove(&side.name);
                    removed += 1;
                } else {
                    distinct.push(bases);
                }
            }
        }
        removed
    }

    /// Runs all jobs; returns the tips and bubbles of each.
    pub fn run(&mut self) -> Vec<(u64, u64)> {
        let mut is_complete = self.compress(&mut 0);
        is_complete &= self.bounds.rounds.is_none();
        let all = self.vertices.values().cloned().collect();
        self.name_all(all);
        let (mut jobs, mut round) = (Vec::new(), 0);
        loop {
            let removed = (self.tips(), self.bubbles());
            jobs.push(removed);
            if jobs.len() as u64 == self.bounds.jobs || (removed == (0, 0) && is_complete) {
                return jobs;
            }
            is_complete = self.compress(&mut round);
        }
    }

    /// Returns the remaining vertices: bases in canonical form, those of circles once around, and
    /// counts.
    pub fn remaining(&self) -> BTreeSet<(String, u64)> {
        let written = |vertex: &Vertex| {
            let mut form = self.form(vertex);
            if self.is_circle(vertex) {
                form.truncate(vertex.bases.len() + 1 - self.bounds.k);
            }
            form
        };
        self.vertices.values().map(|vertex| (written(vertex), vertex.count_sum)).collect()
    }
}

/// Compares by the table of all prefixes.
fn are_similar(first: &str, second: &str) -> bool {
    let mut row: Vec<usize> = (0..=second.len()).collect();
    for (place, base) in first.bytes().enumerate() {
        let mut before = row[0];
        row[0] = place + 1;
        for (column, other) in second.bytes().enumerate() {
            let changed = before + usize::from(base != other);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[second.len()] <= (EDITS * first.len().max(second.len()) as f64) as usize
}
