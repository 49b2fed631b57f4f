//! Sample masks as bit planes, eight samples a byte, the first sample in the lowest bit.
//!
//! The planes are bits of the symbols' ASCII codes: plane 0 is the lowest bit, plane 1 is set for
//! 6 and 7, plane 2 for 8 and 9. In real data planes 1 and 2 are nearly empty and compress away.

use crate::kinc::simd::{Cpu, SymbolBits, WIDTH};
use crate::row::check_mask;

/// Planes of a mask.
pub const PLANES: usize = 3;

/// Counts of the symbols 1, 9, 8, 7 and 6: the order of the columns of a row.
pub type Tally = [u32; 5];

/// Bytes of one plane of `samples` samples.
pub fn plane_bytes(samples: usize) -> usize {
    samples.div_ceil(8)
}

/// Appends the three planes of a mask to `out`; returns the tally of its symbols.
///
/// # Errors
/// A message naming the first invalid symbol; `out` may have grown then.
pub fn pack(mask: &[u8], out: &mut Vec<u8>) -> Result<Tally, String> {
    let start = out.len();
    out.resize(start + PLANES * plane_bytes(mask.len()), 0);
    let planes = &mut out[start..];
    let (tally, good) = crate::with_best_cpu!(cpu => cpu.enter(
        #[inline(always)]
        || pack_here(cpu, mask, planes)
    ));
    if !good {
        check_mask(mask)?;
    }
    Ok(tally)
}

/// Fills the planes; returns the tally, and whether all symbols are valid.
#[inline(always)]
fn pack_here<C: Cpu>(cpu: C, mask: &[u8], planes: &mut [u8]) -> (Tally, bool) {
    let bytes = plane_bytes(mask.len());
    let mut tally = [0; 5];
    let mut wrong = 0;
    let (blocks, rest) = mask.as_chunks::<WIDTH>();
    for (index, symbols) in blocks.iter().enumerate() {
        let words = pack_block(cpu, symbols, &mut tally, &mut wrong);
        for (plane, word) in words.into_iter().enumerate() {
            let place = plane * bytes + 8 * index;
            planes[place..place + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    if !rest.is_empty() {
        let mut symbols = [b'0'; WIDTH];
        symbols[..rest.len()].copy_from_slice(rest);
        let words = pack_block(cpu, &symbols, &mut tally, &mut wrong);
        let start = 8 * blocks.len();
        for (plane, word) in words.into_iter().enumerate() {
            let target = &mut planes[plane * bytes + start..(plane + 1) * bytes];
            target.copy_from_slice(&word.to_le_bytes()[..bytes - start]);
        }
    }
    (tally, wrong == 0)
}

/// Words of the three planes of 64 symbols; bits of `wrong` are set for invalid symbols.
#[inline(always)]
fn pack_block<C: Cpu>(
    cpu: C,
    symbols: &[u8; WIDTH],
    tally: &mut Tally,
    wrong: &mut u64,
) -> [u64; PLANES] {
    let SymbolBits { digit: [low, two, four, eight], other } = cpu.symbol_bits(symbols);
    *wrong |= other | (two ^ four) | (two & eight);
    tally[0] += (low & !two & !eight).count_ones();
    tally[1] += (low & eight).count_ones();
    tally[2] += (!low & eight).count_ones();
    tally[3] += (low & two).count_ones();
    tally[4] += (!low & two).count_ones();
    [low, two, eight]
}

/// Counts the symbols of a packed mask.
pub fn tally(planes: &[u8]) -> Tally {
    crate::with_best_cpu!(cpu => cpu.enter(
        #[inline(always)]
        || tally_here(planes)
    ))
}

#[inline(always)]
fn tally_here(planes: &[u8]) -> Tally {
    let bytes = planes.len() / PLANES;
    let (plane0, rest) = planes.split_at(bytes);
    let (plane1, plane2) = rest.split_at(bytes);
    let mut tally = [0; 5];
    let mut count = |[low, six, eight]: [u64; PLANES]| {
        tally[0] += (low & !six & !eight).count_ones();
        tally[1] += (low & eight).count_ones();
        tally[2] += (!low & eight).count_ones();
        tally[3] += (low & six).count_ones();
        tally[4] += (!low & six).count_ones();
    };
    let [(low, low_rest), (six, six_rest), (eight, eight_rest)] =
        [plane0, plane1, plane2].map(|plane| plane.as_chunks::<8>());
    for ((low, six), eight) in low.iter().zip(six).zip(eight) {
        count([low, six, eight].map(|bytes| u64::from_le_bytes(*bytes)));
    }
    count(
        [low_rest, six_rest, eight_rest]
            .map(|rest| rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))),
    );
    tally
}

/// Replaces `out` by the symbols of a packed mask.
pub fn unpack(planes: &[u8], samples: usize, out: &mut Vec<u8>) {
    let (low, rest) = planes.split_at(plane_bytes(samples));
    let (six, eight) = rest.split_at(low.len());
    let bits = |index| [word_at(low, index), word_at(six, index), word_at(eight, index)];
    unpack_words(bits, samples, out);
}

/// Replaces `out` by symbols, 64 from each three words of `bits`: of plane 0, 1 and 2.
#[inline(always)]
fn unpack_words(bits: impl Fn(usize) -> [u64; PLANES], samples: usize, out: &mut Vec<u8>) {
    out.resize(samples.next_multiple_of(WIDTH), 0);
    crate::with_best_cpu!(cpu => cpu.enter(
        #[inline(always)]
        || {
            for (index, symbols) in out.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                *symbols = cpu.symbols(bits(index), [1, 6, 8]);
            }
        }
    ));
    out.truncate(samples);
}

