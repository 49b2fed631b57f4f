//! Equality of the answer and its definition: for any threads, memory and precision, and in all
//! special cases.

use crate::common::{Workspace, clouds, refused, run, run_verified, verify};
use cuesta_core::budget::Budget;
use cuesta_core::random::Stream;
use cuesta_kmeans::kernel::simd::VectorLevel;
use cuesta_kmeans::kernel::{self, Centres, Grid, NONE, Real, STRIP, SquareSum, Sums};
use cuesta_kmeans::reference;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn threads_and_memory_do_not_change_a_byte() {
    for single in [true, false] {
        let workspace = Workspace::new();
        let rows = clouds(150_000, 13, 7, 3);
        let path = if single {
            workspace.singles("x.npy", &rows)
        } else {
            workspace.doubles("x.npy", &rows)
        };
        let mut answers = Vec::new();
        for (threads, memory_bytes) in
            [(1, 1 << 30), (2, 1 << 30), (5, 1 << 30), (1, 6 << 20), (3, 9 << 20)]
        {
            let mut request =
                workspace.request(&[&path], json!({ "clusters": 7, "iterations": 6 }));
            request.threads = threads;
            request.budget = Budget::new(memory_bytes).into();
            let response = run(&request);
            let streamed = response.phases.iter().any(|phase| phase.name.starts_with("streamed"));
            assert_eq!(streamed, memory_bytes < 10 << 20);
            answers.push(workspace.answer());
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]));
        assert!(
            verify(&workspace.request(&[&path], json!({ "clusters": 7, "iterations": 6 })))
                .verified
        );
    }
}

#[test]
fn many_files_are_a_single_set_of_points() {
    let workspace = Workspace::new();
    let rows = clouds(1000, 3, 4, 9);
    let complete = workspace.doubles("whole.npy", &rows);
    run_verified(&workspace.request(&[&complete], json!({ "clusters": 4 })));
    let answer = workspace.answer();
    let (a, b) =
        (workspace.doubles("a.npy", &rows[..333]), workspace.doubles("b.npy", &rows[333..]));
    run_verified(&workspace.request(&[&a, &b], json!({ "clusters": 4 })));
    assert_eq!(workspace.answer(), answer);
}

#[test]
fn text_and_numbers_have_the_same_answer() {
    let workspace = Workspace::new();
    let rows = clouds(60_000, 4, 3, 5);
    let path = workspace.doubles("x.npy", &rows);
    run_verified(&workspace.request(&[&path], json!({ "clusters": 3 })));
    let answer = workspace.answer();
    for separator in [",", " ", "\t", ", ", ";"] {
        let mut text = "# a comment\n\n".to_owned();
        for (index, row) in rows.iter().enumerate() {
            let fields: Vec<String> = row.iter().map(f64::to_string).collect();
            text += &fields.join(separator);
            text += if index % 2 == 0 { "\n" } else { "\r\n" };
        }
        assert!(text.len() > 3 << 20);
        let path = workspace.write("x.txt", text.trim_end());
        run_verified(&workspace.request(&[&path], json!({ "clusters": 3 })));
        assert_eq!(workspace.answer(), answer, "{separator:?}");
    }
}

#[test]
fn a_single_cluster_is_the_mean() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &[vec![1.0, 2.0], vec![3.0, 6.0], vec![5.0, 1.0]]);
    run_verified(&workspace.request(&[&path], json!({ "clusters": 1 })));
    let centre = &workspace.centres()[0];
    assert_eq!(centre[..2], [0.0, 3.0]);
    assert!((centre[3] - 3.0).abs() < 1e-12 && (centre[4] - 3.0).abs() < 1e-12);
    assert!((centre[2] - 22.0).abs() < 1e-9, "inertia {}", centre[2]);
}

