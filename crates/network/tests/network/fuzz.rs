//! Text damaged thousands of times: either the run fails with one line, or its answer passes the
//! verification.

use crate::common::{Workspace, run_only};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_network::verify::verify;
use serde_json::json;

/// Replacements of a byte, in addition to random bytes.
const NASTY: &[u8] = b"\t\n\r#,.-0169nax\0\xff ";

fn damage(text: &mut Vec<u8>, random: Stream, case: u64) {
    let edits = 1 + random.below(case * 64, 3);
    for edit in 0..edits {
        let index = case * 64 + 8 * edit;
        let place = random.below(index + 1, text.len() as u64) as usize;
        let byte = NASTY[random.below(index + 2, NASTY.len() as u64) as usize];
        match random.below(index + 3, 4) {
            0 => text[place] = byte,
            1 => text.insert(place, byte),
            2 => {
                text.remove(place);
            }
            // Complete lines at the end are lost, as on a full disk.
            _ => text.truncate(text.len() - (text.len() - place) / 8),
        }
    }
}

#[test]
fn damaged_text_is_refused_or_answered_right() {
    let workspace = Workspace::new();
    let undamaged = std::fs::read(workspace.make("a.txt", |params| {
        params.genes = 8;
        params.samples = 9;
    }))
    .unwrap();
    let random = Stream::new(11, 0);
    let (mut answered, mut refused) = (0, 0);
    for case in 0..2500u64 {
        let mut text = undamaged.clone();
        damage(&mut text, random, case);
        let path = workspace.write("damaged.txt", &text);
        for workload in ["scan", "degrees", "communities", "join"] {
            let inputs = if workload == "join" { vec![&*path; 2] } else { vec![&*path] };
            let mut request = workspace.request(&inputs, json!({ "min_abs_score": 0.3 }));
            request.threads = 1;
            match run_only(workload, &request) {
                Err(error) => {
                    assert!(!error.message().contains('\n'), "{error}");
                    refused += 1;
                }
                Ok(_) => {
                    // A row that was not needed may be too damaged for the plain reader.
                    if let Ok(verdict) = verify(workload, &request, &Progress::default()) {
                        let shown = String::from_utf8_lossy(&text);
                        assert!(verdict.verified, "{workload} case {case}: {verdict:?}\n{shown}");
                        answered += 1;
                    }
                }
            }
        }
    }
    assert!(answered > 500 && refused > 500, "{answered} answered, {refused} refused");
}
