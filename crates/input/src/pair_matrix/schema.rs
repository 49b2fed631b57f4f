//! The Zarr arrays of a pair matrix, as the format prescribes them: the writer stores this
//! metadata, the reader accepts no other.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cuesta_core::{Error, Result};
use serde_json::{Value, json};
use zarrs::array::codec::{Crc32cCodec, ShuffleCodec, ZstdCodec};
use zarrs::array::{
    Array, ArrayBuilder, ArrayMetadata, ArrayMetadataOptions, ArrayMetadataV3, CodecOptions,
    data_type,
};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::{Group, GroupBuilder};
use zarrs::metadata::v3::AdditionalFieldV3;

use super::header::{COLUMNS, Header, MaskKind, slot_folder};
use super::limits::{CHUNK_PAIRS, MASK_ZSTD_LEVEL, SHARD_CHUNKS, ZSTD_LEVEL};
use super::mask::{PLANES, plane_bytes};
use super::{ABSENT, damaged};

/// Store of a pair matrix.
pub type Store = Arc<FilesystemStore>;

/// An array of a pair matrix.
pub type PairArray = Array<FilesystemStore>;

/// Opens the folder of a group.
///
/// # Errors
/// `Input` when it is no folder.
pub fn store(folder: &Path) -> Result<Store> {
    let store = FilesystemStore::new(folder).map_err(|cause| {
        Error::input("input.pairs", format!("{}: {cause}; check the path", folder.display()))
    })?;
    Ok(Arc::new(store))
}

/// How side arrays are read and written: a chunk that is missing is damage, never "all fill".
pub fn options() -> CodecOptions {
    CodecOptions::default().with_store_empty_chunks(true).with_concurrent_target(1)
}

/// Every array that the group must have, by path.
///
/// # Errors
/// `Input` when the library refuses one.
pub fn arrays(header: &Header, store: &Store) -> Result<BTreeMap<String, PairArray>> {
    let mut builders = Vec::new();
    for (slot, &rows) in header.slot_rows.iter().enumerate() {
        let folder = slot_folder(slot);
        let mut add = |name: &str, builder| builders.push((format!("{folder}{name}"), builder));
        let shape = header.shape();
        (0..header.scores).for_each(|m| add(&shape.array_name(m), score(header, m)));
        (0..COLUMNS.len()).for_each(|c| add(COLUMNS[c], column(header, c)));
        if header.masks == MaskKind::Stored {
            add("mask", mask(header, rows));
        }
        zones(header).into_iter().for_each(|(name, builder)| add(name, builder));
    }
    builders.extend(extras_of_group(header).map(|(name, builder)| (name.to_owned(), builder)));
    let build = |(path, builder): (String, ArrayBuilder)| {
        let array = builder.build(store.clone(), &format!("/{path}")).map_err(|cause| {
            Error::input("output.pairs", format!("array {path} was refused: {cause}"))
        })?;
        let plain = ArrayMetadataOptions::default().with_include_zarrs_metadata(false);
        Ok((path, array.with_metadata_options(plain)))
    };
    builders.into_iter().map(build).collect()
}

/// Arrays that belong to the group as a whole.
fn extras_of_group(header: &Header) -> impl Iterator<Item = (&'static str, ArrayBuilder)> {
    let genes = u64::from(header.genes);
    let samples = u64::from(header.samples);
    let masks = (header.masks == MaskKind::Genes).then(|| {
        let shape = vec![genes, plane_bytes(header.samples as usize) as u64];
        let mut builder = ArrayBuilder::new(shape.clone(), ones(&shape), data_type::uint8(), 0u8);
        builder.dimension_names(Some(["gene", "mask_byte"]));
        ("gene_missing", builder)
    });
    let names = |exist: bool, name: &'static str, dimension: &'static str, count: u64| {
        exist.then(|| {
            let chunk = vec![count.max(1)];
            let mut builder = ArrayBuilder::new(vec![count], chunk, data_type::string(), "");
            builder.dimension_names(Some([dimension]));
            (name, builder)
        })
    };
    let all = [
        masks,
        names(header.gene_names, "gene_name", "gene", genes),
        names(header.sample_names, "sample_name", "sample", samples),
    ];
    all.into_iter().flatten().map(|(name, mut builder)| {
        builder.bytes_to_bytes_codecs(vec![zstd(ZSTD_LEVEL), Arc::new(Crc32cCodec::new())]);
        (name, builder)
    })
}

fn score(header: &Header, method: usize) -> ArrayBuilder {
    let mut builder = by_rank(header, data_type::int32(), 4);
    builder.fill_value(ABSENT);
    let attributes = builder.attributes_mut();
    attributes.insert("scale_factor".into(), json!(1e-6));
    attributes.insert("_FillValue".into(), json!(ABSENT));
    if header.has_nan {
        attributes.insert("missing_value".into(), json!(cuesta_core::fixed::NAN));
    }
    if let Some(name) = header.score_names.get(method) {
        attributes.insert("long_name".into(), json!(name));
    }
    builder
}

fn column(header: &Header, column: usize) -> ArrayBuilder {
    let shape = header.shape();
    let fill = shape.fill()[column];
    if shape.width() == 2 {
        let mut builder = by_rank(header, data_type::uint16(), 2);
        builder.fill_value(fill);
        return builder;
    }
    let mut builder = by_rank(header, data_type::uint32(), 4);
    builder.fill_value(fill);
    builder
}

