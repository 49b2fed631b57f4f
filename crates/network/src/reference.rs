//! Simplest implementation of each workload: the oracle of the tests and of `verify`, and the
//! single-threaded baseline of a COST comparison.

use std::collections::{BTreeMap, HashMap};

use cuesta_core::fixed::{Micro, NAN};
use cuesta_input::FilterParams;
use cuesta_input::row::Row;

use crate::kernel::join::Joined;
use crate::params::JoinKind;

/// Row read with only the standard library.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainRow {
    /// The nine integers of a version-1 line.
    pub numbers: [u32; 9],
    /// Scores in millionths.
    pub scores: Vec<Micro>,
    /// The sample mask.
    pub mask: String,
}

impl PlainRow {
    /// Reads a line of 11 (version 1) or 7 (version 3) fields; `None` for a comment or blank line.
    ///
    /// # Errors
    /// A message on the field that cannot be read.
    pub fn read(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim_end_matches('\r');
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let integer = |text: &str| {
            text.parse::<u32>().map_err(|_| format!("has {text}, expected a whole number"))
        };
        let mut numbers = [0; 9];
        let count_of = |symbol| fields[6].matches(symbol).count() as u32;
        match fields.len() {
            11 => {
                for (number, text) in numbers.iter_mut().zip(&fields) {
                    *number = integer(text)?;
                }
            }
            7 => {
                for index in 0..5 {
                    let number = integer(fields[index])?.checked_add(u32::from(index < 3));
                    let too_large = || format!("has {}, which is too large", fields[index]);
                    numbers[index] = number.ok_or_else(too_large)?;
                }
                for (index, symbol) in ['9', '8', '7', '6'].into_iter().enumerate() {
                    numbers[5 + index] = count_of(symbol);
                }
            }
            count => return Err(format!("has {count} fields, expected 11 or 7")),
        }
        let scores = fields[fields.len() - 2].split(',').map(micro).collect::<Result<_, _>>()?;
        Ok(Some(Self { numbers, scores, mask: fields[fields.len() - 1].to_owned() }))
    }

    /// Copies a row of another reader.
    pub fn of(row: &Row<'_>) -> Self {
        Self {
            numbers: [
                row.gene1,
                row.gene2,
                row.cluster,
                row.num_clusters,
                row.cluster_samples,
                row.missing,
                row.outliers,
                row.pair_outliers,
                row.threshold,
            ],
            scores: row.scores.to_vec(),
            mask: String::from_utf8_lossy(row.mask).into_owned(),
        }
    }

    /// Returns the row in the form of the digest.
    pub fn row(&self) -> Row<'_> {
        let n = &self.numbers;
        Row {
            gene1: n[0],
            gene2: n[1],
            cluster: n[2],
            num_clusters: n[3],
            cluster_samples: n[4],
            missing: n[5],
            outliers: n[6],
            pair_outliers: n[7],
            threshold: n[8],
            scores: &self.scores,
            mask: self.mask.as_bytes(),
        }
    }

    /// Returns the score that the filter tests, if the row passes.
    pub fn passing_score(&self, filter: &FilterParams) -> Option<Micro> {
        let micro = *self.scores.get(filter.score_index)?;
        let size = f64::from(micro).abs();
        let passes = micro != NAN
            && size >= (filter.min_abs_score * 1e6 - 1e-6).ceil()
            && filter.max_abs_score.is_none_or(|max| size <= (max * 1e6 + 1e-6).floor())
            && self.numbers[4] >= filter.min_cluster_samples
            && filter.max_missing.is_none_or(|max| self.numbers[5] <= max);
        passes.then_some(micro)
    }
}

fn micro(text: &str) -> Result<Micro, String> {
    let score: f64 =
        text.parse().map_err(|_| format!("has the score {text}, expected a number or nan"))?;
    Ok(if score.is_nan() { NAN } else { (score * 1e6).round_ties_even() as Micro })
}

/// Returns the in- and out-degree of each gene that has an edge.
pub fn degrees(edges: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, (u64, u64)> {
    let mut table = BTreeMap::<u32, (u64, u64)>::new();
    for (from, to) in edges {
        table.entry(from).or_default().1 += 1;
        table.entry(to).or_default().0 += 1;
    }
    table
}

/// Returns the smallest member of the component of each gene that has an edge, by breadth-first
/// search.
pub fn components(edges: impl Iterator<Item = (u32, u32)>) -> BTreeMap<u32, u32> {
    let mut neighbours = BTreeMap::<u32, Vec<u32>>::new();
    for (a, b) in edges {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let mut labels = BTreeMap::new();
    for &start in neighbours.keys() {
        let mut waiting = vec![start];
        while let Some(gene) = waiting.pop() {
            if labels.contains_key(&gene) {
                continue;
            }
            labels.insert(gene, start);
            waiting.extend(&neighbours[&gene]);
        }
    }
    labels
}

/// Joins two versions by looking up each key.
pub fn join(left: &HashMap<u64, Micro>, right: &HashMap<u64, Micro>, how: JoinKind) -> Vec<Joined> {
    let mut rows: Vec<Joined> = left
        .iter()
        .map(|(&key, &score)| Joined { key, left: Some(score), right: right.get(&key).copied() })
        .filter(|row| how != JoinKind::Inner || row.right.is_some())
        .collect();
    if how == JoinKind::Outer {
        let alone = right.iter().filter(|(key, _)| !left.contains_key(key));
        rows.extend(alone.map(|(&key, &score)| Joined { key, left: None, right: Some(score) }));
    }
    rows
}

/// Returns the label of each gene that has an edge after synchronous label propagation: the
/// smallest gene with the same label.
pub fn label_propagation(edges: &[(u32, u32)], rounds: u32) -> BTreeMap<u32, u32> {
    let mut labels: BTreeMap<u32, u32> =
        edges.iter().flat_map(|&(a, b)| [(a, a), (b, b)]).collect();
    for _ in 0..rounds {
        let mut votes = BTreeMap::<u32, BTreeMap<u32, u64>>::new();
        for &(a, b) in edges {
            *votes.entry(a).or_default().entry(labels[&b]).or_default() += 1;
            *votes.entry(b).or_default().entry(labels[&a]).or_default() += 1;
        }
        for (gene, votes) in votes {
            let most = votes.iter().max_by_key(|&(&label, &n)| (n, std::cmp::Reverse(label)));
            if let Some((&label, _)) = most {
                labels.insert(gene, label);
            }
        }
    }
    smallest_members(labels)
}

/// Replaces each label by the smallest gene that has it.
fn smallest_members(labels: BTreeMap<u32, u32>) -> BTreeMap<u32, u32> {
    let mut smallest = BTreeMap::new();
    for (&gene, &label) in &labels {
        smallest.entry(label).or_insert(gene);
    }
    labels.into_iter().map(|(gene, label)| (gene, smallest[&label])).collect()
}