/// Word `index` of a plane; what is missing of the last one is 0.
#[inline(always)]
fn word_at(plane: &[u8], index: usize) -> u64 {
    let bytes = &plane[8 * index..];
    match bytes.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// Replaces `out` by the mask of a pair from the missing samples of its genes: 9 where either is
/// missing, else 1.
pub fn unpack_missing(first: &[u8], second: &[u8], samples: usize, out: &mut Vec<u8>) {
    let missing = |index| word_at(first, index) | word_at(second, index);
    unpack_words(|index| [u64::MAX, 0, missing(index)], samples, out);
}

/// Whether the planes of a mask are valid: all symbols exist, and no bit is set after the last
/// symbol.
pub fn is_possible(planes: &[u8], samples: usize) -> bool {
    let bytes = plane_bytes(samples);
    let (plane1, plane2) = planes[bytes..].split_at(bytes);
    let both = plane1.iter().zip(plane2).fold(0, |all, (bits1, bits2)| all | (bits1 & bits2));
    both == 0 && planes.chunks_exact(bytes).all(|plane| padding_of(plane, samples) == 0)
}

/// The bits of a plane behind the last sample.
pub fn padding_of(plane: &[u8], samples: usize) -> u8 {
    let used = samples % 8;
    plane.last().map_or(0, |last| if used == 0 { 0 } else { last >> used })
}

/// Packs flags, eight a byte, the first one in the lowest bit.
pub fn pack_flags(flags: &[bool]) -> Vec<u8> {
    let byte_of = |byte: &[bool]| {
        byte.iter().enumerate().fold(0, |sum, (bit, &flag)| sum | (u8::from(flag) << bit))
    };
    flags.chunks(8).map(byte_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinc::simd::Scalar;
    use crate::row::MASK_SYMBOLS;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_mask_comes_back_with_its_tally(
            mask in proptest::collection::vec(proptest::sample::select(MASK_SYMBOLS), 0..200),
        ) {
            let mut planes = vec![1, 2];
            let tally = pack(&mask, &mut planes).unwrap();
            let count = |symbol: u8| mask.iter().filter(|&&s| s == symbol).count() as u32;
            prop_assert_eq!(tally, [b'1', b'9', b'8', b'7', b'6'].map(count));
            let mut scalar = vec![0; planes.len() - 2];
            prop_assert_eq!(pack_here(Scalar, &mask, &mut scalar), (tally, true));
            prop_assert_eq!(&planes[2..], &scalar);
            let mut back = Vec::new();
            unpack(&planes[2..], mask.len(), &mut back);
            prop_assert_eq!(back, mask);
        }

        #[test]
        fn a_wrong_symbol_is_reported(
            length in 1usize..140, place in 0usize..140, symbol in any::<u8>(),
        ) {
            let mut mask = vec![b'1'; length];
            mask[place % length] = symbol;
            let ok = MASK_SYMBOLS.contains(&symbol);
            prop_assert_eq!(pack(&mask, &mut Vec::new()).is_ok(), ok);
            let mut planes = vec![0; PLANES * plane_bytes(mask.len())];
            prop_assert_eq!(pack_here(Scalar, &mask, &mut planes).1, ok);
        }
    }

    proptest! {
        #[test]
        fn any_two_genes_give_their_mask(
            pairs in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..200),
        ) {
            let (first, second): (Vec<bool>, Vec<bool>) = pairs.iter().copied().unzip();
            let mut mask = vec![b'x'; 3];
            unpack_missing(&pack_flags(&first), &pack_flags(&second), pairs.len(), &mut mask);
            let expected: Vec<u8> =
                pairs.iter().map(|&(a, b)| if a || b { b'9' } else { b'1' }).collect();
            prop_assert_eq!(mask, expected);
        }
    }

    #[test]
    fn the_mask_of_two_genes_is_9_where_either_is_missing() {
        let first = pack_flags(&[true, false, false, false, false, false, false, false, true]);
        let second = pack_flags(&[false, false, true, false, false, false, false, false, false]);
        let mut mask = Vec::new();
        unpack_missing(&first, &second, 9, &mut mask);
        assert_eq!(mask, b"919111119");
    }
}
