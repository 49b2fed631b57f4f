//! Kernels of `correlate` on vectors, written once and expanded in `simd.rs` for each level of
//! vector instructions.

/// Rows of a tile of the single-precision product.
pub const TILE_ROWS: usize = 12;

/// Columns of a tile of the single-precision product.
pub const TILE_COLUMNS: usize = 32;

/// Values of a lane.
pub const LANE: usize = 8;

/// Eight consecutive samples of a gene.
pub type Lane = [f64; LANE];

/// Eight consecutive samples of a gene as integers.
pub type CodeLane = [i32; LANE];

/// A sample of `TILE_ROWS` genes.
pub type Slice = [f32; TILE_ROWS];

/// A sample of `TILE_COLUMNS` genes.
pub type Strip = [f32; TILE_COLUMNS];

/// Products of `TILE_ROWS` genes with `TILE_COLUMNS` genes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct Tile(pub [[f32; TILE_COLUMNS]; TILE_ROWS]);

/// Gene with missing values: its samples and a bit for each present sample.
#[derive(Clone, Copy, Debug)]
pub struct Masked<'a> {
    /// Values; any finite number for a missing value.
    pub lanes: &'a [Lane],
    /// Presence bits, a byte for each lane, lowest bit first.
    pub bits: &'a [u8],
}

/// Sums of a pair of genes over their common samples, relative to the means over these samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    /// Mean of the first gene.
    pub mean_x: f64,
    /// Mean of the second gene.
    pub mean_y: f64,
    /// Sum of squares of the first gene.
    pub xx: f64,
    /// Sum of products.
    pub xy: f64,
    /// Sum of squares of the second gene.
    pub yy: f64,
}

