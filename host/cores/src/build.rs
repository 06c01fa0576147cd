// SPDX-License-Identifier: Apache-2.0
//! From sources to a shared object, once: the result is kept under the hash of everything it was made of.

use crate::check::{self, Check};
use crate::data::{embedded, named, together, Data};
use crate::files::environment;
use crate::find::{towpath_home, FILE_LIST};
use crate::kind::KIND;
use crate::listed::{included_names, tidy, PASSED_OVER};
use crate::loops;
use crate::manifest::{Channel, Manifest, MANIFEST};
use crate::plugin::PLUGIN;
use crate::ports::{check_ports, included, includes, Top};
use crate::region::hole;
use crate::tool::{disk_full, messages, text, Cxx, Verilator};
use crate::vhdl::{self, is_vhdl};
use crate::warnings::{errors, Warnings};
use crate::wrapper::{wrapper, Elaborated, Generated};
use crate::{endpoint, CoreError};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::SystemTime;

use towpath_system::file;

/// The way of building: all that decides what is given to the tools. When it changes, models are other ones.
const RECIPE: &str = concat!(
    include_str!("build.rs"),
    include_str!("check.rs"),
    include_str!("data.rs"),
    include_str!("endpoint.rs"),
    include_str!("epee.rs"),
    include_str!("family.rs"),
    include_str!("fifo.rs"),
    include_str!("ghdl.rs"),
    include_str!("kind.rs"),
    include_str!("listed.rs"),
    include_str!("loops.rs"),
    include_str!("manifest.rs"),
    include_str!("plugin.rs"),
    include_str!("ports.rs"),
    include_str!("region.rs"),
    include_str!("riffa.rs"),
    include_str!("shim.rs"),
    include_str!("stream.rs"),
    include_str!("tool.rs"),
    include_str!("vhdl.rs"),
    include_str!("wrapper.rs"),
    include_str!("xillybus.rs"),
);
const PREFIX: &str = "Vtp_model";

/// How to build.
#[derive(Clone, Copy, Default)]
pub struct BuildOptions<'a> {
    /// Waveforms can be written (a slower model, and another one in the cache).
    pub trace: bool,
    /// Data width instead of the manifest's.
    pub width: Option<u32>,
    /// The card's serial number, which is part of the gateware; another one is another model in the cache.
    pub serial: u64,
    /// The card behind the pins of this endpoint's hard block, a folder in `gateware/endpoint`; none: at the neutral streams.
    pub endpoint: Option<&'a str>,
    /// The checker at the core's ports; another choice is another model in the cache.
    pub check: Check,
    /// For [`wrap`]: each core of a region apart.
    pub regions: bool,
    /// Receives what is being done, and the compiler's warnings: whole lines without the final line break.
    pub progress: Option<&'a (dyn Fn(&str) + Sync)>,
}

/// A model that can be loaded.
#[derive(Clone, Debug)]
pub struct Built {
    /// The shared object, which exports the functions of `gateware/sim/tp_model.h`.
    pub library: PathBuf,
    /// The manifest; `core.width` is the width it was built with.
    pub manifest: Manifest,
    /// It was there already.
    pub cached: bool,
}

