// SPDX-License-Identifier: Apache-2.0
//! What the repository ships: every core's manifest can be read and found, and the list of gateware sources is whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use towpath_cores::{list_cores, wrap, BuildOptions, Manifest};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().ancestors().nth(2).unwrap().to_path_buf()
}

#[test]
fn cores_can_be_read() {
    let mut names = BTreeSet::new();
    for place in ["cores", "cores/bench", "tests/cores"] {
        for entry in std::fs::read_dir(repository().join(place)).unwrap().flatten().filter(|e| e.path().join("towpath.toml").exists()) {
            let manifest = Manifest::read(&entry.path()).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(manifest.core.name, entry.file_name().to_string_lossy(), "a core's folder bears its name");
            names.insert(manifest.core.name);
        }
    }
    for name in ["bench1", "bench1_256", "bench1_512", "bench8", "counter", "loop3x2", "loopback", "loopback_async", "sink", "sobel"] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    std::env::set_var("TOWPATH_HOME", repository());
    assert!(list_cores().contains(&"sobel".to_string()), "{:?}", list_cores());
}

#[test]
fn file_list_is_whole() {
    let root = repository();
    let text = std::fs::read_to_string(root.join("gateware/towpath.f")).unwrap();
    let listed: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")).collect();
    for file in &listed {
        assert!(root.join(file).is_file(), "gateware/towpath.f lists {file}, which is not there");
    }
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "gateware/towpath.f lists a file twice");
    for folder in [
        "lib",
        "control",
        "channel",
        "compat/axi",
        "compat/epee",
        "compat/fifo",
        "compat/riffa",
        "compat/wires",
        "compat/xillybus",
        "dma",
        "plugin",
    ] {
        for entry in std::fs::read_dir(root.join("gateware").join(folder)).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("gateware/{folder}/{name}");
            assert!(!name.ends_with(".sv") || listed.contains(&path.as_str()), "gateware/towpath.f lacks {path}");
        }
    }
}

/// The benches of `tests/agree` need nothing of host/: they have a loopback core behind arrays of their own.
#[test]
fn the_benches_wrapper_is_as_generated() {
    let root = repository();
    std::env::set_var("TOWPATH_HOME", &root);
    let generated = wrap(&root.join("cores/loopback"), &BuildOptions::default(), None).unwrap().text;
    let read = |name: &str| std::fs::read_to_string(root.join("tests/agree").join(name)).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[ ", "[");
    let ports = |text: &str| {
        let from = text.find("module tp_user").unwrap();
        let all = &text[from..from + text[from..].find(");").unwrap()];
        words(all)
    };
    assert_eq!(ports(&read("tp_user.sv")), ports(&generated));
    let names = |text: &str| {
        let package = &text[..text.find("endpackage").unwrap()];
        let declared = package.lines().filter_map(|line| line.trim().strip_prefix("localparam "));
        declared.map(|line| line.split('=').next().unwrap().split_whitespace().next_back().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&read("tp_user_pkg.sv")), names(&generated));
}

/// A reset of the core alone would forget the bursts of its window.
#[test]
fn a_window_and_a_reset_of_the_core_alone_do_not_go_together() {
    let root = repository();
    std::env::set_var("TOWPATH_HOME", &root);
    let folder = std::env::temp_dir().join(format!("towpath-window-{}", std::process::id())).join("scratchpad");
    std::fs::create_dir_all(&folder).unwrap();
    for file in ["scratchpad.sv", "scratchpad_queue.sv"] {
        std::fs::copy(root.join("cores/scratchpad").join(file), folder.join(file)).unwrap();
    }
    let manifest = std::fs::read_to_string(root.join("cores/scratchpad/towpath.toml")).unwrap();
    let plugin = "\n[[plugin]]\ntype = \"reset\"\n";
    std::fs::write(folder.join("towpath.toml"), format!("{manifest}{plugin}")).unwrap();
    let error = wrap(&folder, &BuildOptions::default(), None).unwrap_err().to_string();
    assert!(error.contains("plug-in \"reset\"") && error.contains("memory \"ram\" has a window"), "{error}");
    std::fs::write(folder.join("towpath.toml"), format!("{}{plugin}", manifest.replace("window = true\n", ""))).unwrap();
    wrap(&folder, &BuildOptions::default(), None).unwrap();
    std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

/// What a manifest may ask of the kinds that come with Towpath, and what it is told else.
#[test]
fn parameters_of_fanout_and_buffer() {
    let root = repository();
    std::env::set_var("TOWPATH_HOME", &root);
    let try_one = |core: &str, old: &str, new: &str| {
        let folder = std::env::temp_dir().join(format!("towpath-kinds-{}", std::process::id())).join(core);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(root.join(format!("cores/{core}/{core}.sv")), folder.join(format!("{core}.sv"))).unwrap();
        let manifest = std::fs::read_to_string(root.join(format!("cores/{core}/towpath.toml"))).unwrap();
        assert!(manifest.contains(old), "{old}");
        std::fs::write(folder.join("towpath.toml"), manifest.replace(old, new)).unwrap();
        let result = wrap(&folder, &BuildOptions::default(), None);
        std::fs::remove_dir_all(folder.parent().unwrap()).unwrap();
        result.unwrap_err().to_string()
    };
    for (core, old, new, parts) in [
        ("exchange", "PORTS = 4", "PORTS = 65", ["line 14: channel \"data\"", "parameters.PORTS = 65: make it 1 to 64"]),
        ("exchange", "DEPTH = 16", "DEPTH = 24", ["line 15: ", "parameters.DEPTH = 24: make it a power of two, 16 to 65536"]),
        ("exchange", "DEPTH = 16", "DEEP = 16", ["line 15: channel \"data\"", "no module of its kind has a parameter DEEP"]),
        ("exchange", "PORTS = 4", "PORTS = 8", ["\"data_in_tvalid\" has 4 bits", "8 bits (kind \"fanout\" of channel \"data\")"]),
        ("normalize", "BYTES = 4096\n", "BYTES = 5000\n", ["line 17: ", "parameters.BYTES = 5000: make it a power of two, 128 to 4194304"]),
        (
            "normalize",
            "BYTES = 4096\n",
            "BYTES = 8192\n",
            ["\"frames_in_row\" has 8 bits", "9 bits (kind \"buffer\" of channel \"frames\")"],
        ),
    ] {
        let error = try_one(core, old, new);
        assert!(parts.iter().all(|part| error.contains(part)), "{new}: {error}");
    }
}
