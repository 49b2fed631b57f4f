//! Bad input and a failing disk: an error in one line that names the file, never a panic, never
//! half an answer that looks complete.

use crate::common::{KINDS, Workspace, made, run, sorted, verify};
use cuesta_core::error::ErrorKind;
use cuesta_core::progress::Progress;
use cuesta_sort::Disk;

const PLENTY: u64 = 1 << 30;
const LITTLE: u64 = 24 << 20;

#[test]
fn a_file_that_is_cut_short_is_named_with_its_size() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path("cut.dat"), [1; 1234]).unwrap();
    let error = run(&workspace.request(&[&workspace.path("cut.dat")], 1, PLENTY)).unwrap_err();
    assert!(
        error.message().contains("cut.dat has 1234 bytes, 34 more than"),
        "{}",
        error.message()
    );
    assert_eq!(error.kind, ErrorKind::Input);
}

#[test]
fn too_little_memory_is_refused_with_the_remedy() {
    let workspace = Workspace::new();
    let path = workspace.write("input", &made(KINDS[1], 100_000, 1));
    let error = run(&workspace.request(&[&path], 2, 8 << 20)).unwrap_err();
    assert!(error.message().contains("raise --memory"), "{}", error.message());
    let message = error.message();
    let (_, rest) = message.split_once("at least ").unwrap();
    let mib: f64 = rest.split_once(" MiB").unwrap().0.parse().unwrap();
    assert!(run(&workspace.request(&[&path], 2, (mib as u64) << 20)).is_ok());
    assert!(run(&workspace.request(&[&path], 2, (mib as u64 - 8) << 20)).is_err());
}

#[test]
fn each_failing_step_is_reported_in_a_line_that_names_the_file() {
    let workspace = Workspace::new();
    let records = made(KINDS[1], 200_000, 2);
    let path = workspace.write("input", &records);
    for memory_bytes in [PLENTY, LITTLE] {
        let request = workspace.request(&[&path], 2, memory_bytes);
        let mut step = 0;
        loop {
            let disk = Disk::failing_at(step);
            match cuesta_sort::run_on(&disk, 0, &request, &Progress::default()) {
                Ok(_) => break,
                Err(error) => {
                    let text = &error.message();
                    assert_eq!(error.kind, ErrorKind::System, "{text}");
                    let named = ["/input", "sorted.dat", "sort.runs"];
                    assert!(named.iter().any(|name| text.contains(name)), "{text}");
                    assert!(text.contains("free space there") && !text.contains('\n'), "{text}");
                    assert_eq!(workspace.scratch(), 0);
                }
            }
            step += 1 + step / 20;
        }
        assert!(step > 8, "{step}");
        assert!(workspace.answer() == sorted(&records));
        assert!(verify(&request).verified);
    }
}

#[test]
fn a_cancelled_sort_stops() {
    let workspace = Workspace::new();
    let path = workspace.write("input", &made(KINDS[1], 100_000, 1));
    let progress = Progress::default();
    progress.cancel();
    for memory_bytes in [PLENTY, LITTLE] {
        let request = workspace.request(&[&path], 2, memory_bytes);
        let error = cuesta_sort::run_on(&Disk::default(), 0, &request, &progress).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled);
    }
}

#[test]
fn an_answer_with_an_incomplete_record_cannot_be_verified() {
    let workspace = Workspace::new();
    let path = workspace.write("input", &made(KINDS[1], 10, 1));
    std::fs::write(workspace.path("answer/sorted.dat"), [1; 999]).unwrap();
    let request = workspace.request(&[&path], 2, PLENTY);
    let error = cuesta_sort::verify(&request, &Progress::default()).unwrap_err();
    assert!(error.message().contains("sorted.dat has 999 bytes"), "{}", error.message());
}
