//! Layout of the junctions of a component of the graph in its picture.

/// A segment in the picture: the numbers of its two junctions, and the length at which it is drawn.
pub type Line = (usize, usize, f64);

/// A point of the plane.
pub type Point = [f64; 2];

const SWEEPS: usize = 80;
/// Movement, as a part of the radius, below which the layout is final: the picture hardly changes.
const STILL: f64 = 2e-4;
/// Distance below which the direction between two junctions is undefined, so that they do not
/// repel.
const APART: f64 = 1e-9;

/// Lays out junctions so that their distances are as near as possible to those along the lines, by
/// stress majorization (Gansner, Koren, North 2004), one junction at a time. The initial points
/// follow from the lines, so the same graph gives the same picture.
///
/// Cost: cubic in the number of junctions, of which pictures have a hundred, plus 80 times their
/// square.
///
/// # Panics
/// If a line ends at a junction that is not one of `junctions`.
pub fn layout(lines: &[Line], junctions: usize) -> Vec<Point> {
    let distances = distances(lines, junctions);
    let widest = distances.iter().flatten().copied().fold(0.0, f64::max);
    let radius = if widest > 0.0 { widest / 2.0 } else { 1.0 };
    let mut points = vec![[0.0; 2]; junctions];
    for (position, junction) in depth_first(lines, junctions).into_iter().enumerate() {
        let angle = std::f64::consts::TAU * position as f64 / junctions as f64;
        points[junction] = [radius * angle.cos(), radius * angle.sin()];
    }
    for _ in 0..SWEEPS {
        let mut moved: f64 = 0.0;
        for junction in 0..junctions {
            // Each uses the new points of the junctions before it.
            let before = points[junction];
            points[junction] = majorized(before, &points, &distances[junction]);
            let [x, y] = points[junction];
            moved = moved.max((x - before[0]).hypot(y - before[1]));
        }
        if moved < STILL * radius {
            break;
        }
    }
    points
}

/// Returns the point for a junction that is `here`: the average of the points that each other
/// junction implies by its target distance, weighted by the inverse squares of these distances.
fn majorized(here: Point, points: &[Point], distances: &[f64]) -> Point {
    let (mut total, mut sum) = (0.0, [0.0; 2]);
    for (other, &distance) in points.iter().zip(distances) {
        if distance == 0.0 {
            continue;
        }
        let weight = 1.0 / (distance * distance);
        let away = [here[0] - other[0], here[1] - other[1]];
        let apart = away[0].hypot(away[1]);
        let stretched = if apart > APART { distance / apart } else { 0.0 };
        for axis in 0..2 {
            sum[axis] += weight * (other[axis] + away[axis] * stretched);
        }
        total += weight;
    }
    if total > 0.0 { sum.map(|sum| sum / total) } else { here }
}

/// Returns the lengths of shortest paths between all junctions, 0 where there is none (Floyd,
/// Warshall 1962).
fn distances(lines: &[Line], junctions: usize) -> Vec<Vec<f64>> {
    let mut distances = vec![vec![f64::INFINITY; junctions]; junctions];
    for &(begin, end, length) in lines {
        let shorter = distances[begin][end].min(length);
        (distances[begin][end], distances[end][begin]) = (shorter, shorter);
    }
    for (junction, row) in distances.iter_mut().enumerate() {
        row[junction] = 0.0;
    }
    for middle in 0..junctions {
        let onward = distances[middle].clone();
        for row in &mut distances {
            let to_middle = row[middle];
            for (distance, onward) in row.iter_mut().zip(&onward) {
                *distance = distance.min(to_middle + onward);
            }
        }
    }
    distances.iter_mut().flatten().filter(|far| far.is_infinite()).for_each(|far| *far = 0.0);
    distances
}

/// Returns all junctions in depth-first order, so that neighbours are close.
fn depth_first(lines: &[Line], junctions: usize) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); junctions];
    for &(begin, end, _) in lines {
        neighbours[begin].push(end);
        neighbours[end].push(begin);
    }
    let mut roots: Vec<usize> = (0..junctions).collect();
    roots.sort_by_key(|&junction| neighbours[junction].len());
    let (mut order, mut visited) = (Vec::with_capacity(junctions), vec![false; junctions]);
    for root in roots {
        let mut ahead = vec![root];
        while let Some(junction) = ahead.pop() {
            if !std::mem::replace(&mut visited[junction], true) {
                order.push(junction);
                ahead.extend(neighbours[junction].iter().rev().filter(|&&next| !visited[next]));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(points: &[Point], first: usize, second: usize) -> f64 {
        (points[first][0] - points[second][0]).hypot(points[first][1] - points[second][1])
    }

    #[test]
    fn a_chain_is_as_long_as_its_lines() {
        let points = layout(&[(0, 1, 4.0), (1, 2, 2.0), (2, 3, 3.0)], 4);
        for (first, second, distance) in [(0, 1, 4.0), (1, 2, 2.0), (2, 3, 3.0), (0, 3, 9.0)] {
            let length = apart(&points, first, second);
            assert!((length / distance - 1.0).abs() < 0.03, "{points:?}");
        }
    }

    #[test]
    fn of_lines_between_the_same_junctions_the_shortest_counts() {
        let points = layout(&[(0, 1, 5.0), (1, 0, 2.0), (1, 1, 7.0)], 2);
        assert!((apart(&points, 0, 1) - 2.0).abs() < 1e-3, "{points:?}");
    }

    #[test]
    fn a_single_loop_and_an_empty_graph_have_layouts() {
        assert_eq!(layout(&[(0, 0, 3.0)], 1), [[1.0, 0.0]]);
        assert!(layout(&[], 0).is_empty());
    }

    #[test]
    fn shortest_paths_lead_over_junctions_and_none_to_another_component() {
        let distances = super::distances(&[(0, 1, 1.0), (1, 2, 1.5), (0, 2, 9.0), (3, 3, 1.0)], 4);
        assert_eq!(distances[0], [0.0, 1.0, 2.5, 0.0]);
        assert_eq!(distances[3], [0.0; 4]);
    }
}
