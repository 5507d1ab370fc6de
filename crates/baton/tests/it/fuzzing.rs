//! The properties of the fuzz targets, held over their seeds and over what small changes make of them: so that fuzz code
//! cannot rot between two runs of the fuzzer. `fuzz/run` is the real thing.

use std::fs;
use std::path::{Path, PathBuf};

use baton::runner::process::jsonl::up;

#[path = "../../../../fuzz/src/properties/mod.rs"]
mod properties;

use properties::{Property, TARGETS};

/// Places of a seed at which something is changed.
const PLACES: usize = 4;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("fuzz")
}

/// The names in a folder, without their endings.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap().path())).collect();
    names.sort();
    names
}

/// The inputs of a target that are checked in.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("seeds").join(target);
    let seeds: Vec<_> = names(&folder).iter().map(|name| fs::read(folder.join(name)).unwrap()).collect();
    assert!(!seeds.is_empty(), "{target} has seeds");
    seeds
}

/// The seed cut short, without a byte, with a quote too many, and with a piece of itself twice, at places all over it.
fn changed(seed: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = seed.len().div_ceil(PLACES).max(1);
    (0..seed.len()).step_by(step).flat_map(move |at| {
        let (before, after) = seed.split_at(at);
        let without = [before, &after[1..]].concat();
        let other = [before, b"\"", &after[1..]].concat();
        let piece = &after[..after.len().min(step)];
        let twice = [before, piece, piece, &after[piece.len()..]].concat();
        [before.to_vec(), without, other, twice]
    })
}

fn all_hold((target, holds): (&str, Property)) {
    for seed in seeds(target) {
        holds(&seed);
        changed(&seed).for_each(|input| holds(&input));
    }
    holds(b"");
}

#[test]
fn every_property_holds_over_its_seeds_and_near_them() {
    TARGETS.into_iter().for_each(all_hold);
}

#[test]
fn every_target_is_built_and_has_its_property() {
    let mut known = TARGETS.map(|(name, _)| name.to_owned());
    known.sort();
    assert_eq!(names(&folder().join("targets")), known);
    assert_eq!(names(&folder().join("seeds")), known);
    let manifest: toml::Table = fs::read_to_string(folder().join("Cargo.toml")).unwrap().parse().unwrap();
    let mut built: Vec<_> =
        manifest["bin"].as_array().unwrap().iter().map(|bin| bin["name"].as_str().unwrap()).collect();
    built.sort_unstable();
    assert_eq!(built, known);
}

/// A property that cannot fail holds nothing: here a fault repeats more than it may.
#[test]
fn a_broken_promise_is_noticed() {
    let broken = std::panic::catch_unwind(|| {
        let fault =
            baton_wire::fault::Fault::new(baton_wire::fault::Kind::Parse).with_message("x".repeat(9000));
        properties::fault::is_sound(&fault);
    });
    assert!(broken.is_err());
}
