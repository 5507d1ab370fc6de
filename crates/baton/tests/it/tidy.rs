//! The rules of this repository that need code to be held (STYLE §10): lengths, headers and walls.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file; generated code and snapshots are not counted.
const FILE_LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn rust_files(below: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("generated") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{} has Rust files", below.display());
    files
}

fn named(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

/// Files below `folder` with a line of code that `wrong` finds.
fn offenders(folder: &str, wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    rust_files(&root().join(folder))
        .into_iter()
        .filter(|path| fs::read_to_string(path).unwrap().lines().filter(code).any(&wrong))
        .map(|path| named(&path))
        .collect()
}

const NONE: [String; 0] = [];

/// Our Rust files: the product's and the fuzz targets'.
fn all_rust_files() -> Vec<PathBuf> {
    ["crates", "fuzz"].into_iter().flat_map(|folder| rust_files(&root().join(folder))).collect()
}

#[test]
fn every_file_says_what_it_owns() {
    let silent: Vec<_> = all_rust_files()
        .into_iter()
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| named(&path))
        .collect();
    assert_eq!(silent, NONE);
}

#[test]
fn no_file_is_longer_than_can_be_read() {
    let long: Vec<_> = all_rust_files()
        .into_iter()
        .map(|path| (fs::read_to_string(&path).unwrap().lines().count(), named(&path)))
        .filter(|(lines, _)| *lines > FILE_LINES)
        .collect();
    assert!(long.is_empty(), "{long:?}");
}

/// `[dependencies]` of a crate, by name.
fn dependencies(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let table: toml::Table = text.parse().unwrap();
    table["dependencies"].as_table().unwrap().keys().cloned().collect()
}

#[test]
fn the_core_depends_on_no_runtime_and_no_other_crate_of_ours() {
    let allowed = ["base64", "serde", "serde_json", "thiserror", "time", "uuid"];
    let others: Vec<_> = dependencies("crates/baton-core/Cargo.toml")
        .into_iter()
        .filter(|name| !allowed.contains(&name.as_str()))
        .collect();
    assert_eq!(others, NONE);
}

#[test]
fn the_wire_knows_neither_a_runtime_nor_the_store() {
    let forbidden = ["tokio", "rusqlite", "axum", "hyper", "baton-store", "tracing"];
    let found: Vec<_> = dependencies("crates/baton-wire/Cargo.toml")
        .into_iter()
        .filter(|name| forbidden.contains(&name.as_str()))
        .collect();
    assert_eq!(found, NONE);
}

#[test]
fn only_the_store_knows_sql() {
    assert_eq!(dependencies("crates/baton/Cargo.toml").iter().find(|name| *name == "rusqlite"), None);
    let store = dependencies("crates/baton-store/Cargo.toml");
    assert!(!store.iter().any(|name| name == "baton-wire" || name == "axum"), "{store:?}");
}

#[test]
fn use_cases_know_no_door() {
    let doors = |line: &str| line.contains("crate::bindings") || line.contains("baton_wire");
    assert_eq!(offenders("crates/baton/src/service", doors), NONE);
    let mut workers = offenders("crates/baton/src/worker", doors);
    // What a webhook is sent is spelled for a network.
    workers.retain(|file| !file.starts_with("crates/baton/src/worker/webhook/"));
    assert_eq!(workers, NONE);
    assert_eq!(offenders("crates/baton/src/runner", doors), NONE);
    assert_eq!(offenders("crates/baton/src/access", doors), NONE);
    assert_eq!(offenders("crates/baton/src/net", doors), NONE);
}

#[test]
fn the_core_asks_nobody_for_the_time_or_for_chance() {
    let ambient = |line: &str| {
        [
            "SystemTime::now",
            "Instant::now",
            "now_utc()",
            "now_v7",
            "new_v4",
            "std::env",
            "std::fs",
            "std::net",
        ]
        .iter()
        .any(|word| line.contains(word))
    };
    assert_eq!(offenders("crates/baton-core/src", ambient), NONE);
    assert_eq!(offenders("crates/baton-wire/src", ambient), NONE);
}

#[test]
fn nothing_is_left_undone_or_asleep() {
    let undone = |line: &str| {
        ["todo!(", "unimplemented!(", "dbg!(", "#[ignore"].iter().any(|word| line.contains(word))
    };
    let found: Vec<_> =
        offenders("crates", undone).into_iter().filter(|path| !path.ends_with("tests/it/tidy.rs")).collect();
    assert_eq!(found, NONE);
}

/// Every report of `docs/field-reports.md` names tests that are there; 23 belongs to what is not there yet.
#[test]
fn every_field_report_has_its_tests() {
    let text = fs::read_to_string(root().join("docs/field-reports.md")).unwrap();
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ") && line.contains("::")).collect();
    let numbered = |line: &&str| line.split('|').nth(1).unwrap().trim().parse::<u32>().ok();
    let numbers: Vec<_> = rows.iter().filter_map(numbered).collect();
    assert_eq!(numbers, (1..=25).filter(|number| *number != 23).collect::<Vec<_>>());
    for test in rows.iter().flat_map(|row| row.split('`')).filter(|word| word.contains("::")) {
        let (file, name) = test.split_once("::").unwrap();
        let code = fs::read_to_string(root().join("crates").join(file)).expect(test);
        let there = [format!("fn {name}("), format!("fn {name}<")];
        assert!(there.iter().any(|function| code.contains(function)), "there is no {test}");
    }
}
