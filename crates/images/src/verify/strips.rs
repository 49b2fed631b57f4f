//! Objects by strips of two rows, as bits. Pixels of adjacent rows touch if their columns are equal
//! or adjacent, so a run of columns with a pixel in either row belongs to one object. Runs are
//! never listed: a bit marks the start of each run, and the label of a pixel is the number of
//! starts up to it. A pixel of a strip can touch a pixel of the strip above in three ways, which
//! are three shifts of the row above. Labels are united by M. Rem's algorithm (E. W. Dijkstra, *A
//! Discipline of Programming*, 1976).

use cuesta_core::cpu;

use super::cut::{BITS, Cut};
use super::levels::Pixel;

/// Labels of a strip.
#[derive(Debug, Default)]
struct Labels {
    /// A bit for each column, set where a run starts.
    starts: Vec<u64>,
    /// Number of labels before each word, those of the strips above included.
    before: Vec<u32>,
}

impl Labels {
    /// Returns the label of the run that contains a column.
    #[inline(always)]
    fn at(&self, column: usize) -> u32 {
        let (word, bit) = (column / BITS, column % BITS);
        let starts = self.starts[word] & (u64::MAX >> (BITS - 1 - bit));
        self.before[word] + starts.count_ones() - 1
    }
}

/// Union-find forest of the objects of the strips so far; its memory is reused for each image.
#[derive(Debug, Default)]
pub struct Strips {
    /// Rows of the strip, and the lower row of the strip above.
    upper: Vec<u64>,
    lower: Vec<u64>,
    above: Vec<u64>,
    current: Labels,
    previous: Labels,
    /// For each label, a label of the same object that is not larger; the smallest label is its own
    /// parent.
    parents: Vec<u32>,
    /// For each label, the pixels of its run.
    sizes: Vec<u32>,
}

/// Counts of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    /// Pixels of all objects.
    pub pixels: u64,
    /// Objects of at least the minimum size.
    pub objects: u64,
    /// Pixels of the largest of these objects.
    pub largest: u64,
}

impl Strips {
    /// Counts the objects of an image whose rows have `width` pixels.
    pub fn count<T: Pixel>(
        &mut self,
        plane: &[T],
        width: usize,
        cut: Cut<T>,
        min_pixels: u64,
    ) -> ObjectCounts {
        self.clear(width.div_ceil(BITS));
        cpu::fastest(
            #[inline(always)]
            || {
                for rows in plane.chunks(2 * width) {
                    let (upper, lower) = rows.split_at(width);
                    self.turn();
                    cut.bits(upper, &mut self.upper);
                    cut.bits(lower, &mut self.lower);
                    self.label();
                    self.join();
                }
                self.sum(min_pixels)
            },
        )
    }

