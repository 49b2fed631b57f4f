//! Ceilings: the rates at which this machine reads and copies memory, reads and writes files, and
//! multiplies.
//!
//! Each phase of a run is compared with one of them. A measurement repeats a loop that does nothing
//! else, on a number of threads, each on its own data, and returns the rate of each repeat.
//!
//! Safe to change: the loops, if they still do nothing else. What breaks: records compare
//! themselves with ceilings by name, so a new definition needs a new name.

mod arithmetic;
mod file;
mod memory;
mod team;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Kinds of ceilings for [`measure`].
pub const KINDS: [&str; 7] = [
    "memory_read",
    "memory_copy",
    "fma_f32",
    "file_write",
    "file_read_warm",
    "file_read_direct",
    "random_read",
];

/// Limits of a request.
mod limits {
    /// Most threads.
    pub const THREADS_MAX: usize = 4096;
    /// Most repeats.
    pub const REPEATS_MAX: usize = 1000;
    /// Longest repeat, in seconds.
    pub const SECONDS_MAX: f64 = 60.0;
}

/// Request of a measurement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Number of threads that measure in parallel.
    threads: usize,
    /// Number of repeats to return.
    repeats: usize,
    /// Shortest time of a repeat in seconds.
    seconds_min: f64,
    /// Memory kinds: bytes of all threads together; `file_write`: size of the file.
    #[serde(default)]
    bytes: u64,
    /// File kinds: the file, which `file_write` creates.
    #[serde(default)]
    path: PathBuf,
}

/// Result of a measurement.
#[derive(Debug, Serialize)]
struct Response {
    /// Unit that is counted: `bytes` or `flops`.
    unit: &'static str,
    /// Units a second, for each repeat.
    per_s: Vec<f64>,
    /// Description of the measured operation, e.g. the instruction set.
    detail: String,
}

impl Request {
    fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::input("ceiling", text));
        if !(1..=limits::THREADS_MAX).contains(&self.threads) {
            return refuse(format!("threads is {}, give 1 to 4096", self.threads));
        }
        if !(1..=limits::REPEATS_MAX).contains(&self.repeats) {
            return refuse(format!("repeats is {}, give 1 to 1000", self.repeats));
        }
        if !(0.0..=limits::SECONDS_MAX).contains(&self.seconds_min) {
            return refuse(format!("seconds_min is {}, give 0 to 60", self.seconds_min));
        }
        Ok(())
    }
}

/// Measures a kind of ceiling.
///
/// `request_json` has `threads`, `repeats`, `seconds_min` (of a repeat) and, for memory, `bytes`
/// (of all threads together); for files the `path` of a file that `file_write` makes with `bytes`
/// bytes and the caller removes. Returns JSON: `unit` (`bytes` or `flops`), `per_s` (one number a
/// repeat) and `detail`. A copy counts the bytes read and the bytes written.
///
/// # Errors
/// `Input` for a value out of range; `Defect` for an unknown kind; `System` when a file can't be
/// used, also where the file system has no direct reads.
pub fn measure(kind: &str, request_json: &str) -> Result<String> {
    let request: Request = serde_json::from_str(request_json)
        .map_err(|error| Error::defect("ceiling", format!("the request is not usable: {error}")))?;
    request.check()?;
    let response = match kind {
        "memory_read" => memory::read(&request),
        "memory_copy" => memory::copy(&request),
        "fma_f32" => arithmetic::fma(&request),
        "file_write" => file::write(&request),
        "file_read_warm" => file::read_warm(&request),
        "file_read_direct" => file::read_direct(&request),
        "random_read" => file::read_random(&request),
        _ => {
            let names = KINDS.join(", ");
            Err(Error::defect("ceiling", format!("kind {kind:?} is not known, there are {names}")))
        }
    }?;
    serde_json::to_string(&response)
        .map_err(|error| Error::defect("ceiling", format!("the answer has no JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(kind: &str, threads: usize, more: &str) -> (f64, serde_json::Value) {
        let request =
            format!(r#"{{"threads": {threads}, "repeats": 3, "seconds_min": 0.01{more}}}"#);
        let answer: serde_json::Value =
            serde_json::from_str(&measure(kind, &request).unwrap()).unwrap();
        let mut per_s: Vec<f64> =
            answer["per_s"].as_array().unwrap().iter().map(|rate| rate.as_f64().unwrap()).collect();
        assert_eq!(per_s.len(), 3);
        per_s.sort_by(f64::total_cmp);
        (per_s[1], answer)
    }

    #[test]
    fn memory_is_read_at_a_rate_that_memory_can_have() {
        for kind in ["memory_read", "memory_copy"] {
            let (rate, answer) = quick(kind, 2, r#", "bytes": 67108864"#);
            assert!((1e8..1e13).contains(&rate), "{kind}: {rate}");
            assert_eq!(answer["unit"], "bytes");
        }
    }

    #[test]
    fn arithmetic_is_not_optimised_away() {
        // A core does at most 64 multiply-adds of f32 a cycle, below 6 GHz.
        let (rate, answer) = quick("fma_f32", 1, "");
        assert!((1e8..128.0 * 6e9).contains(&rate), "{rate}");
        assert_eq!(answer["unit"], "flops");
    }

    #[test]
    fn files_are_written_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ceiling");
        let text = format!(r#", "path": {path:?}"#);
        quick("file_write", 1, &format!(r#"{text}, "bytes": 8388608"#));
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 << 20);
        let (rate, _) = quick("file_read_warm", 2, &text);
        assert!((1e7..1e13).contains(&rate), "{rate}");
        for kind in ["file_read_direct", "random_read"] {
            let request = format!(r#"{{"threads": 2, "repeats": 1, "seconds_min": 0.01{text}}}"#);
            match measure(kind, &request) {
                Ok(answer) => assert!(answer.contains("\"unit\":\"bytes\""), "{answer}"),
                Err(error) => assert!(error.message().contains("direct"), "{error}"),
            }
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let request = r#"{"threads": 2, "repeats": 1, "seconds_min": 0, "path": "/nonexistent/a"}"#;
        let error = measure("file_read_warm", request).unwrap_err();
        assert!(error.message().contains("/nonexistent/a"), "{error}");
    }

    #[test]
    fn a_bad_request_is_refused_with_the_reason() {
        let cases = [
            ("memory_read", r#"{"threads": 0, "repeats": 1, "seconds_min": 0}"#, "threads is 0"),
            ("memory_read", r#"{"threads": 1, "repeats": 0, "seconds_min": 0}"#, "repeats is 0"),
            ("memory_read", r#"{"threads": 1, "repeats": 1, "seconds_min": 99}"#, "seconds_min"),
            ("memory_read", r#"{"threads": 1, "repeats": 1, "seconds_min": 0}"#, "bytes is 0"),
            ("memory_read", "[]", "not usable"),
            ("disk", r#"{"threads": 1, "repeats": 1, "seconds_min": 0}"#, "there are memory_read,"),
        ];
        for (kind, request, expected) in cases {
            let error = measure(kind, request).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
    }
}
