//! Points as text: any bytes give numbers or an error, the same with any number of threads, and in
//! either precision the nearest ones.
#![no_main]

use cuesta_core::progress::Progress;
use cuesta_fuzz::{accepted, file, folder};
use cuesta_input::points::{Coordinate, PointFiles, convert, is_text};
use cuesta_input::table::TableParams;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let path = file("points.txt", data);
    if accepted(is_text(&path)) != Some(true) {
        return;
    }
    let expected = accepted(numbers::<f64>(&path, 1));
    assert_eq!(accepted(numbers::<f64>(&path, 3)), expected);
});

/// Bits of the numbers after a conversion.
fn numbers<T: Coordinate>(path: &std::path::Path, threads: usize) -> cuesta_core::Result<Vec<u64>> {
    let output = folder().join("points.npy");
    convert::<T>(path, &TableParams::default(), &output, threads, &Progress::default())?;
    let points = PointFiles::open(&[output])?;
    let mut rows = vec![T::default(); points.count as usize * points.dimensions];
    points.read(0, &mut rows, &mut Vec::new())?;
    Ok(rows.into_iter().map(|number| number.to_f64().to_bits()).collect())
}
