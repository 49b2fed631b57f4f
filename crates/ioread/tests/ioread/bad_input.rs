//! Each kind of bad input leads to a message of one line with file and remedy.

use crate::common::Place;
use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use serde_json::json;

#[test]
fn unreadable_inputs_are_named() {
    let place = Place::new();
    let refused = |request| {
        let text = cuesta_ioread::run(&request, &Progress::default()).unwrap_err().message();
        assert!(!text.contains('\n'));
        text
    };
    let with = |path: &str| {
        let mut request = place.request(&[vec![1]], 1, 0);
        request.inputs.push(path.into());
        request
    };
    assert!(refused(with("/no/such/file")).contains("check the path"));
    assert!(refused(with("/tmp")).contains("/tmp is a folder; give the files to read"));
    assert!(refused(with("/dev/null")).contains("/dev/null is no regular file"));
    for (name, value, text) in [
        ("request_bytes", 0u64, "--request-bytes is 0, give 1 to 1073741824"),
        ("request_bytes", (1 << 30) + 1, "--request-bytes is 1073741825, give"),
        ("skip_bytes", (1 << 40) + 1, "--skip-bytes is 1099511627777, give 0 to"),
    ] {
        let mut request = place.request(&[vec![1]], 1, 0);
        request.parameters = json!({ name: value });
        assert!(refused(request).contains(text));
    }
}

#[test]
fn a_request_that_has_no_room_is_refused() {
    let place = Place::new();
    let mut request = place.request(&[vec![1; 3 << 20]], 1 << 20, 0);
    request.budget = Budget::new(1 << 20).into();
    let message = cuesta_ioread::run(&request, &Progress::default()).unwrap_err().message();
    assert!(message.contains("a request of each thread"), "{message}");
}
