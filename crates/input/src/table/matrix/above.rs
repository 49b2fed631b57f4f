//! Lines above the table: those of GCT, of a GEO series matrix, and comments.

use super::super::{
    DelimiterChoice, HEAD_BYTES, TableLine, TableLines, declared_delimiter, fields,
};
use super::FormError;

/// Form of a file with a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixKind {
    /// Lines of fields and nothing else, but comments above them.
    Delimited,
    /// Counts as featureCounts (Subread) writes them.
    FeatureCounts,
    /// GCT of version 1.2 or 1.3, by its last digit.
    Gct(u8),
    /// GEO's series matrix.
    Series,
}

impl MatrixKind {
    /// Words for a missing value in files of this form.
    pub fn missing(self) -> &'static [&'static str] {
        match self {
            Self::Delimited | Self::FeatureCounts => &[],
            Self::Gct(3) => &["-666"],
            Self::Gct(_) => &[],
            Self::Series => &["null", "Null", "NULL"],
        }
    }
}

/// Lines above a table.
#[derive(Clone, Debug)]
pub struct Above {
    /// Form of the file.
    pub kind: MatrixKind,
    /// Offset of the table, and the lines before it.
    pub begins_at: (usize, usize),
    /// Numbers in the second line of GCT: rows, samples, columns about rows, lines about samples.
    pub sizes: Vec<u64>,
    /// Delimiter that the first line declares, as in `sep=;`.
    pub delimiter: Option<DelimiterChoice>,
}

impl Above {
    fn new(kind: MatrixKind, begins_at: (usize, usize), sizes: Vec<u64>) -> Self {
        Self { kind, begins_at, sizes, delimiter: None }
    }
}

/// Whether these first bytes of a text are enough to recognise its layout.
pub fn is_enough(bytes: &[u8]) -> bool {
    if bytes.len() < HEAD_BYTES {
        return false;
    }
    let Ok(above) = above(bytes) else { return true };
    let lines = TableLines::new(&bytes[above.begins_at.0..], 0);
    let about_samples = above.sizes.get(3).copied().unwrap_or(0) as usize;
    lines.take(2 + about_samples).count() == 2 + about_samples
}

/// The lines above the table.
pub fn above(bytes: &[u8]) -> Result<Above, FormError> {
    let mut lines = TableLines::new(bytes, 0);
    let first = lines.next();
    let declared = first.as_ref().map(|first| (first, declared_delimiter(first.text)));
    let Some((first, Some(delimiter))) = declared else { return undeclared(bytes) };
    let delimiter = delimiter.map_err(|what| FormError::line(first, what))?;
    let (place, number) = (lines.place, lines.number);
    let later =
        |error: FormError| FormError { line: error.line.map(|line| line + number), ..error };
    let above = undeclared(&bytes[place..]).map_err(later)?;
    let (offset, before) = above.begins_at;
    let begins_at = (place + offset, number + before);
    Ok(Above { begins_at, delimiter: Some(delimiter), ..above })
}

/// The lines above a table whose first line declares no delimiter.
fn undeclared(bytes: &[u8]) -> Result<Above, FormError> {
    let mut lines = TableLines::new(bytes, 0);
    let plain = Above::new(MatrixKind::Delimited, (0, 0), Vec::new());
    let Some(first) = lines.next() else { return Ok(plain) };
    match first.text {
        [b'#', b'1', b'.', digit @ (b'2' | b'3'), ..] => gct(*digit - b'0', &mut lines, &first),
        [b'!', ..] => Ok(series(&mut lines)),
        [b'^', ..] => Err(FormError::file(
            "is a GEO SOFT file; give the series matrix (GSE..._series_matrix.txt)",
        )),
        [b'#', ..] => Ok(comments(bytes)),
        _ => Ok(plain),
    }
}

fn gct(version: u8, lines: &mut TableLines, first: &TableLine) -> Result<Above, FormError> {
    let count = if version == 3 { 4 } else { 2 };
    let sizes = lines.next().and_then(|line| {
        let numbers = fields::fields(line.text, b'\t');
        let numbers = numbers
            .iter()
            .take(count)
            .map(|field| str::from_utf8(fields::bare(field)).ok()?.parse().ok());
        numbers.collect::<Option<Vec<u64>>>().filter(|sizes| sizes.len() == count)
    });
    let Some(sizes) = sizes else {
        let text = format!("says GCT 1.{version}, but {count} sizes do not follow it");
        return Err(FormError::line(first, text));
    };
    let begins_at = (lines.place, lines.number);
    Ok(Above::new(MatrixKind::Gct(version), begins_at, sizes))
}

fn series(lines: &mut TableLines) -> Above {
    for line in lines.by_ref() {
        if line.text.trim_ascii_end() == b"!series_matrix_table_begin" {
            break;
        }
    }
    let begins_at = (lines.place, lines.number);
    Above::new(MatrixKind::Series, begins_at, Vec::new())
}

/// Comments end before the first other line; the last of them is the header where it has as many
/// fields as that line, or one less.
fn comments(bytes: &[u8]) -> Above {
    let mut lines = TableLines::new(bytes, 0);
    let (mut before, mut begins_at) = ((0, 0), (0, 0));
    let mut last: &[u8] = b"";
    while let Some(line) = lines.next() {
        if !line.text.starts_with(b"#") {
            let is_header = [b'\t', b';', b','].into_iter().any(|delimiter| {
                let (above, below) =
                    (fields::count(last, delimiter), fields::count(line.text, delimiter));
                below > 1 && (above == below || above > 1 && above + 1 == below)
            });
            begins_at = if is_header { before } else { begins_at };
            break;
        }
        last = line.text;
        before = begins_at;
        begins_at = (lines.place, lines.number);
    }
    Above::new(MatrixKind::Delimited, begins_at, Vec::new())
}
