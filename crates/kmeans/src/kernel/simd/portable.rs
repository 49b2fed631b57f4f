//! Arrays as vectors, for any processor.

use super::{STRIP, Vector};

macro_rules! portable {
    ($scalar:ty, $lanes:literal) => {
        impl Vector for [$scalar; $lanes] {
            type Scalar = $scalar;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: the caller guarantees this many lanes there; the cast needs no alignment.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn splat(value: $scalar) -> Self {
                [value; $lanes]
            }
            #[inline(always)]
            unsafe fn number(index: usize) -> Self {
                [index as $scalar; $lanes]
            }
            #[inline(always)]
            unsafe fn lowest() -> Self {
                [<$scalar>::NEG_INFINITY; $lanes]
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] - other[i])
            }
            #[inline(always)]
            unsafe fn fma(self, factor: Self, term: Self) -> Self {
                std::array::from_fn(|i| self[i] * factor[i] + term[i])
            }
            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                std::array::from_fn(|i| if self[i] > other[i] { self[i] } else { other[i] })
            }
            #[inline(always)]
            unsafe fn min(self, other: Self) -> Self {
                std::array::from_fn(|i| if self[i] < other[i] { self[i] } else { other[i] })
            }
            #[inline(always)]
            unsafe fn choose(self, other: Self, yes: Self, no: Self) -> Self {
                std::array::from_fn(|i| if self[i] > other[i] { yes[i] } else { no[i] })
            }
            #[inline(always)]
            unsafe fn above(self, other: Self) -> u32 {
                (0..$lanes).fold(0, |bits, i| bits | u32::from(self[i] > other[i]) << i)
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut u32) {
                // SAFETY: the caller guarantees this many lanes there.
                unsafe { to.cast::<[u32; $lanes]>().write(self.map(|value| value as u32)) }
            }
            const TILE: usize = $lanes;
            #[inline(always)]
            unsafe fn transpose(points: *const $scalar, stride: usize, to: *mut $scalar) {
                // SAFETY: the caller guarantees a tile there, and space for a tile.
                unsafe {
                    let tile: [Self; $lanes] =
                        std::array::from_fn(|lane| Self::load(points.add(lane * stride)));
                    for at in 0..$lanes {
                        let lanes: Self = std::array::from_fn(|lane| tile[lane][at]);
                        to.add(at * STRIP).cast::<Self>().write_unaligned(lanes);
                    }
                }
            }
        }
    };
}

portable!(f32, 4);
portable!(f64, 2);
