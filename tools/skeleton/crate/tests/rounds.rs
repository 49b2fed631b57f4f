//! Rounds give the same answer in any order, with tasks done twice and workers that die.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, run};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_runtime::rounds::{RandomEngine, Resources};
use cuesta_skeleton::rounds::{lead, work};

#[test]
fn rounds_give_the_answer_of_a_run() {
    for count in [0, 1, 300_000] {
        let place = Place::new();
        let numbers = |from: u64| (from..from + count).map(|number| number * number).collect();
        let request = place.request(&[numbers(0), numbers(7)], 100);
        run(&request);
        let answer = place.answer();
        for tasks in [1, 2, 7] {
            let resources = Resources { slots: 2, tasks: Some(tasks), ..Resources::default() };
            let worker = || work(&request, resources);
            let engine = RandomEngine { worker: &worker, chance: Stream::new(tasks as u64, 0) };
            place.write("answer/total.tsv", "");
            let mut leader = lead(&request, resources).unwrap();
            engine.run(leader.as_mut(), &Progress::default()).unwrap();
            assert_eq!(place.answer(), answer, "{count} numbers, {tasks} tasks");
        }
    }
}
