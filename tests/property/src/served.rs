// SPDX-License-Identifier: Apache-2.0
//! A simulated card behind a socket: the same card, and a program that reaches it as one in another process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use towpath::{CardServer, OpenOptions, Stop};

/// A server in a thread of its own; dropped, it ends.
pub struct Served {
    path: PathBuf,
    stop: Stop,
    thread: Option<JoinHandle<towpath::Result<()>>>,
}

impl Served {
    /// Serve the card of that name (`sim:...`) at a socket of its own.
    pub fn start(device: &str) -> Result<Served, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("towpath-property-{}-{}.sock", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let server = CardServer::bind(device, &path, &OpenOptions::default()).map_err(|error| error.to_string())?;
        let stop = server.stop();
        let thread = std::thread::Builder::new().name("card".into()).spawn(move || server.serve()).map_err(|error| error.to_string())?;
        Ok(Served { path, stop, thread: Some(thread) })
    }

    /// What programs open.
    pub fn name(&self) -> String {
        format!("vfio-user:{}", self.path.display())
    }

    /// End it, and hear how it was.
    pub fn end(mut self) -> Result<(), String> {
        self.stop.stop();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended.map_err(|error| error.to_string()),
            _ => Err("the server panicked".into()),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
