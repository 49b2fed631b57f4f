//! Points as text: brought into the form of `.npy` they are the numbers that the words say, in
//! either precision, with any number of threads.
#![no_main]

use cuesta_core::progress::Progress;
use cuesta_fuzz::{accepted, file, folder};
use cuesta_input::points::{Coordinate, PointFiles, convert, is_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&cut, text)) = data.split_first() else { return };
    let whole = file("points.txt", text);
    if accepted(is_text(&whole)) != Some(true) {
        return;
    }
    let expected = plain(text);
    let found = accepted(numbers::<f64>(&[whole.clone()], 1));
    assert_eq!(found, expected);
    assert_eq!(accepted(numbers::<f64>(&[whole.clone()], 3)), expected);
    let single = |number: &u64| f64::from(f64::from_bits(*number) as f32).to_bits();
    let narrowed = expected.as_ref().map(|all| all.iter().map(single).collect::<Vec<u64>>());
    assert_eq!(accepted(numbers::<f32>(&[whole], 2)), narrowed);
    // The lines of two files are those of one.
    let feeds: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'\n').collect();
    if let Some(&feed) = feeds.get(usize::from(cut)) {
        let halves = [&text[..=feed], &text[feed + 1..]];
        let paths = [file("first.txt", halves[0]), file("second.txt", halves[1])];
        assert_eq!(accepted(numbers::<f64>(&paths, 2)), expected);
    }
});

/// The numbers after a conversion, one after the other.
fn numbers<T: Coordinate>(
    files: &[std::path::PathBuf],
    threads: usize,
) -> cuesta_core::Result<Vec<u64>> {
    let output = folder().join("points.npy");
    convert::<T>(files, &output, threads, &Progress::default())?;
    let points = PointFiles::open(&[output])?;
    let mut rows = vec![T::default(); points.count as usize * points.dimensions];
    points.read(0, &mut rows, &mut Vec::new())?;
    Ok(rows.into_iter().map(|number| bits(number.to_f64())).collect())
}

/// The same, line by line with the standard library.
fn plain(text: &[u8]) -> Option<Vec<u64>> {
    let mut rows: Vec<Vec<u64>> = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        if line.trim_ascii().first().is_none_or(|&first| first == b'#') {
            continue;
        }
        let words = line.split(|byte| b",; \t\r".contains(byte)).filter(|word| !word.is_empty());
        let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<f64>().ok().map(bits);
        rows.push(words.map(number).collect::<Option<_>>()?);
    }
    let width = rows.first()?.len();
    (width > 0 && rows.iter().all(|row| row.len() == width)).then(|| rows.concat())
}

/// All that are no numbers are one.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}
