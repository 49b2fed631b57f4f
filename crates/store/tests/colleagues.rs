//! Files that a colleague writes while the store brings its own to the folder: none is lost,
//! whenever it comes, and wherever the store is killed.
#![allow(clippy::unwrap_used)]

mod common;

use common::scenario::Action::{Flush, FlushAll, Remove, Rename, Write};
use common::scenario::{Action, Setting, content, copy, name, open};
use common::{at, read, write_blocks};
use cuesta_store::steps::Steps;
use cuesta_store::store::promise::WriteMode::{Back, Bypass, Memory, Through};
use cuesta_store::under::model::{Crash, ModelUnder};

/// Scenarios in which somebody else writes the last path while the actions are done, and after so
/// many operations the store is not to replace that file.
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

/// Operations of the actions before it is known what they replace: a file that is written is
/// closed only after its bytes are there.
fn before_close(before: &[Action], action: Action) -> u64 {
    let (setting, store) = Setting::new(before);
    setting.steps.fail(0);
    match action {
        Write(path, seed, mode) => {
            let number = store.create(&at(path), mode).unwrap();
            write_blocks(&store, number, &content(seed).unwrap()).unwrap();
            // Its closing looks at the name twice.
            setting.steps.done() + 2
        }
        Rename(..) => 1,
        // A removal is of the file that has the name when it looks there.
        _ => 0,
    }
}

/// Somebody else writes a file before an operation, and the store is killed after `kill` more.
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

/// `flush` looked at a name, copied the bytes, and renamed the file over whatever had the name by
/// then. A colleague who wrote the file meanwhile lost it.
#[test]
fn a_file_of_a_colleague_is_not_lost_whenever_it_comes_and_the_store_is_killed() {
    let mut tried = 0;
    for (number, &scenario) in MEDDLED.iter().enumerate() {
        let protected = before_close(scenario.0, scenario.1[0]);
        for step in protected + 1.. {
            let mut has_ended = false;
            // All pairs take minutes; `make soak` has them.
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
        // A removal that was not on the disk is undone by a loss of power: that is for `sweep`.
        let has_parts = paths.iter().any(|path| path.contains("cuesta-part"));
        assert!(!has_parts || crash != Crash::Nothing, "{place}: {paths:?}");
        // What was in memory alone and not brought to the disk is read as before.
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
