//! The method among others.

use cuesta_assembly::method::BuiltIn;
use cuesta_assembly::{AssembleFunctions, Registry};
use cuesta_pga::Pga;
use serde_json::{Value, json};

static METHODS: Registry =
    Registry(&[AssembleFunctions::of::<BuiltIn>(), AssembleFunctions::of::<Pga>()]);

#[test]
fn parameters_of_the_paper_are_those_of_its_profile_alone() {
    let refused = |values: Value| METHODS.parameters(&values).unwrap_err().message();
    for (name, option) in [("paper_rounds", "--paper-rounds"), ("paper_edits", "--paper-edits")] {
        let expected = format!("{option} is for --profile paper alone");
        assert!(refused(json!({ name: 1 })).contains(&expected));
        assert!(refused(json!({ "profile": "none", name: 1 })).contains(&expected));
        let values = json!({ "profile": "paper", name: 1 });
        assert_eq!(METHODS.parameters(&values).unwrap()[name], 1);
    }
    let defaults = METHODS.parameters(&json!({})).unwrap();
    assert_eq!((&defaults["profile"], &defaults["min_contig"]), (&json!("default"), &json!(200)));
    let names = |values: &Value| values.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let of_paper = METHODS.parameters(&json!({ "profile": "paper", "paper_jobs": null })).unwrap();
    assert_eq!(names(&of_paper), names(&defaults));
    assert_eq!((&of_paper["profile"], &of_paper["paper_jobs"]), (&json!("paper"), &Value::Null));
    for unknown in [json!({ "profile": "pga" }), json!({ "jobs": 3 }), json!({ "pairs": 3 })] {
        METHODS.parameters(&unknown).unwrap_err();
    }
}