/// Times of 1970 in seconds gave the inertia 0, and UTM coordinates one that was 4 % wrong: squared
/// distances were rounded to units that follow from the largest coordinates.
#[test]
fn the_inertia_of_a_cluster_far_from_zero_is_that_of_one_at_zero() {
    let workspace = Workspace::new();
    let offsets = [0.0, 5.4e6, 1e8, 1.7e9];
    let inertias = offsets.map(|offset| {
        let rows: Vec<Vec<f64>> =
            (0..500).map(|row| vec![offset + f64::from(row % 17), f64::from(row % 5)]).collect();
        let path = workspace.doubles(&format!("{offset}.npy"), &rows);
        run_verified(&workspace.request(&[&path], json!({ "clusters": 1 })));
        workspace.centres()[0][2]
    });
    for inertia in inertias {
        assert!((inertia / inertias[0] - 1.0).abs() < 1e-6, "{inertias:?}");
    }
}

#[test]
fn as_many_clusters_as_points_are_single_points() {
    let workspace = Workspace::new();
    let rows = clouds(77, 5, 77, 1);
    let path = workspace.doubles("x.npy", &rows);
    run_verified(&workspace.request(&[&path], json!({ "clusters": 77 })));
    assert_eq!(workspace.clusters(), (0..77).collect::<Vec<u32>>());
    assert!(workspace.centres().iter().all(|row| row[1] == 1.0 && row[2] < 1e-6));
}

#[test]
fn a_tie_is_assigned_to_the_smallest_cluster() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &[vec![0.0], vec![2.0], vec![1.0]]);
    run_verified(&workspace.request(&[&path], json!({ "clusters": 2, "iterations": 1 })));
    // Afterwards the centres are 0.5 and 2.
    assert_eq!(workspace.clusters(), [0, 1, 0]);
}

