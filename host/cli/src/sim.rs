// SPDX-License-Identifier: Apache-2.0
//! `sim`: a simulated card for other programs, until somebody ends it.

use std::sync::Arc;

use serde_json::json;
use towpath::{CardServer, OpenOptions};

use crate::args::{Cli, Sim};
use crate::exit::{Failure, Result, FILE};
use crate::output;

pub fn sim(cli: &Cli, what: &Sim) -> Result {
    let device = crate::run::device_name(&what.core, &what.records, &what.settings)?;
    let show = Arc::new(|line: &str| output::eprintln_lossy(line.trim_end()));
    let options = OpenOptions { progress: Some(show.clone()), print: Some(show), ..OpenOptions::default() };
    let server = CardServer::bind(&device, &what.socket, &options).map_err(|error| match &error {
        towpath::Error::Bus { .. } => Failure::new(FILE, error),
        _ => error.into(),
    })?;
    let stop = server.stop();
    crate::signals::at_first(move |_| stop.stop())?;
    let name = format!("vfio-user:{}", what.socket.display());
    output::answer(cli, &json!({"device": name, "card": device}), &format!("{name}\n"))?;
    Ok(server.serve()?)
}
