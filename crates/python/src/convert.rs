//! Synthetic datasets and edge lists, by requests in JSON.

use std::path::{Path, PathBuf};

use cuesta_bindings::to_json;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::generate;
use serde::de::DeserializeOwned;

/// Makes a synthetic dataset of a kind; returns its counts as JSON.
pub fn data_make(kind: &str, request: &str, progress: &Progress) -> Result<String> {
    match kind {
        "clusters" => {
            let (rows, bytes) = generate::clusters::write(&user_request(request)?, progress)?;
            to_json(&serde_json::json!({ "rows": rows, "bytes": bytes }))
        }
        "matrix" => {
            let (genes, bytes) = generate::matrix::write(&user_request(request)?, progress)?;
            to_json(&serde_json::json!({ "genes": genes, "bytes": bytes }))
        }
        "tera" => {
            let (rows, bytes) = generate::tera::write(&user_request(request)?, progress)?;
            to_json(&serde_json::json!({ "rows": rows, "bytes": bytes }))
        }
        "points" => {
            let (points, bytes) = generate::points::write(&user_request(request)?, progress)?;
            to_json(&serde_json::json!({ "points": points, "bytes": bytes }))
        }
        "images" => {
            let (images, bytes) = generate::images::write(&user_request(request)?, progress)?;
            to_json(&serde_json::json!({ "images": images, "bytes": bytes }))
        }
        "reads" => {
            let (reads, bytes) = generate::reads::write(&user_request(request)?, progress)?;
            to_json(&serde_json::json!({ "reads": reads, "bytes": bytes }))
        }
        other => Err(Error::defect("data make", format!("no generator is named {other}"))),
    }
}

/// Parses the request of a user, which was not checked completely before.
fn user_request<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::input("arguments", error))
}

/// Writes an edge list as KINC text by the names in a file, apart from the edges of earlier texts;
/// returns counts as JSON.
pub fn edges(
    path: &Path,
    names: &Path,
    earlier: &[PathBuf],
    output: &Path,
    memory_bytes: u64,
) -> Result<String> {
    let Some(form) = cuesta_input::edges::recognise(path)? else {
        let text = format!("{} is no edge list", path.display());
        return Err(Error::input("input.edges", text));
    };
    let names = cuesta_input::GeneNames::read(names, memory_bytes)?;
    to_json(&cuesta_input::edges::convert((path, &form), &names, earlier, output, memory_bytes)?)
}
