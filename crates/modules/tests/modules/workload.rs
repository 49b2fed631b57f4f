//! The workload `modules` and `threshold` as requests see them: answers, refusals and mutants.

use std::fs;
use std::path::Path;

use cuesta_core::Error;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response};
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_modules::{run, threshold, verify};
use cuesta_testkit::Workload;
use serde_json::{Value, json};
use tempfile::TempDir;

const MEMORY: u64 = 1 << 28;

const MODULES: Workload = Workload {
    name: "modules",
    run,
    verify,
    lead: |_, _| Err(Error::defect("modules", "has no rounds")),
    work: |_, _| Err(Error::defect("modules", "has no rounds")),
};
const THRESHOLD: Workload = Workload {
    name: "threshold",
    run: threshold::run,
    verify: threshold::verify,
    lead: threshold::rounds::lead,
    work: threshold::rounds::work,
};

/// Folder with a matrix, and requests on it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(matrix: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("matrix.tsv"), matrix).unwrap();
        for name in ["answer", "scratch"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn request(&self, parameters: &Value, threads: usize) -> Request {
        Request {
            inputs: vec![self.folder.path().join("matrix.tsv")],
            parameters: parameters.clone(),
            output: self.folder.path().join("answer"),
            seed: 0,
            threads,
            budget: Budget::new(MEMORY).into(),
            scratch: self.folder.path().join("scratch"),
            verify: Default::default(),
            names: None,
        }
    }

    /// Runs and verifies a workload; returns its counts.
    fn answer(&self, workload: &Workload, parameters: &Value, threads: usize) -> Response {
        let request = self.request(parameters, threads);
        let response = (workload.run)(&request, &Progress::default()).unwrap();
        let verdict = (workload.verify)(&request, &Progress::default()).unwrap();
        assert!(verdict.verified, "{:?}", verdict.remark);
        let mut names = files(&request.output).into_iter().map(|(name, _)| name);
        assert!(names.all(|name| verdict.files.contains(&name.as_str())));
        response
    }

    fn refused(&self, workload: &Workload, parameters: &Value) -> String {
        let request = self.request(parameters, 1);
        (workload.run)(&request, &Progress::default()).unwrap_err().message()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join("answer").join(name)).unwrap()
    }
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

/// Values of genes, of which the first 3 x 14 follow three profiles.
fn value(gene: usize, sample: usize, noise: f64) -> f64 {
    let profile = Stream::new(1, (gene / 14) as u64).normal(sample as u64);
    let noise_of_gene = Stream::new(2, gene as u64).normal(sample as u64);
    if gene < 42 { 5.0 + profile + noise * noise_of_gene } else { 5.0 + noise_of_gene }
}

fn matrix(genes: usize, samples: usize) -> String {
    let mut text = "gene".to_owned();
    (0..samples).for_each(|sample| text += &format!("\ts{sample}"));
    for gene in 0..genes {
        text += &format!("\ng{gene}");
        for sample in 0..samples {
            match (gene, sample) {
                (43, _) => text += "\t7",
                (5 | 44, 3) => text += "\tNA",
                _ => text += &format!("\t{:.4}", value(gene, sample, 0.4)),
            }
        }
    }
    text + "\n"
}

fn traits(samples: usize) -> String {
    let mut text = "sample,age,sex,code\n".to_owned();
    for sample in (1..samples).rev() {
        let sex = if sample % 3 == 0 { "m" } else { "f" };
        text += &format!("s{sample},{:.3},{sex},c{sample}\n", value(0, sample, 0.3));
    }
    text + "stranger,1,f,z\n"
}

fn parameters() -> Value {
    json!({"min_module_size": 8, "power": 6})
}

#[test]
fn golden_cases_stand() {
    cuesta_testkit::golden(&MODULES);
    cuesta_testkit::golden(&THRESHOLD);
}

