//! Random choice of the parts of an answer that a verification at
//! [`VerificationLevel::Sample`](crate::job::VerificationLevel) computes anew.

use crate::fingerprint::Key;
use crate::job::SAMPLE_GROUP_SIZE;
use crate::random::Stream;

/// A random part of each group of [`SAMPLE_GROUP_SIZE`] consecutive parts, and one of the remaining
/// parts: a sample of at least one part is never empty.
pub struct Sample {
    stream: Stream,
    parts: u64,
}

impl Sample {
    /// A sample of `parts` parts, drawn from the operating system's random numbers.
    pub fn random(parts: u64) -> Self {
        Self { stream: Stream::new(Key::random().salt(), 0), parts }
    }

    /// Number of parts in the sample.
    pub fn len(&self) -> u64 {
        self.parts.div_ceil(SAMPLE_GROUP_SIZE)
    }

    /// Whether there is no part to choose from.
    pub fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Whether the sample includes part number `part`.
    pub fn has(&self, part: u64) -> bool {
        let group = part / SAMPLE_GROUP_SIZE;
        let of = SAMPLE_GROUP_SIZE.min(self.parts - group * SAMPLE_GROUP_SIZE);
        part % SAMPLE_GROUP_SIZE == self.stream.below(group, of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_a_part_of_each_group_and_of_the_rest() {
        for parts in [0, 1, 2, 15, 16, 17, 1000] {
            let sample = Sample::random(parts);
            let chosen: Vec<u64> = (0..parts).filter(|&part| sample.has(part)).collect();
            assert_eq!(chosen.len() as u64, sample.len());
            let groups: Vec<u64> = chosen.iter().map(|part| part / SAMPLE_GROUP_SIZE).collect();
            assert!(groups.iter().copied().eq(0..sample.len()), "{chosen:?}");
            assert_eq!(sample.is_empty(), chosen.is_empty());
        }
    }

    #[test]
    fn another_sample_has_other_parts() {
        let of = |sample: &Sample| (0..10_000).filter(|&part| sample.has(part)).collect::<Vec<_>>();
        assert_ne!(of(&Sample::random(10_000)), of(&Sample::random(10_000)));
    }
}
