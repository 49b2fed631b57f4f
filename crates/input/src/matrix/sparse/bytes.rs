//! Bytes of a file of a sparse matrix.

use flate2::Crc;

use super::super::ExpressionMatrix;

/// First bytes of a file.
pub(super) const MAGIC: &[u8; 8] = b"CUESTASP";
/// Version of the format.
pub(super) const VERSION: u32 = 1;
/// Bytes before the names.
pub(super) const HEADER_BYTES: usize = 56;
/// Entries of a chunk; the last chunk has the remaining ones.
pub(super) const CHUNK_ENTRIES: usize = 1 << 20;
/// Bytes of the checksum at the end.
pub(super) const SUM_BYTES: u64 = 4;

/// Order of the entries of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonzeroOrder {
    /// Gene after gene.
    Genes,
    /// Sample after sample.
    Samples,
}

impl NonzeroOrder {
    /// Number of the order in a file.
    fn number(self) -> u32 {
        match self {
            Self::Genes => 0,
            Self::Samples => 1,
        }
    }

    /// Order with this number in a file, if any.
    pub(super) fn of_number(number: u32) -> Option<Self> {
        [Self::Genes, Self::Samples].into_iter().find(|order| order.number() == number)
    }
}

/// Returns the file of a matrix without missing values, in double precision.
pub fn to_bytes(matrix: &ExpressionMatrix, order: NonzeroOrder) -> Vec<u8> {
    let (genes, samples) = (matrix.genes.len(), matrix.samples.len());
    let lines = match order {
        NonzeroOrder::Genes => (genes, samples),
        NonzeroOrder::Samples => (samples, genes),
    };
    let value = |line: usize, place: usize| match order {
        NonzeroOrder::Genes => matrix.row(line)[place],
        NonzeroOrder::Samples => matrix.row(place)[line],
    };
    let (mut starts, mut entries) = (vec![0u64], Vec::new());
    for line in 0..lines.0 {
        let nonzeros = (0..lines.1).map(|place| (place as u32, value(line, place)));
        entries.extend(nonzeros.filter(|(_, value)| *value != 0.0));
        starts.push(entries.len() as u64);
    }
    let names: String =
        matrix.genes.iter().chain(&matrix.samples).map(|name| format!("{name}\n")).collect();
    let mut file = MAGIC.to_vec();
    for word in [VERSION, order.number(), 8, 0] {
        file.extend(word.to_le_bytes());
    }
    for word in [genes, samples, entries.len(), names.len()] {
        file.extend((word as u64).to_le_bytes());
    }
    file.extend(names.as_bytes());
    starts.iter().for_each(|start| file.extend(start.to_le_bytes()));
    for chunk in entries.chunks(CHUNK_ENTRIES) {
        chunk.iter().for_each(|(place, _)| file.extend(place.to_le_bytes()));
        chunk.iter().for_each(|(_, value)| file.extend(value.to_le_bytes()));
    }
    with_checksum(file)
}

/// Appends the checksum of a file to its bytes.
pub fn with_checksum(mut file: Vec<u8>) -> Vec<u8> {
    let mut sum = Crc::new();
    sum.update(&file);
    file.extend(sum.sum().to_le_bytes());
    file
}
