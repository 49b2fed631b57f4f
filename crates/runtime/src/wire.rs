//! Serialisation of values between processes of the same version, in postcard's format.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use cuesta_core::{Error, Result};

/// A value that a leader and its workers pass to each other. Values that serde serialises are
/// messages; others, such as packed bytes that are moved instead of copied, have their own form.
pub trait WireValue: Sized {
    /// Encodes the value.
    ///
    /// # Errors
    /// `Defect` for a value that cannot be encoded.
    fn into_bytes(self) -> Result<Vec<u8>>;

    /// Decodes a value of [`WireValue::into_bytes`].
    ///
    /// # Errors
    /// `Defect` for other bytes.
    fn from_bytes(bytes: Cow<'_, [u8]>) -> Result<Self>;
}

impl<T: Serialize + DeserializeOwned> WireValue for T {
    fn into_bytes(self) -> Result<Vec<u8>> {
        to_bytes(&self)
    }

    fn from_bytes(bytes: Cow<'_, [u8]>) -> Result<Self> {
        from_bytes(&bytes)
    }
}

/// Serialises a value.
///
/// # Errors
/// `Defect` for a value that cannot be serialised, such as a path that is not UTF-8.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|error| Error::defect("wire", error))
}

/// Deserialises a value of [`to_bytes`] at the start of `bytes`; returns it and the bytes after it.
///
/// # Errors
/// `Defect` for other bytes.
pub fn first_of_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8])> {
    postcard::take_from_bytes(bytes).map_err(|error| Error::defect("wire", error))
}

/// Deserialises a value of [`to_bytes`].
///
/// # Errors
/// `Defect` for other bytes.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match first_of_bytes(bytes)? {
        (value, []) => Ok(value),
        (_, rest) => Err(Error::defect("wire", format!("{} bytes too many", rest.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_restored_and_other_bytes_are_refused() {
        let value = (vec![1.5f64, f64::MIN], vec![-3i64], "text".to_owned());
        let bytes = to_bytes(&value).expect("it has a form");
        assert_eq!(from_bytes::<(Vec<f64>, Vec<i64>, String)>(&bytes).expect("it is one"), value);
        let longer = [&bytes[..], b"more"].concat();
        assert!(from_bytes::<(Vec<f64>, Vec<i64>, String)>(&longer).is_err());
        let (first, rest) =
            first_of_bytes::<(Vec<f64>, Vec<i64>, String)>(&longer).expect("it begins with one");
        assert_eq!((first, rest), (value, &b"more"[..]));
        let cut = &bytes[..bytes.len() - 1];
        assert!(from_bytes::<(Vec<f64>, Vec<i64>, String)>(cut).is_err());
        assert!(from_bytes::<Vec<f64>>(&bytes).is_err());
    }
}
