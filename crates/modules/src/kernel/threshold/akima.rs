//! Akima's interpolation, with the rules of the GNU Scientific Library at the ends.
//!
//! Source: Akima, "A new method of interpolation and smooth curve fitting", 1970.

/// Curve through points.
#[derive(Clone, Debug)]
pub struct Akima {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Coefficients of degrees 1 to 3 by interval.
    coefficients: Vec<[f64; 3]>,
}

impl Akima {
    /// Computes the curve through at least three points whose `x` ascend.
    pub fn new(x: Vec<f64>, y: Vec<f64>) -> Self {
        let count = x.len();
        // Two more secants on each side.
        let mut secants = vec![0.0; count + 3];
        for i in 0..count - 1 {
            secants[i + 2] = (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
        }
        secants[1] = 2.0 * secants[2] - secants[3];
        secants[0] = 3.0 * secants[2] - 2.0 * secants[3];
        secants[count + 1] = 2.0 * secants[count] - secants[count - 1];
        secants[count + 2] = 3.0 * secants[count] - 2.0 * secants[count - 1];
        let coefficients =
            (0..count - 1).map(|i| interval(&secants[i..i + 5], x[i + 1] - x[i])).collect();
        Self { x, y, coefficients }
    }

    /// Returns the value at `x`, which is between the first and the last point.
    pub fn at(&self, x: f64) -> f64 {
        let after = self.x.partition_point(|knot| *knot <= x);
        let i = after.clamp(1, self.coefficients.len()) - 1;
        let delta = x - self.x[i];
        let [b, c, d] = self.coefficients[i];
        self.y[i] + delta * (b + delta * (c + d * delta))
    }
}

/// Returns the coefficients of an interval from its secant, the middle one, and two on either side.
fn interval(m: &[f64], width: f64) -> [f64; 3] {
    let (before, after) = ((m[1] - m[0]).abs(), (m[3] - m[2]).abs());
    if before + after == 0.0 {
        return [m[2], 0.0, 0.0];
    }
    let weight = before / (before + after);
    let slope = (1.0 - weight) * m[1] + weight * m[2];
    let (before, after) = ((m[2] - m[1]).abs(), (m[4] - m[3]).abs());
    let end = if before + after == 0.0 {
        m[2]
    } else {
        let weight = before / (before + after);
        (1.0 - weight) * m[2] + weight * m[3]
    };
    let square = (3.0 * m[2] - 2.0 * slope - end) / width;
    let cube = (slope + end - 2.0 * m[2]) / (width * width);
    [slope, square, cube]
}