/// An array with one element per pair.
fn by_rank(header: &Header, kind: zarrs::array::DataType, width: usize) -> ArrayBuilder {
    let chunk = CHUNK_PAIRS as u64;
    let shard = vec![chunk * SHARD_CHUNKS];
    let mut builder = ArrayBuilder::new(vec![header.pairs()], shard, kind, 0);
    builder
        .subchunk_shape(vec![chunk])
        .bytes_to_bytes_codecs(vec![
            Arc::new(ShuffleCodec::new(width)),
            zstd(ZSTD_LEVEL),
            Arc::new(Crc32cCodec::new()),
        ])
        .dimension_names(Some(["pair"]));
    builder
}

fn mask(header: &Header, rows: u64) -> ArrayBuilder {
    let shape = header.shape();
    let (planes, bytes) = (PLANES as u64, plane_bytes(header.samples as usize) as u64);
    let shard = vec![shape.mask_shard_rows(), planes, bytes];
    let mut builder = ArrayBuilder::new(vec![rows, planes, bytes], shard, data_type::uint8(), 0u8);
    builder
        .subchunk_shape(vec![shape.mask_chunk_rows(), planes, bytes])
        .bytes_to_bytes_codecs(vec![zstd(MASK_ZSTD_LEVEL), Arc::new(Crc32cCodec::new())])
        .dimension_names(Some(["row", "plane", "mask_byte"]));
    builder
}

/// The side arrays with one element per chunk.
fn zones(header: &Header) -> [(&'static str, ArrayBuilder); 6] {
    let chunks = header.pairs().div_ceil(CHUNK_PAIRS as u64);
    let each = |kind| with_crc(vec![chunks], kind, &["chunk"]);
    let range = || {
        let shape = vec![header.scores as u64, chunks];
        with_crc(shape, data_type::int32(), &["method", "chunk"])
    };
    [
        ("chunk_rows", each(data_type::uint32())),
        ("chunk_columns", each(data_type::uint8())),
        ("chunk_min", range()),
        ("chunk_max", range()),
        ("chunk_min_abs", range()),
        ("chunk_max_abs", range()),
    ]
}

fn with_crc(shape: Vec<u64>, kind: zarrs::array::DataType, dimensions: &[&str]) -> ArrayBuilder {
    let chunk = ones(&shape);
    let mut builder = ArrayBuilder::new(shape, chunk, kind, 0);
    builder
        .bytes_to_bytes_codecs(vec![zstd(ZSTD_LEVEL), Arc::new(Crc32cCodec::new())])
        .dimension_names(Some(dimensions.iter().copied()));
    builder
}

/// The shape of a single chunk that holds everything: no side may be 0.
fn ones(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|&side| side.max(1)).collect()
}

fn zstd(level: i32) -> Arc<ZstdCodec> {
    Arc::new(ZstdCodec::new(level, false))
}

/// Stores the metadata of the groups and arrays; the root comes last, so that a group without it
/// is not whole.
///
/// # Errors
/// `Input` naming what could not be stored.
pub fn store_metadata(
    header: &Header,
    store: &Store,
    arrays: &BTreeMap<String, PairArray>,
) -> Result<()> {
    let refused = |what: &str, cause: &dyn std::fmt::Display| {
        Error::input("output.pairs", format!("storing {what} failed: {cause}; check the disk"))
    };
    let mut consolidated = BTreeMap::new();
    let slots = header.slot_rows.len();
    let extra = (slots > 1).then(|| "extra".to_owned());
    let groups = extra.into_iter().chain((1..slots).map(|slot| format!("extra/{slot}")));
    for path in groups {
        let group = GroupBuilder::new().build(store.clone(), &format!("/{path}"));
        let group = group.map_err(|cause| refused(&path, &cause))?;
        group.store_metadata().map_err(|cause| refused(&path, &cause))?;
        consolidated.insert(path, json!(group.metadata()));
    }
    for (path, array) in arrays {
        array.store_metadata().map_err(|cause| refused(path, &cause))?;
        consolidated.insert(path.clone(), json!(array.metadata()));
    }
    let attributes = match json!(header) {
        Value::Object(attributes) => attributes,
        other => unreachable!("a header is an object, not {other}"),
    };
    let field = json!({"kind": "inline", "metadata": consolidated});
    let mut root = GroupBuilder::new();
    root.attributes(attributes).additional_fields(
        [("consolidated_metadata".to_owned(), AdditionalFieldV3::new(field, false))].into(),
    );
    let root = root.build(store.clone(), "/").map_err(|cause| refused("the group", &cause))?;
    root.store_metadata().map_err(|cause| refused("the group", &cause))
}

/// Checks that the metadata of the group lists every array as the format prescribes it, apart from
/// its attributes, which anyone may extend.
///
/// # Errors
/// `Input` naming the first array that differs.
pub fn check_metadata(
    folder: &Path,
    root: &Group<FilesystemStore>,
    arrays: &BTreeMap<String, PairArray>,
) -> Result<()> {
    let Some(found) = root.consolidated_metadata() else {
        return Err(damaged(folder, "its zarr.json has no consolidated metadata"));
    };
    // Through JSON, as what was found came: an empty configuration becomes an absent one.
    let plain = |metadata: &ArrayMetadataV3| {
        let bare = metadata.clone().with_attributes(serde_json::Map::new());
        serde_json::from_value::<ArrayMetadataV3>(json!(bare)).ok()
    };
    for (path, array) in arrays {
        use zarrs::node::NodeMetadata;
        let same = match (found.metadata.get(path), array.metadata()) {
            (Some(NodeMetadata::Array(ArrayMetadata::V3(found))), ArrayMetadata::V3(expected)) => {
                plain(found) == plain(expected)
            }
            _ => false,
        };
        if !same {
            let text = format!("its zarr.json describes {path} otherwise than {}", super::FORMAT);
            return Err(damaged(folder, &text));
        }
    }
    Ok(())
}
