// SPDX-License-Identifier: Apache-2.0
//! Finds cores and Towpath's own sources.

use crate::files::{environment, simulator_files};
use crate::manifest::MANIFEST;
use crate::CoreError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The list of gateware sources, relative to Towpath's home; paths in it are relative to the home, too.
pub(crate) const FILE_LIST: &str = "gateware/towpath.f";

/// What `./run install` puts these under, below its prefix.
const SHARE: &str = "share/towpath";

/// The folder that holds `gateware/`, `contract/` and `cores/`: TOWPATH_HOME, or the folder from [`crate::set_simulator_files`], or the
/// repository or an installation, found upward from the executable, from the library and from the current folder.
pub fn towpath_home() -> Result<PathBuf, CoreError> {
    let mut looked = Vec::new();
    if let Some(home) = named_home() {
        if home.join(FILE_LIST).is_file() {
            return Ok(home);
        }
        looked.push(home);
    }
    for start in starts() {
        if let Some(home) = homes(&start).next() {
            return Ok(home);
        }
        looked.push(start);
    }
    Err(CoreError::Gateware { looked })
}

/// The folder of a core: a path to one, or a name that is looked up in TOWPATH_CORES (a list separated by colons), in the cores that
/// came with the installed package (TOWPATH_HOME), in an installation and in the repository.
pub fn find_core(name_or_path: &str) -> Result<PathBuf, CoreError> {
    let path = Path::new(name_or_path);
    if !name_or_path.is_empty() {
        if path.join(MANIFEST).is_file() {
            return Ok(path.to_path_buf());
        }
        if path.file_name().is_some_and(|n| n == MANIFEST) && path.is_file() {
            return Ok(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf());
        }
    }
    let places = places();
    // A name is one plain component: "../x" or "a/b" is a path to a core that is not there.
    let is_name = path.components().count() == 1 && path.file_name().is_some_and(|n| n == name_or_path);
    if is_name {
        for place in &places {
            let folder = place.join(name_or_path);
            if folder.join(MANIFEST).is_file() {
                return Ok(folder);
            }
        }
        // The manifest's name may differ from the folder's.
        for folder in folders(&places) {
            if crate::Manifest::read(&folder).is_ok_and(|m| m.core.name == name_or_path) {
                return Ok(folder);
            }
        }
    }
    let mut looked = vec![path.to_path_buf()];
    looked.extend(places);
    Err(CoreError::NotFound { name: name_or_path.to_string(), looked, available: list_cores() })
}

/// Names of the cores that [`find_core`] finds by name, sorted.
pub fn list_cores() -> Vec<String> {
    let names: BTreeSet<String> =
        folders(&places()).iter().filter_map(|f| f.file_name()).map(|n| n.to_string_lossy().into_owned()).collect();
    names.into_iter().collect()
}

/// The home that the environment names, or the package that this is part of.
fn named_home() -> Option<PathBuf> {
    environment("TOWPATH_HOME").or_else(|| simulator_files().home)
}

fn starts() -> Vec<PathBuf> {
    let executable = std::env::current_exe().ok().and_then(|e| e.parent().map(Path::to_path_buf));
    let mut starts: Vec<PathBuf> = executable.into_iter().chain(library_folder()).chain(std::env::current_dir().ok()).collect();
    starts.dedup();
    starts
}

/// The folder of the shared library that this code is part of, or of the executable if it is in none.
fn library_folder() -> Option<PathBuf> {
    let here: fn() -> Option<PathBuf> = library_folder;
    let file = towpath_system::process::library_of(here as usize)?;
    file.parent().map(Path::to_path_buf)
}

/// Homes that are found upward from a folder.
fn homes(start: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    start.ancestors().flat_map(|folder| [folder.to_path_buf(), folder.join(SHARE)]).filter(|home| home.join(FILE_LIST).is_file())
}

/// Folders that hold cores, in the order in which they are searched.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(list) = environment("TOWPATH_CORES") {
        places.extend(std::env::split_paths(&list).filter(|p| !p.as_os_str().is_empty()));
    }
    if let Some(home) = named_home() {
        places.push(home.join("cores"));
    }
    if let Ok(home) = towpath_home() {
        places.push(home.join("cores"));
    }
    for start in starts() {
        places.extend(homes(&start).map(|home| home.join("cores")));
    }
    let mut seen = BTreeSet::new();
    places.retain(|p| seen.insert(p.clone()));
    places
}

fn folders(places: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = places
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|entries| entries.flatten().map(|e| e.path()))
        .filter(|p| p.join(MANIFEST).is_file())
        .collect();
    folders.sort();
    folders
}
