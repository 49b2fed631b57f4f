use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

const PACKERS: [CompressionFormat; 5] = [
    CompressionFormat::Gzip,
    CompressionFormat::Bgzip,
    CompressionFormat::Bzip2,
    CompressionFormat::Xz,
    CompressionFormat::Zstd,
];

/// A text as one of the programs packs it, in a stream of its own.
fn packed(text: &[u8], packing: CompressionFormat) -> Vec<u8> {
    match packing {
        CompressionFormat::Plain => text.to_vec(),
        CompressionFormat::Gzip => {
            let mut out = GzEncoder::new(Vec::new(), Compression::fast());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
        CompressionFormat::Bgzip => {
            let mut all: Vec<u8> = text.chunks(300).flat_map(block).collect();
            all.extend(bgzip::END_MARK);
            all
        }
        CompressionFormat::Bzip2 => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
        CompressionFormat::Xz => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 0);
            out.write_all(text).unwrap();
            out.finish().unwrap()
        }
        CompressionFormat::Zstd => zstd::encode_all(text, 1).unwrap(),
    }
}

/// A block of bgzip.
fn block(text: &[u8]) -> Vec<u8> {
    let extra = vec![b'B', b'C', 2, 0, 0, 0];
    let mut out = flate2::GzBuilder::new().extra(extra).write(Vec::new(), Compression::fast());
    out.write_all(text).unwrap();
    let mut bytes = out.finish().unwrap();
    let size = u16::try_from(bytes.len() - 1).unwrap().to_le_bytes();
    bytes[16..18].copy_from_slice(&size);
    bytes
}

fn read(bytes: &[u8]) -> io::Result<(CompressionFormat, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("any.name");
    std::fs::write(&path, bytes).unwrap();
    let mut text = Vec::new();
    let mut reader = open(&path)?;
    reader.read_to_end(&mut text)?;
    Ok((reader.packing(), text))
}

fn kind(error: &io::Error) -> DamageKind {
    let refusal = failure("input", Path::new("x.gz"), error);
    assert_eq!(refusal.kind, Kind::Input, "{error}");
    assert!(refusal.message().starts_with("input: x.gz ") && refusal.message().contains("byte "));
    error.get_ref().unwrap().downcast_ref::<Damage>().unwrap().kind
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec("[ACGT]{0,40}\n", 0..60).prop_map(|lines| lines.concat().into_bytes())
}

proptest! {
    #[test]
    fn consecutive_streams_are_a_single_text(
        parts in prop::collection::vec(text(), 1..5),
        packing in prop::sample::select(&PACKERS),
        zeros in 0usize..3000,
    ) {
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| packed(part, packing)).collect();
        if packing.is_gzip() {
            bytes.resize(bytes.len() + zeros, 0);
        }
        let (detected, text) = read(&bytes).unwrap();
        prop_assert_eq!(detected, packing);
        prop_assert_eq!(text, parts.concat());
    }

    #[test]
    fn a_cut_at_any_byte_is_reported(
        part in text(),
        packing in prop::sample::select(&PACKERS),
        place in any::<prop::sample::Index>(),
    ) {
        let bytes = packed(&part, packing);
        prop_assume!(bytes.len() > 18);
        let end = 18 + place.index(bytes.len() - 18);
        match read(&bytes[..end]) {
            Err(error) => prop_assert_eq!(kind(&error), DamageKind::CutShort),
            // Between two blocks of bgzip, after a complete line.
            Ok((_, text)) => {
                prop_assert_eq!(packing, CompressionFormat::Bgzip);
                prop_assert!(part.starts_with(&text));
                prop_assert!(text.last().is_none_or(|&last| last == b'\n'));
            }
        }
    }

    #[test]
    fn trailing_bytes_are_reported(
        part in text(),
        is_bgzip in any::<bool>(),
        zeros in 0usize..40,
        other in "[a-z\n]{1,200}",
    ) {
        let packing = if is_bgzip { CompressionFormat::Bgzip } else { CompressionFormat::Gzip };
        let mut bytes = packed(&part, packing);
        let place = bytes.len() as u64;
        bytes.resize(bytes.len() + zeros, 0);
        bytes.extend(other.bytes());
        let error = read(&bytes).unwrap_err();
        // Without its mark in the last place a file of bgzip may look cut between two blocks.
        prop_assert_eq!(kind(&error), DamageKind::Trailing);
        prop_assert!(error.to_string().contains(&format!("head -c {place} FILE")), "{}", error);
    }

    /// Bytes behind xz were a cut, and those behind bzip2 damage.
    #[test]
    fn bytes_behind_other_formats_are_reported(
        part in text(),
        packing in prop::sample::select(&[CompressionFormat::Bzip2, CompressionFormat::Xz]),
        other in "[a-z\n]{1,200}",
    ) {
        let mut bytes = packed(&part, packing);
        let place = bytes.len();
        bytes.extend(other.bytes());
        let error = read(&bytes).unwrap_err();
        prop_assert_eq!(kind(&error), DamageKind::Trailing);
        prop_assert!(error.to_string().contains(&format!("head -c {place} FILE")), "{}", error);
    }

    #[test]
    fn damaged_bytes_do_not_panic(
        part in text(),
        packing in prop::sample::select(&PACKERS),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = packed(&part, packing);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Err(error) = read(&bytes) {
            kind(&error);
        }
    }
}

