//! The neighbours of every `parts`-th gene in compressed rows, as bytes that can be kept or sent
//! as they are.

/// Genes counted from 0; gene g is row g / `parts` of the part g modulo `parts`.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<'a> {
    /// Where each row ends.
    ends: &'a [[u8; 8]],
    neighbours: &'a [[u8; 4]],
}

/// The bytes of [`Neighbours`] for ends of edges: a gene of the part and its neighbour, each 32
/// bits, the lowest byte first. An edge that is there twice counts twice.
pub fn pack(parts: usize, lists: &[&[[u8; 8]]]) -> Vec<u8> {
    let each = || lists.iter().flat_map(|list| list.iter().map(read));
    let rows = each().map(|(gene, _)| gene as usize / parts + 1).max().unwrap_or(0);
    let mut places = vec![0u64; rows + 1];
    each().for_each(|(gene, _)| places[gene as usize / parts + 1] += 1);
    for row in 0..rows {
        places[row + 1] += places[row];
    }
    let neighbours = places[rows] as usize;
    let mut bytes = vec![0; 8 * (rows + 1) + 4 * neighbours];
    let (heads, rest) = bytes.split_at_mut(8 * (rows + 1));
    let (numbers, _) = heads.as_chunks_mut();
    let after = places[1..].iter().copied();
    for (number, value) in numbers.iter_mut().zip([rows as u64].into_iter().chain(after)) {
        *number = value.to_le_bytes();
    }
    let (out, _) = rest.as_chunks_mut();
    for (gene, neighbour) in each() {
        let place = &mut places[gene as usize / parts];
        out[*place as usize] = neighbour.to_le_bytes();
        *place += 1;
    }
    bytes
}

fn read(end: &[u8; 8]) -> (u32, u32) {
    let both = u64::from_le_bytes(*end);
    (both as u32, (both >> 32) as u32)
}

impl<'a> Neighbours<'a> {
    /// What [`pack`] made; `None` for other bytes.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let (rows, rest) = bytes.split_first_chunk()?;
        let size = usize::try_from(u64::from_le_bytes(*rows)).ok()?.checked_mul(8)?;
        let (ends, neighbours) = rest.split_at_checked(size)?;
        let found = Self { ends: ends.as_chunks().0, neighbours: neighbours.as_chunks().0 };
        let end = |end: &[u8; 8]| u64::from_le_bytes(*end);
        let last = found.ends.last().map_or(0, end);
        let is_whole = last == found.neighbours.len() as u64 && found.ends.is_sorted_by_key(end);
        is_whole.then_some(found)
    }

    /// Rows, each of a gene.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// The neighbours of the gene of a row, repeated per edge.
    #[inline]
    pub fn row(&self, row: usize) -> impl Iterator<Item = u32> + Clone + 'a {
        let end = |row: usize| u64::from_le_bytes(self.ends[row]) as usize;
        let start = row.checked_sub(1).map_or(0, end);
        self.neighbours[start..end(row)].iter().map(|neighbour| u32::from_le_bytes(*neighbour))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_gene_of_a_part_has_its_neighbours() {
        let end = |gene: u32, neighbour: u32| {
            (u64::from(gene) | u64::from(neighbour) << 32).to_le_bytes()
        };
        let (one, other) = ([end(7, 1), end(1, 9), end(7, 2)], [end(7, 1)]);
        let bytes = pack(3, &[&one, &[], &other]);
        let found = Neighbours::of(&bytes).unwrap();
        let rows: Vec<Vec<u32>> = (0..found.rows()).map(|row| found.row(row).collect()).collect();
        assert_eq!(rows, [vec![9], vec![], vec![1, 2, 1]]);
        assert_eq!(Neighbours::of(&pack(3, &[])).unwrap().rows(), 0);
        assert!(Neighbours::of(&bytes[..bytes.len() - 4]).is_none());
        assert!(Neighbours::of(b"short").is_none());
        let mut mixed = bytes.clone();
        mixed[8] = 9;
        assert!(Neighbours::of(&mixed).is_none(), "a row ends after the next one");
    }
}