#[test]
fn an_empty_cluster_keeps_its_centre_and_equal_points_share_the_first() {
    let workspace = Workspace::new();
    let mut rows = vec![vec![7.0, 7.0]; 5];
    rows.extend([vec![0.0, 0.0], vec![0.0, 1.0]]);
    let path = workspace.singles("x.npy", &rows);
    run_verified(&workspace.request(&[&path], json!({ "clusters": 3 })));
    let sizes: Vec<f64> = workspace.centres().iter().map(|row| row[1]).collect();
    // All points are in the first cluster until its centre moves to their mean; the third equals
    // the second.
    assert_eq!(sizes, [2.0, 5.0, 0.0]);
    let centres = workspace.write("c.txt", "7 7\n0 0\n900 900\n");
    let parameters = json!({ "clusters": 3, "centres": centres });
    run_verified(&workspace.request(&[&path], parameters));
    assert_eq!(workspace.clusters(), [0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(workspace.centres()[2][3..], [900.0, 900.0]);
}

/// An answer was refused as first centres: its columns of sizes and inertias were coordinates, and
/// with `--columns` for the points some of them took the place of the right ones.
#[test]
fn an_answer_seeds_a_run_with_chosen_columns() {
    let workspace = Workspace::new();
    let answer = "cluster\tsize\tinertia\tx1\tx2\n0\t5\t1.5\t0.0\t0.5\n1\t7\t2.5\t9.0\t9.5\n";
    let centres = workspace.write("centres.tsv", answer);
    let path = workspace.write("p.csv", "id,a,b\n1,0.5,0.25\n2,9.5,9.25\n3,9.5,8.25\n");
    let parameters = json!({ "clusters": 2, "centres": centres, "columns": "2-3" });
    let request = workspace.request(&[&path], parameters);
    assert_eq!(cuesta_kmeans::recognised(&request).unwrap().len(), 2);
    run_verified(&request);
    assert_eq!(workspace.clusters(), [0, 1, 1]);
}

#[test]
fn points_far_from_the_origin_are_distinguished() {
    let workspace = Workspace::new();
    let mut rows = clouds(5000, 6, 5, 4);
    rows.iter_mut().flatten().for_each(|x| *x += 1e7);
    for path in [workspace.doubles("x.npy", &rows), workspace.singles("y.npy", &rows)] {
        run_verified(&workspace.request(&[&path], json!({ "clusters": 5, "init": "kmeans++" })));
    }
}

#[test]
fn extreme_numbers_are_computed_with() {
    for (size, clusters) in [(1e149, 3), (1e-97, 3), (0.0, 2)] {
        let workspace = Workspace::new();
        let mut rows = clouds(500, 3, 3, 8);
        rows.iter_mut().flatten().for_each(|x| *x *= size / 200.0);
        let path = workspace.doubles("x.npy", &rows);
        run_verified(
            &workspace.request(&[&path], json!({ "clusters": clusters, "iterations": 4 })),
        );
    }
    let workspace = Workspace::new();
    let mut rows = clouds(500, 3, 3, 8);
    rows.iter_mut().flatten().for_each(|x| *x *= 1e36);
    let path = workspace.singles("x.npy", &rows);
    run_verified(&workspace.request(&[&path], json!({ "clusters": 3, "iterations": 4 })));
}

/// Cause: squares of coordinates below 1e-140 are zero on the grid of sums. Symptom: all points in
/// one cluster, verified. Fix: refuse where even the largest coordinate is that small.
#[test]
fn points_that_vanish_on_the_grid_are_refused() {
    for size in [1e-101, 1e-149, 1e-310] {
        let workspace = Workspace::new();
        let mut rows = clouds(500, 3, 3, 8);
        rows.iter_mut().flatten().for_each(|x| *x *= size / 200.0);
        let path = workspace.doubles("x.npy", &rows);
        let parameters = json!({ "clusters": 2, "iterations": 4 });
        let error = refused(&workspace.request(&[&path], parameters));
        assert!(error.contains("multiply all coordinates by a power of ten"), "{error}");
    }
}

#[test]
fn kmeans_plus_plus_depends_on_the_seed_only() {
    let workspace = Workspace::new();
    let path = workspace.singles("x.npy", &clouds(100_000, 4, 8, 2));
    let mut answers = Vec::new();
    for (seed, threads, memory_bytes) in [(1, 1, 1 << 30), (1, 3, 6 << 20), (2, 1, 1 << 30)] {
        let parameters = json!({ "clusters": 8, "init": "kmeans++", "iterations": 3 });
        let mut request = workspace.request(&[&path], parameters);
        request.seed = seed;
        request.threads = threads;
        request.budget = Budget::new(memory_bytes).into();
        run_verified(&request);
        answers.push(workspace.answer());
    }
    assert_eq!(answers[0], answers[1]);
    assert_ne!(answers[0], answers[2]);
}

#[test]
fn it_stops_when_no_centre_moves_further_than_the_tolerance() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &clouds(3000, 3, 3, 6));
    let shifts = |tolerance: f64| -> Vec<f64> {
        let parameters = json!({ "clusters": 3, "iterations": 500, "tolerance": tolerance });
        run_verified(&workspace.request(&[&path], parameters));
        let text = String::from_utf8(workspace.answer()["iterations.tsv"].clone()).unwrap();
        let shift = |line: &str| line.split('\t').nth(1).unwrap().parse().unwrap();
        text.lines().skip(1).map(shift).collect()
    };
    let all = shifts(0.0);
    assert!(all.len() < 500 && all.last() == Some(&0.0));
    let some = shifts(0.5);
    assert!(some.len() < all.len() && *some.last().unwrap() <= 0.5);
    assert!(some[..some.len() - 1].iter().all(|&shift| shift > 0.5));
}