/// Check the core in `folder` and build its model, or take it from the cache ($TOWPATH_CACHE, or towpath/ in $XDG_CACHE_HOME or ~/.cache).
pub fn build(folder: &Path, options: &BuildOptions) -> Result<Built, CoreError> {
    let say = |line: &str| {
        if let Some(progress) = options.progress {
            progress(line);
        }
    };
    let manifest = read(folder, options)?;
    let home = towpath_home()?;
    let sources = Sources::find(&home, options.endpoint, manifest.core.width)?;
    let verilator = Verilator::find()?;
    let cxx = Cxx::find()?;
    let cache = cache()?;

    let key = key(&manifest, &home, &sources, &verilator, &cxx, options)?;
    let place = cache.join("models").join(&key);
    // Named by content: a loaded library stays loaded, and another build of the same core must not be taken for it.
    let library = place.join(format!("towpath-{}.so", &key[..16]));
    if library.is_file() {
        // Whoever clears the cache of old entries keeps what is used. One that cannot be written is as good.
        let _ = File::open(&place).and_then(|folder| folder.set_modified(SystemTime::now()));
        say(&format!("core \"{}\": taken from the cache", manifest.core.name));
        return Ok(Built { library, manifest, cached: true });
    }

    let models = cache.join("models");
    make_folder(&models)?;
    let _lock = Lock::take(&models.join(format!("{key}.lock")), &|| {
        say(&format!("core \"{}\": waiting for another process that builds it", manifest.core.name));
    })?;
    if library.is_file() {
        return Ok(Built { library, manifest, cached: true });
    }
    let scratch = Scratch::new(&models, &key[..16])?;
    let name = manifest.core.name.clone();
    say(&format!("core \"{name}\": checking the manifest against module \"{}\"", manifest.core.top));
    let warnings = Warnings::new(&manifest, &say);
    let Joined { mut text, checks, data, generated, tops, .. } =
        wrapped(&verilator, &manifest, &home, (options.serial, true), &scratch.path, &warnings)?;
    write(&scratch.path.join("data.cpp"), &embedded(&data, &scratch.path)?)?;

    say(&format!("core \"{name}\": compiling for simulation at {} bit (once; about a minute)", manifest.core.width));
    if options.check != Check::Off {
        text.push_str(&checks.replace(check::STOPS, if options.check == Check::On { "1'b1" } else { "1'b0" }));
    }
    let user = scratch.path.join("tp_user.sv");
    write(&user, &text)?;
    verilate(&verilator, &manifest, &home, &sources, (&user, &generated, &tops), &scratch.path, options.trace, &warnings)?;
    warnings.finish();
    let finished = scratch.path.join("finished");
    make_folder(&finished)?;
    compile(
        &verilator,
        &cxx,
        &manifest,
        &home,
        &sources.boundary,
        &cache,
        &scratch.path,
        &finished.join(library.file_name().unwrap_or_default()),
        options.trace,
    )?;
    // Into place whole: a reader sees all of it or nothing.
    if let Err(e) = fs::rename(&finished, &place) {
        if !library.is_file() {
            return Err(CoreError::io("cannot move the model to", &place, e));
        }
    }
    Ok(Built { library, manifest, cached: false })
}

/// What joins a core to the gateware of a board.
#[derive(Clone, Debug)]
pub struct Wrapped {
    /// The manifest; `core.width` is the width it was generated for.
    pub manifest: Manifest,
    /// The text of `tp_user_pkg` and `tp_user`; of a region with its own core in it, unless that is apart.
    pub text: String,
    /// Files that the core reads, by the names that it has for them.
    pub data: Vec<Data>,
    /// Files that its sources include.
    pub included: Vec<PathBuf>,
    /// The region, if it was asked for apart and there is one.
    pub region: Option<Region>,
}

/// A board's region, apart from what is around it.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its module, `tp_region`, empty.
    pub hole: String,
    /// The card's own core and the others, each in that module.
    pub cores: Vec<Inside>,
}

/// A core for a region.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Of the core.
    pub manifest: Manifest,
    /// The text of `tp_region` with it.
    pub text: String,
    /// As in [`Wrapped`].
    pub data: Vec<Data>,
    /// As in [`Wrapped`].
    pub included: Vec<PathBuf>,
}

/// Check the core in `folder` and generate what joins it to the gateware, for a board's project. `clock_mhz` is the frequency of Towpath's own clock there,
/// instead of the manifest's.
///
/// # Errors
/// As [`build`].
pub fn wrap(folder: &Path, options: &BuildOptions, clock_mhz: Option<f64>) -> Result<Wrapped, CoreError> {
    let say = |line: &str| {
        if let Some(progress) = options.progress {
            progress(line);
        }
    };
    let mut manifest = read(folder, options)?;
    manifest.gateware.clock_mhz = clock_mhz.unwrap_or(manifest.gateware.clock_mhz);
    // A board has the region, and whatever core is loaded into it.
    let mut others = Vec::new();
    manifest.plugins.iter_mut().for_each(|plugin| if options.regions { others.extend(plugin.cores.clone()) } else { plugin.cores.clear() });
    let scratch = scratch()?;
    let warnings = Warnings::new(&manifest, &say);
    let verilator = Verilator::find()?;
    let joined = wrapped(&verilator, &manifest, &towpath_home()?, (options.serial, false), &scratch.path, &warnings)?;
    warnings.finish();
    let Joined { mut text, data, included, regions, each, .. } = joined;
    if !options.regions || regions.is_empty() {
        text.extend(regions);
        return Ok(Wrapped { manifest, text, data, included, region: None });
    }
    let hole = hole(&regions[0]);
    let cores = [manifest.clone()].into_iter().chain(others).zip(regions).zip(each);
    let cores = cores.map(|((manifest, text), (data, included))| Inside { manifest, text, data, included }).collect();
    Ok(Wrapped { manifest, text, data: Vec::new(), included: Vec::new(), region: Some(Region { hole, cores }) })
}

