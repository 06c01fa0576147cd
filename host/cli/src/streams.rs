// SPDX-License-Identifier: Apache-2.0
//! Files and standard streams as ends of a transfer, with errors that name them, and the progress bar.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::exit::{Failure, Result};

/// How much standard input still has, if it is a regular file.
pub fn rest_of_input() -> Option<u64> {
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let about = file.metadata().ok().filter(Metadata::is_file)?;
    Some(about.len().saturating_sub(file.stream_position().ok()?))
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The files of a `send`, one after the other.
pub struct Source {
    waiting: std::vec::IntoIter<PathBuf>,
    current: Option<(String, Box<dyn Read>)>,
    /// Bytes in all, if every source is a regular file.
    pub total: Option<u64>,
}

impl Source {
    /// Opens every file at once, so that a missing one is found before anything moves.
    pub fn open(files: &[PathBuf]) -> Result<Self> {
        let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files.to_vec() };
        let mut total = Some(0);
        for (place, path) in files.iter().enumerate() {
            let bytes = if is_standard(path) {
                // Named again, it has nothing more.
                if files[..place].iter().any(|before| is_standard(before)) {
                    Some(0)
                } else {
                    rest_of_input()
                }
            } else {
                let file = File::open(path).map_err(|e| Failure::file("reading", &path.display().to_string(), &e))?;
                let about = file.metadata().map_err(|e| Failure::file("reading", &path.display().to_string(), &e))?;
                if about.is_dir() {
                    return Err(Failure::new(crate::exit::FILE, format!("{} is a folder; name a file", path.display())));
                }
                about.is_file().then_some(about.len())
            };
            total = total.zip(bytes).map(|(sum, more)| sum + more);
        }
        Ok(Source { waiting: files.into_iter(), current: None, total })
    }

    /// Fill `block` as far as there is anything; less than all of it only at the very end.
    pub fn fill(&mut self, block: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < block.len() {
            let Some((name, reader)) = &mut self.current else {
                let Some(path) = self.waiting.next() else { break };
                self.current = Some(if is_standard(&path) {
                    ("standard input".into(), Box::new(io::stdin().lock()))
                } else {
                    let name = path.display().to_string();
                    let file = File::open(&path).map_err(|e| Failure::file("reading", &name, &e))?;
                    (name, Box::new(file))
                });
                continue;
            };
            match reader.read(&mut block[filled..]) {
                Ok(0) => self.current = None,
                Ok(bytes) => filled += bytes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::file("reading", name, &e)),
            }
        }
        Ok(filled)
    }
}

/// Where received bytes go.
pub struct Sink {
    name: String,
    writer: Box<dyn Write + Send>,
    written: u64,
    /// Bytes go to standard output, so nothing else may.
    pub is_standard_output: bool,
}

impl Sink {
    /// Creates or empties the file: what cannot be written is found before anything moves.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        match path {
            Some(path) if !is_standard(path) => {
                let name = path.display().to_string();
                let file = File::create(path).map_err(|e| Failure::file("writing", &name, &e))?;
                Ok(Sink { name, writer: Box::new(file), written: 0, is_standard_output: false })
            }
            _ => Ok(Sink { name: "standard output".into(), writer: Box::new(io::stdout()), written: 0, is_standard_output: true }),
        }
    }

    pub fn write(&mut self, mut bytes: &[u8]) -> Result {
        while !bytes.is_empty() {
            match self.writer.write(bytes) {
                Ok(0) => return Err(self.failure(&io::ErrorKind::WriteZero.into())),
                Ok(n) => {
                    self.written += n as u64;
                    bytes = &bytes[n..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failure(&e)),
            }
        }
        Ok(())
    }

    /// Everything is where it belongs, or an error.
    pub fn finish(&mut self) -> Result {
        self.writer.flush().map_err(|e| self.failure(&e))
    }

    fn failure(&self, error: &io::Error) -> Failure {
        Failure::file(&format!("after {} bytes, writing", self.written), &self.name, error)
    }
}

/// A bar on a terminal; nothing in a pipe, with `--quiet` or with `--json`.
pub fn progress(total: Option<u64>, hidden: bool) -> ProgressBar {
    if hidden || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = match total {
        Some(_) => "{wide_bar} {percent}% {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec}{left}",
        None => "{spinner} {binary_bytes} {binary_bytes_per_sec}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
            // Before anything has moved, the time left is unknown.
            if state.pos() > 0 {
                let _ = write!(out, " {:#} left", HumanDuration(state.eta()));
            }
        };
        bar.set_style(style.with_key("left", left));
    }
    bar
}
