// SPDX-License-Identifier: Apache-2.0
//! The files of a core: sources by patterns and lists, macros, data files, and warnings of others' code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Mutex;
use towpath_cores::{build, wrap, BuildOptions, CoreError};

mod common;
use common::{fails, says, world, World, BODY_LINE, MANIFEST, PORTS};

type Said = Vec<(i32, String)>;

extern "C" fn print(context: *mut c_void, kind: c_int, text: *const c_char, length: u64) {
    // SAFETY: the context is the Vec given to tp_model_new, and the text is as long as it says.
    let (said, bytes) = unsafe { (&mut *context.cast::<Said>(), std::slice::from_raw_parts(text.cast::<u8>(), length as usize)) };
    said.push((kind, String::from_utf8_lossy(bytes).into_owned()));
}

/// What a model prints when it starts, and the ends that it tells.
fn started(library: &Path) -> (String, Vec<String>) {
    type New = unsafe extern "C" fn(*const c_char, extern "C" fn(*mut c_void, c_int, *const c_char, u64), *mut c_void) -> *mut c_void;
    let mut said = Said::new();
    // SAFETY: the library exports tp_model.h.
    unsafe {
        let library = libloading::Library::new(library).unwrap();
        let model = library.get::<New>(b"tp_model_new").unwrap()(std::ptr::null(), print, (&raw mut said).cast());
        library.get::<unsafe extern "C" fn(*mut c_void)>(b"tp_model_free").unwrap()(model);
    }
    let (printed, ends): (Vec<_>, Vec<_>) = said.into_iter().partition(|(kind, _)| *kind == 0);
    (printed.into_iter().map(|(_, text)| text).collect(), ends.into_iter().map(|(_, text)| text).collect())
}