/// Expands the kernels over the vector operations in scope. `rows` x `vectors` is the block of the
/// product held in registers, `y_rows` the number of rows of a grid computed together.
macro_rules! kernels {
    ($(#[$level:meta],)? rows $rows:literal, vectors $vectors:literal, y_rows $y_rows:literal) => {
        const COLUMNS: usize = $vectors * WIDTH;

        type Sums = [[Single; $vectors]; $rows];

        $(#[$level])?
        pub fn candidates(a: &[Slice], b: &[Strip], limit: f32) -> [u32; TILE_ROWS] {
            let mut bits = [0; TILE_ROWS];
            for row in (0..TILE_ROWS).step_by($rows) {
                for column in (0..TILE_COLUMNS).step_by(COLUMNS) {
                    let sums = [[single_splat(0.0); $vectors]; $rows];
                    let sums = accumulate(sums, (a, row), (b, column));
                    for i in 0..$rows {
                        for j in 0..$vectors {
                            let exceeding = single_exceeding(sums[i][j], limit);
                            bits[row + i] |= exceeding << (column + j * WIDTH);
                        }
                    }
                }
            }
            bits
        }

        $(#[$level])?
        pub fn product(a: &[Slice], b: &[Strip], tile: &mut Tile) {
            for row in (0..TILE_ROWS).step_by($rows) {
                for column in (0..TILE_COLUMNS).step_by(COLUMNS) {
                    let mut sums = [[single_splat(0.0); $vectors]; $rows];
                    for i in 0..$rows {
                        for j in 0..$vectors {
                            sums[i][j] = single_load(&tile.0[row + i][column + j * WIDTH..]);
                        }
                    }
                    let sums = accumulate(sums, (a, row), (b, column));
                    for i in 0..$rows {
                        for j in 0..$vectors {
                            single_store(sums[i][j], &mut tile.0[row + i][column + j * WIDTH..]);
                        }
                    }
                }
            }
        }

        #[inline]
        $(#[$level])?
        fn accumulate(
            mut sums: Sums,
            (a, row): (&[Slice], usize),
            (b, column): (&[Strip], usize),
        ) -> Sums {
            for (a, b) in a.iter().zip(b) {
                let a = &a[row..row + $rows];
                let b = &b[column..column + COLUMNS];
                let mut columns = [single_splat(0.0); $vectors];
                for j in 0..$vectors {
                    columns[j] = single_load(&b[j * WIDTH..]);
                }
                for i in 0..$rows {
                    let value = single_splat(a[i]);
                    for j in 0..$vectors {
                        sums[i][j] = single_fma(value, columns[j], sums[i][j]);
                    }
                }
            }
            sums
        }

        $(#[$level])?
        pub fn exceeding(tile: &Tile, limit: f32) -> [u32; TILE_ROWS] {
            let mut bits = [0; TILE_ROWS];
            for (bits, row) in bits.iter_mut().zip(&tile.0) {
                for column in (0..row.len()).step_by(WIDTH) {
                    *bits |= single_exceeding(single_load(&row[column..]), limit) << column;
                }
            }
            bits
        }

        $(#[$level])?
        pub fn code_dots(x: &[CodeLane], ys: [&[CodeLane]; 4]) -> [f64; 4] {
            let length = x.len();
            // Not from a closure: a closure of this level would not be inlined.
            let ys = [&ys[0][..length], &ys[1][..length], &ys[2][..length], &ys[3][..length]];
            let mut sums = [zero(); 4];
            for k in 0..length {
                let value = load_codes(&x[k]);
                for j in 0..4 {
                    sums[j] = fma(value, load_codes(&ys[j][k]), sums[j]);
                }
            }
            let mut out = [0.0; 4];
            for j in 0..4 {
                out[j] = sum(sums[j]);
            }
            out
        }

        $(#[$level])?
        pub fn dot(x: &[Lane], y: &[Lane]) -> f64 {
            rows_by_four([x], [y; 4])[0][0]
        }

        $(#[$level])?
        pub fn grid(xs: [&[Lane]; 4], ys: [&[Lane]; 4]) -> [[f64; 4]; 4] {
            let mut out = [[0.0; 4]; 4];
            for start in (0..4).step_by($y_rows) {
                let mut part = [xs[0]; $y_rows];
                part.copy_from_slice(&xs[start..start + $y_rows]);
                out[start..start + $y_rows].copy_from_slice(&rows_by_four(part, ys));
            }
            out
        }

        #[inline]
        $(#[$level])?
        fn rows_by_four<const ROWS: usize>(
            xs: [&[Lane]; ROWS],
            ys: [&[Lane]; 4],
        ) -> [[f64; 4]; ROWS] {
            let length = ys[0].len();
            let ys = [ys[0], &ys[1][..length], &ys[2][..length], &ys[3][..length]];
            let mut rows = xs;
            for i in 0..ROWS {
                rows[i] = &xs[i][..length];
            }
            let mut sums = [[zero(); 4]; ROWS];
            for k in 0..length {
                let mut columns = [zero(); 4];
                for j in 0..4 {
                    columns[j] = load(&ys[j][k]);
                }
                for i in 0..ROWS {
                    let value = load(&rows[i][k]);
                    for j in 0..4 {
                        sums[i][j] = fma(value, columns[j], sums[i][j]);
                    }
                }
            }
            let mut out = [[0.0; 4]; ROWS];
            for i in 0..ROWS {
                for j in 0..4 {
                    out[i][j] = sum(sums[i][j]);
                }
            }
            out
        }

        $(#[$level])?
        pub fn moments(x: Masked, ys: [Masked; 4], counts: [f64; 4]) -> [Moments; 4] {
            let length = x.lanes.len();
            let (x, x_bits) = (x.lanes, &x.bits[..length]);
            let (mut y_lanes, mut y_bits) = ([x; 4], [x_bits; 4]);
            for j in 0..4 {
                (y_lanes[j], y_bits[j]) = (&ys[j].lanes[..length], &ys[j].bits[..length]);
            }
            let (mut x_sums, mut y_sums) = ([zero(); 4], [zero(); 4]);
            for k in 0..length {
                let value = load(&x[k]);
                for j in 0..4 {
                    let common = x_bits[k] & y_bits[j][k];
                    x_sums[j] = add(x_sums[j], keep(value, common));
                    y_sums[j] = add(y_sums[j], keep(load(&y_lanes[j][k]), common));
                }
            }
            let mut out = [Moments::default(); 4];
            let (mut x_means, mut y_means) = ([zero(); 4], [zero(); 4]);
            for j in 0..4 {
                out[j].mean_x = sum(x_sums[j]) / counts[j];
                out[j].mean_y = sum(y_sums[j]) / counts[j];
                (x_means[j], y_means[j]) = (splat(out[j].mean_x), splat(out[j].mean_y));
            }
            let (mut xx, mut xy, mut yy) = ([zero(); 4], [zero(); 4], [zero(); 4]);
            for k in 0..length {
                let value = load(&x[k]);
                for j in 0..4 {
                    let common = x_bits[k] & y_bits[j][k];
                    let dx = keep(sub(value, x_means[j]), common);
                    let dy = keep(sub(load(&y_lanes[j][k]), y_means[j]), common);
                    xx[j] = fma(dx, dx, xx[j]);
                    xy[j] = fma(dx, dy, xy[j]);
                    yy[j] = fma(dy, dy, yy[j]);
                }
            }
            for j in 0..4 {
                (out[j].xx, out[j].xy, out[j].yy) = (sum(xx[j]), sum(xy[j]), sum(yy[j]));
            }
            out
        }
    };
}
pub(super) use kernels;