#[test]
fn modules_are_the_same_bytes_for_any_number_of_threads() {
    let place = Place::new(&matrix(60, 20));
    let mut answers = Vec::new();
    for threads in [1, 2, 5] {
        let response = place.answer(&MODULES, &parameters(), threads);
        assert_eq!((response.counts["modules"], response.counts["genes"]), (3, 60));
        assert_eq!(response.counts["genes_used"], 59);
        answers.push(files(&place.folder.path().join("answer")));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let modules = place.text("modules.tsv");
    let mut lines = modules.lines();
    assert_eq!(lines.next(), Some("gene\tname\tmodule\tkme"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows.len(), rows[43][..].to_vec()), (60, vec!["44", "g43", "0", "NA"]));
    for first in [0, 14, 28] {
        assert!(rows[first..first + 14].iter().all(|row| row[2] == rows[first][2]));
        assert!(rows[first][3].parse::<f64>().unwrap() > 0.7);
    }
    assert!(place.text("left_out.tsv").contains("gene\tg43\tdoes not vary\n"));
    assert!(place.text("eigengenes.tsv").starts_with("sample\tME1\tME2\tME3\ns0\t"));
    assert_eq!(place.text("modules.gmt").lines().count(), 3);
    assert!(place.text("modules.gmt").starts_with("turquoise\tmodule 1, "));
    assert_eq!(place.text("background.txt").lines().count(), 59);
    assert_eq!(place.text("tree.tsv").lines().count(), 59);
}

#[test]
fn traits_are_correlated_by_the_names_of_samples() {
    let place = Place::new(&matrix(60, 20));
    let path = place.path("traits.csv");
    fs::write(&path, traits(20)).unwrap();
    let mut parameters = parameters();
    parameters["traits"] = json!(path);
    place.answer(&MODULES, &parameters, 2);
    let text = place.text("traits.tsv");
    assert!(text.starts_with("module\ttrait\tr\tp\tq\tn\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split('\t').collect()).collect();
    assert_eq!((rows.len(), rows[0][5], rows[1][1]), (6, "19", "sex=m"));
    let best = rows.iter().filter(|row| row[1] == "age").map(|row| row[2].parse::<f64>().unwrap());
    assert!(best.fold(0.0, |best: f64, r| best.max(r.abs())) > 0.8, "{text}");
    let left_out = place.text("left_out.tsv");
    for line in
        ["sample\ts0\thas no traits", "sample\tstranger\thas traits", "trait\tcode\tis text"]
    {
        assert!(left_out.contains(line), "{left_out}");
    }
}

/// Squares of values beyond 1e150 overflowed and those of values below 1e-162 vanished: genes were
/// refused or left out, and traits had no correlation or one that did not verify.
#[test]
fn a_power_of_two_changes_no_byte_of_an_answer() {
    let scale = |exponent: i32, values: &str, separator: char| {
        let scaled = |field: &str| match field.parse::<f64>() {
            // In two steps, of which each has its factor.
            Ok(x) => {
                format!("{:e}", x * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2))
            }
            Err(_) => field.to_owned(),
        };
        let line = |line: &str| {
            line.split(separator).map(scaled).collect::<Vec<_>>().join(&separator.to_string())
        };
        values.lines().map(|text| line(text) + "\n").collect::<String>()
    };
    let answers = |workload: &Workload, changed: &Value, (of_matrix, of_traits): (i32, i32)| {
        let place = Place::new(&scale(of_matrix, &matrix(48, 20), '\t'));
        let path = place.path("traits.csv");
        fs::write(&path, scale(of_traits, &traits(20), ',')).unwrap();
        let mut parameters = changed.clone();
        if workload.name == "modules" {
            parameters["min_module_size"] = json!(8);
            parameters["traits"] = json!(path);
        }
        place.answer(workload, &parameters, 2);
        files(&place.folder.path().join("answer"))
    };
    let changes = [json!({}), json!({"method": "bicor"}), json!({"top_variable": 30})];
    for changed in changes {
        for workload in [&MODULES, &THRESHOLD] {
            let expected = answers(workload, &changed, (0, 0));
            for exponents in [(-900, 1015), (1015, -900), (520, 515), (-560, -565)] {
                let same = answers(workload, &changed, exponents) == expected;
                assert!(same, "{} {changed} {exponents:?}", workload.name);
            }
        }
    }
}

#[test]
fn a_power_is_chosen_and_its_table_written() {
    let place = Place::new(&matrix(60, 20));
    for (network, fallback) in [("unsigned", 8), ("signed", 16)] {
        let parameters = json!({"min_module_size": 8, "network": network});
        let response = place.answer(&MODULES, &parameters, 2);
        let rows = place.text("powers.tsv");
        let fits: Vec<(u64, f64)> = rows
            .lines()
            .skip(1)
            .map(|row| row.split('\t').collect::<Vec<_>>())
            .map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap()))
            .collect();
        assert_eq!(fits.len(), 15);
        let best = fits.iter().find(|(_, fit)| *fit > 0.85).map_or(fallback, |(power, _)| *power);
        assert_eq!(response.counts["power"], best);
    }
}

