//! `correlate` from file to answer: text and pair matrix agree, and both pass the verification.

use std::fs;

use crate::common::{Workspace, files, run_and_verify, run_only};
use cuesta_core::budget::Budget;
use cuesta_core::job::VerificationLevel;
use cuesta_core::progress::Progress;
use cuesta_core::statistics::{q_values, student_p_value};
use cuesta_input::generate::matrix;
use cuesta_network::run;
use cuesta_network::verify::verify;
use serde_json::json;

fn make(workspace: &Workspace, missing: f64) -> std::path::PathBuf {
    let path = workspace.path(&format!("gem-{missing}.txt"));
    let params = matrix::Params {
        output: path.clone(),
        genes: 130,
        samples: 37,
        modules: 4,
        missing,
        seed: 3,
        threads: 2,
    };
    matrix::write(&params, &Progress::default()).unwrap();
    path
}

#[test]
fn text_and_pair_matrix_have_the_same_digest_for_any_threads_and_memory() {
    let workspace = Workspace::new();
    for missing in [0.0, 0.1] {
        let input = make(&workspace, missing);
        for method in ["pearson", "spearman", "bicor"] {
            for min_abs_score in [0.0, 0.5] {
                let mut digests = Vec::new();
                for (format, threads) in [("text", 1), ("text", 3), ("pairs", 2)] {
                    let parameters = json!({ "method": method, "format": format,
                        "min_abs_score": min_abs_score, "min_samples": 10,
                        "max_p_outliers": 0.1 });
                    let mut request = workspace.request(&[&input], parameters);
                    request.threads = threads;
                    digests.push(run_and_verify("correlate", &request).1.digest);
                }
                assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{method} {digests:?}");
            }
        }
    }
}

#[test]
fn what_correlate_writes_the_other_workloads_read() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.05);
    let parameters = |format| json!({ "format": format, "min_abs_score": 0.2, "min_samples": 5 });
    let text = workspace.request(&[&input], parameters("text"));
    run_and_verify("correlate", &text);
    let pairs = workspace.request(&[&input], parameters("pairs"));
    run_and_verify("correlate", &pairs);
    for workload in ["scan", "degrees", "communities"] {
        let [a, b] = [text.output.join("pairs.txt"), pairs.output.join("pairs.zarr")].map(|path| {
            let request = workspace.request(&[&path], json!({ "min_abs_score": 0.4 }));
            run_and_verify(workload, &request);
            files(&request)
        });
        assert_eq!(a, b, "{workload}");
    }
}

#[test]
fn a_wrong_score_a_lost_row_and_a_row_too_many_are_detected() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.05);
    let request = workspace.request(&[&input], json!({ "min_abs_score": 0.3, "min_samples": 5 }));
    run_and_verify("correlate", &request);
    let answer = request.output.join("pairs.txt");
    let text = fs::read_to_string(&answer).unwrap();
    let first = text.lines().next().unwrap();
    let score = first.split('\t').nth(9).unwrap();
    let wrong = format!("{:.6}", score.parse::<f64>().unwrap() + 2e-6);
    for damaged in [
        text.replacen(score, &wrong, 1),
        text.replacen(&format!("{first}\n"), "", 1),
        format!("{text}{first}\n"),
        text.replacen("\t1\t1\t", "\t1\t2\t", 1),
    ] {
        assert_ne!(damaged, text);
        fs::write(&answer, damaged).unwrap();
        assert!(!verify("correlate", &request, &Progress::default()).unwrap().verified);
    }
}

#[test]
fn a_band_that_does_not_fit_is_refused() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.0);
    let mut request = workspace.request(&[&input], json!({}));
    request.budget = Budget::new(300_000).into();
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("--memory"), "{}", error.message());
    let request = workspace.request(&[&input, &input], json!({}));
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("takes one matrix"), "{}", error.message());
}

