// SPDX-License-Identifier: Apache-2.0
//! `sim`: a simulated card for other programs, until a signal ends it.

use std::sync::Arc;

use serde_json::json;
use towpath::{CardFaults, CardServer, OpenOptions};

use crate::args::{Cli, Sim};
use crate::exit::{Failure, Result, FILE, USAGE};
use crate::output;

pub fn sim(cli: &Cli, what: &Sim) -> Result {
    let device = crate::run::device_name(&what.core, &what.records, &what.settings)?;
    let show = Arc::new(|line: &str| output::eprintln_lossy(line.trim_end()));
    let options = OpenOptions { progress: Some(show.clone()), print: Some(show), ..OpenOptions::default() };
    let (server, name) = match (&what.place.socket, &what.place.vhost_user) {
        (Some(path), _) => (CardServer::bind(&device, path, &options), format!("vfio-user:{}", path.display())),
        (None, Some(path)) => (CardServer::bind_vhost_user(&device, path, &options), format!("vhost-user:{}", path.display())),
        (None, None) => return Err(Failure::new(USAGE, "neither --socket nor --vhost-user")), // the definition demands one of them
    };
    let server = server.map_err(|error| match &error {
        towpath::Error::Bus { .. } => Failure::new(FILE, error),
        _ => error.into(),
    })?;
    let stop = server.stop();
    crate::signals::at_first(move |_| stop.stop())?;
    output::answer(cli, &json!({"device": name, "card": device}), &format!("{name}\n"))?;
    if what.faults {
        let (faults, json) = (server.faults(), cli.json);
        std::thread::spawn(move || cause(&faults, json));
    }
    Ok(server.serve()?)
}

/// Inject the faults that standard input names, to its end.
fn cause(faults: &CardFaults, json: bool) {
    for line in std::io::stdin().lines().map_while(std::io::Result::ok) {
        let words = line.trim();
        match faults.cause(words) {
            // There may be no reader.
            Ok(()) => drop(output::print(&if json { format!("{}\n", json!({"fault": words})) } else { format!("{words}\n") })),
            Err(error) => output::failure(json, &error.into()),
        }
    }
}