/// A folder for what is only looked at.
pub(crate) fn scratch() -> Result<Scratch, CoreError> {
    let models = cache()?.join("models");
    make_folder(&models)?;
    // Several threads of a program may call this at once.
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    Scratch::new(&models, &format!("wrapper-{}-{call}", std::process::id()))
}

/// The manifest, with the width that is wanted.
fn read(folder: &Path, options: &BuildOptions) -> Result<Manifest, CoreError> {
    let mut manifest = Manifest::read(folder)?;
    if let Some(width) = options.width {
        if !matches!(width, 64 | 128 | 256 | 512) {
            return Err(CoreError::manifest(&folder.join(MANIFEST), format!("width {width}: make it 64, 128, 256 or 512")));
        }
        manifest.set_width(width);
    }
    Ok(manifest)
}

/// What [`wrapped`] makes and finds out.
struct Joined {
    text: String,
    /// The modules in a board's region, and of each core what it reads and includes.
    regions: Vec<String>,
    each: Vec<(Vec<Data>, Vec<PathBuf>)>,
    /// What watches the ports of the cores, for simulation.
    checks: String,
    data: Vec<Data>,
    included: Vec<PathBuf>,
    /// Verilog that was made of VHDL.
    generated: Vec<PathBuf>,
    /// The core, and others that can be loaded.
    tops: Vec<Top>,
}

fn wrapped(
    verilator: &Verilator,
    manifest: &Manifest,
    home: &Path,
    (serial, simulated): (u64, bool),
    scratch: &Path,
    warnings: &Warnings,
) -> Result<Joined, CoreError> {
    let gateware: Vec<PathBuf> = file_list(home, Path::new(FILE_LIST))?.iter().map(|file| home.join(file)).collect();
    let kinds = Top::of_kinds(verilator, manifest, &gateware, scratch, warnings)?;
    let top = Top::elaborate(verilator, manifest, (0, simulated), scratch, warnings)?;
    let plugins = Top::of_plugins(verilator, manifest, &gateware, scratch, warnings)?;
    check_ports(manifest, manifest.core.width, &top, &kinds, &plugins)?;
    let others = manifest.others().iter().enumerate().map(|(index, other)| {
        let kinds = Top::of_kinds(verilator, other, &gateware, scratch, warnings)?;
        let top = Top::elaborate(verilator, other, (index + 1, simulated), scratch, warnings)?;
        check_ports(other, other.core.width, &top, &kinds, &[]).map(|()| top)
    });
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let all = [(manifest, &top)].into_iter().chain(manifest.others().iter().zip(&others));
    let data = all.map(|(core, top)| Ok((core.core.name.clone(), named(core, top)?))).collect::<Result<Vec<_>, CoreError>>()?;
    let elaborated = Elaborated { top: &top, kinds: &kinds, plugins: &plugins, others: &others, simulated };
    let Generated { user: text, regions } = wrapper(manifest, manifest.core.width, serial, &elaborated);
    let each = [(manifest, &top)].into_iter().chain(manifest.others().iter().zip(&others)).map(|(core, top)| included(core, top));
    Ok(Joined {
        text,
        regions,
        each: data.iter().map(|(_, data)| data.clone()).zip(each).collect(),
        checks: [&top].into_iter().chain(&others).filter_map(|top| top.check.as_deref()).collect(),
        // On a board a region holds one of them.
        data: together(data.into_iter().take(if simulated { usize::MAX } else { 1 }))?,
        included: included(manifest, &top),
        generated: [&top].into_iter().chain(&others).flat_map(|top| top.generated.clone()).collect(),
        tops: [top].into_iter().chain(others).collect(),
    })
}

