//! Files of sparse matrices: any bytes are refused with one line, or a matrix that is written again
//! is the same.
#![no_main]

use cuesta_fuzz::{accepted, file};
use cuesta_input::matrix::sparse::{NonzeroOrder, read, to_bytes, with_checksum};
use libfuzzer_sys::fuzz_target;

/// Values of a matrix that is written again.
const VALUES_MAX: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let path = file("m.sparse", &with_checksum(data.to_vec()));
    let Some(matrix) = accepted(read(&path, 1 << 20)) else { return };
    for gene in 0..matrix.genes.len() {
        let row = matrix.row(gene);
        assert!(row.samples.windows(2).all(|two| two[0] < two[1]));
        assert!(row.samples.iter().all(|&sample| (sample as usize) < matrix.samples.len()));
        assert!(row.values.iter().all(|value| value.is_finite() && *value != 0.0));
    }
    if matrix.left_out > 0 || matrix.genes.len() * matrix.samples.len() > VALUES_MAX {
        return;
    }
    let dense = matrix.clone().into_dense();
    for order in [NonzeroOrder::Genes, NonzeroOrder::Samples] {
        let again = file("again.sparse", &to_bytes(&dense, order));
        assert_eq!(read(&again, 1 << 30).expect("it was written here"), matrix);
    }
});
