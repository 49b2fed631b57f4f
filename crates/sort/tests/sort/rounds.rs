//! Runs in rounds, by any engine, write the answer of the reference.

use crate::common::{Workspace, made, sorted};
use cuesta_core::job::Response;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_runtime::rounds::{RandomEngine, Resources};
use cuesta_sort::rounds::{lead, work};
use cuesta_testkit::ranks;
use proptest::prelude::*;

const PLENTY: u64 = 1 << 30;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_random_engine_sorts_as_the_reference_does(
        count in 0usize..20_000,
        kind in prop::sample::select(crate::common::KINDS.to_vec()),
        // With many parts the tasks take the sample, with few the leader.
        parts in prop_oneof![4 => 1usize..40, 1 => 513usize..600],
        task_bytes in 1u64..300_000,
        seed in any::<u64>(),
    ) {
        let workspace = Workspace::new();
        let records = made(kind, count, seed);
        let request = workspace.request(&[&workspace.write("input", &records)], 1, PLENTY);
        let task_bytes = Some(task_bytes.max(count as u64));
        let resources =
            Resources { slots: 2, memory_bytes: PLENTY, task_bytes, ..Resources::default() };
        let resources = Resources { tasks: Some(parts), ..resources };
        let worker = || work(&request, resources);
        let engine = RandomEngine { worker: &worker, chance: Stream::new(seed, 0) };
        let mut leader = lead(&request, resources).unwrap();
        let response = engine.run(leader.as_mut(), &Progress::default());
        prop_assert_eq!(response.unwrap().counts["records"], count as u64);
        prop_assert!(workspace.answer() == sorted(&records));
    }
}

/// Rounds as MPI ranks run them: each holds its part.
#[test]
fn workers_that_hold_their_parts_sort_as_the_reference_does() {
    for (count, slots) in [(30_000, 3), (2, 5), (0, 2), (1000, 1)] {
        let workspace = Workspace::new();
        let records = made(crate::common::KINDS[2], count, 3);
        let request = workspace.request(&[&workspace.write("input", &records)], 1, PLENTY);
        let (tasks, memory_bytes) = (Some(slots), PLENTY);
        let resources = Resources {
            slots,
            nodes: 1,
            memory_bytes,
            tasks,
            task_bytes: None,
            keeps: true,
            text: false,
            slow_to_begin: false,
        };
        let mut leader = lead(&request, resources).unwrap();
        let mut workers: Vec<_> = (0..slots).map(|_| work(&request, resources).unwrap()).collect();
        let response = ranks::run(leader.as_mut(), &mut workers).unwrap();
        assert_eq!(response.counts["records"], count as u64);
        assert!(workspace.answer() == sorted(&records), "{count} records on {slots} ranks");
    }
}

#[test]
fn ranks_that_cannot_hold_the_records_are_refused() {
    let workspace = Workspace::new();
    let request = workspace.request(
        &[&workspace.write("input", &made(crate::common::KINDS[0], 1000, 3))],
        1,
        PLENTY,
    );
    let refused = |memory_bytes: u64| {
        let resources = Resources { slots: 4, memory_bytes, keeps: true, ..Resources::default() };
        let next = lead(&request, resources).unwrap().next(
            Vec::new(),
            &mut Response::default(),
            &Progress::default(),
        );
        next.err().map(|error| error.message())
    };
    assert!(refused(64 << 20).unwrap().contains("use --engine native"));
    assert_eq!(refused(65 << 20), None);
}
