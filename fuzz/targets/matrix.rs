//! Expression matrices: any text is refused with one line or read the same with any threads.
#![no_main]

use cuesta_input::matrix::{Options, parse};
use cuesta_input::table::{HeaderPresence, TableParams};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let header = [HeaderPresence::Auto, HeaderPresence::Present, HeaderPresence::Absent]
        [usize::from(choice % 3)];
    let missing = if choice & 64 != 0 { vec!["-9".to_owned()] } else { Vec::new() };
    let table = TableParams { header, ..TableParams::default() };
    let transpose = choice & 32 != 0;
    let options = Options { table, missing, transpose, ..Options::default() };
    let alone = parse("the file", text, &options);
    let together = parse("the file", text, &Options { threads: 3, ..options.clone() });
    match (alone, together) {
        (Ok(alone), Ok(together)) => {
            assert_eq!(alone.values.len(), alone.genes.len() * alone.samples.len());
            assert!(alone.values.iter().all(|value| value.is_nan() || value.is_finite()));
            let bits =
                |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&alone.values), bits(&together.values));
            assert_eq!(alone.genes, together.genes);
            assert_eq!(alone.samples, together.samples);
        }
        (Err(alone), Err(together)) => {
            assert_eq!(alone, together);
            assert!(!alone.message().contains('\n'));
        }
        (alone, together) => panic!("1 thread: {alone:?}, 3 threads: {together:?}"),
    }
});
