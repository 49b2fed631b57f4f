//! The bytes of one inner chunk: zstd, then a CRC-32C of what zstd made. It equals the codec chain
//! `zstd`, `crc32c` of Zarr, with buffers that are used again.

use cuesta_core::{Error, Result};
use zstd::bulk::{Compressor, Decompressor};

const CRC_BYTES: usize = 4;

/// Encodes chunks.
pub struct Encoder {
    zstd: Compressor<'static>,
    level: i32,
    space: Vec<u8>,
}

impl Encoder {
    /// An encoder; takes about a megabyte.
    ///
    /// # Errors
    /// When zstd cannot get memory.
    pub fn new() -> Result<Self> {
        let zstd = Compressor::new(0).map_err(no_memory)?;
        Ok(Self { zstd, level: 0, space: Vec::new() })
    }

    /// Compresses what follows at `level`.
    ///
    /// # Errors
    /// When zstd cannot get memory.
    pub fn set_level(&mut self, level: i32) -> Result<()> {
        if self.level != level {
            self.zstd.set_compression_level(level).map_err(no_memory)?;
            self.level = level;
        }
        Ok(())
    }

    /// Appends the encoded form of `raw` to `out`; returns its size in bytes.
    ///
    /// # Errors
    /// When zstd cannot get memory.
    pub fn append(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let bound = zstd::zstd_safe::compress_bound(raw.len());
        if self.space.len() < bound {
            self.space.resize(bound, 0);
        }
        let size =
            self.zstd.compress_to_buffer(raw, self.space.as_mut_slice()).map_err(no_memory)?;
        let packed = &self.space[..size];
        out.extend_from_slice(packed);
        out.extend_from_slice(&crc32c::crc32c(packed).to_le_bytes());
        Ok(size + CRC_BYTES)
    }
}

/// Decodes chunks.
pub struct Decoder {
    zstd: Decompressor<'static>,
}

impl Decoder {
    /// A decoder.
    ///
    /// # Errors
    /// When zstd cannot get memory.
    pub fn new() -> Result<Self> {
        Ok(Self { zstd: Decompressor::new().map_err(no_memory)? })
    }

    /// Decodes a chunk that must fill `raw` exactly. `None` when the chunk is damaged.
    pub fn decode(&mut self, encoded: &[u8], raw: &mut [u8]) -> Option<()> {
        let (packed, crc) = encoded.split_last_chunk::<CRC_BYTES>()?;
        if crc32c::crc32c(packed) != u32::from_le_bytes(*crc) {
            return None;
        }
        let size = self.zstd.decompress_to_buffer(packed, &mut *raw).ok()?;
        (size == raw.len()).then_some(())
    }
}

fn no_memory(cause: std::io::Error) -> Error {
    Error::input("memory", format!("zstd failed: {cause}; free some memory and try again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_comes_back_and_a_flipped_bit_is_noticed() {
        let raw: Vec<u8> = (0..5000u32).map(|i| (i * i / 7) as u8).collect();
        let mut encoded = vec![9];
        let mut encoder = Encoder::new().unwrap();
        encoder.set_level(1).unwrap();
        let size = encoder.append(&raw, &mut encoded).unwrap();
        assert_eq!(size + 1, encoded.len());
        let mut decoder = Decoder::new().unwrap();
        let mut back = vec![0; raw.len()];
        assert_eq!(decoder.decode(&encoded[1..], &mut back), Some(()));
        assert_eq!(back, raw);
        assert_eq!(decoder.decode(&encoded[1..], &mut back[1..]), None);
        encoded[size / 2] ^= 4;
        assert_eq!(decoder.decode(&encoded[1..], &mut back), None);
        assert_eq!(decoder.decode(b"abc", &mut back), None);
    }
}
