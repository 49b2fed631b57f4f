//! Tests of sparse matrices and their files.

use cuesta_core::random::Stream;

use super::*;

fn matrix(genes: usize, samples: usize) -> ExpressionMatrix {
    let stream = Stream::new(4, 0);
    let value = |index: usize| match stream.below(2 * index as u64, 4) {
        0 => stream.normal(index as u64 + 9),
        _ => 0.0,
    };
    ExpressionMatrix {
        genes: (0..genes).map(|gene| format!("g {gene}")).collect(),
        samples: (0..samples).map(|sample| format!("s{sample}")).collect(),
        values: (0..genes * samples).map(value).collect(),
        left_out: 0,
    }
}

fn read_bytes(bytes: &[u8]) -> cuesta_core::Result<SparseMatrix> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sparse");
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(is_sparse(&path), bytes.starts_with(b"CUESTASP"));
    read(&path, 1 << 20)
}

#[test]
fn both_orders_have_the_values_of_the_dense_matrix() {
    let dense = matrix(30, 17);
    let of = |order| read_bytes(&to_bytes(&dense, order)).unwrap();
    let sparse = of(NonzeroOrder::Genes);
    assert_eq!(sparse, SparseMatrix::of(&dense));
    assert_eq!(sparse, of(NonzeroOrder::Samples));
    assert_eq!(sparse.dense_row(3), dense.row(3));
    assert_eq!(sparse.into_dense(), dense);
}

#[test]
fn values_that_become_zero_are_left_out() {
    let dense = matrix(9, 8);
    let mut sparse = read_bytes(&to_bytes(&dense, NonzeroOrder::Genes)).unwrap();
    let negative = dense.values.iter().position(|value| *value < 0.0).unwrap();
    assert_eq!(sparse.first_negative(), Some((negative / 8, negative % 8)));
    sparse.map(|value| value.max(0.0));
    assert!(sparse.values.iter().all(|value| *value > 0.0));
    let chosen: Vec<bool> = (0..9).map(|gene| gene % 2 == 0).collect();
    let rest = sparse.restricted(&chosen).into_dense();
    let mut expected = dense.clone().restricted(&chosen);
    expected.values.iter_mut().for_each(|value| *value = value.max(0.0));
    assert_eq!(rest, expected);
}

#[test]
fn counts_of_reads_in_no_gene_are_left_out() {
    let mut dense = matrix(3, 5);
    dense.genes[1] = "__no_feature".to_owned();
    let sparse = read_bytes(&to_bytes(&dense, NonzeroOrder::Samples)).unwrap();
    assert_eq!((sparse.left_out, sparse.genes.len()), (1, 2));
    assert_eq!(sparse.dense_row(1), dense.row(2));
}

#[test]
fn no_cut_and_no_changed_byte_is_read() {
    for order in [NonzeroOrder::Genes, NonzeroOrder::Samples] {
        let right = to_bytes(&matrix(6, 5), order);
        for length in 0..right.len() {
            assert!(read_bytes(&right[..length]).is_err(), "{length}");
        }
        for place in 0..right.len() {
            for bit in [0, 7] {
                let mut wrong = right.clone();
                wrong[place] ^= 1 << bit;
                let error = read_bytes(&wrong).unwrap_err();
                assert!(error.message().contains("make it again"), "{error}");
            }
        }
        assert!(read_bytes(&[&right[..], b"x"].concat()).is_err());
    }
}

#[test]
fn a_matrix_beyond_the_memory_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.sparse");
    std::fs::write(&path, to_bytes(&matrix(60, 50), NonzeroOrder::Genes)).unwrap();
    let error = read(&path, 4000).unwrap_err();
    assert!(error.message().contains("raise --memory"), "{error}");
}