    /// Returns the allocated bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        let rows =
            [&self.upper, &self.lower, &self.above, &self.current.starts, &self.previous.starts];
        let words: usize = rows.iter().map(|row| row.capacity()).sum();
        let labels = [&self.current.before, &self.previous.before, &self.parents, &self.sizes];
        let labels: usize = labels.iter().map(|labels| labels.capacity()).sum();
        (words * size_of::<u64>() + labels * size_of::<u32>()) as u64
    }

    fn clear(&mut self, words: usize) {
        let Self { upper, lower, above, current, previous, .. } = self;
        for row in [upper, lower, above, &mut current.starts, &mut previous.starts] {
            row.clear();
            row.resize(words, 0);
        }
        for labels in [current, previous] {
            labels.before.clear();
            labels.before.resize(words, 0);
        }
        self.parents.clear();
        self.sizes.clear();
    }

    /// Makes the current strip the strip above.
    #[inline(always)]
    fn turn(&mut self) {
        std::mem::swap(&mut self.above, &mut self.lower);
        std::mem::swap(&mut self.previous, &mut self.current);
    }

    /// Labels the runs of the strip and counts the pixels of each.
    #[inline(always)]
    fn label(&mut self) {
        let Self { upper, lower, current, parents, sizes, .. } = self;
        let mut carry = 0;
        let labels = current.starts.iter_mut().zip(&mut current.before);
        for ((&a, &b), (starts, before)) in upper.iter().zip(&*lower).zip(labels) {
            let either = a | b;
            *starts = either & !(either << 1 | carry);
            *before = parents.len() as u32;
            carry = either >> (BITS - 1);
            let (mut remaining, mut counted) = (*starts, 0);
            while remaining != 0 {
                let below = (remaining & remaining.wrapping_neg()) - 1;
                let pixels = (a & below).count_ones() + (b & below).count_ones();
                // There is none before the first start of a row.
                if let Some(size) = sizes.last_mut() {
                    *size += pixels - counted;
                }
                counted = pixels;
                parents.push(parents.len() as u32);
                sizes.push(0);
                remaining &= remaining - 1;
            }
            if let Some(size) = sizes.last_mut() {
                *size += a.count_ones() + b.count_ones() - counted;
            }
        }
    }

    /// Unites runs of the strip with the runs above that they touch.
    #[inline(always)]
    fn join(&mut self) {
        let Self { upper, above, current, previous, parents, .. } = self;
        let (mut t_carry, mut b_carry) = (0, 0);
        for (word, (&t, &b)) in upper.iter().zip(&*above).enumerate() {
            // For each column, whether the column before or after has a pixel.
            let (t_before, b_before) = (t << 1 | t_carry, b << 1 | b_carry);
            let next = |row: &[u64]| row.get(word + 1).map_or(0, |next| next << (BITS - 1));
            let (t_after, b_after) = (t >> 1 | next(upper), b >> 1 | next(above));
            (t_carry, b_carry) = (t >> (BITS - 1), b >> (BITS - 1));
            // Vertical contacts, except those that join the same runs as the column before.
            let below = t & b & !(t_before & b_before);
            // Diagonal contacts, where no adjacent pixel already makes the contact.
            let from_before = t & b_before & !b & !t_before;
            let from_after = t & b_after & !b & !t_after;
            for (links, shift) in [(below, 1), (from_before, 0), (from_after, 2)] {
                let mut remaining = links;
                while remaining != 0 {
                    let column = word * BITS + remaining.trailing_zeros() as usize;
                    unite(parents, current.at(column), previous.at(column + shift - 1));
                    remaining &= remaining - 1;
                }
            }
        }
    }

    #[inline(always)]
    fn sum(&mut self, min_pixels: u64) -> ObjectCounts {
        let mut counted = ObjectCounts::default();
        // Parents are not larger, so a label has all its pixels when its turn comes.
        for label in (0..self.parents.len()).rev() {
            let (parent, size) = (self.parents[label] as usize, self.sizes[label]);
            if parent != label {
                self.sizes[parent] += size;
                continue;
            }
            counted.pixels += u64::from(size);
            if u64::from(size) >= min_pixels {
                counted.objects += 1;
                counted.largest = counted.largest.max(u64::from(size));
            }
        }
        counted
    }
}

/// Unites the objects of two labels.
#[inline(always)]
fn unite(parents: &mut [u32], a: u32, b: u32) {
    let (mut a, mut b) = (a as usize, b as usize);
    while parents[a] != parents[b] {
        if parents[a] < parents[b] {
            std::mem::swap(&mut a, &mut b);
        }
        let smaller = parents[b];
        let above = std::mem::replace(&mut parents[a], smaller) as usize;
        if above == a {
            return;
        }
        a = above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rows: &[&str]) -> (u64, u64, u64) {
        let pixels: Vec<u8> = rows.concat().bytes().map(|byte| u8::from(byte == b'#')).collect();
        let cut = Cut::new(0.0, false);
        let counted = Strips::default().count(&pixels, rows[0].len(), cut, 1);
        (counted.pixels, counted.objects, counted.largest)
    }

    #[test]
    fn corners_touch_in_a_strip_and_between_strips() {
        assert_eq!(count(&["#.", ".#"]), (2, 1, 2));
        assert_eq!(count(&["..", "#.", ".#"]), (2, 1, 2));
        assert_eq!(count(&["..", ".#", "#."]), (2, 1, 2));
        assert_eq!(count(&["#.#", "...", "#.#"]), (4, 4, 1));
        assert_eq!(count(&["#.#.#", ".....", "#.#.#"]), (6, 6, 1));
        assert_eq!(count(&["....", "#..#", "####"]), (6, 1, 6));
        assert_eq!(count(&["..#", "#..", "..#"]), (3, 3, 1));
    }

    #[test]
    fn runs_go_on_from_word_to_word() {
        for width in [63, 64, 65, 127, 128, 129, 200] {
            let (full, empty) = ("#".repeat(width), ".".repeat(width));
            let size = width as u64;
            assert_eq!(count(&[&full, &empty, &full]), (2 * size, 2, size), "{width}");
            assert_eq!(count(&[&full, &full, &full]), (3 * size, 1, 3 * size), "{width}");
            for at in 1..width {
                let row = |at: usize| format!("{}#{}", &empty[..at], &empty[at + 1..]);
                assert_eq!(count(&[&empty, &row(at), &row(at - 1)]), (2, 1, 2), "{width} {at}");
                assert_eq!(count(&[&empty, &row(at - 1), &row(at)]), (2, 1, 2), "{width} {at}");
            }
        }
    }
}
