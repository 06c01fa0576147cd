// SPDX-License-Identifier: Apache-2.0
//! Endpoints at whose pins a card can be simulated: folders in `gateware/endpoint` with an `endpoint.toml` and a model of the pins.

use crate::{towpath_home, CoreError};
use serde::Deserialize;
use std::collections::BTreeMap;
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
    /// Parameters of the card by data width, beside those of the user core.
    pub parameters: BTreeMap<u32, BTreeMap<String, i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    widths: Vec<u32>,
    #[serde(default)]
    parameters: BTreeMap<String, BTreeMap<String, i64>>,
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
            let Text { widths, parameters } = toml::from_str(&text).map_err(|e| CoreError::manifest(&file, e.to_string()))?;
            let mut by_width = BTreeMap::new();
            for (width, parameters) in parameters {
                let width = width.parse().map_err(|_| CoreError::manifest(&file, format!("parameters.{width}: that is no data width")))?;
                by_width.insert(width, parameters);
            }
            found.push(Endpoint { name, widths, parameters: by_width });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The endpoint of that name, if it has that width.
pub(crate) fn find(name: &str, width: u32) -> Result<Endpoint, CoreError> {
    let all = endpoints()?;
    let names: Vec<String> = all.iter().map(|endpoint| endpoint.name.clone()).collect();
    let refused = |message| Err(CoreError::Endpoint { name: name.into(), message });
    match all.into_iter().find(|endpoint| endpoint.name == name) {
        None => refused(format!("there is none of that name; there are: {}", names.join(", "))),
        Some(endpoint) if !endpoint.widths.contains(&width) => {
            let widths: Vec<String> = endpoint.widths.iter().map(u32::to_string).collect();
            refused(format!("it has no data path of {width} bit; it has: {}", widths.join(", ")))
        }
        Some(endpoint) => Ok(endpoint),
    }
}

impl Endpoint {
    /// Its folder, relative to the home.
    pub(crate) fn folder(&self) -> PathBuf {
        Path::new(FOLDER).join(&self.name)
    }
}
