//! Results of neighbouring requests in a file, and how they are combined.

use serde::{Deserialize, Serialize};

/// Combined result of neighbouring requests in a file.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct ReadPart {
    /// Index of the file, from 0.
    pub file: u64,
    /// Number of requests.
    pub requests: u64,
    /// Number of bytes.
    pub size_bytes: u64,
    /// CRC-32C of these bytes in sequence.
    pub crc: u32,
}

impl ReadPart {
    /// Creates the result of a single request.
    pub fn of(file: usize, bytes: &[u8]) -> Self {
        let size_bytes = bytes.len() as u64;
        Self { file: file as u64, requests: 1, size_bytes, crc: crc32c::crc32c(bytes) }
    }

    /// Adds the result of the next requests in the same file.
    pub fn join(&mut self, next: &Self) {
        self.crc = crc32c::crc32c_combine(self.crc, next.crc, next.size_bytes as usize);
        self.requests += next.requests;
        self.size_bytes += next.size_bytes;
    }
}

/// Appends results, each combined with the last one if that is of the same file.
pub fn extend(parts: &mut Vec<ReadPart>, more: &[ReadPart]) {
    for next in more {
        match parts.last_mut().filter(|last| last.file == next.file) {
            Some(last) => last.join(next),
            None => parts.push(*next),
        }
    }
}

/// Returns a result for each of `files` files, which is empty for a file without requests.
pub fn of_all_files(parts: &[ReadPart], files: usize) -> Vec<ReadPart> {
    let mut all: Vec<_> =
        (0..files as u64).map(|file| ReadPart { file, ..ReadPart::default() }).collect();
    for part in parts {
        all[part.file as usize] = *part;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_castagnoli_polynomial() {
        // RFC 3720, appendix B.4.
        assert_eq!(ReadPart::of(0, &[0; 32]).crc, 0x8A91_36AA);
        assert_eq!(ReadPart::of(0, &[0xFF; 32]).crc, 0x62A8_AB43);
        assert_eq!(ReadPart::default().crc, ReadPart::of(0, &[]).crc);
    }

    #[test]
    fn results_of_the_same_file_are_combined() {
        let mut parts = Vec::new();
        extend(
            &mut parts,
            &[ReadPart::of(0, b"12"), ReadPart::of(0, b"345"), ReadPart::of(2, b"6")],
        );
        extend(&mut parts, &[ReadPart::of(2, b"789")]);
        let combined = |file, bytes, requests| ReadPart { requests, ..ReadPart::of(file, bytes) };
        assert_eq!(parts, [combined(0, b"12345", 2), combined(2, b"6789", 2)]);
        let all = of_all_files(&parts, 3);
        assert_eq!(all[1], ReadPart { file: 1, ..ReadPart::default() });
        assert_eq!((all[0], all[2]), (parts[0], parts[1]));
    }
}
