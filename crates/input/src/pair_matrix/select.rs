//! The score filter on a slice of scores. A pure function, compiled for the vector instructions
//! of the machine.

use cuesta_core::fixed::Micro;

use super::planes::join_scores;
use crate::filter::Filter;
use crate::kinc::simd::Cpu;

/// Scores tested at once; blocks without a hit cost one test.
const BLOCK: usize = 64;

/// Replaces `hits` by the places of the scores that pass the filter, in ascending order.
pub fn select(scores: &[Micro], filter: &Filter, hits: &mut Vec<u32>) {
    crate::with_best_cpu!(cpu => cpu.enter(
        #[inline(always)]
        || select_here(scores, filter, hits)
    ));
}

/// Replaces `scores` by the values of their byte planes.
pub fn join(planes: &[u8], scores: &mut Vec<Micro>) {
    scores.resize(planes.len() / 4, 0);
    crate::with_best_cpu!(cpu => cpu.enter(
        #[inline(always)]
        || join_scores(planes, scores)
    ));
}

#[inline(always)]
fn select_here(scores: &[Micro], filter: &Filter, hits: &mut Vec<u32>) {
    hits.clear();
    let mut numbers = [0; BLOCK];
    for (number, block) in scores.chunks(BLOCK).enumerate() {
        let count: u32 = block.iter().map(|&score| u32::from(filter.keeps_score(score))).sum();
        if count == 0 {
            continue;
        }
        let mut next = 0;
        for (place, &score) in (number * BLOCK..).zip(block) {
            // Written in any case, but overwritten unless it passes: no branch to predict.
            numbers[next % BLOCK] = place as u32;
            next += usize::from(filter.keeps_score(score));
        }
        hits.extend_from_slice(&numbers[..next]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilterParams;
    use crate::pair_matrix::ABSENT;
    use cuesta_core::fixed::NAN;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hits_are_those_of_the_filter(
            scores in proptest::collection::vec(
                prop_oneof![Just(NAN), Just(ABSENT), -1_000_000..=1_000_000], 0..300),
            min_abs_score in 0.0..1.0,
            width in proptest::option::of(0.0..1.0),
        ) {
            let max_abs_score = width.map(|width| min_abs_score + width);
            let params = FilterParams { min_abs_score, max_abs_score, ..Default::default() };
            let filter = params.check().unwrap();
            let passes = |place: &u32| filter.keeps_score(scores[*place as usize]);
            let expected: Vec<u32> = (0..scores.len() as u32).filter(passes).collect();
            let mut hits = vec![7];
            select(&scores, &filter, &mut hits);
            prop_assert_eq!(&hits, &expected);
            let scalar = |hits: &mut Vec<u32>| select_here(&scores, &filter, hits);
            scalar(&mut hits);
            prop_assert_eq!(hits, expected);
        }
    }
}