fn cache() -> Result<PathBuf, CoreError> {
    if let Some(cache) = environment("TOWPATH_CACHE") {
        return std::path::absolute(&cache).map_err(|e| CoreError::io("cannot use", &cache, e));
    }
    if let Some(cache) = environment("XDG_CACHE_HOME").or_else(|| environment("HOME").map(|h| h.join(".cache"))) {
        return Ok(cache.join("towpath"));
    }
    Err(CoreError::Io {
        what: "there is no folder for the cache: set TOWPATH_CACHE; without HOME it cannot be".into(),
        path: PathBuf::from("~/.cache/towpath"),
        source: std::io::Error::from(std::io::ErrorKind::NotFound),
    })
}

/// What is compiled, relative to the home.
struct Sources {
    /// Before the user core, in this order.
    gateware: Vec<PathBuf>,
    /// After it; the last one is of the top module, which has its name.
    tops: Vec<PathBuf>,
    /// The folder with the tp_boundary.h for that top's ports.
    boundary: PathBuf,
    /// What C++ reads.
    headers: Vec<PathBuf>,
    /// Parameters of the top.
    parameters: BTreeMap<String, i64>,
}

impl Sources {
    fn find(home: &Path, endpoint: Option<&str>, width: u32) -> Result<Sources, CoreError> {
        let mut gateware = file_list(home, Path::new(FILE_LIST))?;
        gateware.extend(check::SOURCES.map(PathBuf::from));
        let mut headers: Vec<PathBuf> = ["model.cpp", "tp_data.h", "tp_model.h", "tp_model_print.h", "tp_lanes.h"]
            .iter()
            .map(|name| Path::new("gateware/sim").join(name))
            .collect();
        let mut parameters = BTreeMap::new();
        let (top, boundary) = match endpoint {
            None => (PathBuf::from("gateware/sim/tp_sim_top.sv"), PathBuf::from("gateware/sim")),
            Some(name) => {
                let mut endpoint = endpoint::find(name, width)?;
                let folder = endpoint.folder();
                parameters = endpoint.parameters.remove(&width).unwrap_or_default();
                gateware.extend(file_list(home, &folder.join("endpoint.f"))?);
                headers.extend(["sim/tp_incoming.h", "sim/tp_outgoing.h"].map(|file| Path::new(endpoint::FOLDER).join(file)));
                (folder.join(format!("tp_{name}_card.sv")), folder.join("sim"))
            }
        };
        headers.push(boundary.join("tp_boundary.h"));
        Ok(Sources { gateware, tops: vec!["gateware/tp_system.sv".into(), top], boundary, headers, parameters })
    }

    fn top_module(&self) -> &str {
        self.tops.last().and_then(|file| file.file_stem()).and_then(|stem| stem.to_str()).unwrap_or_default()
    }
}

/// The files of a list, relative to the home, in the order of compilation.
fn file_list(home: &Path, list: &Path) -> Result<Vec<PathBuf>, CoreError> {
    let list = home.join(list);
    let text = fs::read_to_string(&list).map_err(|e| CoreError::io("cannot read", &list, e))?;
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}

