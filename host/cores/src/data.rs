// SPDX-License-Identifier: Apache-2.0
//! Files that a core reads when it starts (`$readmemh`, `$readmemb`): they belong to the core, and a model carries them with it, so that it
//! has them wherever the program runs.

use crate::listed::tidy;
use crate::manifest::{at, core_line, Manifest, MANIFEST};
use crate::ports::Top;
use crate::CoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A file, and the name by which the core asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// As the sources write it.
    pub name: String,
    /// Absolute, or relative to the folder of the process.
    pub file: PathBuf,
    /// The sources that read it by that name, as far as that shows without running it.
    pub readers: BTreeSet<PathBuf>,
}

/// Is one path the end of the other?
fn ends_with(listed: &Path, wanted: &Path) -> bool {
    wanted.components().next().is_some() && listed.ends_with(wanted)
}

/// The listed file that a name in the sources means: the one at that place in the core's folder, or else the only one whose path ends so.
fn meant<'a>(manifest: &'a Manifest, name: &str) -> Result<Option<&'a PathBuf>, (String, String)> {
    let wanted = tidy(Path::new(name));
    let data = &manifest.core.data;
    if let Some(file) = data.iter().find(|file| tidy(file) == wanted || wanted.is_absolute() && tidy(&manifest.folder.join(file)) == wanted)
    {
        return Ok(Some(file));
    }
    // Simulators of others were started in some folder beside the core's.
    let inner: PathBuf = wanted.components().filter(|part| *part != Component::ParentDir).collect();
    let mut close = data.iter().filter(|file| ends_with(&tidy(file), &inner));
    match (close.next(), close.next()) {
        (Some(one), Some(other)) => Err((one.display().to_string(), other.display().to_string())),
        (one, _) => Ok(one),
    }
}

/// Every file that the core may ask for, by each of its names. What the sources name and the manifest does not is an error.
pub(crate) fn named(manifest: &Manifest, top: &Top) -> Result<Vec<Data>, CoreError> {
    let file = manifest.folder.join(MANIFEST);
    let text = fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
    let bad = |key: &str, message: String| CoreError::manifest(&file, at(core_line(&text, key), &message));
    let mut all: BTreeMap<String, (&PathBuf, BTreeSet<PathBuf>)> = BTreeMap::new();
    for (place, name) in &top.reads {
        let found = meant(manifest, name).map_err(|(one, other)| {
            bad(
                "data",
                format!("{place} reads \"{name}\", which may be {one} or {other}: list one of them in core.data, or name its folder there"),
            )
        })?;
        match found {
            Some(listed) => {
                let reader = place.rsplit_once(':').map_or(place.as_str(), |(file, _)| file);
                all.entry(name.clone()).or_insert((listed, BTreeSet::new())).1.insert(reader.into());
            }
            None => return Err(bad("data", unlisted(manifest, place, name))),
        }
    }
    // What no constant names may be read by a name that is made up: then by its own.
    let named: BTreeSet<PathBuf> = all.values().map(|(file, _)| file.to_path_buf()).collect();
    for listed in manifest.core.data.iter().filter(|file| !named.contains(*file)) {
        all.entry(listed.display().to_string()).or_insert((listed, BTreeSet::new()));
    }
    Ok(all.into_iter().map(|(name, (file, readers))| Data { name, file: manifest.folder.join(file), readers }).collect())
}

fn unlisted(manifest: &Manifest, place: &str, name: &str) -> String {
    let source = place.rsplit_once(':').map_or(place, |(file, _)| file);
    let beside = Path::new(source).parent().unwrap_or(Path::new("")).join(name);
    let there = [manifest.folder.join(name), beside].into_iter().find(|path| path.is_file());
    match there {
        Some(path) => {
            let inside = path.strip_prefix(&manifest.folder).unwrap_or(&path).display();
            format!("{place} reads \"{name}\", which is no data of the core: add data = [\"{inside}\"] to [core]")
        }
        None => format!(
            "{place} reads \"{name}\", and there is no such file in {}: put it there, and add data = [\"{name}\"] to [core]",
            manifest.folder.display()
        ),
    }
}

/// Those of several cores in one model, which asks by name alone.
pub(crate) fn together(cores: impl IntoIterator<Item = (String, Vec<Data>)>) -> Result<Vec<Data>, CoreError> {
    let mut all: BTreeMap<String, (String, Data)> = BTreeMap::new();
    for (core, data) in cores.into_iter().flat_map(|(core, list)| list.into_iter().map(move |data| (core.clone(), data))) {
        let read = |path: &Path| fs::read(path).map_err(|e| CoreError::io("cannot read", path, e));
        if let Some((first, other)) = all.get(&data.name) {
            if read(&other.file)? != read(&data.file)? {
                let what = format!("cores \"{first}\" and \"{core}\" each read a \"{}\", and they differ: rename one", data.name);
                return Err(CoreError::manifest(&data.file, what));
            }
        }
        all.insert(data.name.clone(), (core, data));
    }
    Ok(all.into_values().map(|(_, data)| data).collect())
}

/// C++ that holds the files, for `gateware/sim/model.cpp`. Copies of them are put into `scratch`, so that they are what was read.
pub(crate) fn embedded(data: &[Data], scratch: &Path) -> Result<String, CoreError> {
    let mut text = String::from("#include \"tp_data.h\"\n");
    let mut table = String::new();
    for (number, Data { name, file, .. }) in data.iter().enumerate() {
        let copy = scratch.join(format!("data{number}.bin"));
        fs::copy(file, &copy).map_err(|e| CoreError::io("cannot copy", file, e))?;
        // The path stands in a string of the assembler's in a string of C's.
        let path = escaped(&escaped(&copy.display().to_string()));
        let _ = writeln!(text, "extern \"C\" const char tp_data_{number}[], tp_data_{number}_end[];");
        let _ = writeln!(
            text,
            "__asm__(\".pushsection .rodata\\n.hidden tp_data_{number}, tp_data_{number}_end\\n.globl tp_data_{number}, tp_data_{number}_end\\n\
             tp_data_{number}:\\n.incbin \\\"{path}\\\"\\ntp_data_{number}_end:\\n.byte 0\\n.popsection\");"
        );
        let _ = writeln!(table, "    {{\"{}\", tp_data_{number}, tp_data_{number}_end}},", escaped(name));
    }
    let _ = writeln!(text, "const tp_data_file tp_data_files[] = {{\n{table}    {{nullptr, nullptr, nullptr}},\n}};");
    Ok(text)
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
