//! The module `cuesta._native`: converts arguments, releases the GIL, maps errors. No algorithm.
//!
//! A new function is converted here and computed elsewhere. What breaks: a function that holds the
//! GIL while it works stops progress and Ctrl-C.

mod answer;
mod convert;
mod rounds;
mod storage;
mod unpacked;
mod watch;
mod workloads;

use std::path::PathBuf;

use cuesta_assembly::picture;
use cuesta_bindings::{caught, from_json, python_error, to_json, watched};
use cuesta_core::Result;
use cuesta_core::job;
use cuesta_input::distinct::Distinct;
use cuesta_input::table::counters::{self, PointColumn};
use cuesta_network as network;
use cuesta_network::run::split::{Columns, SplitParams};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use workloads::{ALL, RegisteredWorkload};

/// The Rust kernels: text in, text out, columns as raw little-endian bytes.
#[pymodule(gil_used = true)]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::answer::AnswerFiles;

    #[pymodule_export]
    use cuesta_bindings::buffers::Block;

    #[pymodule_export]
    use super::rounds::{Leader, Worker};

    #[pymodule_export]
    use super::unpacked::UnpackedFile;

    #[pymodule_export]
    use super::watch::InputWatch;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let with_rounds = ALL.iter().filter(|workload| workload.rounds.is_some());
        cuesta_bindings::install("cuesta.errors");
        cuesta_input::storage::install(Box::new(storage::Uris));
        module.add("WORKLOADS", named(ALL.iter()))?;
        module.add("WITH_ROUNDS", named(with_rounds))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// The parameters of a workload with the defaults of those not given, checked; JSON in and out.
    #[pyfunction]
    fn parameters(py: Python<'_>, workload: &str, parameters_json: &str) -> PyResult<String> {
        let read = || {
            to_json(&RegisteredWorkload::named(workload)?.parameters(&from_json(parameters_json)?)?)
        };
        caught(read).map_err(|error| python_error(py, &error))
    }

    /// Runs a workload; JSON in, JSON out.
    #[pyfunction]
    #[pyo3(signature = (workload, request, progress = None))]
    fn run(
        py: Python<'_>,
        workload: &str,
        request: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let request = job::request(request).map_err(|error| python_error(py, &error))?;
        watched(py, progress, |state| {
            to_json(&RegisteredWorkload::named(workload)?.run(&request, state)?)
        })
    }

    /// Adds names and the network to the answer of any engine; JSON in, JSON out.
    #[pyfunction]
    #[pyo3(signature = (workload, request, progress = None))]
    fn annotate(
        py: Python<'_>,
        workload: &str,
        request: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let request = job::request(request).map_err(|error| python_error(py, &error))?;
        watched(py, progress, |state| to_json(&network::run::annotate(workload, &request, state)?))
    }

    /// Sentences on how tables of text are laid out; JSON in, a list out.
    #[pyfunction]
    fn recognised(py: Python<'_>, workload: &str, request: &str) -> PyResult<Vec<String>> {
        let request = job::request(request).map_err(|error| python_error(py, &error))?;
        watched(py, None, |_| match workload {
            "correlate" => network::run::correlate::recognised(&request),
            "kmeans" => cuesta_kmeans::recognised(&request),
            "images" => cuesta_images::run::recognised(&request),
            "modules" => cuesta_modules::run::recognised(&request),
            "threshold" => cuesta_modules::threshold::recognised(&request),
            _ => Ok(Vec::new()),
        })
    }

    /// Refuses inputs of which two are the same file, or have the same content.
    #[pyfunction]
    fn require_distinct(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        compares_content: bool,
    ) -> PyResult<()> {
        let (operation, noun) = ("input.files", "input");
        watched(py, None, |_| Distinct { operation, noun, compares_content }.require(&paths))
    }

    /// The layout of the edge list with names at a path, in words; None where there is none.
    #[pyfunction]
    fn edge_list(py: Python<'_>, path: PathBuf) -> PyResult<Option<String>> {
        watched(py, None, |_| Ok(cuesta_input::edges::recognise(&path)?.map(|form| form.words())))
    }

    /// Name of the compression format of a file, by its first bytes; None for plain text.
    #[pyfunction]
    fn compression(path: PathBuf) -> PyResult<Option<&'static str>> {
        let format = cuesta_input::unpack::compression_of(&path)?;
        Ok(format.is_packed().then(|| format.name()))
    }

    /// Writes an edge list as KINC text by the names in a file; JSON of counts out.
    #[pyfunction]
    fn convert_edges(
        py: Python<'_>,
        list_and_names: (PathBuf, PathBuf),
        earlier: Vec<PathBuf>,
        output: PathBuf,
        memory_bytes: u64,
    ) -> PyResult<String> {
        let (path, names) = list_and_names;
        watched(py, None, |_| convert::edges(&path, &names, &earlier, &output, memory_bytes))
    }

    /// The names of genes 1, 2, ... in a file of any kind that holds some.
    #[pyfunction]
    fn gene_names(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
        watched(py, None, |_| {
            let names = cuesta_input::GeneNames::read(&path, u64::MAX)?;
            Ok(names.iter().map(str::to_owned).collect())
        })
    }

    /// Verifies an answer folder; JSON in, JSON out.
    #[pyfunction]
    #[pyo3(signature = (workload, request, progress = None))]
    fn verify(
        py: Python<'_>,
        workload: &str,
        request: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let request = job::request(request).map_err(|error| python_error(py, &error))?;
        watched(py, progress, |state| {
            to_json(&RegisteredWorkload::named(workload)?.verify(&request, state)?)
        })
    }

    /// Name, bytes and BLAKE3 of the files of a folder, apart from some; JSON out.
    #[pyfunction]
    #[pyo3(signature = (folder, apart, threads, progress = None))]
    fn answer_checksums(
        py: Python<'_>,
        folder: PathBuf,
        apart: Vec<String>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, progress, |state| answer::checksums(&folder, &apart, threads, state))
    }

    /// Cuts a dataset into splits; JSON in, JSON out.
    #[pyfunction]
    fn splits(
        py: Python<'_>,
        inputs_json: &str,
        parameters_json: &str,
        split_bytes: u64,
    ) -> PyResult<String> {
        watched(py, None, |_| {
            let inputs: Vec<PathBuf> = from_json(inputs_json)?;
            let params: SplitParams = from_json(parameters_json)?;
            to_json(&network::run::split::plan(&inputs, &params, split_bytes)?)
        })
    }

    /// The rows of one split (path, first byte, bytes) of a file as columns.
    #[pyfunction]
    fn map_split<'py>(
        py: Python<'py>,
        parameters_json: &str,
        split: (PathBuf, u64, u64),
    ) -> PyResult<Bound<'py, PyDict>> {
        let (path, offset, size_bytes) = split;
        let mapped = py.detach(|| {
            let params: SplitParams = from_json(parameters_json)?;
            network::run::split::map_split(&params, &path, (offset, size_bytes))
        });
        columns(py, mapped)
    }

    /// The rows of a block of complete lines as columns.
    #[pyfunction]
    fn map_bytes<'py>(
        py: Python<'py>,
        parameters_json: &str,
        data: &[u8],
    ) -> PyResult<Bound<'py, PyDict>> {
        let mapped = py.detach(|| {
            let params: SplitParams = from_json(parameters_json)?;
            network::run::split::map_bytes(&params, data)
        });
        columns(py, mapped)
    }

    /// Size in bytes of the file at a path or URI, and whether it is a folder; raises `OSError`.
    #[pyfunction]
    fn input_facts(py: Python<'_>, path: PathBuf) -> PyResult<(u64, bool)> {
        let metadata = py.detach(|| cuesta_input::storage::metadata(&path))?;
        Ok((metadata.size_bytes, metadata.is_folder))
    }

    /// Columns of points that may be no coordinates, in a sentence: name, whether its numbers are
    /// whole, count the rows and have a fraction, and whether it is left out.
    #[pyfunction]
    fn point_doubt(columns: Vec<(String, bool, bool, bool, bool)>, rows: usize) -> Option<String> {
        let column =
            |(label, is_integer, counts, has_fraction, is_skipped): (String, _, _, _, _)| {
                let label = Some(label.into_bytes());
                PointColumn { label, is_integer, counts, has_fraction, is_skipped }
            };
        counters::doubt(&columns.into_iter().map(column).collect::<Vec<_>>(), rows)
    }

    /// Entries of a folder at a path or URI; raises `OSError`.
    #[pyfunction]
    fn input_list(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
        let entries = py.detach(|| cuesta_input::storage::list(&folder))?;
        Ok(entries.iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }

    /// Folder that the store of this account is over; None where none runs.
    #[pyfunction]
    fn store_under(py: Python<'_>) -> Option<PathBuf> {
        py.detach(cuesta_input::storage::store_under)
    }

    /// Positions of the junctions of a graph of lines (junction, junction, length).
    #[pyfunction]
    fn graph_layout(
        py: Python<'_>,
        lines: Vec<picture::Line>,
        junctions: usize,
    ) -> PyResult<Vec<picture::Point>> {
        watched(py, None, |_| Ok(picture::layout(&lines, junctions)))
    }

    /// Makes a synthetic dataset; JSON in, JSON out.
    #[pyfunction]
    fn data_make(py: Python<'_>, kind: &str, request_json: &str) -> PyResult<String> {
        watched(py, None, |state| convert::data_make(kind, request_json, state))
    }

    /// Measures a ceiling of this machine; JSON in, JSON out.
    #[pyfunction]
    fn ceiling(py: Python<'_>, kind: &str, request_json: &str) -> PyResult<String> {
        watched(py, None, |_| cuesta_ceiling::measure(kind, request_json))
    }
}

fn named<'a>(workloads: impl Iterator<Item = &'a RegisteredWorkload>) -> Vec<&'static str> {
    workloads.map(|workload| workload.name).collect()
}

fn columns(
    py: Python<'_>,
    mapped: Result<(Columns, cuesta_input::kinc::block::Counts)>,
) -> PyResult<Bound<'_, PyDict>> {
    let (columns, counts) = mapped.map_err(|error| python_error(py, &error))?;
    let dict = PyDict::new(py);
    for (name, bytes) in columns {
        dict.set_item(name, PyBytes::new(py, &bytes))?;
    }
    for (name, count) in [("rows_read", counts.rows_read), ("rows_kept", counts.rows_passed)] {
        dict.set_item(name, PyBytes::new(py, &count.to_le_bytes()))?;
    }
    Ok(dict)
}