#[test]
fn a_changed_answer_is_detected() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &clouds(3000, 3, 3, 6));
    let request = workspace.request(&[&path], json!({ "clusters": 3 }));
    run_verified(&request);
    let answer = workspace.answer();
    let restore = || {
        for (name, content) in &answer {
            std::fs::write(request.output.join(name), content).unwrap();
        }
    };
    let mut clusters = answer["assignments.npy"].clone();
    let last = clusters.len() - 4;
    clusters[last] ^= 1;
    std::fs::write(request.output.join("assignments.npy"), clusters).unwrap();
    assert!(!verify(&request).verified);
    for (name, line, column, remark) in [
        ("centres.tsv", 1, 4, "line 2 of centres.tsv is wrong"),
        ("centres.tsv", 2, 1, "line 3 of centres.tsv is wrong"),
        ("centres.tsv", 3, 2, "line 4 of centres.tsv is wrong"),
        ("iterations.tsv", 2, 1, "line 3 of iterations.tsv is wrong"),
    ] {
        restore();
        let text = String::from_utf8(answer[name].clone()).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut fields: Vec<String> = lines[line].split('\t').map(str::to_owned).collect();
        fields[column] = (fields[column].parse::<f64>().unwrap() + 1.0).to_string();
        lines[line] = fields.join("\t");
        std::fs::write(request.output.join(name), lines.join("\n")).unwrap();
        let verdict = verify(&request);
        assert!(verdict.remark.is_some_and(|text| text.contains(remark)), "{name} {remark}");
    }
}

/// Returns the assignments and sums of some points at a level.
fn assigned<T: Real>(
    level: VectorLevel,
    (points, centres): (&[f64], &[f64]),
    dimensions: usize,
    origin: &[f64],
) -> (Vec<u32>, Vec<i64>, Vec<SquareSum>) {
    let count = points.len() / dimensions;
    let rows: Vec<T> = points.iter().map(|&x| T::from_f64(x)).collect();
    let mut strips = vec![T::default(); count.next_multiple_of(STRIP) * dimensions];
    T::lay(level, &rows, dimensions, &mut strips);
    let mut largest = vec![0.0; dimensions];
    assert!(kernel::extend(level, &strips, &mut largest, 1e150));
    let grid = Grid::new(count as u64, &largest);
    let centres = Centres::<T>::new(centres.to_vec(), origin);
    let mut sums = Sums::new(centres.rows.len() / dimensions, dimensions);
    let mut clusters = vec![NONE; count];
    let mut points = kernel::Points { strips: &strips, clusters: &mut clusters, next: &rows };
    kernel::assign(level, &mut points, &centres, &grid, &mut sums);
    kernel::measure(level, &points, &centres, &grid, &mut sums);
    (clusters, sums.coordinates, sums.inertias)
}

fn check<T: Real>(points: &[f64], centres: &[f64], dimensions: usize, origin: &[f64]) {
    let rounded: Vec<f64> = points.iter().map(|&x| T::from_f64(x).to_f64()).collect();
    let right: Vec<u32> =
        rounded.chunks_exact(dimensions).map(|row| reference::nearest(row, centres).0).collect();
    let mut first = None;
    for level in VectorLevel::available() {
        let assignment = assigned::<T>(level, (points, centres), dimensions, origin);
        assert_eq!(assignment.0, right, "{level:?}");
        assert_eq!(*first.get_or_insert_with(|| assignment.clone()), assignment, "{level:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn all_levels_assign_as_the_definition_does(
        seed in any::<u64>(),
        shape in (1usize..200, 1usize..20, 1usize..40),
        coarse in any::<bool>(),
        far in prop_oneof![Just(0.0), Just(1e4), Just(-3e8)],
    ) {
        let (count, dimensions, clusters) = shape;
        let draw = |stream, many: usize| -> Vec<f64> {
            let stream = Stream::new(seed, stream);
            let value = |i| if coarse { stream.below(i, 4) as f64 } else { stream.normal(i) };
            (0..many as u64).map(|i| far + value(i)).collect()
        };
        let points = draw(1, count * dimensions);
        let centres = draw(2, clusters * dimensions);
        let origin = vec![if seed % 2 == 0 { far } else { 0.0 }; dimensions];
        check::<f32>(&points, &centres, dimensions, &origin);
        check::<f64>(&points, &centres, dimensions, &origin);
    }
}
