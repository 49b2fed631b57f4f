//! Each defect of an input is reported in one line with the place and the remedy.

use crate::common::{Workspace, clouds, refused};
use cuesta_core::budget::Budget;
use cuesta_core::error::ErrorKind;
use cuesta_core::progress::Progress;
use cuesta_input::npy;
use serde_json::json;

#[test]
fn bad_text_names_its_line() {
    let workspace = Workspace::new();
    for (bad, expected) in [
        ("1,2\n1,2,3\n", "line 2 of"),
        ("1,2\n\n# x\n3\n", "line 4 of"),
        ("1,2\n1,x\n", "has \"x\", which is no number"),
        ("1,2,3\n1,2\n", "has 2 numbers, the first point has 3"),
        ("", "holds no point"),
        ("# only a comment\n", "holds no point"),
        ("1,2\n3,nan\n", "coordinate 2 of point 2 of"),
        ("1,2\n-inf,1\n", "is -inf"),
        ("1,2\n1e200,1\n", "give numbers"),
    ] {
        let path = workspace.write("bad.txt", bad);
        let text = refused(&workspace.request(&[&path], json!({ "clusters": 1 })));
        assert!(text.contains(expected) && !text.contains('\n'), "{bad:?}: {text}");
    }
    let many = format!("{}1.5,2,3\n", "1.5,2\n".repeat(700_000));
    let path = workspace.write("bad.txt", many);
    let text = refused(&workspace.request(&[&path], json!({ "clusters": 1 })));
    assert!(text.contains("line 700001 of"), "{text}");
}

#[test]
fn bad_arrays_are_named() {
    let workspace = Workspace::new();
    let good = workspace.doubles("good.npy", &clouds(10, 3, 2, 1));
    let other = workspace.doubles("other.npy", &clouds(10, 4, 2, 1));
    let text = refused(&workspace.request(&[&good, &other], json!({ "clusters": 2 })));
    assert!(text.contains("other.npy has 4 dimensions"), "{text}");
    let empty = workspace.write("empty.npy", npy::header("<f4", "(0, 3)"));
    let text = refused(&workspace.request(&[&empty], json!({ "clusters": 2 })));
    assert!(text.contains("holds no point"), "{text}");
    let mut rows = clouds(100, 3, 2, 1);
    rows[41][2] = f64::NAN;
    for memory_bytes in [1 << 30, 6 << 20] {
        let path = workspace.singles("nan.npy", &rows);
        let mut request = workspace.request(&[&path], json!({ "clusters": 2 }));
        request.budget = Budget::new(memory_bytes).into();
        let text = refused(&request);
        assert!(text.contains("coordinate 3 of point 42 of") && text.contains("NaN"), "{text}");
    }
    rows[41][2] = 1e39;
    let path = workspace.doubles("large.npy", &rows);
    let text = refused(&workspace.request(&[&path], json!({ "clusters": 2, "dtype": "float32" })));
    assert!(text.contains("point 42") && text.contains("is inf"), "{text}");
    let folder = workspace.folder.path().join("nothing");
    std::fs::create_dir(&folder).unwrap();
    let text = refused(&workspace.request(&[&folder], json!({})));
    assert!(text.contains("holds no file"), "{text}");
    let text = refused(&workspace.request(&[&folder.join("none")], json!({})));
    assert!(text.contains("check the path"), "{text}");
    for (start, expected) in [(&[0x1F, 0x8B, 8][..], "is cut short"), (b"PAR1abcd", "Parquet")] {
        let path = workspace.write("x", start);
        assert!(refused(&workspace.request(&[&path], json!({}))).contains(expected));
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &clouds(10, 3, 2, 1));
    let centres = workspace.doubles("c.npy", &clouds(2, 4, 2, 1));
    for (bad, expected) in [
        (json!({ "clusters": 0 }), "--clusters is 0"),
        (json!({ "clusters": 11 }), "there are only 10 points"),
        (json!({ "clusters": 2, "iterations": 0 }), "--iterations is 0"),
        (json!({ "clusters": 2, "tolerance": -1.0 }), "--tolerance is -1"),
        (
            json!({ "clusters": 2, "centres": centres }),
            "has 2 x 4 numbers, expected 2 clusters x 3",
        ),
        (json!({ "clusters": 2, "centres": "/none" }), "check the path"),
        (json!({ "clusters": 2, "init": "random" }), "unknown variant"),
    ] {
        let text = refused(&workspace.request(&[&path], bad));
        assert!(text.contains(expected), "{text}");
    }
    let mut request = workspace.request(&[&path], json!({ "clusters": 2 }));
    request.budget = Budget::new(1 << 16).into();
    assert!(refused(&request).contains("raise --memory"));
}

#[test]
fn a_cancelled_run_stops() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &clouds(1000, 3, 2, 1));
    for memory_bytes in [1 << 30, 6 << 20] {
        let progress = Progress::default();
        progress.cancel();
        let mut request = workspace.request(&[&path], json!({ "clusters": 2 }));
        request.budget = Budget::new(memory_bytes).into();
        let error = cuesta_kmeans::run(&request, &progress).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled);
    }
}