/// The hash of everything that the model is made of.
fn key(
    manifest: &Manifest,
    home: &Path,
    sources: &Sources,
    verilator: &Verilator,
    cxx: &Cxx,
    options: &BuildOptions,
) -> Result<String, CoreError> {
    let mut hash = Sha256::new();
    let mut part = |name: &str, bytes: &[u8]| {
        // Lengths keep neighbours apart.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part("recipe", RECIPE.as_bytes());
    part(
        "options",
        format!(
            "{} {} {} {:?} {:?} {:?}",
            options.trace, manifest.core.width, options.serial, options.endpoint, options.check, sources.parameters
        )
        .as_bytes(),
    );
    part("verilator", verilator.version.as_bytes());
    part("c++", cxx.version.as_bytes());
    part("ghdl", vhdl::version(manifest)?.unwrap_or_default().as_bytes());
    for core in [manifest].into_iter().chain(manifest.others()) {
        let text = fs::read(core.folder.join(MANIFEST)).map_err(|e| CoreError::io("cannot read", &core.folder.join(MANIFEST), e))?;
        part("manifest", &text);
        let mut files = BTreeSet::new();
        // What the manifest's lists come to, in their order.
        part("listed", format!("{:?} {:?} {:?}", core.core.sources, core.core.include, core.core.macros()).as_bytes());
        for source in core.core.sources.iter().chain(&core.core.data) {
            files.insert(source.clone());
        }
        // Whatever an `include may reach.
        for include in core.core.include.iter().map(PathBuf::as_path).chain([Path::new("")]) {
            sources_under(&core.folder, include, 0, &mut files)?;
        }
        let mut waiting: Vec<PathBuf> = files.iter().cloned().collect();
        while let Some(file) = waiting.pop() {
            let path = core.folder.join(&file);
            let bytes = fs::read(&path).map_err(|e| CoreError::io("cannot read", &path, e))?;
            // Included by name, whatever its ending is.
            for name in included_names(&String::from_utf8_lossy(&bytes)) {
                let beside = file.parent().unwrap_or(Path::new(""));
                let folders = core.core.include.iter().map(PathBuf::as_path).chain([Path::new(""), beside]);
                let found = folders.map(|folder| tidy(&folder.join(name))).filter(|path| core.folder.join(path).is_file());
                waiting.extend(found.filter(|path| files.insert(path.clone())));
            }
        }
        for file in files {
            let path = core.folder.join(&file);
            part(&file.to_string_lossy(), &fs::read(&path).map_err(|e| CoreError::io("cannot read", &path, e))?);
        }
    }
    for (kind, half) in manifest.channels.iter().filter_map(Channel::half) {
        for file in half.sources.iter().map(PathBuf::as_path).chain([Path::new(KIND)]) {
            let path = kind.folder.join(file);
            part(&format!("{}/{}", kind.name, file.display()), &fs::read(&path).map_err(|e| CoreError::io("cannot read", &path, e))?);
        }
    }
    for plugin in &manifest.plugins {
        for file in plugin.sources.iter().map(PathBuf::as_path).chain([Path::new(PLUGIN)]) {
            let path = plugin.folder.join(file);
            part(
                &format!("{}/{}", plugin.type_name, file.display()),
                &fs::read(&path).map_err(|e| CoreError::io("cannot read", &path, e))?,
            );
        }
    }
    for file in sources.gateware.iter().chain(&sources.tops).chain(&sources.headers) {
        let path = home.join(file);
        part(&file.to_string_lossy(), &fs::read(&path).map_err(|e| CoreError::io("cannot read", &path, e))?);
    }
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

fn sources_under(root: &Path, folder: &Path, depth: u32, files: &mut BTreeSet<PathBuf>) -> Result<(), CoreError> {
    let here = root.join(folder);
    for entry in fs::read_dir(&here).map_err(|e| CoreError::io("cannot read", &here, e))?.flatten() {
        let path = folder.join(entry.file_name());
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || PASSED_OVER.contains(&name.as_str()) {
            continue;
        }
        if root.join(&path).is_dir() {
            if depth < 8 {
                sources_under(root, &path, depth + 1, files)?;
            }
        } else if matches!(path.extension().and_then(|e| e.to_str()), Some("sv" | "svh" | "v" | "vh" | "inc" | "vlt")) {
            files.insert(path);
        }
    }
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn verilate(
    verilator: &Verilator,
    manifest: &Manifest,
    home: &Path,
    sources: &Sources,
    (user, generated, tops): (&Path, &[PathBuf], &[Top]),
    scratch: &Path,
    trace: bool,
    warnings: &Warnings,
) -> Result<(), CoreError> {
    let command = |top: &str, folder: &Path| {
        let mut command = verilator.command();
        command.args(["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--assert", "--no-timing", "--quiet", "-Wno-fatal"]);
        command.args(["--timescale", "1ns/1ps", "--output-split", "20000", "--prefix", PREFIX, "--top-module", top]);
        command.arg("--Mdir").arg(folder);
        // The check of the ports has reported warnings of the user's sources; the wrapper's and the gateware's do not concern the user. But a
        // module of the user's that has the name of one of Towpath's would silently take its place.
        command.args(["-Wno-lint", "-Wno-style", "-Werror-MODDUP"]);
        command.args(sources.gateware.iter().map(|file| home.join(file)));
        command.args(includes(manifest)).args(manifest.sources().iter().filter(|source| !is_vhdl(source))).args(generated);
        command.arg(user);
        command
    };
    let mut whole = command(sources.top_module(), scratch);
    whole.args(sources.tops.iter().map(|file| home.join(file)));
    whole.args(sources.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
    if trace {
        whole.args(["--trace-fst", "--trace-structs"]);
    }
    let output = whole.output().map_err(|e| CoreError::io("cannot run Verilator in", scratch, e))?;
    if disk_full(&output) {
        return Err(CoreError::DiskFull { path: scratch.to_path_buf() });
    }
    let said = messages(&output);
    if !output.status.success() {
        return Err(CoreError::Compile { what: format!("core \"{}\"", manifest.core.name), message: errors(&said) });
    }
    if said.contains(loops::RULE) {
        for (core, top) in [manifest].into_iter().chain(manifest.others()).zip(tops) {
            let mut alone = command(&top.module, &scratch.join("loops"));
            alone.args(["-fno-gate", "-fno-inline", "-fno-dfg"]);
            // As the wrapper has it. A generated module has its core's parameters inside, and Verilog made of VHDL has none.
            if top.shim.is_none() && top.generated.is_empty() {
                alone.args(top.has_data_width.then(|| format!("-GDATA_WIDTH={}", core.core.width)));
                alone.args(core.parameters.iter().map(|(name, value)| format!("-G{name}={}", value.verilog())));
            }
            let output = alone.output().map_err(|e| CoreError::io("cannot run Verilator in", scratch, e))?;
            if let Some(message) = loops::through_ports(&messages(&output), top, &[scratch, &home.join("gateware")]) {
                return Err(CoreError::Compile { what: format!("core \"{}\"", manifest.core.name), message });
            }
        }
    }
    warnings.show(&said);
    Ok(())
}

/// One compiler's run: what for, and the command.
struct Job {
    output: PathBuf,
    command: Command,
}

#[allow(clippy::too_many_arguments)]
fn compile(
    verilator: &Verilator,
    cxx: &Cxx,
    manifest: &Manifest,
    home: &Path,
    boundary: &Path,
    cache: &Path,
    scratch: &Path,
    library: &Path,
    trace: bool,
) -> Result<(), CoreError> {
    let sim = home.join("gateware/sim");
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get()).min(8);
    let common = |command: &mut Command| {
        command.args(["-std=c++17", "-fPIC", "-fvisibility=hidden", "-w"]);
        // Unique symbols would join the statics of all models in a process, and keep a library loaded.
        if !cxx.version.contains("clang") {
            command.arg("-fno-gnu-unique");
        }
        command.args(["-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", "-DVL_TIME_CONTEXT"]);
        command.args(["-DVL_USER_FINISH", "-DVL_USER_STOP", "-DVL_USER_FATAL", "-DVL_USER_WARN"]);
        let on = u8::from(trace);
        command.args([format!("-DVM_TRACE={on}"), format!("-DVM_TRACE_FST={on}"), "-DVM_TRACE_VCD=0".into(), "-DVM_TRACE_SAIF=0".into()]);
        command.arg("-I").arg(&verilator.include).arg("-I").arg(verilator.include.join("vltstd"));
        command.arg("-include").arg(sim.join("tp_model_print.h"));
    };

    // The runtime is the same for all cores: its objects are kept.
    let units = units(scratch)?;
    let mut hash = Sha256::new();
    let print = sim.join("tp_model_print.h");
    hash.update(fs::read(&print).map_err(|e| CoreError::io("cannot read", &print, e))?);
    hash.update(format!("{RECIPE} {trace} {} {} {}", verilator.version, cxx.version, verilator.include.display()));
    let runtime_key: String = hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    let kept = cache.join("runtime").join(runtime_key);
    make_folder(&kept)?;
    let mut work = Vec::new();
    let mut objects = Vec::new();
    let mut keep = Vec::new();
    for name in &units.runtime {
        let object = kept.join(format!("{name}.o"));
        if !object.is_file() {
            let mut command = cxx.command();
            common(&mut command);
            // -Os is what Verilator's own makefile gives the runtime; it compiles in half the time.
            command.arg("-Os").arg("-c").arg(verilator.include.join(format!("{name}.cpp")));
            let output = scratch.join(format!("runtime-{name}.o"));
            keep.push((output.clone(), object.clone()));
            work.push(Job { output, command });
        }
        objects.push(object);
    }

    // Few big units compile faster than many small ones: each reads the same large headers.
    let mut unit = |label: &str, sources: &[String], level: &str| -> Result<(), CoreError> {
        if sources.is_empty() {
            return Ok(());
        }
        let file = scratch.join(format!("unit-{label}.cpp"));
        let lines: Vec<String> = sources.iter().map(|s| format!("#include \"{s}.cpp\"\n")).collect();
        write(&file, &lines.concat())?;
        let output = file.with_extension("o");
        let mut command = cxx.command();
        common(&mut command);
        command.arg(level).arg("-I").arg(scratch).arg("-c").arg(&file);
        objects.push(output.clone());
        work.push(Job { output, command });
        Ok(())
    };
    for (n, group) in share(scratch, &units.fast, jobs).iter().enumerate() {
        unit(&format!("fast{n}"), group, "-O2")?;
    }
    unit("slow", &units.slow, "-O0")?;
    {
        let output = scratch.join("model.o");
        let mut command = cxx.command();
        common(&mut command);
        command.arg("-O2").arg("-I").arg(scratch).arg("-I").arg(home.join(boundary)).arg("-I").arg(&sim);
        command.arg(format!("-DTP_MODEL_DATA_WIDTH={}", manifest.core.width));
        command.arg(format!("-DTP_MODEL_CORE_CLOCK_KHZ={}", manifest.core_clock_khz()));
        let own = manifest.core.clock_mhz.map_or_else(Vec::new, |_| manifest.user_clocks_khz());
        let listed: Vec<String> = own.iter().map(u32::to_string).collect();
        command.arg(format!("-DTP_MODEL_USER_CLOCKS_KHZ={}", listed.join(",")));
        if trace {
            command.arg("-DTP_MODEL_TRACE");
        }
        command.arg("-c").arg(sim.join("model.cpp"));
        objects.push(output.clone());
        work.push(Job { output, command });
    }
    {
        let output = scratch.join("data.o");
        let mut command = cxx.command();
        command.args(["-std=c++17", "-fPIC", "-fvisibility=hidden"]).arg("-I").arg(&sim).arg("-c").arg(scratch.join("data.cpp"));
        objects.push(output.clone());
        work.push(Job { output, command });
    }
    run_all(work, jobs, &manifest.core.name)?;
    for (from, to) in keep {
        // Another process may have put the same object there meanwhile: either will do. A rename is whole.
        fs::rename(&from, &to).map_err(|e| CoreError::io("cannot keep", &to, e))?;
    }

    let mut command = cxx.command();
    command.args(["-shared", "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-Wl,--wrap=fopen"]).args(&objects).arg("-pthread");
    if trace {
        command.args(["-llz4", "-lz"]);
    }
    run_all(vec![Job { output: library.to_path_buf(), command }], 1, &manifest.core.name)
}

/// What Verilator wrote: names of units without ".cpp".
#[derive(Default)]
struct Units {
    /// Run in every cycle.
    fast: Vec<String>,
    /// Run once.
    slow: Vec<String>,
    /// Of Verilator's runtime, which are in its own folder.
    runtime: Vec<String>,
}

fn units(scratch: &Path) -> Result<Units, CoreError> {
    let file = scratch.join(format!("{PREFIX}_classes.mk"));
    let text = fs::read_to_string(&file).map_err(|e| CoreError::io("cannot read", &file, e))?;
    let mut units = Units::default();
    let mut section = "";
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        if let Some((head, _)) = line.split_once("+=") {
            section = head.trim();
        } else if let Some(name) = line.trim().strip_suffix('\\') {
            let name = name.trim().to_string();
            match section {
                "VM_CLASSES_FAST" | "VM_SUPPORT_FAST" => units.fast.push(name),
                "VM_CLASSES_SLOW" | "VM_SUPPORT_SLOW" => units.slow.push(name),
                "VM_GLOBAL_FAST" | "VM_GLOBAL_SLOW" => units.runtime.push(name),
                _ => {}
            }
        }
    }
    Ok(units)
}

/// Share units among at most `groups` groups of about the same size.
fn share(scratch: &Path, names: &[String], groups: usize) -> Vec<Vec<String>> {
    let size = |name: &String| fs::metadata(scratch.join(format!("{name}.cpp"))).map_or(0, |m| m.len());
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_by_key(|n| (std::cmp::Reverse(size(n)), (*n).clone()));
    let mut shares: Vec<(u64, Vec<String>)> = vec![(0, Vec::new()); groups];
    for name in sorted {
        if let Some(least) = shares.iter_mut().min_by_key(|(total, _)| *total) {
            least.0 += size(name);
            least.1.push(name.clone());
        }
    }
    shares.into_iter().map(|(_, group)| group).filter(|group| !group.is_empty()).collect()
}

/// Run the jobs, some at a time; reports the first failure.
fn run_all(work: Vec<Job>, jobs: usize, core: &str) -> Result<(), CoreError> {
    let queue = Mutex::new(work);
    let failure: Mutex<Option<CoreError>> = Mutex::new(None);
    let next = || {
        if failure.lock().is_ok_and(|f| f.is_some()) {
            return None;
        }
        queue.lock().ok().and_then(|mut q| q.pop())
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(mut job) = next() {
                    let failed = match job.command.arg("-o").arg(&job.output).output() {
                        Ok(output) if output.status.success() => None,
                        Ok(output) if disk_full(&output) => Some(CoreError::DiskFull { path: job.output.clone() }),
                        Ok(output) => Some(compiler_failed(core, &text(&output))),
                        Err(e) => Some(CoreError::io("cannot run the C++ compiler for", &job.output, e)),
                    };
                    if let (Some(failed), Ok(mut slot)) = (failed, failure.lock()) {
                        slot.get_or_insert(failed);
                    }
                }
            });
        }
    });
    match failure.into_inner() {
        Ok(Some(failed)) => Err(failed),
        _ => Ok(()),
    }
}

