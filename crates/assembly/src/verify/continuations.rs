//! Continuations of paths over their ends, found again by following each path's only successor.

use std::collections::HashMap;

use cuesta_core::Result;

use super::links::{End, opposite, sequence};
use super::paths::{Paths, turned};
use crate::kernel::kmer::Base;

/// Successors of the ends that have exactly one.
pub struct Continuations<'c, 'p, 'a> {
    paths: &'c Paths<'p, 'a>,
    k: usize,
    next: usize,
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
        Ok(Self { paths, k, next, successors })
    }

    /// Returns the continued sequences of a path.
    pub fn of(&self, path: usize) -> Vec<Vec<Base>> {
        if self.paths.all[path].is_circle() {
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
