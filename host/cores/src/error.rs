// SPDX-License-Identifier: Apache-2.0
//! Errors between a folder and a model.

use std::fmt;
use std::path::{Path, PathBuf};

use towpath_system::errno;

/// Why a core cannot be used. The text contains what to do.
#[derive(Debug)]
#[allow(missing_docs)] // the variants' documentation covers their fields
pub enum CoreError {
    /// No core of that name; where it was looked for, and which cores there are.
    NotFound { name: String, looked: Vec<PathBuf>, available: Vec<String> },
    /// The card cannot be simulated at the pins of that endpoint.
    Endpoint { name: String, message: String },
    /// The manifest cannot be read or has an invalid entry.
    Manifest { file: PathBuf, message: String },
    /// The manifest and the ports of the module differ: one line for each difference. `what` is a core or a kind.
    Mismatch { what: String, manifest: PathBuf, problems: Vec<String> },
    /// A core or a kind does not compile: the compiler's own message, with the user's files and lines.
    Compile { what: String, message: String },
    /// A tool is missing or does not work.
    Tool { tool: String, message: String },
    /// Towpath's own gateware cannot be found.
    Gateware { looked: Vec<PathBuf> },
    /// No space is left on the device that holds the file.
    DiskFull { path: PathBuf },
    /// The system refused something else.
    Io { what: String, path: PathBuf, source: std::io::Error },
}

impl CoreError {
    pub(crate) fn io(what: &str, path: &Path, source: std::io::Error) -> CoreError {
        match source.raw_os_error() {
            Some(errno::ENOSPC | errno::EDQUOT) => CoreError::DiskFull { path: path.to_path_buf() },
            _ => CoreError::Io { what: what.to_string(), path: path.to_path_buf(), source },
        }
    }

    pub(crate) fn manifest(file: &Path, message: impl Into<String>) -> CoreError {
        CoreError::Manifest { file: file.to_path_buf(), message: message.into() }
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|p| format!("\n  {}", p.display())).collect();
    shown.concat()
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoreError::NotFound { name, looked, available } => {
                write!(f, "no core named \"{name}\". Looked in:{}", list(looked))?;
                if available.is_empty() {
                    write!(f, "\nThere are no cores in these places: set TOWPATH_HOME to the folder that holds Towpath's gateware/ and cores/.")?;
                } else {
                    write!(f, "\nCores there are: {}.", available.join(", "))?;
                }
                write!(f, " Give a folder that holds a towpath.toml, or name more places in TOWPATH_CORES (separated by colons).")
            }
            CoreError::Endpoint { name, message } => write!(f, "endpoint \"{name}\": {message}"),
            CoreError::Manifest { file, message } => write!(f, "{}: {message}", file.display()),
            CoreError::Mismatch { what, manifest, problems } => {
                write!(f, "{what} does not match its manifest {}:", manifest.display())?;
                for problem in problems {
                    write!(f, "\n  {problem}")?;
                }
                Ok(())
            }
            CoreError::Compile { what, message } => write!(f, "{what} does not compile:\n{message}"),
            CoreError::Tool { tool, message } => write!(f, "{tool}: {message}"),
            CoreError::Gateware { looked } => write!(
                f,
                "Towpath's gateware sources are not here. Looked for gateware/towpath.f in:{}\nSet TOWPATH_HOME to the folder that holds \
                 gateware/: the repository, or share/towpath of an installation.",
                list(looked)
            ),
            CoreError::DiskFull { path } => write!(
                f,
                "no space is left for {}. Free some, remove old models from the cache folder, or set TOWPATH_CACHE to a folder on another disk.",
                path.display()
            ),
            CoreError::Io { what, path, source } => write!(f, "{what} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for CoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CoreError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
