//! Files of another kind, told by their first bytes, and what to do with them.

use super::ZERO_BYTES;
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
const DOWNLOAD: &str = "the download failed or needs another address; obtain the file itself";
const FASTQ: &str = "give what `samtools fastq FILE` writes";
const SEQUENCE: &str = "give reads, in FASTQ or FASTA";
const WEB_PAGES: [&[u8]; 4] = [b"<!DOCTYPE", b"<!doctype", b"<html", b"<HTML"];
const LZ4: OtherKind =
    kind("compressed by lz4", "unpack it first with unlz4", &[b"\x04\x22\x4D\x18"]);
const LZMA: OtherKind =
    kind("compressed by lzma", "unpack it first with xz --format=lzma -d", &[b"\x5D\0\0"]);
const COMPRESS: OtherKind =
    kind("compressed by compress (.Z)", "unpack it first with gunzip", &[b"\x1F\x9D"]);

/// Kinds of files that are given as reads, and are none.
pub const OTHER_READS: [OtherKind; 10] = [
    kind(
        "UTF-16 text",
        "convert it with `iconv -f UTF-16 -t UTF-8 FILE`",
        &[b"\xFF\xFE", b"\xFE\xFF"],
    ),
    kind("alignments (BAM or CRAM)", FASTQ, &[b"BAM\x01", b"CRAM"]),
    kind("alignments (SAM)", FASTQ, &[b"@HD\tVN:", b"@SQ\tSN:", b"@RG\tID:"]),
    kind("an SRA archive", "give what `fasterq-dump FILE` writes", &[b"NCBI.sra"]),
    kind("an annotated sequence (GenBank or EMBL)", SEQUENCE, &[b"LOCUS ", b"ID   "]),
    kind("a zip archive", UNPACK, &[b"PK\x03\x04"]),
    LZ4,
    LZMA,
    COMPRESS,
    kind("a web page (HTML)", DOWNLOAD, &WEB_PAGES),
];

/// All kinds, in the order in which they are tried.
pub const OTHER_KINDS: [OtherKind; 16] = [
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
    LZ4,
    LZMA,
    COMPRESS,
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
    kind(
        "a NumPy array",
        "write it as text with names, as pandas.DataFrame(array, names).to_csv(FILE)",
        &[b"\x93NUMPY"],
    ),
    kind("a Python pickle", "write its table as text", &[b"\x80\x03", b"\x80\x04", b"\x80\x05"]),
    kind(
        "UTF-16 text (Excel's Unicode text)",
        "convert it with iconv -f UTF-16 -t UTF-8",
        &[b"\xFF\xFE", b"\xFE\xFF"],
    ),
    kind("a PDF", "give the table itself, as text", &[b"%PDF"]),
    kind("a web page (HTML)", DOWNLOAD, &WEB_PAGES),
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
    kind_of(start, &OTHER_KINDS)
}

/// The first of `kinds` that a file with these first bytes is of.
pub fn kind_of<'k>(start: &[u8], kinds: &'k [OtherKind]) -> Option<&'k OtherKind> {
    kinds.iter().find(|kind| kind.starts.iter().any(|begin| start.starts_with(begin)))
}

/// Whether zero bytes from `place` on follow lines of text, up to the end.
fn is_padded(start: &[u8], place: usize) -> bool {
    let (text, rest) = start.split_at(place);
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    text.contains(&b'\n') && text.iter().all(is_text) && rest.iter().all(|&byte| byte == 0)
}

/// The order of bytes of UTF-16, `LE` or `BE`, where every second byte of most letters is zero.
fn unmarked_order(start: &[u8]) -> Option<&'static str> {
    let start = &start[..start.len().min(4096)];
    let pairs = start.len() / 2;
    let zeros = |from: usize| start.iter().skip(from).step_by(2).filter(|&&b| b == 0).count();
    match (zeros(0), zeros(1)) {
        (0, count) if pairs > 1 && 4 * count > 3 * pairs => Some("LE"),
        (count, 0) if pairs > 1 && 4 * count > 3 * pairs => Some("BE"),
        _ => None,
    }
}

/// Refuses unpacked bytes of a kind that is read, but for its compression: one of `readable` by
/// its first bytes.
///
/// # Errors
/// A sentence continuing "FILE ...".
pub fn check_packed(
    start: &[u8],
    packing: CompressionFormat,
    readable: &[&[u8]],
) -> Result<(), String> {
    let is_readable = packing.is_packed() && readable.iter().any(|begin| start.starts_with(begin));
    match other_kind(start).filter(|_| is_readable) {
        None => Ok(()),
        Some(kind) => {
            let program = if packing.is_gzip() { "gunzip" } else { packing.name() };
            let unpack = if packing.is_gzip() { "" } else { " -d" };
            let (name, format) = (kind.name, packing.name());
            Err(format!(
                "is {name}, compressed by {format}; unpack it first: {program}{unpack} FILE"
            ))
        }
    }
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
    if start.get(257..262) == Some(b"ustar") {
        return Err(
            "is an archive of tar; unpack it with tar -xf, and give a file of it".to_owned()
        );
    }
    if let Some(order) = unmarked_order(start) {
        return Err(format!(
            "looks like UTF-16 text without a byte order mark; convert it with iconv -f \
             UTF-16{order} -t UTF-8"
        ));
    }
    match memchr::memchr(0, start) {
        Some(place) if is_padded(start, place) => Err(format!("{ZERO_BYTES} (byte {place})")),
        Some(place) => Err(format!(
            "has a zero byte at byte {place}, so it is a binary file; give a table of text"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_padded_with_zeros_is_no_binary_file() {
        for (start, expected) in [
            (
                &b"gene\ts1\na\t1\n\0\0\0\0"[..],
                "contains NUL bytes; it was not written whole, copy",
            ),
            (b"gene\ts1\na\t1\n\0\0\0\x01", "has a zero byte at byte 12, so it is a binary file"),
            (b"\x7fELF\0\0", "so it is a binary file"),
            (
                b"\x5D\0\0\x80\0\xff",
                "is compressed by lzma; unpack it first with xz --format=lzma -d",
            ),
        ] {
            let error = check_text(start).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn an_archive_and_unmarked_utf_16_are_named() {
        let mut archive = vec![0; 512];
        archive[..5].copy_from_slice(b"m.tsv");
        archive[257..262].copy_from_slice(b"ustar");
        assert!(check_text(&archive).unwrap_err().contains("unpack it with tar -xf"));
        let text = "gene\ts1\na\t1\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, order) in [(little, "UTF-16LE"), (big, "UTF-16BE")] {
            let error = check_text(&bytes).unwrap_err();
            assert!(error.ends_with(&format!("iconv -f {order} -t UTF-8")), "{error}");
        }
    }

    /// Packed files of kinds that are read were refused with the advice to write them as text.
    #[test]
    fn a_readable_kind_that_is_packed_is_to_be_unpacked() {
        let readable: &[&[u8]] = &[b"\x89HDF"];
        let check = |start: &[u8], packing| check_packed(start, packing, readable);
        let start = b"\x89HDF\r\n\x1A\n";
        for (packing, expected) in [
            (CompressionFormat::Gzip, "compressed by gzip; unpack it first: gunzip FILE"),
            (CompressionFormat::Zstd, "compressed by zstd; unpack it first: zstd -d FILE"),
        ] {
            let error = check(start, packing).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(check(start, CompressionFormat::Plain), Ok(()));
        assert_eq!(check(b"gene\ts1\n", CompressionFormat::Gzip), Ok(()));
    }
}
