//! The Zarr arrays of a pair matrix, as the format prescribes them: the writer stores this
//! metadata, the reader accepts no other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuesta_core::{Error, Result};
use serde_json::{Value, json};
use zarrs::array::codec::{Crc32cCodec, ShuffleCodec, ZstdCodec};
use zarrs::array::{
    Array, ArrayBuilder, ArrayMetadataOptions, CodecOptions, Element, ElementOwned, data_type,
};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::GroupBuilder;
use zarrs::metadata::v3::AdditionalFieldV3;

use super::header::{COLUMNS, FORMAT, MaskKind, MatrixHeader, slot_folder};
use super::limits::{CHUNK_PAIRS, SHARD_CHUNKS, ZSTD_LEVEL};
use super::mask::{PLANES, plane_bytes};
use super::{ABSENT, damaged};
use crate::watch;

/// Metadata of a Zarr group or array.
pub const METADATA_FILE: &str = "zarr.json";
/// Field of the root's zarr.json that lists all metadata.
const CONSOLIDATED: &str = "consolidated_metadata";

/// The arrays that a group must have, by path.
pub struct Arrays {
    folder: PathBuf,
    store: Arc<FilesystemStore>,
    builders: BTreeMap<String, ArrayBuilder>,
}

impl Arrays {
    /// The arrays of the group in `folder`.
    ///
    /// # Errors
    /// `Input` when `folder` is not a folder.
    pub fn of(header: &MatrixHeader, folder: &Path) -> Result<Self> {
        let store = FilesystemStore::new(folder).map_err(|cause| {
            Error::input("input.pairs", format!("{}: {cause}; check the path", folder.display()))
        })?;
        let mut builders = BTreeMap::new();
        for (slot, &rows) in header.slot_rows.iter().enumerate() {
            let of_slot = arrays_of_slot(header, slot, rows);
            let folder = slot_folder(slot);
            builders.extend(of_slot.map(|(name, builder)| (format!("{folder}{name}"), builder)));
        }
        let of_group = extras_of_group(header);
        builders.extend(of_group.map(|(name, builder)| (name.to_owned(), builder)));
        Ok(Self { folder: folder.to_owned(), store: Arc::new(store), builders })
    }

    /// Stores the values of an array that has one chunk.
    ///
    /// # Errors
    /// `Input` naming what could not be stored.
    pub fn put<T: Element>(&self, path: &str, values: Vec<T>) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let array = self.build(path)?;
        let chunk = vec![0; array.dimensionality()];
        array.store_chunk_opt(&chunk, values, &options()).map_err(|cause| refused(path, &cause))
    }

    /// Reads the values of an array that has one chunk.
    ///
    /// # Errors
    /// `Input` when it is damaged.
    pub fn get<T: ElementOwned>(&self, path: &str) -> Result<Vec<T>> {
        watch::read_elsewhere(&self.folder.join(path))?;
        let array = self.build(path)?;
        let chunk = vec![0; array.dimensionality()];
        let what = match array.retrieve_chunk_if_exists_opt::<Vec<T>>(&chunk, &options()) {
            Ok(Some(values)) => return Ok(values),
            Ok(None) => "it has no data".to_owned(),
            Err(cause) => format!("reading it failed ({cause})"),
        };
        Err(damaged(&self.folder.join(path), &what))
    }

    /// Stores the metadata of the groups and arrays; the root is written last, so that a group
    /// without it is incomplete.
    ///
    /// # Errors
    /// `Input` naming what could not be stored; `System`.
    pub fn store_metadata(&self, header: &MatrixHeader) -> Result<()> {
        for (name, bytes) in self.metadata(header)? {
            let path = self.folder.join(name);
            let folder = path.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, bytes))
                .map_err(|cause| Error::system("output.pairs", "writing", &path, &cause))?;
        }
        Ok(())
    }

    /// Names and bytes of all `zarr.json` files, the root last.
    ///
    /// # Errors
    /// `Input` naming what cannot be described.
    pub fn metadata(&self, header: &MatrixHeader) -> Result<Vec<(String, Vec<u8>)>> {
        let (mut files, mut consolidated) = (Vec::new(), BTreeMap::new());
        let slots = header.slot_rows.len();
        let extra = (slots > 1).then(|| "extra".to_owned());
        let groups = extra.into_iter().chain((1..slots).map(|slot| format!("extra/{slot}")));
        for path in groups {
            let group = GroupBuilder::new().build(self.store.clone(), &format!("/{path}"));
            let group = group.map_err(|cause| refused(&path, &cause))?;
            files.push((format!("{path}/{METADATA_FILE}"), pretty(&path, group.metadata())?));
            consolidated.insert(path, json!(group.metadata()));
        }
        let plain = ArrayMetadataOptions::default().with_include_zarrs_metadata(false);
        for path in self.builders.keys() {
            let array = self.build(path)?;
            let bytes = pretty(path, &array.metadata_opt(&plain))?;
            files.push((format!("{path}/{METADATA_FILE}"), bytes));
            consolidated.insert(path.clone(), json!(array.metadata()));
        }
        let attributes = match json!(header) {
            Value::Object(attributes) => attributes,
            other => unreachable!("a header is an object, not {other}"),
        };
        let field = json!({"kind": "inline", "metadata": consolidated});
        let mut root = GroupBuilder::new();
        root.attributes(attributes).additional_fields(
            [(CONSOLIDATED.to_owned(), AdditionalFieldV3::new(field, false))].into(),
        );
        let root = root.build(self.store.clone(), "/").map_err(|cause| refused("/", &cause))?;
        files.push((METADATA_FILE.to_owned(), pretty("/", root.metadata())?));
        Ok(files)
    }

    /// Checks that the root's zarr.json lists every array as the format prescribes it, apart from
    /// its attributes, which anyone may extend.
    ///
    /// # Errors
    /// `Input` naming the first array that differs.
    pub fn check(&self, root: &Value) -> Result<()> {
        for (path, builder) in &self.builders {
            let expected = builder.build_metadata().map_err(|cause| refused(path, &cause))?;
            let metadata = &root[CONSOLIDATED]["metadata"][path];
            if without_attributes(metadata.clone()) != without_attributes(json!(expected)) {
                let text = format!("its zarr.json describes {path} otherwise than {FORMAT}");
                return Err(damaged(&self.folder, &text));
            }
        }
        Ok(())
    }

    fn build(&self, path: &str) -> Result<Array<FilesystemStore>> {
        let array = self.builders[path]
            .build(self.store.clone(), &format!("/{path}"))
            .map_err(|cause| refused(path, &cause))?;
        let plain = ArrayMetadataOptions::default().with_include_zarrs_metadata(false);
        Ok(array.with_metadata_options(plain))
    }
}