#[test]
fn options_change_the_answer_and_verify() {
    let place = Place::new(&matrix(60, 20));
    for changed in [
        json!({"network": "signed"}),
        json!({"network": "signed-hybrid", "tom": "unsigned"}),
        json!({"tom": "unsigned"}),
        json!({"method": "bicor", "max_p_outliers": 0.1}),
        json!({"no_pam": true, "deep_split": 3.5}),
        json!({"as": "wgcna-1.72"}),
        json!({"as": "wgcna-1.72-colours"}),
        json!({"merge_cut_height": 0.9, "min_kme": 0.6, "reassign_p": 0.01}),
        json!({"top_variable": 30, "log2": true, "min_mean": 1.0}),
    ] {
        let mut parameters = parameters();
        parameters.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        place.answer(&MODULES, &parameters, 2);
    }
}

#[test]
fn inputs_without_modules_have_an_answer_or_a_line() {
    let eight = Place::new(&matrix(50, 8));
    eight.answer(&MODULES, &json!({"min_module_size": 60}), 1);
    assert_eq!(eight.text("modules.gmt"), "");
    assert!(eight.text("eigengenes.tsv").starts_with("sample\ns0\n"));
    let single = Place::new("gene\ta\tb\tc\td\te\ng\t1\t2\t3\t5\t4\n");
    let line = single.refused(&MODULES, &json!({}));
    assert!(line.contains("1 gene is used; a network needs at least 4"), "{line}");
    let text = "gene\ta\tb\tc\td\nw\t3\t3\t3\t3\nx\t1\t1\t1\t1\ny\t2\t2\t2\t2\nz\t4\t4\t4\t4\n";
    let constant = Place::new(text).refused(&MODULES, &json!({}));
    assert!(constant.contains("no gene has enough values that vary"), "{constant}");
    let place = Place::new(text);
    let error = (THRESHOLD.run)(&place.request(&json!({}), 1), &Progress::default()).unwrap_err();
    assert_eq!(error.operation, "threshold");
    let few = Place::new("gene\ta\tb\nx\t1\t2\ny\t2\t1\n").refused(&MODULES, &json!({}));
    assert!(few.contains("2 samples; correlations need at least 4"), "{few}");
    let twice = Place::new("gene\ta\tb\nx\t1\t2\nx\t2\t1\n").refused(&MODULES, &json!({}));
    assert!(twice.contains("names gene \"x\""), "{twice}");
}

#[test]
fn a_network_beyond_the_memory_is_refused_before_it_is_computed() {
    let place = Place::new(&matrix(60, 20));
    for workload in [&MODULES, &THRESHOLD] {
        let mut request = place.request(&json!({}), 1);
        request.budget = Budget::new(22_000).into();
        let error = (workload.run)(&request, &Progress::default()).unwrap_err().message();
        assert!(error.contains("memory") && error.contains("--memory"), "{error}");
    }
}

