//! Text form of file names of any bytes, so that no file is omitted because of its name.
//!
//! A byte that is not valid UTF-8 becomes a character of a private range, U+10FE80 to U+10FEFF; so
//! does each byte of such a character in a name. In JSON for other languages these are the lone
//! surrogates U+DC80 to U+DCFF, as in Python (PEP 383).

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Character of byte 0; only bytes from 0x80 on are used.
const FIRST: u32 = 0x0010_fe00;
/// First two bytes of these characters in UTF-8.
const LEAD: [u8; 2] = [0xf4, 0x8f];

fn char_of(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte_of(letter: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(letter).checked_sub(FIRST)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

/// Converts a name, or a path of names, to text.
pub fn text_of(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match byte_of(letter) {
                None => text.push(letter),
                Some(_) => escape_char(letter, &mut text),
            }
        }
        text.extend(chunk.invalid().iter().map(|&byte| char_of(byte)));
    }
    text
}

fn escape_char(letter: char, to: &mut String) {
    let mut bytes = [0; 4];
    to.extend(letter.encode_utf8(&mut bytes).bytes().map(char_of));
}

/// Converts text to the name that the system uses.
pub fn name_of(text: &str) -> OsString {
    let mut name = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match byte_of(letter) {
            Some(byte) => name.push(byte),
            None => name.extend(letter.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    OsString::from_vec(name)
}

/// Normalizes text: bytes that form valid UTF-8 are not private characters.
pub fn canonical(text: &str) -> Cow<'_, str> {
    match text.chars().any(|letter| byte_of(letter).is_some()) {
        true => Cow::Owned(text_of(&name_of(text))),
        false => Cow::Borrowed(text),
    }
}

/// Formats a name for users: invalid bytes as `\xe9`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|letter| byte_of(letter).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for letter in text.chars() {
        match byte_of(letter) {
            Some(byte) => _ = write!(shown, "\\x{byte:02x}"),
            None => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Converts JSON of this program for other languages.
pub fn to_json(text: Vec<u8>) -> Vec<u8> {
    if !text.windows(2).any(|pair| pair == LEAD) {
        return text;
    }
    let Ok(text) = str::from_utf8(&text) else { return text };
    let mut json = String::with_capacity(text.len());
    for letter in text.chars() {
        match byte_of(letter) {
            Some(byte) => _ = write!(json, "\\udc{byte:02x}"),
            None => json.push(letter),
        }
    }
    json.into_bytes()
}

/// Converts JSON of other languages for this program.
pub fn from_json(json: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = |pair: &[u8]| pair != LEAD && !pair.eq_ignore_ascii_case(b"\\u");
    if json.windows(2).all(is_plain) {
        return Cow::Borrowed(json);
    }
    let Ok(text) = str::from_utf8(json) else { return Cow::Borrowed(json) };
    let mut ours = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (length, escaped) = match letter {
            '\\' => from_escape(rest),
            _ => (letter.len_utf8(), byte_of(letter).map(|_| letter)),
        };
        match escaped {
            // A single byte.
            Some(letter) if letter < '\u{100}' => ours.push(char_of(letter as u8)),
            Some(letter) => escape_char(letter, &mut ours),
            None => ours.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    Cow::Owned(ours.into_bytes())
}

/// Parses the escape at the beginning of `text`; returns its length, and the byte or private
/// character that it stands for.
fn from_escape(text: &str) -> (usize, Option<char>) {
    let Some(first) = unit_of(text) else {
        return (text.chars().take(2).map(char::len_utf8).sum(), None);
    };
    match first {
        0xdc80..=0xdcff => (6, char::from_u32(first - 0xdc00)),
        0xd800..=0xdbff => match unit_of(&text[6..]) {
            Some(second @ 0xdc00..=0xdfff) => {
                let letter = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                (12, char::from_u32(letter).filter(|&letter| byte_of(letter).is_some()))
            }
            _ => (6, None),
        },
        _ => (6, None),
    }
}

/// Parses the number of an escape `\uXXXX` at the beginning of `text`.
fn unit_of(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// System paths in messages, in their text form.
pub mod path_text {
    use super::{Path, PathBuf, name_of, text_of};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a path.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text_of(path.as_os_str()))
    }

    /// Reads a path.
    ///
    /// # Errors
    /// Errors of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        String::deserialize(from).map(|text| name_of(&text).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes of names, among them complete and truncated private characters.
    fn names() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            Just("é".as_bytes().to_vec()),
            Just("\u{10fe80}".as_bytes().to_vec()),
            Just("\u{10feff}".as_bytes().to_vec()),
            Just("\u{10fe7f}\u{10ff00}\u{1f600}".as_bytes().to_vec()),
            Just(b"\\udce9".to_vec()),
            Just(b"\\\"".to_vec()),
            Just(vec![0xf4, 0x8f, 0xba]),
        ];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn a_name_of_any_bytes_comes_back_from_its_text_and_from_json(bytes in names()) {
            let name = OsString::from_vec(bytes);
            let text = text_of(&name);
            prop_assert_eq!(&name_of(&text), &name);
            prop_assert_eq!(canonical(&text), text.as_str());
            let json = to_json(serde_json::to_vec(&text).unwrap());
            let ours: String = serde_json::from_slice(&from_json(&json)).unwrap();
            prop_assert_eq!(&ours, &text);
        }

        #[test]
        fn json_of_other_languages_is_read_as_names(text: String) {
            let json = serde_json::to_vec(&text).unwrap();
            let ours: String = serde_json::from_slice(&from_json(&json)).unwrap();
            prop_assert_eq!(name_of(&ours), OsString::from(&text));
            let first = canonical(&ours);
            prop_assert_eq!(canonical(&first), first.as_ref());
        }

        #[test]
        fn any_bytes_instead_of_json_are_no_harm(json: Vec<u8>) {
            let _ = from_json(&json);
        }
    }

    #[test]
    fn names_are_as_python_has_them() {
        // json.dumps(os.fsdecode(b"caf\xe9 \xf4\x8f\xba\x80 \xf0\x9f\x98\x80"))
        let json = br#""caf\udce9 \udbff\ude80 \ud83d\ude00""#;
        let ours: String = serde_json::from_slice(&from_json(json)).unwrap();
        let name = name_of(&ours);
        assert_eq!(name.as_bytes(), b"caf\xe9 \xf4\x8f\xba\x80 \xf0\x9f\x98\x80");
        let json = to_json(serde_json::to_vec("caf\u{10fee9}").unwrap());
        assert_eq!(json, br#""caf\udce9""#);
        assert_eq!(shown("caf\u{10fee9}"), r"caf\xe9");
    }
}