fn pretty(path: &str, metadata: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(metadata).map_err(|cause| refused(path, &cause))
}

/// Array metadata without the attributes.
fn without_attributes(mut metadata: Value) -> Value {
    if let Value::Object(fields) = &mut metadata {
        fields.remove("attributes");
    }
    metadata
}

fn refused(path: &str, cause: &dyn std::fmt::Display) -> Error {
    Error::input("output.pairs", format!("array {path}: {cause}; check the disk"))
}

/// Options of side arrays: a missing chunk is damage, never all fill values.
fn options() -> CodecOptions {
    CodecOptions::default().with_store_empty_chunks(true).with_concurrent_target(1)
}

/// Arrays of a slot of `rows` rows.
fn arrays_of_slot(
    header: &MatrixHeader,
    slot: usize,
    rows: u64,
) -> impl Iterator<Item = (String, ArrayBuilder)> {
    let shape = header.shape();
    let scores = (0..header.scores).map(move |m| (shape.array_name(m), score(header, m)));
    let columns = (0..COLUMNS.len()).map(|c| (COLUMNS[c].to_owned(), column(header, c)));
    let masks =
        (header.masks == MaskKind::Stored).then(|| ("mask".to_owned(), mask(header, slot, rows)));
    let zones = zones(header).map(|(name, builder)| (name.to_owned(), builder));
    scores.chain(columns).chain(masks).chain(zones)
}

/// Arrays that belong to the group.
fn extras_of_group(header: &MatrixHeader) -> impl Iterator<Item = (&'static str, ArrayBuilder)> {
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
        builder.bytes_to_bytes_codecs(vec![zstd(), Arc::new(Crc32cCodec::new())]);
        (name, builder)
    })
}

fn score(header: &MatrixHeader, method: usize) -> ArrayBuilder {
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

fn column(header: &MatrixHeader, column: usize) -> ArrayBuilder {
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
fn by_rank(header: &MatrixHeader, kind: zarrs::array::DataType, width: usize) -> ArrayBuilder {
    let chunk = CHUNK_PAIRS as u64;
    let shard = vec![chunk * SHARD_CHUNKS];
    let mut builder = ArrayBuilder::new(vec![header.pairs()], shard, kind, 0);
    builder
        .subchunk_shape(vec![chunk])
        .bytes_to_bytes_codecs(vec![
            Arc::new(ShuffleCodec::new(width)),
            zstd(),
            Arc::new(Crc32cCodec::new()),
        ])
        .dimension_names(Some(["pair"]));
    builder
}

fn mask(header: &MatrixHeader, slot: usize, rows: u64) -> ArrayBuilder {
    // Slots have different numbers of rows, and a name has one length in a tree of groups.
    let row = if slot == 0 { "row".to_owned() } else { format!("row_{slot}") };
    let shape = header.shape();
    let (planes, bytes) = (PLANES as u64, plane_bytes(header.samples as usize) as u64);
    let shard = vec![shape.mask_shard_rows(), planes, bytes];
    let mut builder = ArrayBuilder::new(vec![rows, planes, bytes], shard, data_type::uint8(), 0u8);
    builder
        .subchunk_shape(vec![shape.mask_chunk_rows(), planes, bytes])
        .bytes_to_bytes_codecs(vec![Arc::new(Crc32cCodec::new())])
        .dimension_names(Some([row.as_str(), "plane", "mask_byte"]));
    builder
}

/// The side arrays with one element per chunk.
fn zones(header: &MatrixHeader) -> [(&'static str, ArrayBuilder); 6] {
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
        .bytes_to_bytes_codecs(vec![zstd(), Arc::new(Crc32cCodec::new())])
        .dimension_names(Some(dimensions.iter().copied()));
    builder
}

/// The shape of a single chunk that holds everything: no side may be 0.
fn ones(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|&side| side.max(1)).collect()
}

fn zstd() -> Arc<ZstdCodec> {
    Arc::new(ZstdCodec::new(ZSTD_LEVEL, false))
}