#[test]
fn thresholds_count_edges_as_they_are() {
    let place = Place::new(&matrix(60, 20));
    let response = place.answer(&THRESHOLD, &json!({"step": 0.1}), 2);
    let text = place.text("thresholds.tsv");
    assert!(text.starts_with("threshold\tedges\tdensity\t"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split('\t').collect()).collect();
    assert_eq!((rows.len(), rows[0][0], response.counts["cut_offs"]), (7, "0.3", 7));
    let edges: Vec<u64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(edges.is_sorted_by(|a, b| a >= b) && edges[4] > 200, "{edges:?}");
    assert_eq!(place.text("powers.tsv").lines().count(), 16);
}

/// The part by chance came from the series of Student, whose p-value is exact to 1e-16 only, so a
/// right answer with a million pairs for each edge did not verify. It comes from the p-value of the
/// row, which is compared with the series.
#[test]
fn few_edges_of_many_genes_verify() {
    let (genes, samples) = (4_000, 60);
    let mut text = "gene".to_owned();
    (0..samples).for_each(|sample| text += &format!("\ts{sample}"));
    for gene in 0..genes {
        text += &format!("\ng{gene}");
        // The second gene repeats the first.
        let stream = Stream::new(9, if gene == 1 { 0 } else { gene });
        (0..samples).for_each(|sample| text += &format!("\t{:.3}", stream.normal(sample)));
    }
    let place = Place::new(&(text + "\n"));
    let response = place.answer(&THRESHOLD, &json!({"low": 0.9, "high": 0.95, "step": 0.05}), 2);
    assert_eq!(response.counts["cut_offs"], 2);
    let text = place.text("thresholds.tsv");
    assert!(text.lines().skip(1).all(|row| row.split('\t').nth(1) == Some("1")), "{text}");
}

#[test]
fn a_search_by_random_matrices_has_its_steps_and_verifies() {
    let place = Place::new(&matrix(150, 9));
    let mut genes_of = Vec::new();
    for (choice, threads) in [("all", 1), ("all", 3), ("kinc-3", 2)] {
        let parameters = json!({"random_matrix": choice, "step": 0.2, "low": 0.75});
        let response = place.answer(&THRESHOLD, &parameters, threads);
        let text = place.text("random_matrix.tsv");
        assert!(text.starts_with("threshold\tgenes\teigenvalues\tchi_square\n0.990000\t"));
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|row| row.split('\t').collect()).collect();
        assert!(rows.iter().any(|row| row[3] != "NA"), "{text}");
        if response.counts["threshold_by_random_matrix_confirmed"] == 0 {
            assert!(rows.last().unwrap()[0] < "0.7511", "{text}");
        }
        let genes = rows.iter().map(|row| row[1].parse().unwrap()).collect::<Vec<u64>>();
        assert!(genes.is_sorted(), "{genes:?}");
        genes_of.push(genes);
        let mut request = place.request(&parameters, 1);
        request.budget = Budget::new(160_000).into();
        let error = (THRESHOLD.run)(&request, &Progress::default()).unwrap_err().message();
        assert!(error.contains("--memory"), "{error}");
    }
    assert_eq!(genes_of[0], genes_of[1]);
    assert!(genes_of[0].iter().zip(&genes_of[2]).all(|(all, larger)| larger <= all));
    assert!(genes_of[0].iter().zip(&genes_of[2]).any(|(all, larger)| larger < all));
}

/// Wrong answers of all files, as many as `CUESTA_SOAK` has in soaks.
#[test]
fn no_changed_answer_passes() {
    let soak = std::env::var_os("CUESTA_SOAK").is_some();
    let place = Place::new(&matrix(48, 12));
    let path = place.path("traits.csv");
    fs::write(&path, traits(12)).unwrap();
    let modules = json!({"min_module_size": 5, "traits": path});
    for (workload, parameters) in
        [(&MODULES, modules), (&THRESHOLD, json!({"step": 0.2, "random_matrix": "all"}))]
    {
        fs::remove_dir_all(place.folder.path().join("answer")).unwrap();
        fs::create_dir(place.folder.path().join("answer")).unwrap();
        place.answer(workload, &parameters, 1);
        let request = place.request(&parameters, 1);
        let answer = files(&request.output);
        let each = if soak { 10_000 } else { 240 } / answer.len() as u64;
        let mut tried = 0;
        for (name, right) in &answer {
            for index in 0..each {
                let Some((change, wrong)) = mutant(right, RowFormat::Lines, 7, index) else {
                    continue;
                };
                fs::write(request.output.join(name), wrong).unwrap();
                let verdict = (workload.verify)(&request, &Progress::default()).unwrap();
                assert!(!verdict.verified, "{name}: {change}");
                tried += 1;
            }
            fs::write(request.output.join(name), right).unwrap();
        }
        assert!(tried > each, "{tried}");
    }
}
