//! Verification of counts of numbers without a table of counts.
//!
//! A table of counts c(g) is a polynomial: the sum of c(g) z^g. If two tables differ, so do their
//! polynomials, and these agree at no more than max(g) points z (Schwartz 1980). With two secret
//! points modulo p = 2^61 - 1, two different tables of numbers up to m have equal values with a
//! probability of at most (m / p)^2: 2^-74 for genes, 2^-50 for degrees of up to 2^36. Counts must
//! be below p.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Modulus, a prime.
const P: u64 = (1 << 61) - 1;
/// Bits of a number that a look-up takes.
const BITS: u32 = 12;
/// Look-ups for a number; larger numbers take longer.
const TABLES: usize = 3;
/// Number of points.
const LANES: usize = 2;

/// Powers of two secret points.
pub struct Powers {
    /// For each point z, z^(i 2^(12 t)) at `tables[t][i]`.
    lanes: [Vec<[u64; 1 << BITS]>; LANES],
}

/// Sum of the powers of the counted numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PowerSum {
    sums: [u128; LANES],
}

impl Powers {
    /// Draws the points from the random numbers of the operating system.
    pub fn random() -> Self {
        let source = RandomState::new();
        Self { lanes: [1, 2].map(|lane: u64| tables(source.hash_one(lane) % P)) }
    }

    /// Counts a number `times` times, fewer than 2^61.
    #[inline(always)]
    pub fn count(&self, counted: &mut PowerSum, number: u64, times: u64) {
        for (sum, tables) in counted.sums.iter_mut().zip(&self.lanes) {
            *sum = add(*sum, multiply(power(tables, number), times));
        }
    }

    /// Counts a number once.
    #[inline(always)]
    pub fn count_once(&self, counted: &mut PowerSum, number: u64) {
        for (sum, tables) in counted.sums.iter_mut().zip(&self.lanes) {
            *sum = add(*sum, power(tables, number));
        }
    }
}

impl PowerSum {
    /// Adds the counts of another sum.
    pub fn merge(&mut self, other: &Self) {
        for (sum, more) in self.sums.iter_mut().zip(other.sums) {
            *sum = add(*sum, reduce(more));
        }
    }
}

impl PartialEq for PowerSum {
    fn eq(&self, other: &Self) -> bool {
        self.sums.map(reduce) == other.sums.map(reduce)
    }
}

/// Adds without reduction until sums are compared: 2^64 terms fit.
#[inline(always)]
fn add(sum: u128, term: u64) -> u128 {
    sum.wrapping_add(u128::from(term))
}

fn tables(point: u64) -> Vec<[u64; 1 << BITS]> {
    let mut step = point;
    let table = |_| {
        let mut table = [1; 1 << BITS];
        for index in 1..table.len() {
            table[index] = multiply(table[index - 1], step);
        }
        step = multiply(table[table.len() - 1], step);
        table
    };
    (0..TABLES).map(table).collect()
}

#[inline(always)]
fn power(tables: &[[u64; 1 << BITS]], number: u64) -> u64 {
    let digit = |index: u32| (number >> (BITS * index)) as usize & ((1 << BITS) - 1);
    let low = multiply(tables[0][digit(0)], tables[1][digit(1)]);
    match number >> (2 * BITS) {
        0 => low,
        high if high < 1 << BITS => multiply(low, tables[2][digit(2)]),
        high => multiply(low, of_large(tables, high)),
    }
}

/// Returns the power of 2^24 times a number.
#[cold]
fn of_large(tables: &[[u64; 1 << BITS]], mut number: u64) -> u64 {
    let (mut square, mut product) = (tables[2][1], 1);
    while number > 0 {
        if number & 1 == 1 {
            product = multiply(product, square);
        }
        square = multiply(square, square);
        number >>= 1;
    }
    product
}

#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

#[inline(always)]
fn reduce(value: u128) -> u64 {
    let once = (value & u128::from(P)) + (value >> 61);
    let twice = (once as u64 & P) + (once >> 61) as u64;
    if twice >= P { twice - P } else { twice }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_right_for_small_and_large_numbers() {
        let powers = Powers::random();
        let [tables, _] = &powers.lanes;
        for number in [0, 1, 2, 4095, 4096, 4097, 1 << 23, (1 << 24) + 5, 1 << 36, (1 << 50) + 77] {
            let (mut square, mut product, mut rest) = (tables[0][1], 1, number);
            while rest > 0 {
                if rest & 1 == 1 {
                    product = multiply(product, square);
                }
                square = multiply(square, square);
                rest >>= 1;
            }
            assert_eq!(power(tables, number), product, "{number}");
        }
    }

    #[test]
    fn tables_are_equal_in_any_order_and_other_tables_differ() {
        let powers = Powers::random();
        let of = |counts: &[(u64, u64)]| {
            let mut counted = PowerSum::default();
            for &(number, times) in counts {
                powers.count(&mut counted, number, times);
            }
            counted
        };
        let table = of(&[(7, 2), (3, 1), (1 << 40, 5)]);
        let mut parts = of(&[(3, 1), (1 << 40, 4), (7, 1)]);
        let mut rest = PowerSum::default();
        powers.count_once(&mut rest, 7);
        powers.count_once(&mut rest, 1 << 40);
        parts.merge(&rest);
        assert!(table == parts);
        for other in [
            &[(7, 1), (3, 2), (1 << 40, 5)][..],
            &[(7, 2), (3, 1)],
            &[(8, 2), (3, 1), (1 << 40, 5)],
            &[(7, 2), (3, 1), (1 << 40, 5), (0, 1)],
        ] {
            assert!(of(other) != table, "{other:?}");
        }
    }

    #[test]
    fn numbers_are_reduced_modulo_p() {
        assert_eq!(reduce(u128::from(P)), 0);
        assert_eq!(reduce(u128::MAX), reduce(u128::from(reduce(u128::MAX))));
        assert_eq!(u128::from(reduce(u128::MAX)), u128::MAX % u128::from(P));
    }
}
