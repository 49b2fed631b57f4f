//! Where the junctions of a component of the graph lie in its picture.

/// A segment in the picture: its two junctions by number, and how long it is drawn.
pub type Line = (usize, usize, f64);

/// A point of the plane.
pub type Point = [f64; 2];

const SWEEPS: usize = 80;
/// Nothing moves by more than that part of the radius: the picture changes little from then on.
const STILL: f64 = 2e-4;
/// Junctions nearer than that push each other nowhere.
const APART: f64 = 1e-9;

/// Places of junctions whose distances are as near to those along the lines as can be: stress
/// majorization (Gansner, Koren, North 2004), one junction after the other. It begins at places
/// that follow from the lines, so the same graph gives the same picture.
///
/// Cost: the third power of the junctions, of which pictures have a hundred, and 80 times their
/// square.
///
/// # Panics
/// If a line ends at a junction that is none of `junctions`.
pub fn layout(lines: &[Line], junctions: usize) -> Vec<Point> {
    let distances = distances(lines, junctions);
    let widest = distances.iter().flatten().copied().fold(0.0, f64::max);
    let radius = if widest > 0.0 { widest / 2.0 } else { 1.0 };
    let mut points = vec![[0.0; 2]; junctions];
    for (position, junction) in around(lines, junctions).into_iter().enumerate() {
        let angle = std::f64::consts::TAU * position as f64 / junctions as f64;
        points[junction] = [radius * angle.cos(), radius * angle.sin()];
    }
    for _ in 0..SWEEPS {
        let mut moved: f64 = 0.0;
        for one in 0..junctions {
            // Each looks at the new places of those before it.
            let before = points[one];
            points[one] = majorized(before, &points, &distances[one]);
            moved = moved.max((points[one][0] - before[0]).hypot(points[one][1] - before[1]));
        }
        if moved < STILL * radius {
            break;
        }
    }
    points
}

/// Where the places of all others would have a junction that is `here`, on average by the inverse
/// squares of the distances that they should have.
fn majorized(here: Point, points: &[Point], distances: &[f64]) -> Point {
    let (mut total, mut found) = (0.0, [0.0; 2]);
    for (there, &distance) in points.iter().zip(distances) {
        if distance == 0.0 {
            continue;
        }
        let weight = 1.0 / (distance * distance);
        let away = [here[0] - there[0], here[1] - there[1]];
        let apart = away[0].hypot(away[1]);
        let stretched = if apart > APART { distance / apart } else { 0.0 };
        for axis in 0..2 {
            found[axis] += weight * (there[axis] + away[axis] * stretched);
        }
        total += weight;
    }
    if total > 0.0 { found.map(|sum| sum / total) } else { here }
}

/// Between all junctions along the shortest lines, 0 where none lead (Floyd, Warshall 1962).
fn distances(lines: &[Line], junctions: usize) -> Vec<Vec<f64>> {
    let mut found = vec![vec![f64::INFINITY; junctions]; junctions];
    for &(begin, end, length) in lines {
        let shorter = found[begin][end].min(length);
        (found[begin][end], found[end][begin]) = (shorter, shorter);
    }
    for (one, row) in found.iter_mut().enumerate() {
        row[one] = 0.0;
    }
    for middle in 0..junctions {
        let onward = found[middle].clone();
        for row in &mut found {
            let to_middle = row[middle];
            for (distance, onward) in row.iter_mut().zip(&onward) {
                *distance = distance.min(to_middle + onward);
            }
        }
    }
    found.iter_mut().flatten().filter(|far| far.is_infinite()).for_each(|far| *far = 0.0);
    found
}

/// All junctions in the order of a walk that goes deep first, so that neighbours are near.
fn around(lines: &[Line], junctions: usize) -> Vec<usize> {
    let mut near = vec![Vec::new(); junctions];
    for &(begin, end, _) in lines {
        near[begin].push(end);
        near[end].push(begin);
    }
    let mut roots: Vec<usize> = (0..junctions).collect();
    roots.sort_by_key(|&one| near[one].len());
    let (mut order, mut met) = (Vec::with_capacity(junctions), vec![false; junctions]);
    for root in roots {
        let mut ahead = vec![root];
        while let Some(one) = ahead.pop() {
            if !std::mem::replace(&mut met[one], true) {
                order.push(one);
                ahead.extend(near[one].iter().rev().filter(|&&other| !met[other]));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(points: &[Point], one: usize, other: usize) -> f64 {
        (points[one][0] - points[other][0]).hypot(points[one][1] - points[other][1])
    }

    #[test]
    fn a_chain_is_as_long_as_its_lines() {
        let points = layout(&[(0, 1, 4.0), (1, 2, 2.0), (2, 3, 3.0)], 4);
        for (one, other, distance) in [(0, 1, 4.0), (1, 2, 2.0), (2, 3, 3.0), (0, 3, 9.0)] {
            let found = apart(&points, one, other);
            assert!((found / distance - 1.0).abs() < 0.03, "{points:?}");
        }
    }

    #[test]
    fn of_lines_between_the_same_junctions_the_shortest_counts() {
        let points = layout(&[(0, 1, 5.0), (1, 0, 2.0), (1, 1, 7.0)], 2);
        assert!((apart(&points, 0, 1) - 2.0).abs() < 1e-3, "{points:?}");
    }

    #[test]
    fn a_loop_alone_and_nothing_have_places() {
        assert_eq!(layout(&[(0, 0, 3.0)], 1), [[1.0, 0.0]]);
        assert!(layout(&[], 0).is_empty());
    }

    #[test]
    fn shortest_ways_go_through_others_and_none_lead_to_another_component() {
        let found = distances(&[(0, 1, 1.0), (1, 2, 1.5), (0, 2, 9.0), (3, 3, 1.0)], 4);
        assert_eq!(found[0], [0.0, 1.0, 2.5, 0.0]);
        assert_eq!(found[3], [0.0; 4]);
    }
}
