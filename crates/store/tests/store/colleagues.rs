//! Files that another program writes during a write-back: none is lost, whenever it is written, and
//! wherever the store is killed.

use crate::common::scenario::Action::{Flush, FlushAll, Remove, Rename, Write};
use crate::common::scenario::{Action, Setting, content, copy, name, open};
use crate::common::{at, read, write_blocks};
use cuesta_store::steps::Steps;
use cuesta_store::under::model::{Crash, ModelUnder};
use cuesta_store::writeback::WriteMode::{Back, Bypass, Memory, Through};

/// Scenarios in which another program writes the last path during the actions; after this many
/// operations the store must not replace that file.
const MEDDLED: &[(&[Action], &[Action], &str)] = &[
    (&[Write("a", 1, Back)], &[FlushAll], "a"),
    (&[Write("a", 1, Through), Write("a", 2, Back)], &[FlushAll], "a"),
    (&[Write("a", 1, Memory)], &[Flush("a")], "a"),
    (&[Write("a", 1, Through), Write("a", 2, Memory)], &[Flush("a")], "a"),
    (&[], &[Write("a", 1, Through)], "a"),
    (&[], &[Write("a", 1, Bypass)], "a"),
    (&[Write("a", 1, Through)], &[Write("a", 2, Through)], "a"),
    (&[Write("a", 1, Through)], &[Write("a", 2, Bypass)], "a"),
    (&[Write("a", 1, Back)], &[Write("a", 2, Through)], "a"),
    (&[Write("a", 1, Through)], &[Rename("a", "b")], "b"),
    (&[Write("a", 1, Back)], &[Rename("a", "b")], "b"),
    (&[Write("a", 1, Through), Write("b", 2, Through)], &[Rename("a", "b")], "b"),
    (&[Write("a", 1, Memory), Write("b", 2, Through)], &[Rename("a", "b")], "b"),
    (&[Write("a", 1, Back)], &[Remove("a")], "a"),
];

const STRANGER: &[u8] = b"of somebody else";

/// Returns the number of operations before the store determines which file an action replaces: a
/// written file is closed only after its bytes are written.
fn before_close(before: &[Action], action: Action) -> u64 {
    let (setting, store) = Setting::new(before);
    setting.steps.fail(0);
    match action {
        Write(path, seed, mode) => {
            let number = store.create(&at(path), mode).unwrap();
            write_blocks(&store, number, &content(seed).unwrap()).unwrap();
            // The close checks the name twice.
            setting.steps.done() + 2
        }
        Rename(..) => 1,
        // A removal applies to the file that has the name when it is checked.
        _ => 0,
    }
}

/// Writes a file as another program before an operation, and kills the store after `kill` more.
struct Meddling {
    setting: Setting,
    is_done: bool,
    was_meddled: bool,
}

fn meddle(
    under: &ModelUnder,
    (before, actions, path): (&[Action], &[Action], &'static str),
    (step, kill): (u64, Option<u64>),
) -> Meddling {
    let (mut setting, store) = Setting::over(under.clone(), before);
    match kill {
        Some(kill) => setting.steps.die_after(step - 1 + kill),
        None => setting.steps.fail(0),
    }
    let past = setting.under.clone();
    setting.steps.interrupt(step, move || past.write_past(path, STRANGER));
    let is_done = setting.act(&store, actions);
    let was_meddled = setting.steps.done() >= step;
    drop(store);
    setting.steps.fail(0);
    Meddling { setting, is_done, was_meddled }
}

fn has_content(under: &ModelUnder, content: &[u8]) -> bool {
    under.paths().iter().any(|path| under.content(path).as_deref() == Some(content))
}

/// `flush` checked a name, copied the bytes, and renamed the file over any file that had the name
/// by then. A file that another program wrote meanwhile was lost.
#[test]
fn a_file_of_a_colleague_is_not_lost_whenever_it_comes_and_the_store_is_killed() {
    let mut tried = 0;
    for (number, &scenario) in MEDDLED.iter().enumerate() {
        let protected = before_close(scenario.0, scenario.1[0]);
        for step in protected + 1.. {
            let mut has_ended = false;
            // All pairs take minutes; `make soak` tests them.
            let stride = if std::env::var_os("CUESTA_SOAK").is_some() { 1 } else { 11 };
            let kills = (1 + step % stride..60).step_by(stride as usize).map(Some);
            for kill in kills.chain([None]) {
                let meddling = meddle(&ModelUnder::default(), scenario, (step, kill));
                has_ended = !meddling.was_meddled;
                if has_ended {
                    break;
                }
                let place = format!("scenario {number}, meddled before {step}, killed {kill:?}");
                check_meddled(&meddling, &place);
                tried += 1;
                if meddling.is_done {
                    break;
                }
            }
            if has_ended {
                break;
            }
        }
    }
    assert!(tried > 150, "{tried} tried");
}

fn check_meddled(meddling: &Meddling, place: &str) {
    let Setting { folder, under, allowed, .. } = &meddling.setting;
    for crash in [Crash::Nothing, Crash::Everything, Crash::Power(1), Crash::Power(2)] {
        let (under, memory) = (under.after(crash), folder.path().join(format!("{crash:?}")));
        assert!(has_content(&under, STRANGER), "{place}, {crash:?}: {:?}", under.paths());
        copy(&folder.path().join("memory"), &memory);
        let store = open(&under, &memory, &Steps::default()).unwrap();
        let _ = store.flush(None);
        let paths = under.paths();
        assert!(has_content(&under, STRANGER), "{place}, {crash:?}: {paths:?}");
        // A power failure undoes a removal that was not on the disk: `sweep` handles that.
        let has_parts = paths.iter().any(|path| path.contains("cuesta-part"));
        assert!(!has_parts || crash != Crash::Nothing, "{place}: {paths:?}");
        // A memory-only file that was not written back is read as before.
        if !meddling.is_done {
            for (path, contents) in &allowed.in_all {
                let content = match store.facts(&at(path)) {
                    Ok(_) => Some(read(&store, path).unwrap()),
                    Err(_) => None,
                };
                let is_stranger = content.as_deref() == Some(STRANGER);
                assert!(
                    contents.contains(&content) || is_stranger,
                    "{place}: {path} is {}",
                    name(&content)
                );
            }
        }
    }
}

#[test]
fn without_exchanged_names_a_file_is_lost_only_between_the_last_look_and_the_rename() {
    for (number, &scenario) in MEDDLED.iter().enumerate() {
        let protected = before_close(scenario.0, scenario.1[0]);
        let mut lost = Vec::new();
        for step in protected + 1.. {
            let under = ModelUnder::default().without_exchange();
            let meddling = meddle(&under, scenario, (step, None));
            if !meddling.was_meddled {
                break;
            }
            if !has_content(&meddling.setting.under, STRANGER) {
                lost.push(step);
            }
        }
        assert!(lost.len() <= 1, "scenario {number}: lost before operations {lost:?}");
    }
}
