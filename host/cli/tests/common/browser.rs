// SPDX-License-Identifier: Apache-2.0
//! A browser without a window, by the DevTools protocol over two pipes: messages in JSON, each ended by a zero byte.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{json, Value};

/// Where the browser is: `TOWPATH_BROWSER`, or Chromium on the path.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TOWPATH_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| places.iter().map(move |place| place.join(name))).find(|file| file.is_file())
}

pub struct Browser {
    process: Child,
    to: File,
    from: BufReader<File>,
    session: Value,
    number: u64,
    /// What the page has thrown, or written to its console as an error.
    pub faults: Vec<String>,
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }).into()
}

impl Browser {
    /// With a profile in that folder. It finds no host by name.
    pub fn start(program: &Path, folder: &Path) -> Browser {
        let (theirs, to) = pipe();
        let (from, write) = pipe();
        let mut command = Command::new(program);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1400,1000", "--force-device-scale-factor=1"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .arg("about:blank")
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (read_end, write_end) = (theirs.as_raw_fd(), write.as_raw_fd());
        let ends = move || {
            // First out of the way of 3 and 4, which they become.
            let moved = unsafe { [libc::fcntl(read_end, libc::F_DUPFD, 10), libc::fcntl(write_end, libc::F_DUPFD, 10)] };
            for (end, place) in moved.into_iter().zip([3, 4]) {
                if end < 0 || unsafe { libc::dup2(end, place) } < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                unsafe { libc::close(end) };
            }
            Ok(())
        };
        unsafe { command.pre_exec(ends) };
        let process = command.spawn().unwrap();
        drop((theirs, write));
        let (to, from) = unsafe { (File::from_raw_fd(to.into_raw_fd()), File::from_raw_fd(from.into_raw_fd())) };
        let mut browser = Browser { process, to, from: BufReader::new(from), session: Value::Null, number: 0, faults: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        browser.session = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}))["sessionId"].clone();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        browser
    }

    fn message(&mut self) -> Value {
        let mut text = Vec::new();
        self.from.read_until(0, &mut text).unwrap();
        assert_eq!(text.pop(), Some(0), "the browser has ended");
        let message: Value = serde_json::from_slice(&text).unwrap();
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.faults.push(message["params"]["exceptionDetails"].to_string()),
            Some("Log.entryAdded") if message["params"]["entry"]["level"] == "error" => {
                self.faults.push(message["params"]["entry"].to_string())
            }
            _ => (),
        }
        message
    }

    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.message();
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    /// Load a page, and wait until it is there.
    pub fn open(&mut self, address: &str) {
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.call("Page.navigate", json!({"url": address}));
        self.settle();
    }

    /// Wait for the page, and what it draws next.
    pub fn settle(&mut self) {
        let drawn = "new Promise((done) => { const wait = () => document.readyState === 'complete' ? requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(wait, 5); wait(); })";
        self.call("Runtime.evaluate", json!({"expression": drawn, "awaitPromise": true}));
    }

    /// What an expression of JavaScript is worth on the page.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub fn key(&mut self, key: &str) {
        let mut event = json!({"type": "keyDown", "key": key});
        if key.len() == 1 {
            event["text"] = key.into();
        }
        self.call("Input.dispatchKeyEvent", event);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
        self.settle();
    }

    pub fn click(&mut self, x: f64, y: f64) {
        for what in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.call("Input.dispatchMouseEvent", json!({"type": what, "x": x, "y": y, "button": "left", "clickCount": 1}));
        }
        self.settle();
    }

    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        for (what, (x, y)) in [("mouseMoved", from), ("mousePressed", from), ("mouseMoved", to), ("mouseReleased", to)] {
            self.call("Input.dispatchMouseEvent", json!({"type": what, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}));
        }
        self.settle();
    }

    pub fn wheel(&mut self, x: f64, y: f64, by: f64) {
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by}));
        // The browser hands it on with the next frame.
        self.settle();
        self.settle();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
