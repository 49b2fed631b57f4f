//! Rows go in, the same rows come out.

use cuesta_core::fixed::NAN;
use proptest::prelude::*;

use super::*;
use crate::filter::{Filter, FilterParams};

fn kinds() -> impl Strategy<Value = Kind> {
    let numbers = (1u32..80, 1usize..4, 1u64..10, 1u64..5);
    (numbers, any::<(bool, bool)>()).prop_map(|(numbers, (masks, honest))| {
        let (samples, scores, sparse, clusters) = numbers;
        Kind { genes: 600, samples, scores, masks, sparse, clusters, honest }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn rows_in_any_order_make_the_same_file_and_come_back(
        seed in 0u64..1000,
        kind in kinds(),
    ) {
        let rows = rows_of(&kind, seed);
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for (number, threads, memory) in [(0, 1, 400 * MIB), (1, 3, 400 * MIB), (2, 1, 0)] {
            let path = folder.path().join(format!("{number}.zarr"));
            let memory = if memory == 0 { tiny(&kind) } else { memory };
            let options = WriterOptions { threads, ..options(&kind, folder.path()) };
            let rows = if number == 0 { rows.clone() } else { shuffled(&rows, seed) };
            let written = write(&path, options, memory, &rows).unwrap();
            prop_assert_eq!(written.rows as usize, rows.len());
            all.push(files(&path));
        }
        prop_assert!(all[0] == all[1] && all[0] == all[2]);
        let back = read(&folder.path().join("2.zarr"), &ALL).unwrap();
        prop_assert_eq!(digest(&back), digest(&rows));
        prop_assert!(back == rows);
    }
}

#[test]
fn input_larger_than_memory_is_spilled_and_nothing_is_left_over() {
    let many = Kind { sparse: 2, ..CLUSTERS };
    let rows = rows_of(&many, 5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let kind = Kind { genes: 0, ..many };
    let shuffled = shuffled(&rows, 3);
    let written = write(&path, options(&kind, folder.path()), tiny(&kind), &shuffled).unwrap();
    assert!(written.spilled_bytes > 5 * MIB, "{written:?}");
    assert_eq!(written.genes, CLUSTERS.genes);
    assert!(read(&path, &ALL).unwrap() == rows);
    assert_eq!(fs::read_dir(folder.path().join("scratch")).unwrap().count(), 0);
    fs::remove_dir_all(folder.path().join("scratch")).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn input_nearly_in_order_is_not_spilled() {
    let mut rows = rows_of(&DENSE, 5);
    rows.chunks_mut(1000).for_each(|part| part.reverse());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let written = write(&path, options(&DENSE, folder.path()), tiny(&DENSE), &rows).unwrap();
    assert_eq!(written.spilled_bytes, 0);
    rows.chunks_mut(1000).for_each(|part| part.reverse());
    assert!(read(&path, &ALL).unwrap() == rows);
}

#[test]
fn a_late_row_is_put_in_its_place() {
    let rows = rows_of(&DENSE, 5);
    let mut moved = rows.clone();
    let first = moved.remove(17);
    moved.push(first);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let written = write(&path, options(&DENSE, folder.path()), tiny(&DENSE), &moved).unwrap();
    assert!(written.spilled_bytes > 0);
    assert!(read(&path, &ALL).unwrap() == rows);
}

#[test]
fn a_filter_returns_the_rows_that_pass() {
    let folder = tempfile::tempdir().unwrap();
    for (number, kind) in
        [DENSE, CLUSTERS, Kind { honest: false, ..CLUSTERS }].into_iter().enumerate()
    {
        let rows = rows_of(&kind, 11);
        let path = folder.path().join(format!("{number}.zarr"));
        write(&path, options(&kind, folder.path()), 400 * MIB, &rows).unwrap();
        for params in [
            FilterParams { min_abs_score: 0.99, ..Default::default() },
            FilterParams { max_abs_score: Some(0.01), ..Default::default() },
            FilterParams { score_index: kind.scores - 1, ..Default::default() },
            FilterParams { min_abs_score: 0.5, min_cluster_samples: 5, ..Default::default() },
            FilterParams { max_missing: Some(3), ..Default::default() },
        ] {
            let filter = params.check().unwrap();
            let keeps = |row: &&Owned| {
                filter.keeps_score(row.scores[filter.score_index])
                    && filter.keeps_samples(row.numbers[4], row.numbers[5])
            };
            let expected: Vec<Owned> = rows.iter().filter(keeps).cloned().collect();
            let passed = read(&path, &Query { filter: Some(filter), need: Need::Row }).unwrap();
            assert!(passed == expected && !expected.is_empty(), "{kind:?} {params:?}");
            let edges = read(&path, &Query { filter: Some(filter), need: Need::Edge }).unwrap();
            let edge = |row: &Owned| {
                let [gene1, gene2, cluster, ..] = row.numbers;
                (gene1, gene2, cluster, row.scores[filter.score_index.min(row.scores.len() - 1)])
            };
            assert!(edges.iter().map(edge_of).eq(expected.iter().map(edge)), "{params:?}");
        }
    }
}

fn edge_of(row: &Owned) -> (u32, u32, u32, i32) {
    let [gene1, gene2, cluster, ..] = row.numbers;
    (gene1, gene2, cluster, row.scores[0])
}

#[test]
fn chunks_that_cannot_match_are_left_out() {
    let mut rows = rows_of(&DENSE, 3);
    let late = 140_000;
    rows.iter_mut().for_each(|row| row.scores[0] = if row.scores[0] == NAN { NAN } else { 7 });
    rows[late].scores[0] = -900_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    write(&path, options(&DENSE, folder.path()), 400 * MIB, &rows).unwrap();
    let matrix = PairMatrix::open(&path).unwrap();
    assert_eq!(matrix.chunk_count(), 2);
    let params = FilterParams { min_abs_score: 0.5, ..Default::default() };
    let chunks = matrix.chunks(Some(&params.check().unwrap()));
    assert_eq!(chunks.len(), 1);
    assert_eq!((chunks[0].index, chunks[0].first_rank), (1, CHUNK_PAIRS as u64));
    assert_eq!(chunks[0].rows as usize, chunks[0].pairs);
    let range = Range { min: -900_000, max: 7, min_abs: 7, max_abs: 900_000 };
    assert_eq!(chunks[0].ranges, [range]);
    assert_eq!(matrix.chunks(None).len(), 2);
}

#[test]
fn a_score_list_that_is_too_short_for_the_filter_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    write(&path, options(&DENSE, folder.path()), 400 * MIB, &rows_of(&DENSE, 1)[..9]).unwrap();
    let filter = Filter { score_index: 1, ..FilterParams::default().check().unwrap() };
    let error = read(&path, &Query { filter: Some(filter), need: Need::Row }).unwrap_err();
    assert!(error.message().contains("has 1 scores per row"), "{}", error.message());
}

#[test]
fn bands_equal_rows_and_take_masks_from_the_genes() {
    let folder = tempfile::tempdir().unwrap();
    let (genes, samples) = (530u32, 19u32);
    let random = Stream::new(4, 4);
    let missing: Vec<Vec<bool>> = (0..u64::from(genes))
        .map(|gene| (0..19).map(|s| gene % 3 != 0 && random.below(gene * 19 + s, 9) == 0).collect())
        .collect();
    let bits = missing.iter().flat_map(|gene| pack_flags(gene)).collect();
    let mut walker = Walker::default();
    let (mut scores, mut counts, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for rank in 0..pairs_of(genes) {
        let (gene1, gene2) = walker.genes_of(rank);
        let (a, b) = (&missing[gene1 as usize - 1], &missing[gene2 as usize - 1]);
        let mask: Vec<u8> =
            a.iter().zip(b).map(|(&a, &b)| if a || b { b'9' } else { b'1' }).collect();
        let count = mask.iter().filter(|&&s| s == b'1').count() as u32;
        let score = [ABSENT, NAN, -500_000, 999_999][random.below(rank, 4) as usize];
        scores.push(score);
        counts.push(count);
        if score != ABSENT {
            let numbers = [gene1, gene2, 1, 1, count, samples - count, 0, 0, 0];
            rows.push(Owned { numbers, scores: vec![score], mask });
        }
    }
    let path = folder.path().join("x.zarr");
    let names = |count: u32, letter: char| (0..count).map(|i| format!("{letter}{i}")).collect();
    let options = WriterOptions {
        genes,
        samples,
        scores: 1,
        masks: Masks::Genes(bits),
        score_names: vec!["pearson".into()],
        gene_names: names(genes, 'ä'),
        sample_names: names(samples, 's'),
        threads: 2,
        ..WriterOptions::default()
    };
    let budget = Budget::new(400 * MIB);
    let writer = Writer::create(&path, options, &budget).unwrap();
    for start in (0..scores.len()).step_by(50_001) {
        let end = scores.len().min(start + 50_001);
        writer.push_band(start as u64, &scores[start..end], Some(&counts[start..end])).unwrap();
    }
    assert_eq!(writer.finish(&Progress::default()).unwrap().rows as usize, rows.len());
    assert!(read(&path, &ALL).unwrap() == rows);
    let matrix = PairMatrix::open(&path).unwrap();
    assert_eq!(matrix.gene_names().unwrap()[529], "ä529");
    assert_eq!(matrix.sample_names().unwrap().len(), 19);
    let mut scratch = matrix.scratch().unwrap();
    let first = matrix.read_scores(0, 0, 0, &mut scratch).unwrap().unwrap();
    assert_eq!(first, &scores[..CHUNK_PAIRS]);
}

#[test]
fn a_file_without_rows_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for genes in [0, 1, 9] {
        let path = folder.path().join(format!("{genes}.zarr"));
        let options = options(&Kind { genes, ..DENSE }, folder.path());
        write(&path, options, 400 * MIB, &[]).unwrap();
        assert_eq!(read(&path, &ALL).unwrap(), []);
    }
}

/// Holds our shards to the library's reader: every array reads back through `zarrs`.
#[test]
fn the_zarrs_library_reads_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let rows = rows_of(&CLUSTERS, 9);
    write(&path, options(&CLUSTERS, folder.path()), 400 * MIB, &rows).unwrap();
    let store = std::sync::Arc::new(zarrs::filesystem::FilesystemStore::new(&path).unwrap());
    let open = |name: &str| zarrs::array::Array::open(store.clone(), name).unwrap();
    let all = |array: &zarrs::array::Array<zarrs::filesystem::FilesystemStore>| {
        array.retrieve_array_subset::<Vec<i32>>(&array.subset_all()).unwrap()
    };
    let mut slots: BTreeMap<u64, usize> = BTreeMap::new();
    let mut expected = vec![vec![ABSENT; pairs_of(CLUSTERS.genes) as usize]; 4];
    let mut samples = vec![vec![CLUSTERS.samples as u16; pairs_of(CLUSTERS.genes) as usize]; 4];
    let mut masks = vec![Vec::new(); 4];
    for row in &rows {
        let rank = rank_of(row.numbers[0], row.numbers[1]);
        let slot = slots.entry(rank).and_modify(|slot| *slot += 1).or_insert(0);
        expected[*slot][rank as usize] = row.scores[1];
        samples[*slot][rank as usize] = row.numbers[4] as u16;
        mask::pack(&row.mask, &mut masks[*slot]).unwrap();
    }
    for slot in 0..4 {
        let folder = header::slot_folder(slot);
        assert_eq!(all(&open(&format!("/{folder}score_1"))), expected[slot]);
        let array = open(&format!("/{folder}cluster_samples"));
        let values = array.retrieve_array_subset::<Vec<u16>>(&array.subset_all()).unwrap();
        assert_eq!(values, samples[slot]);
        let array = open(&format!("/{folder}mask"));
        let values = array.retrieve_array_subset::<Vec<u8>>(&array.subset_all()).unwrap();
        assert_eq!(values, masks[slot]);
    }
}
