// SPDX-License-Identifier: Apache-2.0
//! The simulated card behind a server, whichever, on a thread of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use towpath_cores::{build, find_core, BuildOptions};
use towpath_device_server::Stop;
use towpath_sim::{PrintKind, Settings, SimBus};

/// A server that runs until this is dropped, and has then ended as it should.
pub struct Served {
    pub path: PathBuf,
    pub bus: Arc<SimBus>,
    stop: Stop,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// A card with the loopback core.
pub fn loopback(settings: Settings) -> Arc<SimBus> {
    if std::env::var_os("TOWPATH_HOME").is_none() {
        std::env::set_var("TOWPATH_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    }
    let model = find_core("loopback").and_then(|folder| build(&folder, &BuildOptions::default())).unwrap().library;
    let print = Arc::new(|kind: PrintKind, text: &str| eprintln!("{kind:?}: {}", text.trim_end()));
    SimBus::open("sim:loopback", &model, settings, None, print, Vec::new()).unwrap()
}

impl Served {
    /// `serve` starts the server of a card at a path.
    pub fn start(name: &str, serve: impl FnOnce(&Arc<SimBus>, &Path) -> (Stop, JoinHandle<io::Result<()>>)) -> Served {
        let bus = loopback(Settings::default());
        let path = std::env::temp_dir().join(format!("towpath-{name}-{}.sock", std::process::id()));
        let (stop, thread) = serve(&bus, &path);
        Served { path, bus, stop, thread: Some(thread) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().unwrap().join().expect("the server does not panic");
        if !std::thread::panicking() {
            ended.expect("the server ends as it should");
        }
    }
}