/// Genes and |score| of the lines of an answer, strongest first, equal ones by gene numbers.
fn ranked(text: &str) -> Vec<(std::cmp::Reverse<u64>, u32, u32, &str)> {
    let of_line = |line| {
        let fields: Vec<&str> = str::split(line, '\t').collect();
        let size = fields[9].trim_start_matches('-').replace('.', "").parse().unwrap();
        (std::cmp::Reverse(size), fields[0].parse().unwrap(), fields[1].parse().unwrap(), line)
    };
    let mut rows: Vec<_> = text.lines().map(of_line).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn the_strongest_pairs_are_those_of_all_pairs_in_either_format() {
    let workspace = Workspace::new();
    for (missing, method) in [(0.0, "pearson"), (0.1, "spearman"), (0.1, "bicor")] {
        let input = make(&workspace, missing);
        let parameters = |top: Option<u64>, least, format| {
            json!({ "method": method, "min_samples": 10, "top": top, "min_abs_score": least,
                    "format": format })
        };
        let all = workspace.request(&[&input], parameters(None, 0.0, "text"));
        run_and_verify("correlate", &all);
        let all = fs::read_to_string(all.output.join("pairs.txt")).unwrap();
        let ranked = ranked(&all);
        let strong = ranked.iter().filter(|row| row.0.0 >= 300_000).count();
        for (top, least) in [(1, 0.0), (50, 0.0), (2000, 0.0), (50, 0.3), (7000, 0.3), (9000, 0.0)]
        {
            let count = if least > 0.0 { strong } else { ranked.len() };
            let chosen: std::collections::HashSet<&str> =
                ranked[..count.min(top)].iter().map(|row| row.3).collect();
            let expected: String = all
                .lines()
                .filter(|line| chosen.contains(line))
                .map(|l| format!("{l}\n"))
                .collect();
            let mut digests = Vec::new();
            for (threads, format) in [(1, "text"), (3, "text"), (2, "pairs")] {
                let parameters = parameters(Some(top as u64), least, format);
                let mut request = workspace.request(&[&input], parameters);
                request.threads = threads;
                let (response, verdict) = run_and_verify("correlate", &request);
                assert_eq!(response.counts["rows_kept"], chosen.len() as u64);
                digests.push(verdict.digest);
                if format == "text" {
                    let text = fs::read_to_string(request.output.join("pairs.txt")).unwrap();
                    assert!(text == expected, "{method} {top} {least}");
                }
            }
            assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{method} {digests:?}");
        }
    }
}

#[test]
fn a_weaker_pair_in_place_of_a_stronger_pair_is_detected() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.05);
    let answers = [None, Some(100u64)].map(|top| {
        let parameters = json!({ "min_samples": 5, "top": top });
        let request = workspace.request(&[&input], parameters);
        run_and_verify("correlate", &request);
        request
    });
    let [all, text] = [0, 1]
        .map(|answer: usize| fs::read_to_string(answers[answer].output.join("pairs.txt")).unwrap());
    let ranked = ranked(&all);
    let in_order = |numbers: &[usize]| {
        let mut rows: Vec<_> = numbers.iter().map(|&n| (ranked[n].1, ranked[n].2, n)).collect();
        rows.sort_unstable();
        rows.iter().map(|row| format!("{}\n", ranked[row.2].3)).collect::<String>()
    };
    let strongest: Vec<usize> = (0..100).collect();
    assert_eq!(in_order(&strongest), text);
    let request = &answers[1];
    let verified = |text: String| {
        fs::write(request.output.join("pairs.txt"), text).unwrap();
        verify("correlate", request, &Progress::default()).unwrap().verified
    };
    for wrong in [
        [&strongest[1..], &[100]].concat(),
        [&strongest[..99], &[150]].concat(),
        strongest[1..].to_vec(),
        (0..101).collect(),
    ] {
        assert!(!verified(in_order(&wrong)), "{wrong:?}");
    }
    assert!(verified(text));
    let request = workspace.request(&[&input], json!({ "top": 0 }));
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("--top is 0"), "{}", error.message());
}

