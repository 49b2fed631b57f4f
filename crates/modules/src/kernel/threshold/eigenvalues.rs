//! Eigenvalues of symmetric matrices: Householder's reflections, then implicit QL steps.
//!
//! Source: Martin, Reinsch and Wilkinson 1968 (tred1); Dubrulle, Martin and Wilkinson 1968
//! (imtql1).

/// Computes the eigenvalues of a symmetric matrix of `size` rows, ascending; only the entries on
/// and /// below the diagonal are read. Cost: 4/3 `size`^3 operations.
pub fn eigenvalues(mut matrix: Vec<f64>, size: usize) -> Vec<f64> {
    let (mut diagonal, off_diagonal) = tridiagonal(&mut matrix, size);
    implicit_ql(&mut diagonal, off_diagonal);
    diagonal.sort_unstable_by(f64::total_cmp);
    diagonal
}

/// Returns the diagonal, and the entry beside each of its entries but the last.
fn tridiagonal(matrix: &mut [f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let mut off_diagonal = vec![0.0; size];
    for last in (1..size).rev() {
        let (above, rest) = matrix.split_at_mut(last * size);
        let vector = &mut rest[..last];
        let scale = vector[..last - 1].iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        if scale == 0.0 {
            off_diagonal[last - 1] = vector[last - 1];
            continue;
        }
        let norm = lane_dot(vector, vector).sqrt();
        let side = vector[last - 1];
        let reflected = if side > 0.0 { -norm } else { norm };
        off_diagonal[last - 1] = reflected;
        vector[last - 1] = side - reflected;
        let half = norm * norm - side * reflected;
        reflect(above, size, vector, half);
    }
    ((0..size).map(|i| matrix[i * size + i]).collect(), off_diagonal)
}

/// Applies a reflection from both sides to the rows before the last.
fn reflect(above: &mut [f64], size: usize, vector: &[f64], half: f64) {
    let count = vector.len();
    let mut image = vec![0.0; count];
    for (i, row) in above.chunks(size).enumerate() {
        let part = vector[i];
        image[i] += lane_dot(&row[..=i], &vector[..=i]);
        for (sum, value) in image.iter_mut().zip(&row[..i]) {
            *sum += part * value;
        }
    }
    image.iter_mut().for_each(|value| *value /= half);
    let along = lane_dot(&image, vector) / (2.0 * half);
    for (value, part) in image.iter_mut().zip(vector) {
        *value -= along * part;
    }
    for (i, row) in above.chunks_mut(size).enumerate() {
        let (part, of_image) = (vector[i], image[i]);
        for ((value, image), vector) in row[..=i].iter_mut().zip(&image).zip(vector) {
            *value -= part * image + of_image * vector;
        }
    }
}

/// Returns the product of two vectors in eight lanes.
fn lane_dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

fn implicit_ql(diagonal: &mut [f64], mut off_diagonal: Vec<f64>) {
    const STEPS_MAX: usize = 100;
    for first in 0..diagonal.len() {
        for _ in 0..STEPS_MAX {
            let is_small = |i: usize| {
                let size = diagonal[i].abs() + diagonal[i + 1].abs();
                off_diagonal[i].abs() <= f64::EPSILON * size
            };
            let end = (first..diagonal.len() - 1).find(|&i| is_small(i));
            let end = end.unwrap_or(diagonal.len() - 1);
            if end == first {
                break;
            }
            ql_step(diagonal, &mut off_diagonal, first, end);
        }
    }
}

fn ql_step(d: &mut [f64], e: &mut [f64], first: usize, end: usize) {
    let mut g = (d[first + 1] - d[first]) / (2.0 * e[first]);
    let mut r = (g * g + 1.0).sqrt();
    g = d[end] - d[first] + e[first] / (g + if g < 0.0 { -r } else { r });
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for i in (first..end).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        r = (f * f + g * g).sqrt();
        e[i + 1] = r;
        if r == 0.0 {
            d[i + 1] -= p;
            e[end] = 0.0;
            return;
        }
        (s, c) = (f / r, g / r);
        g = d[i + 1] - p;
        r = (d[i] - g) * s + 2.0 * c * b;
        p = s * r;
        d[i + 1] = g + p;
        g = c * r - b;
    }
    d[first] -= p;
    e[first] = g;
    e[end] = 0.0;
}
