//! Reading `/proc`, and finding a tree in it.

use rustix::process::Pid;

use super::{Process, descendants, parse, snapshot};

fn pid(raw: i32) -> Pid {
    Pid::from_raw(raw).unwrap()
}

fn process(raw: i32, parent: i32) -> Process {
    Process { pid: pid(raw), parent: Pid::from_raw(parent), started: 0, ended: false }
}

#[test]
fn a_name_may_hold_brackets_and_spaces() {
    let stat = "7 (a ) Z 1 (b) S 3 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
    assert_eq!(
        parse(pid(7), stat),
        Some(Process { pid: pid(7), parent: Pid::from_raw(3), started: 4242, ended: false })
    );
    assert_eq!(parse(pid(7), "7 (cut"), None);
}

#[test]
fn descendants_are_found_through_generations() {
    let all = [process(1, 0), process(5, 1), process(6, 5), process(7, 6), process(8, 1)];
    let found: Vec<_> = descendants(pid(5), &all).iter().map(|process| process.pid).collect();
    assert_eq!(found, [pid(6), pid(7)]);
}

#[test]
fn this_process_sees_itself() {
    let me = rustix::process::getpid();
    assert!(snapshot().unwrap().iter().any(|process| process.pid == me && !process.ended));
}
