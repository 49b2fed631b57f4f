//! Byte planes: the lowest bytes of all values of a chunk, then the next bytes, and so on. It is
//! the order that the `numcodecs.shuffle` codec stores, so nothing is moved when writing.

use cuesta_core::fixed::Micro;

/// Bytes of a score.
pub const SCORE_WIDTH: usize = 4;

/// Planes of `count` values that are all `value`.
pub fn filled(count: usize, width: usize, value: u32) -> Vec<u8> {
    let mut planes = vec![0; count * width];
    for (plane, byte) in planes.chunks_exact_mut(count).zip(value.to_le_bytes()) {
        plane.fill(byte);
    }
    planes
}

/// Sets the value at `index`; the planes hold `count` values.
#[inline]
pub fn put(planes: &mut [u8], count: usize, index: usize, value: u32) {
    let mut place = index;
    for byte in value.to_le_bytes() {
        match planes.get_mut(place) {
            Some(target) => *target = byte,
            None => return,
        }
        place += count;
    }
}

/// The value at `index`; the planes hold `count` values.
#[inline]
pub fn get(planes: &[u8], count: usize, index: usize) -> u32 {
    let mut bytes = [0; 4];
    for (plane, byte) in planes.chunks_exact(count).zip(&mut bytes) {
        *byte = plane[index];
    }
    u32::from_le_bytes(bytes)
}

/// Sets the scores from `index` on.
pub fn put_scores(planes: &mut [u8], count: usize, index: usize, scores: &[Micro]) {
    for (number, plane) in planes.chunks_exact_mut(count).enumerate() {
        let target = &mut plane[index..index + scores.len()];
        for (byte, score) in target.iter_mut().zip(scores) {
            *byte = (score >> (8 * number)) as u8;
        }
    }
}

/// All scores: `planes` has four bytes for each element of `scores`.
#[inline(always)]
pub fn join_scores(planes: &[u8], scores: &mut [Micro]) {
    let count = scores.len();
    let (low, high) = planes.split_at(2 * count);
    let (a, b) = low.split_at(count);
    let (c, d) = high.split_at(count);
    for ((((score, &a), &b), &c), &d) in scores.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *score = Micro::from_le_bytes([a, b, c, d]);
    }
}

/// All values of one or more bytes: `planes` has so many for each element of `values`.
#[inline(always)]
pub fn join_values(planes: &[u8], values: &mut [u32]) {
    let count = values.len();
    values.fill(0);
    for (number, plane) in planes.chunks_exact(count.max(1)).enumerate() {
        for (value, &byte) in values.iter_mut().zip(plane) {
            *value |= u32::from(byte) << (8 * number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_come_back_from_their_planes() {
        let scores = [0, -1, 871_000, i32::MIN, i32::MIN + 1, 255, 256];
        let mut planes = filled(scores.len() + 1, SCORE_WIDTH, 7);
        put_scores(&mut planes, scores.len() + 1, 1, &scores);
        let mut back = [0; 8];
        join_scores(&planes, &mut back);
        assert_eq!(back[0], 7);
        assert_eq!(back[1..], scores);
        assert_eq!(get(&planes, 8, 3), 871_000);
    }

    #[test]
    fn narrow_values_come_back_from_their_planes() {
        let mut planes = filled(5, 2, 475);
        put(&mut planes, 5, 3, 300);
        let values: Vec<u32> = (0..5).map(|index| get(&planes, 5, index)).collect();
        assert_eq!(values, [475, 475, 475, 300, 475]);
        let mut all = [7; 5];
        join_values(&planes, &mut all);
        assert_eq!(all, [475, 475, 475, 300, 475]);
    }
}
