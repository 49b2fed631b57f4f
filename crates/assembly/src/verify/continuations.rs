//! Contigs that are solid at the next size of k-mers, and their continuations over their ends,
//! found again by following each path's only successor.

use std::collections::HashMap;
use std::path::Path;

use cuesta_core::Result;

use super::error_lengths::{FAR_DEEPER, REAL_PART};
use super::files::{Compared, put_letters};
use super::links::{End, opposite, sequence};
use super::paths::{JoinedPath, Paths, turned};
use crate::kernel::kmer::Base;
use crate::pairs::SolidKind;

/// Successors of the ends that have exactly one.
pub struct Continuations<'c, 'p, 'a> {
    paths: &'c Paths<'p, 'a>,
    k: usize,
    next: usize,
    /// Mean depth of all paths, and the depth of what the genome has once.
    depths: (f64, f64),
    /// End that is entered after an end; `None` where there are several.
    successors: HashMap<End, Option<End>>,
}

impl<'c, 'p, 'a> Continuations<'c, 'p, 'a> {
    /// Creates the successors at size `k` of k-mers, for continuations at the `next` one.
    ///
    /// # Errors
    /// As for the iteration over links.
    pub fn new(paths: &'c Paths<'p, 'a>, (k, next): (usize, usize)) -> Result<Self> {
        let mut successors: HashMap<End, Option<End>> = HashMap::new();
        let mut add = |left: End, entered: End| {
            successors.entry(left).and_modify(|only| *only = None).or_insert(Some(entered));
        };
        paths.each_link(|left, entered| {
            add(left, entered);
            if left != entered {
                add(entered, left);
            }
            Ok(())
        })?;
        Ok(Self {
            paths,
            k,
            next,
            depths: (paths.mean_coverage(), paths.covered_once()),
            successors,
        })
    }

    /// Returns the continued sequences of a path.
    pub fn of(&self, path: usize) -> Vec<Vec<Base>> {
        let facts = &self.paths.all[path];
        let depth = facts.count_sum as f64 / facts.kmers() as f64;
        let (mean, once) = self.depths;
        let is_long = facts.kmers() > self.k as u64;
        let is_thin = FAR_DEEPER * depth < mean && !(is_long && depth >= REAL_PART * once);
        if facts.is_circle() || is_thin {
            return Vec::new();
        }
        let codes = self.paths.spelled(path);
        let [left, right] = [0, 1].map(|side| self.beyond(2 * path as End + side));
        let left: Vec<Base> = turned(&left).collect();
        let near = self.next - 1;
        let mut continued = Vec::new();
        if codes.len() > 2 * near {
            if !left.is_empty() {
                continued.push([&left, &codes[..near]].concat());
            }
            if !right.is_empty() {
                continued.push([&codes[codes.len() - near..], &right].concat());
            }
        } else if left.len() + right.len() > 0 {
            continued.push([left, codes, right].concat());
        }
        continued.retain(|codes| codes.len() >= self.next);
        continued
    }

    /// Returns the bases beyond an end, a path after the other.
    fn beyond(&self, end: End) -> Vec<Base> {
        let (most, overlap) = (self.next - self.k, self.k - 1);
        let mut codes = Vec::new();
        let mut passed = vec![sequence(end)];
        let mut at = end;
        while let Some(&Some(entered)) = self.successors.get(&at) {
            if codes.len() == most || passed.contains(&sequence(entered)) {
                break;
            }
            let more = self.paths.entered(entered, overlap + most - codes.len());
            codes.extend_from_slice(&more[overlap..]);
            passed.push(sequence(entered));
            at = opposite(entered);
        }
        codes
    }
}

/// Returns whether a file has all contigs, as solid sequences at the next size of k-mers, then
/// their continuations if it has any, then nothing, or possibly bridges.
///
/// # Errors
/// `System`.
pub fn contigs_before(
    path: &Path,
    (paths, k, next): (&Paths<'_, '_>, usize, usize),
    weight: impl Fn(u64, u64) -> u64,
    (has_continuations, has_bridges): (bool, bool),
) -> Result<bool> {
    let mut file = Compared::open(path)?;
    let (mut row, mut number) = (Vec::new(), 0);
    let mut put = |file: &mut Compared, path: &JoinedPath, mark: &str, codes: &[Base]| {
        let weight = weight(path.count_sum, path.kmers());
        row.clear();
        row.extend_from_slice(format!(">{number} weight={weight}{mark}\n").as_bytes());
        put_letters(codes, &mut row);
        row.push(b'\n');
        number += 1;
        file.put(&row)
    };
    for (index, path) in paths.all.iter().enumerate() {
        let mut codes = paths.spelled(index);
        let kmers = path.kmers() as usize;
        if path.is_circle() {
            // A circle is continued past its end, so that it has as many k-mers of the next size.
            (codes.len()..kmers + next - 1).for_each(|place| codes.push(codes[place % kmers]));
        }
        put(&mut file, path, "", &codes)?;
    }
    if has_continuations {
        let continuations = Continuations::new(paths, (k, next))?;
        for (index, path) in paths.all.iter().enumerate() {
            for codes in continuations.of(index) {
                put(&mut file, path, SolidKind::Continuation.mark(), &codes)?;
            }
        }
    }
    if has_bridges { Ok(file.is_same()) } else { file.finish() }
}