#[test]
fn plain_text_and_nothing_are_themselves() {
    for text in [&b""[..], b"\x1f", b"BZh", b"@a\nACGT\n+\nIIII\n"] {
        assert_eq!(read(text).unwrap(), (CompressionFormat::Plain, text.to_vec()));
    }
}

#[test]
fn a_cut_between_blocks_is_reported_unless_it_ends_a_line() {
    let blocks = [block(b">a\nACGT\n"), block(b"AC"), block(b"GT\n")];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.fa.gz");
    for (count, ends_with_line) in [(1, true), (2, false), (3, true)] {
        let bytes = blocks[..count].concat();
        assert_eq!(read(&bytes).is_ok(), ends_with_line);
        std::fs::write(&path, &bytes).unwrap();
        assert!(!end_mark(&path).unwrap());
        let complete = [&bytes[..], &bgzip::END_MARK].concat();
        assert!(read(&complete).is_ok());
        for zeros in [0, 1, 100] {
            std::fs::write(&path, [&complete[..], &vec![0; zeros]].concat()).unwrap();
            assert!(end_mark(&path).unwrap());
        }
    }
    let error = read(&blocks[..2].concat()).unwrap_err();
    assert_eq!(kind(&error), DamageKind::CutShort);
}

#[test]
fn a_storage_that_fails_is_not_called_a_damage() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let text: String = (0..999).map(|number| format!("{}\n", number * number)).collect();
    for packing in PACKERS {
        let bytes = packed(text.as_bytes(), packing);
        let half = Cursor::new(bytes[..bytes.len() - 9].to_vec());
        let error = unpacked(half.chain(Fails)).unwrap().read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(failure("input", Path::new("x"), &error).kind, Kind::System, "{packing:?}");
    }
}

/// A file as its reader reads it: text of the results, or its refusal.
type Reading = fn(&Path) -> cuesta_core::Result<String>;

fn matrix(path: &Path) -> cuesta_core::Result<String> {
    crate::matrix::read(path, &crate::matrix::Options::default()).map(|read| format!("{read:?}"))
}

fn edges(path: &Path) -> cuesta_core::Result<String> {
    match crate::edges::recognise(path)? {
        Some(form) => crate::edges::names(path, &form, u64::MAX).map(|names| format!("{names:?}")),
        // As all that is no edge list.
        None => pairs(path),
    }
}

fn names(path: &Path) -> cuesta_core::Result<String> {
    let names = crate::GeneNames::read(path, u64::MAX)?;
    Ok(names.iter().map(|name| format!("{name}\n")).collect())
}

fn points(path: &Path) -> cuesta_core::Result<String> {
    let output = path.with_extension("npy");
    let (table, progress) = (crate::table::TableParams::default(), Default::default());
    crate::points::convert::<f64>(path, &table, &output, 1, &progress)?;
    Ok(format!("{:?}", std::fs::read(output).unwrap()))
}

