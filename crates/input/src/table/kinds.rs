//! Files of another kind, told by their first bytes, and what to do with them.

use crate::unpack::CompressionFormat;

/// A kind of file that readers of text refuse by its name.
#[derive(Clone, Copy, Debug)]
pub struct OtherKind {
    /// Its name, behind "is".
    pub name: &'static str,
    /// Its remedy.
    pub remedy: &'static str,
    starts: &'static [&'static [u8]],
}

const UNPACK: &str = "unpack it first";

/// All kinds, in the order in which they are tried.
pub const OTHER_KINDS: [OtherKind; 15] = [
    kind(
        "an HDF5 file (such as h5ad, loom or 10x h5)",
        "write its table as text, such as with adata.to_df().T.to_csv('m.csv')",
        &[b"\x89HDF\r\n\x1A\n"],
    ),
    kind(
        "a zip archive, such as an Excel workbook (xlsx) or npz",
        "save the sheet as tab-separated text, or unpack it first",
        &[b"PK\x03\x04"],
    ),
    kind(
        "an old Excel workbook (xls)",
        "save the sheet as tab-separated text",
        &[b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"],
    ),
    kind("compressed by lz4", "unpack it first with unlz4", &[b"\x04\x22\x4D\x18"]),
    kind("compressed by compress (.Z)", "unpack it first with gunzip", &[b"\x1F\x9D"]),
    kind("a 7z archive", UNPACK, &[b"7z\xBC\xAF\x27\x1C"]),
    kind(
        "Parquet",
        "write it as text, such as with pandas.read_parquet(FILE).to_csv('m.csv')",
        &[b"PAR1"],
    ),
    kind(
        "Feather or Arrow",
        "write it as text, such as with pandas.read_feather(FILE).to_csv('m.csv')",
        &[b"ARROW1", b"FEA1"],
    ),
    kind(
        "an R data file (rds, RData)",
        "write it as text in R: write.table(x, 'm.tsv', sep = '\\t')",
        &[b"RDX2\n", b"RDX3\n", b"X\n\0\0\0", b"B\n\x02", b"B\n\x03"],
    ),
    kind("a NumPy array", "write it as text with numpy.savetxt", &[b"\x93NUMPY"]),
    kind("a Python pickle", "write its table as text", &[b"\x80\x03", b"\x80\x04", b"\x80\x05"]),
    kind(
        "UTF-16 text (Excel's Unicode text)",
        "convert it with iconv -f UTF-16 -t UTF-8",
        &[b"\xFF\xFE", b"\xFE\xFF"],
    ),
    kind("a PDF", "give the table itself, as text", &[b"%PDF"]),
    kind(
        "a web page (HTML)",
        "the download failed or needs another address; obtain the file itself",
        &[b"<!DOCTYPE", b"<!doctype", b"<html", b"<HTML"],
    ),
    kind(
        "a sparse Matrix Market file",
        "write it as a dense table of text, a row a gene",
        &[b"%%MatrixMarket"],
    ),
];

const fn kind(
    name: &'static str,
    remedy: &'static str,
    starts: &'static [&'static [u8]],
) -> OtherKind {
    OtherKind { name, remedy, starts }
}

/// The kind of a file that begins with these bytes; `None` where it may be text.
pub fn other_kind(start: &[u8]) -> Option<&'static OtherKind> {
    OTHER_KINDS.iter().find(|kind| kind.starts.iter().any(|begin| start.starts_with(begin)))
}

/// Refuses a file that is no text, by its first bytes after decompression.
///
/// # Errors
/// A sentence continuing "FILE ...".
pub fn check_text(start: &[u8]) -> Result<(), String> {
    if let Some(kind) = other_kind(start) {
        return Err(format!("is {}; {}", kind.name, kind.remedy));
    }
    let packing = CompressionFormat::of(start);
    if packing.is_packed() {
        let name = packing.name();
        return Err(format!("is compressed twice, the inner time by {name}; unpack it once"));
    }
    match memchr::memchr(0, start) {
        Some(place) => Err(format!(
            "has a zero byte at byte {place}, so it is a binary file; give a table of text"
        )),
        None => Ok(()),
    }
}
