//! Each defect of an input is reported in one line with file, place and remedy; never a panic,
//! never a wrong answer.

use crate::common::{Workspace, gzip, run_only};
use cuesta_core::budget::Budget;
use cuesta_core::error::ErrorKind;
use serde_json::json;

const GOOD: &str = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n";

fn message(workspace: &Workspace, workload: &str, text: impl AsRef<[u8]>) -> String {
    let path = workspace.write("bad.txt", text);
    let request = workspace.request(&[&path], json!({}));
    run_only(workload, &request).unwrap_err().message()
}

#[test]
fn a_defect_names_its_line() {
    let workspace = Workspace::new();
    for (bad, expected) in [
        ("7\t3\t1\n", "line 3 of"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t1191071\n", "7 symbols"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t119107111\n", "9 symbols"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910712\n", "sample 8 of the mask is '2'"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\t\t11910711\n", "\"\" for a score"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\tx\t11910711\n", "\"x\" for a score"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\t2000.000001\t11910711\n", "expected -2000 to 2000 or nan"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\tinf\t11910711\n", "\"inf\" for a score"),
        ("0\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n", "counts from 1"),
        ("3\t7\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n", "lower triangle"),
        ("99999999\t7\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n", "largest allowed"),
        ("7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\textra\n", "12 fields, expected 11"),
        ("\u{fffd}\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n", "expected a whole number"),
    ] {
        for workload in ["scan", "degrees", "communities"] {
            if workload != "scan" && expected.contains("sample 8") {
                // Only a row that is written needs its mask.
                continue;
            }
            let text = message(&workspace, workload, format!("{GOOD}#Done\n{bad}{GOOD}"));
            assert!(text.contains(expected), "{workload} {bad:?}: {text}");
            assert!(text.contains("line 3 of") && text.contains("bad.txt"), "{text}");
            assert!(!text.contains('\n'));
        }
    }
}

#[test]
fn the_first_bad_line_is_named_whatever_the_threads() {
    let workspace = Workspace::new();
    let good = GOOD.repeat(400_000);
    let text = format!("{good}bad\n{good}worse\n");
    assert!(text.len() as u64 > 3 * cuesta_input::limits::SPLIT_BYTES);
    let path = workspace.write("bad.txt", text);
    for threads in [1, 3] {
        let mut request = workspace.request(&[&path], json!({ "min_abs_score": 0.99 }));
        request.threads = threads;
        let error = run_only("scan", &request).unwrap_err();
        assert!(error.message().contains("line 400001 of"), "{}", error.message());
    }
}

#[test]
fn files_without_rows_are_refused_unless_further_files_have_rows() {
    let workspace = Workspace::new();
    for text in ["", "#Done\n", "\n\n", "#Restarted\n#Done"] {
        let text = message(&workspace, "scan", text);
        assert!(text.contains("holds no gene pair"), "{text}");
    }
    workspace.write("folder/1.txt", "");
    workspace.write("folder/2.txt", GOOD);
    let request = workspace.request(&[&workspace.path("folder")], json!({}));
    assert_eq!(run_only("scan", &request).unwrap().counts["rows_kept"], 1);
}

#[test]
fn a_gzip_file_cut_short_is_an_error_with_its_name() {
    let workspace = Workspace::new();
    let zipped = gzip(GOOD.repeat(1000).as_bytes());
    for cut in [zipped.len() - 4, zipped.len() / 2] {
        let path = workspace.write("x.txt.gz", &zipped[..cut]);
        let error = run_only("scan", &workspace.request(&[&path], json!({}))).unwrap_err();
        assert!(error.message().contains("x.txt.gz"), "{}", error.message());
    }
    let path = workspace.write("x.txt.gz", "not gzip at all");
    let error = run_only("scan", &workspace.request(&[&path], json!({}))).unwrap_err();
    assert!(error.message().contains("x.txt.gz"), "{}", error.message());
}

#[test]
fn a_missing_file_and_an_unwritable_answer_are_reported() {
    let workspace = Workspace::new();
    let request = workspace.request(&[&workspace.path("nowhere.txt")], json!({}));
    let error = run_only("degrees", &request).unwrap_err();
    assert_eq!(error.kind, ErrorKind::System);
    assert!(error.message().contains("nowhere.txt") && error.message().contains("check the path"));
    let input = workspace.write("good.txt", GOOD);
    for workload in ["scan", "degrees", "communities"] {
        let mut request = workspace.request(&[&input], json!({}));
        request.output = workspace.path("no/such/folder");
        let error = run_only(workload, &request).unwrap_err();
        assert_eq!(error.kind, ErrorKind::System, "{}", error.message());
    }
}

#[test]
fn a_repeated_pair_in_a_join_is_refused() {
    let workspace = Workspace::new();
    let twice = workspace.write("twice.txt", [GOOD, GOOD].concat());
    let once = workspace.write("once.txt", GOOD);
    let error = run_only("join", &workspace.request(&[&once, &twice], json!({}))).unwrap_err();
    assert!(error.message().contains("gene pair 7 3 cluster 1 twice"), "{}", error.message());
}

#[test]
fn a_row_in_the_wrong_folder_is_refused() {
    let workspace = Workspace::new();
    workspace.write("clusters-sc/050/a.txt", GOOD);
    let request = workspace.request(&[&workspace.path("clusters-sc")], json!({}));
    let error = run_only("scan", &request).unwrap_err();
    assert!(error.message().contains("outside the range of its folder"), "{}", error.message());
}

#[test]
fn edges_that_do_not_fit_are_refused_with_the_option_to_raise() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |_| {});
    for method in ["louvain", "leiden"] {
        let mut request = workspace.request(&[&input], json!({ "method": method }));
        request.budget = Budget::new(10_000).into();
        let error = run_only("communities", &request).unwrap_err();
        assert!(error.message().contains("raise --memory"), "{}", error.message());
    }
}

#[test]
fn odd_parameters_are_refused() {
    let workspace = Workspace::new();
    let input = workspace.write("good.txt", GOOD);
    for (workload, parameters, expected) in [
        ("scan", json!({ "min_abs_score": 2.0 }), "from 0 to 1"),
        ("scan", json!({ "score_index": 5 }), "--score-index 5 asks for another"),
        ("degrees", json!({ "genes": 5 }), "--genes says there are 5"),
        ("degrees", json!({ "genes": 1 }), "give 2 to"),
        ("communities", json!({ "iterations": 0 }), "give 1 to 1000"),
        ("communities", json!({ "method": "magic" }), "unknown variant"),
        ("communities", json!({ "resolution": 0.0 }), "give 0.000001 to 1000"),
        ("scan", json!({ "min_abs_score": "high" }), "invalid type"),
        ("nothing", json!({}), "no workload is named nothing"),
    ] {
        let error = run_only(workload, &workspace.request(&[&input], parameters)).unwrap_err();
        assert!(error.message().contains(expected), "{}", error.message());
    }
}
