//! Tile of the product, and its kernel, written once and expanded in `simd.rs` for each level of
//! vector instructions.

/// Rows of a tile.
pub(super) const TILE_ROWS: usize = 12;

/// Columns of a tile.
pub(super) const TILE_COLUMNS: usize = 16;

/// Term of `TILE_ROWS` rows.
pub(super) type Row = [f64; TILE_ROWS];

/// Term of `TILE_COLUMNS` columns.
pub(super) type Column = [f64; TILE_COLUMNS];

/// Sums of `TILE_ROWS` rows with `TILE_COLUMNS` columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct ProductTile(pub [[f64; TILE_COLUMNS]; TILE_ROWS]);

/// Expands the kernel over the vector operations in scope; `rows` x `vectors` sums are held in
/// registers.
macro_rules! kernel {
    ($(#[$level:meta],)? rows $rows:literal, vectors $vectors:literal) => {
        $(#[$level])?
        pub fn add(a: &[Row], b: &[Column], tile: &mut ProductTile) {
            for row in (0..TILE_ROWS).step_by($rows) {
                for column in (0..TILE_COLUMNS).step_by($vectors * WIDTH) {
                    let mut sums = [[splat(0.0); $vectors]; $rows];
                    for i in 0..$rows {
                        for j in 0..$vectors {
                            sums[i][j] = load(&tile.0[row + i][column + j * WIDTH..]);
                        }
                    }
                    for (a, b) in a.iter().zip(b) {
                        let a = &a[row..row + $rows];
                        let b = &b[column..column + $vectors * WIDTH];
                        let mut columns = [splat(0.0); $vectors];
                        for j in 0..$vectors {
                            columns[j] = load(&b[j * WIDTH..]);
                        }
                        for i in 0..$rows {
                            let value = splat(a[i]);
                            for j in 0..$vectors {
                                sums[i][j] = fma(value, columns[j], sums[i][j]);
                            }
                        }
                    }
                    for i in 0..$rows {
                        for j in 0..$vectors {
                            store(sums[i][j], &mut tile.0[row + i][column + j * WIDTH..]);
                        }
                    }
                }
            }
        }
    };
}
pub(super) use kernel;
