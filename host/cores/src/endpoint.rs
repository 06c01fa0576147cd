// SPDX-License-Identifier: Apache-2.0
//! Endpoints at whose pins a card can be simulated: folders in `gateware/endpoint` with an `endpoint.toml` and a model of the pins.

use crate::{towpath_home, CoreError};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Relative to the home.
pub(crate) const FOLDER: &str = "gateware/endpoint";
const MANIFEST: &str = "endpoint.toml";

/// An endpoint: an adapter to a hard block, and the model of that block's pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its folder in `gateware/endpoint`.
    pub name: String,
    /// Data widths that it has, in bits.
    pub widths: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    widths: Vec<u32>,
}

/// Those there are, by name.
///
/// # Errors
/// When the gateware is not there, or an endpoint's manifest cannot be read.
pub fn endpoints() -> Result<Vec<Endpoint>, CoreError> {
    let folder = towpath_home()?.join(FOLDER);
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|e| CoreError::io("cannot read", &folder, e))?.flatten() {
        let file = entry.path().join(MANIFEST);
        if let (true, Ok(name)) = (file.is_file(), entry.file_name().into_string()) {
            let text = fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
            let Text { widths } = toml::from_str(&text).map_err(|e| CoreError::manifest(&file, e.to_string()))?;
            found.push(Endpoint { name, widths });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn listed<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// The folder of an endpoint, relative to the home.
pub(crate) fn find(name: &str, width: u32) -> Result<PathBuf, CoreError> {
    let all = endpoints()?;
    let refused = |message| Err(CoreError::Endpoint { name: name.into(), message });
    match all.iter().find(|endpoint| endpoint.name == name) {
        None => refused(format!("there is none of that name; there are: {}", listed(&all.iter().map(|e| &e.name).collect::<Vec<_>>()))),
        Some(endpoint) if !endpoint.widths.contains(&width) => {
            refused(format!("it has no data path of {width} bit; it has: {}", listed(&endpoint.widths)))
        }
        Some(_) => Ok(Path::new(FOLDER).join(name)),
    }
}
