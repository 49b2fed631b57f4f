//! Messages of the tasks and parts of a round: any bytes are refused or read, nothing is made
//! that they do not have, and what was read is the same when it was sent once more.
//!
//! Such bytes come from processes of one version, so a refusal may be a `Defect`.
#![no_main]

use cuesta_assembly::kernel::codec;
use cuesta_assembly::kernel::scan::ReadCounts;
use cuesta_assembly::kernel::spectrum::Spectrum;
use cuesta_assembly::kernel::supersteps::part::VertexPart;
use cuesta_assembly::pairs::SolidSequences;
use cuesta_assembly::stages::wire as stage_wire;
use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_fuzz::folder;
use cuesta_network::kernel::neighbours::{Neighbours, pack};
use cuesta_network::rounds as network;
use cuesta_network::rounds::blocks::unpack;
use cuesta_runtime::rounds::{Resources, Worker};
use cuesta_runtime::wire;
use libfuzzer_sys::fuzz_target;

const MEMORY_BYTES: u64 = 16 << 20;
/// Bytes of the head of rows.
const HEAD_BYTES: usize = 32;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    match choice % 10 {
        0 => twice(bytes, super_k_mers),
        1 => twice(bytes, fragments),
        2 => twice(bytes, solid),
        3 => twice(bytes, worker_results),
        4 => twice(bytes, spectrum),
        5 => vertices(bytes),
        6 => rows(bytes),
        7 => neighbours(bytes),
        8 => twice(bytes, values),
        _ => combined(bytes),
    }
});

/// Reads bytes and sends them once more; what is then read is the same.
fn twice(bytes: &[u8], again: impl Fn(&[u8]) -> Result<Vec<u8>>) {
    match again(bytes) {
        Ok(sent) => assert_eq!(again(&sent).expect("it was sent here"), sent),
        Err(error) => assert!(!error.message().contains('\n'), "{error:?}"),
    }
}

fn super_k_mers(bytes: &[u8]) -> Result<Vec<u8>> {
    let (mut again, mut size_bytes) = (Vec::new(), 0);
    let tally: ReadCounts = codec::each_block(bytes, |bucket, block| {
        size_bytes += block.len();
        codec::put_block(bucket, block, &mut again);
        Ok(())
    })?;
    assert!(size_bytes <= bytes.len());
    codec::put_tally(&tally, &mut again);
    Ok(again)
}

fn fragments(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut again = Vec::new();
    codec::each_fragment(bytes, |piece, codes| {
        codec::put_fragment(&piece, codes, &mut again);
        Ok(())
    })?;
    assert!(again.len() <= bytes.len());
    Ok(again)
}

fn solid(bytes: &[u8]) -> Result<Vec<u8>> {
    let budget = Budget::new(MEMORY_BYTES);
    let mut sequences = SolidSequences::new(&budget, "sequences");
    stage_wire::each_solid(bytes, |facts, codes| {
        sequences.push(facts, |all| all.extend_from_slice(codes)).expect("there is room");
    })?;
    Ok(stage_wire::solid_bytes(&sequences))
}

fn worker_results(bytes: &[u8]) -> Result<Vec<u8>> {
    let budget = Budget::new(MEMORY_BYTES);
    let mut all = stage_wire::empty_results(&budget);
    stage_wire::add_results(bytes, &mut all)?;
    Ok(stage_wire::results_bytes(&all))
}

fn spectrum(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut all = Spectrum::default();
    codec::add_spectrum(bytes, &mut all)?;
    Ok(codec::spectrum_bytes(&all))
}

/// Vertices, as they are first sent and as they are kept.
fn vertices(bytes: &[u8]) {
    let Some((&k, bytes)) = bytes.split_first() else { return };
    let (k, parts) = (usize::from(k) % 31 + 1, 3);
    if let Ok(part) = VertexPart::begin(k, parts, &[bytes]) {
        let saved = part.to_bytes();
        let again = VertexPart::from_bytes(k, parts, &saved).expect("it was saved here");
        assert_eq!(again.to_bytes(), saved);
        assert_eq!(again.size_bytes(), part.size_bytes());
    }
    twice(bytes, |bytes| VertexPart::from_bytes(k, parts, bytes).map(|part| part.to_bytes()));
}

fn rows(bytes: &[u8]) {
    let Ok(all) = unpack(bytes) else { return };
    assert_eq!(all.map(|sent| HEAD_BYTES + sent.rows.len()).sum::<usize>(), bytes.len());
}

/// Kept neighbours, and ends of edges that are packed.
fn neighbours(bytes: &[u8]) {
    if let Some(neighbours) = Neighbours::of(bytes) {
        let count = |row| neighbours.row(row).count();
        let all: usize = (0..neighbours.rows()).map(count).sum();
        assert!(8 * (neighbours.rows() + 1) + 4 * all <= bytes.len());
    }
    // Genes of 10 bits, as rows are made up to the last of them.
    let mut ends: Vec<[u8; 8]> = bytes.as_chunks().0.to_vec();
    ends.iter_mut().for_each(|end| (end[1], end[2], end[3]) = (end[1] & 3, 0, 0));
    let packed = pack(3, &[&ends]);
    let neighbours = Neighbours::of(&packed).expect("it was packed here");
    assert_eq!(
        (0..neighbours.rows()).map(|row| neighbours.row(row).count()).sum::<usize>(),
        ends.len()
    );
}

/// Values of every kind that rounds send.
fn values(bytes: &[u8]) -> Result<Vec<u8>> {
    type Value = (Vec<f64>, Vec<(u32, i64)>, String, Option<Vec<u64>>, [u64; 4], Vec<String>);
    wire::to_bytes(&wire::from_bytes::<Value>(bytes)?)
}

/// Two findings that a worker makes one.
fn combined(bytes: &[u8]) {
    let Some((&[which, cut], bytes)) = bytes.split_first_chunk() else { return };
    let (one, other) = bytes.split_at(usize::from(cut).min(bytes.len()));
    let (worker, operation) = worker(which).expect("parameters are in order");
    let shared = wire::to_bytes(&operation).expect("it is text");
    if let Ok(both) = worker.combine(&shared, one.to_vec(), other) {
        let _ = worker.combine(&shared, both, other);
    }
}

/// A worker, and the name of an operation of it.
fn worker(which: u8) -> Result<(Box<dyn Worker>, &'static str)> {
    let request = |parameters: serde_json::Value| Request {
        inputs: vec![folder().join("none")],
        parameters,
        output: folder().to_owned(),
        seed: 0,
        threads: 1,
        budget: Budget::new(MEMORY_BYTES).into(),
        scratch: folder().to_owned(),
        verify: Default::default(),
        names: None,
    };
    let resources = Resources { slots: 1, memory_bytes: MEMORY_BYTES, ..Resources::default() };
    let none = serde_json::json!({});
    let components = serde_json::json!({"method": "components"});
    let clusters = serde_json::json!({"clusters": 2});
    Ok(match which % 3 {
        0 => (cuesta_kmeans::rounds::work(&request(clusters), resources)?, "assign"),
        1 => (network::work("degrees", &request(none), resources)?, "count"),
        _ => (network::work("communities", &request(components), resources)?, "components"),
    })
}
