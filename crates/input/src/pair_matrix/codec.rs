//! The bytes of an inner chunk: zstd, then a CRC-32C of its output. It equals the codec chain
//! `zstd`, `crc32c` of Zarr, with reused buffers.

use cuesta_core::{Error, Result};
use zstd::bulk::{Compressor, Decompressor};

use super::limits::{ZSTD_LEVEL, ZSTD_LEVEL_NONE};

/// Bytes of a checksum.
pub const CRC_BYTES: usize = 4;

/// Compression of a chunk; a reader need not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Compressed by zstd.
    Zstd,
    /// Compressed by zstd only if that halves the size, else framed: a frame without compression is
    /// decoded at the speed of memory.
    ZstdIfHalf,
}

/// Encodes chunks.
pub struct Encoder {
    zstd: Compressor<'static>,
    space: Vec<u8>,
}

impl Encoder {
    /// An encoder; takes about a megabyte.
    ///
    /// # Errors
    /// When zstd cannot get memory.
    pub fn new() -> Result<Self> {
        let zstd = Compressor::new(ZSTD_LEVEL).map_err(no_memory)?;
        Ok(Self { zstd, space: Vec::new() })
    }

    /// Appends the encoded form of `raw` to `out`; returns its size in bytes.
    ///
    /// # Errors
    /// When zstd cannot get memory.
    pub fn append(&mut self, raw: &[u8], packing: Packing, out: &mut Vec<u8>) -> Result<usize> {
        let mut size = self.compress(raw)?;
        if packing == Packing::ZstdIfHalf && 2 * size > raw.len() {
            self.zstd.set_compression_level(ZSTD_LEVEL_NONE).map_err(no_memory)?;
            size = self.compress(raw)?;
            self.zstd.set_compression_level(ZSTD_LEVEL).map_err(no_memory)?;
        }
        let packed = &self.space[..size];
        out.extend_from_slice(packed);
        out.extend_from_slice(&crc32c::crc32c(packed).to_le_bytes());
        Ok(packed.len() + CRC_BYTES)
    }

    fn compress(&mut self, raw: &[u8]) -> Result<usize> {
        let bound = zstd::zstd_safe::compress_bound(raw.len());
        if self.space.len() < bound {
            self.space.resize(bound, 0);
        }
        self.zstd.compress_to_buffer(raw, self.space.as_mut_slice()).map_err(no_memory)
    }
}

/// The bytes in front of a checksum; `None` when they do not match it.
pub fn checked(encoded: &[u8]) -> Option<&[u8]> {
    let (packed, crc) = encoded.split_last_chunk::<CRC_BYTES>()?;
    (crc32c::crc32c(packed) == u32::from_le_bytes(*crc)).then_some(packed)
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
        let size = self.zstd.decompress_to_buffer(checked(encoded)?, &mut *raw).ok()?;
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
    fn a_chunk_is_decoded_and_a_flipped_bit_is_detected() {
        let raw: Vec<u8> = (0..5000u32).map(|i| (i * i / 7) as u8).collect();
        let mut encoder = Encoder::new().unwrap();
        for packing in [Packing::Zstd, Packing::ZstdIfHalf] {
            let mut encoded = vec![9];
            let size = encoder.append(&raw, packing, &mut encoded).unwrap();
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

    #[test]
    fn data_that_compresses_little_is_only_framed() {
        let mut encoder = Encoder::new().unwrap();
        let mut size = |raw: &[u8], packing| {
            encoder.append(raw, packing, &mut Vec::new()).unwrap() as f64 / raw.len() as f64
        };
        let noise: Vec<u8> = (0..100_000u64).map(|i| cuesta_core::digest::mix(i) as u8).collect();
        let little: Vec<u8> = noise.iter().map(|byte| byte % 40).collect();
        let much: Vec<u8> = noise.iter().map(|byte| byte % 3).collect();
        assert!(size(&little, Packing::Zstd) < 0.75);
        assert!(size(&little, Packing::ZstdIfHalf) > 0.99);
        assert!(size(&much, Packing::ZstdIfHalf) < 0.3);
        assert!(size(&noise, Packing::ZstdIfHalf) > 1.0);
    }
}