fn pairs(path: &Path) -> cuesta_core::Result<String> {
    use crate::kinc::{LineError, line, shape_of};
    let file = crate::source::TextFile::new(path, 0);
    let split = crate::source::Split { file: 0, offset: 0, size_bytes: u64::MAX };
    crate::source::shape_of_file(&file)?;
    let mut blocks = crate::reader::LineBlocks::open(&file, &split)?;
    let mut all = String::new();
    while let Some(block) = blocks.next_block()? {
        let mut offset = 0;
        for text in block.bytes[..block.size_bytes].split_inclusive(|&byte| byte == b'\n') {
            let bare = text.strip_suffix(b"\n").unwrap_or(text);
            let row = shape_of(bare).and_then(|shape| line::parse(bare, &shape));
            let fault = |what| LineError { offset, what };
            let row = row.map_err(|what| crate::reader::located(&file, block.offset, &fault(what)));
            all += &format!("{:?}\n", row?.row());
            offset += text.len();
        }
    }
    Ok(all)
}

fn reads(path: &Path) -> cuesta_core::Result<String> {
    use crate::reads::{Pairing, ReadBatch, Reads};
    let reads = Reads::open(&[path.to_owned()], Pairing::NONE)?;
    let (mut batch, mut all) = (ReadBatch::default(), String::new());
    while reads.next(&mut batch)? {
        batch.reads().for_each(|read| all += &format!("{}\n", String::from_utf8_lossy(read)));
    }
    Ok(all)
}

/// A line of a file, by a number.
type LineOf = fn(u32) -> String;

const READERS: [(Reading, &str, LineOf); 7] = [
    (matrix, "gene\ts1\ts2\n", |n| format!("g{n}\t{}.5\t{}\n", n * n % 997, n % 89)),
    (edges, "gene1\tgene2\tscore\n", |n| format!("g{n}\th{n}\t0.{}\n", 1 + n * n % 997)),
    (names, "", |n| format!("gene-{}-{n}\n", n * n % 997)),
    (points, "", |n| format!("{}.5\t{}.25\n", n * n % 997, n % 89)),
    (pairs, "", kinc),
    (reads, "", |n| format!("@r{n}\n{0}{0}\n+\n{1}{1}\n", base(n), quality(n))),
    (reads, "", |n| format!(">r{n}\n{}\n", base(n))),
];

fn kinc(number: u32) -> String {
    format!("{}\t{number}\t1\t1\t5\t0\t0\t0\t0\t0.{}\t11111\n", number + 1, 1 + number % 89)
}

fn base(number: u32) -> String {
    let letters = (0..24).map(|place| b"ACGT"[((number * number) >> place) as usize & 3]);
    letters.map(char::from).collect()
}

fn quality(number: u32) -> String {
    (0..24).map(|place| char::from(b'!' + ((number * number) >> place) as u8 % 64)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A flipped bit was blamed on the text that came of it, such as "the line before the qualities
    /// is no +", and people looked for faults in files that were damaged.
    #[test]
    fn a_flipped_bit_is_a_damage_and_no_fault_of_the_text(
        (read, first, line) in prop::sample::select(&READERS),
        packing in prop::sample::select(&PACKERS),
        place in any::<prop::sample::Index>(),
        bit in 0u32..8,
    ) {
        let text: String = (1..400).map(line).collect();
        let text = format!("{first}{text}").into_bytes();
        let mut bytes = match packing {
            // As the program does.
            CompressionFormat::Zstd => {
                let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
                out.include_checksum(true).unwrap();
                out.write_all(&text).unwrap();
                out.finish().unwrap()
            }
            packing => packed(&text, packing),
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("any.name");
        std::fs::write(&path, &bytes).unwrap();
        let expected = read(&path).unwrap();
        let place = 18 + place.index(bytes.len() - 18);
        bytes[place] ^= 1 << bit;
        std::fs::write(&path, &bytes).unwrap();
        std::fs::remove_file(path.with_extension("npy")).ok();
        match read(&path) {
            // Checksums do not cover all bits of headers.
            Ok(results) => prop_assert_eq!(results, expected),
            Err(error) => prop_assert!(error.message().contains(" packed"), "{}", error),
        }
    }
}
