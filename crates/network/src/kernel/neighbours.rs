//! Neighbours of every `parts`-th gene in compressed rows, as bytes that can be stored or sent
//! without conversion.

/// Adjacency lists of genes counted from 0; gene g is row g / `parts` of the part g modulo `parts`.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<'a> {
    /// End of each row.
    ends: &'a [[u8; 8]],
    neighbours: &'a [[u8; 4]],
}

/// Packs edge ends into the bytes of [`Neighbours`]: each end is a gene of the part and its
/// neighbour, 32 bits each, lowest byte first. Parallel edges count separately.
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
    /// Reads bytes made by [`pack`]; `None` for other bytes.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let (rows, rest) = bytes.split_first_chunk()?;
        let size = usize::try_from(u64::from_le_bytes(*rows)).ok()?.checked_mul(8)?;
        let (ends, neighbours) = rest.split_at_checked(size)?;
        let neighbour_lists =
            Self { ends: ends.as_chunks().0, neighbours: neighbours.as_chunks().0 };
        let end = |end: &[u8; 8]| u64::from_le_bytes(*end);
        let last = neighbour_lists.ends.last().map_or(0, end);
        let is_consistent = last == neighbour_lists.neighbours.len() as u64
            && neighbour_lists.ends.is_sorted_by_key(end);
        is_consistent.then_some(neighbour_lists)
    }

    /// Returns the number of rows, one for each gene.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Returns the neighbours of the gene of a row, repeated for parallel edges.
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
    fn all_genes_of_a_part_have_their_neighbours() {
        let end = |gene: u32, neighbour: u32| {
            (u64::from(gene) | u64::from(neighbour) << 32).to_le_bytes()
        };
        let (first, second) = ([end(7, 1), end(1, 9), end(7, 2)], [end(7, 1)]);
        let bytes = pack(3, &[&first, &[], &second]);
        let lists = Neighbours::of(&bytes).unwrap();
        let rows: Vec<Vec<u32>> = (0..lists.rows()).map(|row| lists.row(row).collect()).collect();
        assert_eq!(rows, [vec![9], vec![], vec![1, 2, 1]]);
        assert_eq!(Neighbours::of(&pack(3, &[])).unwrap().rows(), 0);
        assert!(Neighbours::of(&bytes[..bytes.len() - 4]).is_none());
        assert!(Neighbours::of(b"short").is_none());
        let mut mixed = bytes.clone();
        mixed[8] = 9;
        assert!(Neighbours::of(&mixed).is_none(), "a row ends after the next one");
    }
}