/// A core whose [core] has these lines besides.
fn core(world: &World, name: &str, lines: &str, body: &str) -> std::path::PathBuf {
    world.files(name, &MANIFEST.replace("width = 64\n", &format!("width = 64\n{lines}\n")), &PORTS.replace("BODY", body))
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn seed() -> u64 {
    let given = std::env::var("TOWPATH_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64);
    println!("TOWPATH_SEED={seed}");
    seed
}

fn random(state: &mut u64) -> u64 {
    // The constants of Knuth's MMIX.
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

#[test]
fn data_files_are_in_the_model() {
    let world = world();
    let mut state = seed();
    // Asked for by name alone, by its place in the core's folder, from a folder beside it, and by a computed name.
    let names = ["one.hex", "rom files/two.hex", "../../data/three.hex"];
    let mut body = String::from("  logic [31:0] m0[16], m1[16], m2[16], m3[16]; string s;\n  initial begin s = \"four\";\n");
    for (number, name) in names.iter().enumerate() {
        body += &format!("    $readmemh(\"{name}\", m{number});\n");
    }
    body += "    $readmemh({s, \".hex\"}, m3);\n";
    for memory in ["m0", "m1", "m2", "m3"] {
        body += &format!("    for (int j = 0; j < 16; j++) $display(\"%h\", {memory}[j]);\n");
    }
    body += "  end";
    let folder = core(&world, "data", "data = [\"rom files/*.hex\", \"data/*.hex\", \"four.hex\"]", &body);
    let mut words = |file: &str| {
        let words: Vec<String> = (0..16).map(|_| format!("{:08x}", random(&mut state) as u32)).collect();
        write(&folder, file, &words.join("\n"));
        words
    };
    let mut expected: Vec<Vec<String>> = ["data/one.hex", "rom files/two.hex", "data/three.hex", "four.hex"].map(&mut words).into();
    let mut libraries = Vec::new();
    for changed in [None, Some((2, "data/three.hex"))] {
        if let Some((number, file)) = changed {
            expected[number] = words(file);
        }
        let built = build(&folder, &BuildOptions::default()).unwrap();
        assert!(!built.cached, "other data is another model");
        assert!(build(&folder, &BuildOptions::default()).unwrap().cached);
        let printed: String = expected.concat().iter().map(|word| format!("{word}\n")).collect();
        assert_eq!(started(&built.library), (printed, vec![]));
        libraries.push(built.library);
    }
    assert_ne!(libraries[0], libraries[1]);
    // What a board's project and an export copy: each name that the sources write, and what no constant names under its own.
    let data = wrap(&folder, &BuildOptions::default(), None).unwrap().data;
    let told: Vec<(&str, bool)> = data.iter().map(|data| (data.name.as_str(), data.file.is_file())).collect();
    for name in names.into_iter().chain(["four.hex"]) {
        assert!(told.contains(&(name, true)), "{name}: {told:?}");
    }
}

#[test]
fn data_that_is_missing_is_an_error() {
    let world = world();
    let reads = |name: &str| format!("  logic [7:0] m[4];\n  initial $readmemh(\"{name}\", m);");
    let place = |name: &str| format!("{name}.sv:{}", BODY_LINE + 1);
    // There, and nobody listed it.
    let folder = core(&world, "forgot", "", &reads("rom.hex"));
    write(&folder, "rom.hex", "00");
    says(&fails(&folder), &["towpath.toml: line 1", &place("forgot"), "\"rom.hex\"", "add data = [\"rom.hex\"] to [core]"]);
    // Not there.
    let folder = core(&world, "gone", "", &reads("rom.hex"));
    says(&fails(&folder), &[&place("gone"), "there is no such file in", "put it there"]);
    // Listed, and not there.
    let folder = core(&world, "listed", "data = [\"rom.hex\"]", "");
    says(&fails(&folder), &["line 7", "core.data: there is no file", "rom.hex"]);
    let folder = core(&world, "pattern", "data = [\"*.hex\"]", "");
    says(&fails(&folder), &["line 7", "core.data: no file in", "matches \"*.hex\""]);
    // Two that it may be.
    let folder = core(&world, "two", "data = [\"a/rom.hex\", \"b/rom.hex\"]", &reads("rom.hex"));
    write(&folder, "a/rom.hex", "00");
    write(&folder, "b/rom.hex", "01");
    says(&fails(&folder), &["line 7", &place("two"), "may be a/rom.hex or b/rom.hex"]);
    // A name that only the running model knows.
    let folder = core(&world, "late", "", "  logic [7:0] m[4]; string s;\n  initial begin s = \"rom\"; $readmemh({s, \".hex\"}, m); end");
    write(&folder, "rom.hex", "00");
    let (_, ends) = started(&build(&folder, &BuildOptions::default()).unwrap().library);
    assert!(ends.len() == 1 && ends[0].contains("\"rom.hex\": list it in core.data"), "{ends:?}");
}

/// What is said while a core is built.
fn said(folder: &Path) -> (Result<(), CoreError>, Vec<String>) {
    let lines = Mutex::new(Vec::new());
    let say = |line: &str| lines.lock().unwrap().push(line.to_string());
    let outcome = wrap(folder, &BuildOptions { progress: Some(&say), ..BuildOptions::default() }, None).map(drop);
    let lines = lines.into_inner().unwrap();
    (outcome, lines.into_iter().filter(|line| line.contains("warning")).collect())
}

#[test]
fn sources_by_patterns_and_lists() {
    let world = world();
    let body = "`include \"half.svh\"\n  one u_one(); two u_two(); three u_three();\n  if (`DEPTH != 5 || `WIDE != 2 || FROM_PKG::N != 3) $error(\"macros\");";
    let lines = "defines = { DEPTH = 5, FAST = true, SLOW = false }";
    let folder = core(&world, "listing", lines, body);
    let manifest = std::fs::read_to_string(folder.join("towpath.toml")).unwrap();
    let listed = manifest.replace("[\"listing.sv\"]", "[\"rtl/pkg.sv\", \"rtl/*.sv\", \"lists/all.f\", \"listing.sv\"]");
    std::fs::write(folder.join("towpath.toml"), &listed).unwrap();
    write(&folder, "rtl/pkg.sv", "package FROM_PKG; localparam int N = 3; endpackage\n");
    write(&folder, "rtl/a_one.sv", "module one; import FROM_PKG::*; localparam int M = N; endmodule\n");
    write(&folder, "other/two.sv", "module two;\n`ifdef SLOW\n  nothing u();\n`endif\nendmodule\n");
    write(&folder, "other/three.v", "module three; endmodule\n");
    write(&folder, "other/inc/half.svh", "  localparam int HALF = 1;\n");
    let list = "// all\n+incdir+../other/inc +define+WIDE=2+DEPTH=9\n-f more.f # and more\n";
    write(&folder, "lists/all.f", list);
    write(&folder, "lists/more.f", "../other/two.sv\n${TOWPATH_TEST_PLACE}/three.v\n");
    std::env::set_var("TOWPATH_TEST_PLACE", "../other");
    let (outcome, warned) = said(&folder);
    outcome.unwrap();
    assert!(warned.is_empty(), "{warned:?}");
    let manifest = towpath_cores::Manifest::read(&folder).unwrap();
    let names: Vec<String> = manifest.core.sources.iter().map(|path| path.display().to_string()).collect();
    assert_eq!(names, ["rtl/pkg.sv", "rtl/a_one.sv", "other/two.sv", "other/three.v", "listing.sv"]);
    // A scale of time has no effect, however it is written. A file may be called so.
    write(&folder, "lists/all.f", &format!("{list}-timescale=1ns/1ps\n--timescale 1ns/1ps ../other/timescale.v"));
    write(&folder, "other/timescale.v", "module scaled; endmodule\n");
    let manifest = towpath_cores::Manifest::read(&folder).unwrap();
    assert!(manifest.core.sources.contains(&"other/timescale.v".into()), "{:?}", manifest.core.sources);
    // A list that cannot be followed: its own line is named.
    for (line, parts) in [
        ("-v lib.v", ["all.f:3: \"-v\" has no meaning here", "list the files"]),
        ("gone.sv", ["all.f:3: there is no file", "gone.sv"]),
        ("$TOWPATH_UNSET/x.sv", ["all.f:3:", "the variable TOWPATH_UNSET is not set"]),
        ("-f all.f", ["more than 8 lists", "name itself"]),
    ] {
        write(&folder, "lists/all.f", &format!("// all\n\n{line}\n"));
        let error = fails(&folder);
        says(&error, &parts);
        says(&error, &["towpath.toml: line 5: core.sources"]);
    }
    // One that is not listed, and that the tool finds all the same.
    write(&folder, "lists/all.f", &list.replace("-f more.f", "../other/two.sv"));
    write(&folder, "three.v", "module three; endmodule\n");
    says(&fails(&folder), &["line 5", "the core needs \"three.v\"", "add \"three.v\""]);
    // Unless another source includes it.
    write(&folder, "lists/all.f", &list.replace("-f more.f", "../other/two.sv ../other/three.v"));
    write(&folder, "other/two.sv", "`include \"four.sv\"\nmodule two; four u(); endmodule\n");
    write(&folder, "other/inc/four.sv", "module four; endmodule\n");
    said(&folder).0.unwrap();
    // Macros.
    for (given, parts) in [("\"a b\"", "core.defines.DEPTH: a value has no blanks"), ("{ X = 1 }", "DEPTH")] {
        std::fs::write(folder.join("towpath.toml"), listed.replace("DEPTH = 5", &format!("DEPTH = {given}"))).unwrap();
        says(&fails(&folder), &["line 7", parts]);
    }
    std::fs::write(folder.join("towpath.toml"), listed.replace("DEPTH = 5", "TP_SYNC_LATE = 5")).unwrap();
    says(&fails(&folder), &["line 7", "give \"TP_SYNC_LATE\" another name"]);
}

#[test]
fn a_draft_waives_sources_from_elsewhere() {
    let world = world();
    let folder = world.root.join("user/waiving");
    for place in ["user/waiving", "user/vendor/rtl", "user/vendor/inc"] {
        std::fs::create_dir_all(world.root.join(place)).unwrap();
    }
    let theirs = world.root.join("user/vendor/rtl/theirs.sv");
    std::fs::write(&theirs, "`include \"../inc/wide.svh\"\nmodule theirs (input logic clk, rst_n, input logic [3:0] a, output logic [7:0] b);\n  `WIDE\nendmodule\n").unwrap();
    std::fs::write(world.root.join("user/vendor/inc/wide.svh"), "`define WIDE assign b = a;\n").unwrap();
    let draft = |sources: &[std::path::PathBuf], top: &str| {
        let said = std::sync::Mutex::new(Vec::new());
        let say = |line: &str| said.lock().unwrap().push(line.to_string());
        let made = towpath_cores::draft(&folder, sources, top, &[], Some(&say)).unwrap();
        std::fs::write(folder.join("towpath.toml"), &made.manifest).unwrap();
        (made.manifest, said.into_inner().unwrap().join("\n"))
    };
    let (manifest, said) = draft(&["../vendor/rtl/theirs.sv".into()], "theirs");
    assert!(manifest.contains("waive = [\"../vendor/rtl/theirs.sv\", \"../vendor/rtl/*\"]\n"), "{manifest}");
    assert!(said.contains("warning WIDTH"), "they are shown once: {said}");
    let again = |manifest: &str| {
        std::fs::write(folder.join("towpath.toml"), manifest).unwrap();
        let said = std::sync::Mutex::new(Vec::new());
        let say = |line: &str| said.lock().unwrap().push(line.to_string());
        wrap(&folder, &BuildOptions { progress: Some(&say), ..BuildOptions::default() }, None).unwrap();
        said.into_inner().unwrap().join("\n")
    };
    assert!(!again(&manifest).contains("WIDTH"));
    let without: String = manifest.lines().filter(|line| !line.starts_with("waive")).map(|line| format!("{line}\n")).collect();
    assert!(again(&without).contains("WIDTH"), "the waiver is what silences them");
    // The designer's own are shown.
    let own = std::fs::read_to_string(&theirs).unwrap().replace("`include \"../inc/wide.svh\"", "`define WIDE assign b = a;");
    std::fs::write(folder.join("theirs.sv"), own).unwrap();
    let (manifest, _) = draft(&["theirs.sv".into()], "theirs");
    assert!(!manifest.contains("waive"), "{manifest}");
}

#[test]
fn warnings_are_short_and_those_of_others_can_be_waived() {
    let world = world();
    let folder = core(&world, "warned", "", "  vendor u_one(); vendor u_two(); wire [3:0] own = 5'd1;");
    let manifest = std::fs::read_to_string(folder.join("towpath.toml")).unwrap();
    let manifest = manifest.replace("[\"warned.sv\"]", "[\"ip/vendor.sv\", \"warned.sv\"]");
    let many: String = (0..30).map(|n| format!("  wire [3:0] w{n} = 5'd1;\n")).collect();
    write(&folder, "ip/vendor.sv", &format!("module vendor;\n{many}endmodule\n"));
    std::fs::write(folder.join("towpath.toml"), &manifest).unwrap();
    let (outcome, warned) = said(&folder);
    outcome.unwrap();
    assert!((2..=20).contains(&warned.len()), "{warned:?}");
    assert!(warned.iter().all(|line| !line.contains('\n')), "{warned:?}");
    let last = warned.last().unwrap();
    assert!(last.contains("more warnings, in vendor.sv") && last.contains("waive ="), "{last}");
    std::fs::write(folder.join("towpath.toml"), manifest.replace("width = 64", "width = 64\nwaive = [\"ip/**\"]")).unwrap();
    let (outcome, warned) = said(&folder);
    outcome.unwrap();
    let own = format!("{}:{BODY_LINE}: warning WIDTH", folder.join("warned.sv").display());
    assert!(warned.len() == 1 && warned[0].starts_with(&own), "{warned:?}");
    // An error stands alone, without the warnings before it.
    std::fs::write(folder.join("towpath.toml"), &manifest).unwrap();
    let text = std::fs::read_to_string(folder.join("warned.sv")).unwrap();
    std::fs::write(folder.join("warned.sv"), text.replace("5'd1", "nothing")).unwrap();
    let error = fails(&folder);
    says(&error, &["nothing", &format!("warned.sv:{BODY_LINE}")]);
    assert!(!error.to_string().contains("vendor.sv"), "{error}");
    std::fs::write(folder.join("towpath.toml"), manifest.replace("width = 64", "width = 64\nwaive = [\"ap/*\"]")).unwrap();
    says(&fails(&folder), &["line 7", "core.waive: no file in", "\"ap/*\""]);
}
