//! Owns the command line: what is measured, how long, and against which binary. It starts nothing.

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::section::Section;

pub const HELP: &str = "\
Usage: bench [OPTION]... [SECTION]...

Measures `baton` side by side with its yardsticks and prints ratios.
Sections: send bearer files get grpc jsonl million memory postgres queue start streams webhooks (default: all of them)

  --baton PATH       the measured binary (default ../target/release/baton)
  --without-baton    measure the yardsticks against each other only
  --connections N    keep-alive connections of the load generator (default 64)
  --threads N        threads of the load generator (default: half the cores, at least 1)
  --rounds N         interleaved rounds per server (default 5)
  --seconds N        length of one round (default 3)
  --tasks N          stored tasks in `million` (default 1000000)
  --keep DIR         keep the filled data folder of `million` there, and reuse it
  --scratch DIR      where scratch folders are made (default: the system's)
  --json FILE        write everything measured to FILE
  --strict           exit with 1 when a bar is missed
  --help             print this
";

#[derive(Debug)]
pub struct Options {
    pub sections: Vec<Section>,
    pub baton: Option<PathBuf>,
    pub connections: usize,
    pub threads: usize,
    pub rounds: usize,
    pub round: Duration,
    pub tasks: u64,
    pub keep: Option<PathBuf>,
    pub scratch: PathBuf,
    pub json: Option<PathBuf>,
    pub strict: bool,
}

impl Options {
    /// `None` means that help was asked for.
    pub fn parse(arguments: &[String]) -> Result<Option<Self>> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut options = Self {
            sections: Vec::new(),
            baton: Some(PathBuf::from("../target/release/baton")),
            connections: 64,
            threads: (cores / 2).max(1),
            rounds: 5,
            round: Duration::from_secs(3),
            tasks: 1_000_000,
            keep: None,
            scratch: std::env::temp_dir(),
            json: None,
            strict: false,
        };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            match word {
                "--help" | "-h" => return Ok(None),
                "--strict" => options.strict = true,
                "--without-baton" => options.baton = None,
                flag if flag.starts_with("--") => {
                    let value = rest.next().ok_or_else(|| format!("{flag} needs a value"))?;
                    options.set(flag, value)?;
                }
                name => options
                    .sections
                    .push(Section::parse(name).ok_or_else(|| format!("there is no section named `{name}`"))?),
            }
        }
        if options.sections.is_empty() {
            options.sections = Section::ALL.to_vec();
        }
        Ok(Some(options))
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<()> {
        match flag {
            "--baton" => self.baton = Some(value.into()),
            "--connections" => self.connections = positive(flag, value)?,
            "--threads" => self.threads = positive(flag, value)?,
            "--rounds" => self.rounds = positive(flag, value)?,
            "--seconds" => self.round = Duration::from_secs(positive(flag, value)? as u64),
            "--tasks" => self.tasks = positive(flag, value)? as u64,
            "--keep" => self.keep = Some(value.into()),
            "--scratch" => self.scratch = value.into(),
            "--json" => self.json = Some(value.into()),
            _ => return Err(format!("there is no option {flag}").into()),
        }
        Ok(())
    }

    /// The measured binary as an absolute path, since nodes run in folders of their own.
    pub fn node_binary(&self) -> Result<Option<PathBuf>> {
        let Some(path) = &self.baton else { return Ok(None) };
        let found = std::fs::canonicalize(path).map_err(|_| {
            format!(
                "no measured binary at {}: build it with `cargo build --release` in the repository's root, \
                 name another with --baton PATH, or measure the yardsticks alone with --without-baton",
                path.display()
            )
        })?;
        Ok(Some(found))
    }

    pub fn require_node_binary(&self) -> Result<()> {
        self.node_binary().map(|_| ())
    }

    /// A scratch folder that is removed when dropped.
    pub fn scratch_folder(&self) -> Result<tempfile::TempDir> {
        std::fs::create_dir_all(&self.scratch)?;
        Ok(tempfile::Builder::new().prefix("baton-bench-").tempdir_in(&self.scratch)?)
    }
}

fn positive(flag: &str, value: &str) -> Result<usize> {
    match value.replace('_', "").parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{flag} needs a whole number above 0, not `{value}`").into()),
    }
}