#[test]
fn equal_scores_go_by_gene_numbers_and_another_order_is_detected() {
    let workspace = Workspace::new();
    let row = |gene: usize| format!("g{gene}\t1\t2\t{}\t7\t5\n", gene % 2 + 3);
    let input = workspace.write("ties.txt", (0..6).map(row).collect::<String>());
    // Genes of the same parity are equal: six pairs with the score 1.
    let parameters = json!({ "min_samples": 2, "top": 3, "header": "absent" });
    let request = workspace.request(&[&input], parameters);
    run_and_verify("correlate", &request);
    let answer = request.output.join("pairs.txt");
    let text = fs::read_to_string(&answer).unwrap();
    let pairs: Vec<String> =
        text.lines().map(|line| line.split('\t').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(pairs, ["3 1", "4 2", "5 1"]);
    let wrong = text.replacen("5\t1\t1", "5\t3\t1", 1);
    assert_ne!(wrong, text);
    fs::write(&answer, wrong).unwrap();
    assert!(!verify("correlate", &request, &Progress::default()).unwrap().verified);
}

#[test]
fn filtered_genes_give_the_answer_to_a_matrix_of_these_genes_alone() {
    let workspace = Workspace::new();
    let (genes, samples) = (60, 20);
    let chance = cuesta_core::random::Stream::new(8, 0);
    let count = |gene: u64, sample: u64| (chance.below(gene * 50 + sample, 40 + 7 * gene)) as f64;
    let rows = (0..genes).map(|gene| (0..samples).map(move |sample| (gene, sample)));
    let rows: Vec<Vec<f64>> =
        rows.map(|row| row.map(|(gene, sample)| count(gene, sample)).collect()).collect();
    let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
    let logarithms = |row: &Vec<f64>| row.iter().map(|x| (x + 1.0).log2()).collect::<Vec<f64>>();
    let variance = |row: &[f64]| row.iter().map(|x| (x - mean(row)).powi(2)).sum::<f64>();
    let mut expected: Vec<(usize, Vec<f64>)> = rows.iter().map(logarithms).enumerate().collect();
    expected.retain(|(gene, _)| mean(&rows[*gene]) >= 60.0);
    expected.sort_by(|a, b| variance(&b.1).total_cmp(&variance(&a.1)));
    assert!(expected.len() > 30);
    expected.truncate(30);
    expected.sort_by_key(|(gene, _)| *gene);
    let line = |(gene, row): (usize, &Vec<f64>)| {
        let values: Vec<String> = row.iter().map(|value| format!("{value:?}")).collect();
        format!("g{gene}\t{}\n", values.join("\t"))
    };
    let all = workspace.write("all.txt", rows.iter().enumerate().map(line).collect::<String>());
    let chosen = expected.iter().map(|(gene, row)| line((*gene, row))).collect::<String>();
    let chosen = workspace.write("chosen.txt", chosen);
    let common = json!({ "min_samples": 10, "header": "absent", "top": 200 });
    let expected = workspace.request(&[&chosen], common.clone());
    run_and_verify("correlate", &expected);
    let expected = files(&expected);
    let mut parameters = common;
    for (name, value) in
        [("log2", json!(true)), ("min_mean", json!(60)), ("top_variable", json!(30))]
    {
        parameters[name] = value;
    }
    let request = workspace.request(&[&all], parameters);
    let (response, _) = run_and_verify("correlate", &request);
    assert_eq!((response.counts["genes_read"], response.counts["genes"]), (60, 30));
    assert_eq!(files(&request), expected);
    let request = workspace.request(&[&all], json!({ "min_mean": 1e9, "header": "absent" }));
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("--min-mean"), "{}", error.message());
}

#[test]
fn a_matrix_of_few_samples_needs_more_than_half_of_them_by_default() {
    let workspace = Workspace::new();
    for (samples, least) in [(4, 4), (7, 4), (12, 7), (29, 15), (30, 30), (37, 30)] {
        let path = workspace.path(&format!("few-{samples}.txt"));
        let (genes, modules, missing, seed, threads) = (40, 2, 0.2, samples as u64, 1);
        let output = path.clone();
        let params = matrix::Params { output, genes, samples, modules, missing, seed, threads };
        matrix::write(&params, &Progress::default()).unwrap();
        let answers = [json!({}), json!({ "min_samples": least })].map(|parameters| {
            let request = workspace.request(&[&path], parameters);
            let (response, verdict) = run_and_verify("correlate", &request);
            let counts = [&response.counts, &verdict.counts];
            assert_eq!(counts.map(|counts| counts["min_samples"]), [least; 2], "{samples}");
            (files(&request), response.counts["rows_kept"])
        });
        assert!(answers[0] == answers[1], "{samples}");
        assert!(answers[0].1 > 0 || samples == 30, "{samples}");
    }
}

