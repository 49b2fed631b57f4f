//! Every defect of an input is one line with file and remedy.

#![allow(clippy::unwrap_used)]

mod common;

use common::Place;
use cuesta_core::progress::Progress;
use serde_json::json;

#[test]
fn what_cannot_be_read_is_named() {
    let place = Place::new();
    let refused = |request| {
        let text = cuesta_skeleton::run(&request, &Progress::default()).unwrap_err().message();
        assert!(!text.contains('\n'));
        text
    };
    let mut request = place.request(&[vec![1]], 0);
    request.inputs.push(place.write("short", b"seven b"));
    assert!(refused(request).contains("short has 7 bytes; give files of 8 bytes a number"));
    let mut request = place.request(&[vec![1]], 0);
    request.inputs.push("/no/such/file".into());
    assert!(refused(request).contains("check the path"));
    let mut request = place.request(&[vec![1]], 0);
    request.parameters = json!({ "least": 2_000_000_000_000u64 });
    assert!(refused(request).contains("--least is 2000000000000, give 0 to"));
}
