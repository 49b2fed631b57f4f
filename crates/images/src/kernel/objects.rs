//! Objects: pixels connected by a side or a corner. A row is a list of runs; a run joins the
//! objects of the runs that it touches in the row above (Rosenfeld and Pfaltz 1966, by union-find).

use memchr::memchr;

/// Run of pixels of a row, from `start` to before `end`.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    label: u32,
}

/// Union-find forest of the objects of the rows added so far.
#[derive(Debug, Default)]
pub struct LabelForest {
    /// For each label, a label of the same object that is not larger; a root is its own parent.
    parents: Vec<u32>,
    /// For each root, the pixels of its object.
    sizes: Vec<u32>,
    above: Vec<Run>,
    current: Vec<Run>,
    pixels: u64,
}

impl LabelForest {
    /// Returns the maximum memory, in bytes, for an image of this size: in the worst case every
    /// second pixel of every second row is an object, in vectors that grow by doubling.
    pub fn bytes_max(height: usize, width: usize) -> u64 {
        let labels = height.div_ceil(2) * width.div_ceil(2);
        let runs = 2 * width.div_ceil(2);
        // Two vectors of twice the needed size, one of them copied from its previous allocation.
        let entries = 5 * labels * size_of::<u32>() + 2 * runs * size_of::<Run>();
        // The smallest vectors have a few entries, and the mask has a byte a column.
        (entries + width) as u64 + 1024
    }

    /// Returns the allocated bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        let labels = self.parents.capacity() + self.sizes.capacity();
        let runs = self.above.capacity() + self.current.capacity();
        (labels * size_of::<u32>() + runs * size_of::<Run>()) as u64
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.parents.clear();
        self.sizes.clear();
        self.above.clear();
        self.current.clear();
        self.pixels = 0;
    }

    /// Adds a row; `mask` is 1 for each pixel of an object, else 0.
    pub fn add_row(&mut self, mask: &[u8]) {
        std::mem::swap(&mut self.above, &mut self.current);
        self.current.clear();
        let (mut from, mut first) = (0, 0);
        while let Some(skipped) = memchr(1, &mask[from..]) {
            let start = from + skipped;
            let end = memchr(0, &mask[start..]).map_or(mask.len(), |length| start + length);
            while first < self.above.len() && self.above[first].end < start {
                first += 1;
            }
            let label = self.joined(first, end);
            self.sizes[label as usize] += (end - start) as u32;
            self.pixels += (end - start) as u64;
            self.current.push(Run { start, end, label });
            from = end;
        }
    }

    /// Returns the label of a run that touches the runs above from index `first` on that do not
    /// start after `end`.
    fn joined(&mut self, first: usize, end: usize) -> u32 {
        let mut label = None;
        for index in first..self.above.len() {
            let run = self.above[index];
            if run.start > end {
                break;
            }
            let root = self.root(run.label);
            label = Some(label.map_or(root, |label| self.unite(label, root)));
        }
        label.unwrap_or_else(|| {
            let label = self.parents.len() as u32;
            self.parents.push(label);
            self.sizes.push(0);
            label
        })
    }

    fn root(&mut self, mut label: u32) -> u32 {
        while self.parents[label as usize] != label {
            let above = self.parents[self.parents[label as usize] as usize];
            self.parents[label as usize] = above;
            label = above;
        }
        label
    }

    fn unite(&mut self, a: u32, b: u32) -> u32 {
        let (root, absorbed) = (a.min(b), a.max(b));
        if root != absorbed {
            self.parents[absorbed as usize] = root;
            self.sizes[root as usize] += self.sizes[absorbed as usize];
        }
        root
    }

    /// Returns the number of objects of at least `min_pixels`, and the pixels of the largest of
    /// them.
    pub fn count(&self, min_pixels: u64) -> (u64, u64) {
        let (mut objects, mut largest) = (0, 0);
        for (label, (&parent, &size)) in self.parents.iter().zip(&self.sizes).enumerate() {
            if parent as usize == label && u64::from(size) >= min_pixels {
                objects += 1;
                largest = largest.max(u64::from(size));
            }
        }
        (objects, largest)
    }

    /// Returns the number of pixels of all objects.
    pub fn pixels(&self) -> u64 {
        self.pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rows: &[&str]) -> (u64, u64) {
        let mut forest = LabelForest::default();
        for row in rows {
            let mask: Vec<u8> = row.bytes().map(|byte| u8::from(byte == b'#')).collect();
            forest.add_row(&mask);
        }
        forest.count(1)
    }

    #[test]
    fn corners_touch_and_a_run_joins_all_that_it_touches() {
        assert_eq!(count(&["#.", ".#"]), (1, 2));
        assert_eq!(count(&["#.#.#", "....."]), (3, 1));
        assert_eq!(count(&["#.#.#", ".###.", "....."]), (1, 6));
        assert_eq!(count(&["#..#", "#..#", "####"]), (1, 8));
        assert_eq!(count(&["..#", "#..", "..#"]), (3, 1));
        assert_eq!(count(&["##.##", "..#..", "##.##"]), (1, 9));
        assert_eq!(count(&["", ""]), (0, 0));
    }

    #[test]
    fn a_spiral_is_a_single_object() {
        let rows = ["########", ".......#", "######.#", "#....#.#", "#.##.#.#", "#.#..#.#"];
        let more = ["#.####.#", "#......#", "########"];
        assert_eq!(count(&[&rows[..], &more[..]].concat()).0, 1);
    }
}