/// The C++ compiler fails on generated code only because something is missing in the system.
fn compiler_failed(core: &str, said: &str) -> CoreError {
    let lacks = [("lz4.h", "liblz4-dev"), ("-llz4", "liblz4-dev"), ("zlib.h", "zlib1g-dev"), ("-lz", "zlib1g-dev")];
    if let Some((_, package)) = lacks.iter().find(|(sign, _)| said.contains(sign)) {
        return CoreError::Tool {
            tool: "g++".into(),
            message: format!("waveforms need the package {package}: `sudo apt-get install {package}`, or do without --trace"),
        };
    }
    let last: Vec<&str> = said.lines().filter(|l| l.contains("error") || l.contains("fatal")).take(10).collect();
    CoreError::Tool {
        tool: "g++".into(),
        message: format!(
            "the generated model of core \"{core}\" does not compile:\n{}",
            if last.is_empty() { said.to_string() } else { last.join("\n") }
        ),
    }
}

fn make_folder(path: &Path) -> Result<(), CoreError> {
    fs::create_dir_all(path).map_err(|e| CoreError::io("cannot make", path, e))
}

fn write(path: &Path, text: &str) -> Result<(), CoreError> {
    fs::write(path, text).map_err(|e| CoreError::io("cannot write", path, e))
}

/// A folder of this build alone, removed with it.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Nobody else may have a scratch folder of this name now: whatever lies there is left over from a process that was killed.
    fn new(models: &Path, name: &str) -> Result<Scratch, CoreError> {
        let path = models.join(format!(".{name}"));
        let _ = fs::remove_dir_all(&path);
        make_folder(&path)?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Held while a model is built; the system releases it when the process ends in whatever way.
struct Lock {
    _file: File,
}

impl Lock {
    fn take(path: &Path, waiting: &dyn Fn()) -> Result<Lock, CoreError> {
        let opened = File::create(path).map_err(|e| CoreError::io("cannot make", path, e))?;
        let failed = |e| CoreError::io("cannot lock", path, e);
        if !file::lock(&opened).map_err(failed)? {
            waiting();
            file::wait_lock(&opened).map_err(failed)?;
        }
        Ok(Lock { _file: opened })
    }
}