/// Lines of the table of p- and q-values below its header.
fn tested_lines(request: &cuesta_core::job::Request) -> Vec<String> {
    let text = fs::read_to_string(request.output.join("edges.tsv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("gene1\tgene2\tname1\tname2\tscore\tsamples\tp\tq"));
    lines.map(str::to_owned).collect()
}

#[test]
fn q_values_are_those_of_all_pairs_for_any_selection() {
    let workspace = Workspace::new();
    for (missing, method) in [(0.0, "pearson"), (0.1, "spearman"), (0.1, "bicor")] {
        let input = make(&workspace, missing);
        let common = json!({ "method": method, "min_samples": 20, "p_values": true });
        let tested = |change: serde_json::Value, threads| {
            let mut parameters = common.clone();
            parameters.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let mut request = workspace.request(&[&input], parameters);
            (request.threads, request.budget) = (threads, Budget::new(48 << 20).into());
            let (_, verdict) = run_and_verify("correlate", &request);
            assert!(verdict.counts["pairs_tested"] > 8000, "{:?}", verdict.counts);
            (tested_lines(&request), verdict.counts["rows"], verdict.digest)
        };
        let (all, rows, _) = tested(json!({}), 1);
        assert_eq!(all.len() as u64, rows);
        let number =
            |line: &String, field| -> f64 { line.split('\t').nth(field).unwrap().parse().unwrap() };
        let p = |line| student_p_value(number(line, 4), number(line, 5) as usize);
        let p: Vec<f64> = all.iter().map(p).collect();
        for ((line, p), q) in all.iter().zip(&p).zip(q_values(&p)) {
            assert!((number(line, 6) - p).abs() <= 1e-5 * p, "{line} {p}");
            assert!((number(line, 7) - q).abs() <= 1e-5 * q, "{line} {q}");
        }
        for change in [json!({ "min_abs_score": 0.4 }), json!({ "top": 50 })] {
            let (text, rows, digest) = tested(change.clone(), 3);
            assert!(rows > 0 && text.len() as u64 == rows && text.len() < all.len());
            assert!(text.iter().all(|line| all.contains(line)), "{method} {change}");
            let mut change = change;
            change["format"] = json!("pairs");
            assert_eq!(tested(change, 2), (text, rows, digest));
        }
    }
}

#[test]
fn counts_of_scores_that_do_not_fit_are_refused() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.1);
    let parameters = json!({ "min_samples": 10, "min_abs_score": 0.5, "p_values": true });
    let mut request = workspace.request(&[&input], parameters);
    request.budget = Budget::new(4 << 20).into();
    run_only("correlate", &request).unwrap();
    let error = run::annotate("correlate", &request, &Progress::default()).unwrap_err();
    assert!(error.message().contains("--p-values, needs"), "{error}");
    assert!(!request.output.join("edges.tsv").exists());
}

#[test]
fn a_sample_finds_wrong_values_of_scores() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.0);
    let parameters = json!({ "min_abs_score": 0.4, "p_values": true });
    let mut request = workspace.request(&[&input], parameters);
    request.verify = VerificationLevel::Sample;
    run_and_verify("correlate", &request);
    let path = request.output.join("edges.tsv");
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().nth(3).unwrap();
    let fields: Vec<&str> = line.split('\t').collect();
    for (field, wrong) in [(2, "x"), (5, "36"), (6, "0.0123000"), (7, "0"), (7, "1.00000")] {
        let mut changed = fields.clone();
        changed[field] = wrong;
        fs::write(&path, text.replacen(line, &changed.join("\t"), 1)).unwrap();
        let verdict = verify("correlate", &request, &Progress::default()).unwrap();
        assert!(!verdict.verified, "{changed:?}");
    }
}
