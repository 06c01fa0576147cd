// SPDX-License-Identifier: Apache-2.0
//! Streams and FIFOs under names as designers elsewhere have them: random ones must be found, each port in its place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use towpath_cores::{draft, wrap, BuildOptions};

mod common;
use common::{world, World};

/// Numbers that a seed tells.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Data, valid or enable, ready or flag: words for them, and what they are in a manifest, for a stream and for a FIFO of other widths.
const STREAMS: [[&str; 3]; 5] = [
    ["data", "valid", "ready"],
    ["dat", "vld", "rdy"],
    ["payload", "valid", "ready"],
    ["bits", "valid", "ready"],
    ["tdata", "tvalid", "tready"],
];
const PUTS: [[&str; 3]; 3] = [["data", "wr", "full"], ["dat", "push", "full"], ["wr_data", "wr_en", "full"]];
const TAKES: [[&str; 3]; 3] = [["data", "rd", "empty"], ["dat", "pop", "empty"], ["rd_data", "rd_en", "empty"]];

/// A port's name from words, in this style, with the mark of its direction where the style has one.
fn spelled(style: usize, base: &str, word: &str, input: bool) -> String {
    let words = if base.is_empty() { word.to_string() } else { format!("{base}_{word}") };
    let mark = if input { "i" } else { "o" };
    let large = |word: &str| word[..1].to_uppercase() + &word[1..];
    match style {
        0 => words,
        1 => format!("{mark}_{words}"),
        2 => format!("{words}_{mark}"),
        3 => words.split('_').map(large).collect::<Vec<_>>().join("_"),
        4 => words.to_uppercase(),
        _ => {
            let camel = words.split('_').map(large).collect::<String>();
            camel[..1].to_lowercase() + &camel[1..]
        }
    }
}

/// A core of random ports. Returns its text, and of each port what it must be: signals that may stand for it, and whose they are.
fn core(random: &mut Random) -> (String, BTreeMap<String, (Vec<&'static str>, usize)>) {
    let style = random.below(6);
    let marked = matches!(style, 1 | 2);
    let mut ports = Vec::new();
    let mut expected = BTreeMap::new();
    let bases = ["", "pixels", "left_arm", "x0"];
    for (number, base) in bases.into_iter().enumerate() {
        // Without a base two streams would have the same names, unless marks tell them.
        let ways: &[bool] = if marked { &[true, false] } else { &[true] };
        let kind = random.below(3);
        for h2c in ways {
            let h2c = if marked { *h2c } else { random.below(2) == 0 };
            let bits = random.one(&[1, 8, 12, 32, 40, 64]);
            // Of a FIFO in the core data and enable come together; of data that is read they do not.
            let (words, signals, inputs) = match (kind, h2c) {
                (0 | 1, _) => (
                    random.one(&STREAMS),
                    [vec!["tdata", "dout", "din"], vec!["tvalid", "empty_n", "write"], vec!["tready", "read", "full_n"]],
                    [h2c, h2c, !h2c],
                ),
                (_, true) => (random.one(&PUTS), [vec!["din"], vec!["wr_en"], vec!["full"]], [true, true, false]),
                (_, false) => (random.one(&TAKES), [vec!["dout"], vec!["rd_en"], vec!["empty"]], [false, true, false]),
            };
            for ((word, signals), (input, wide)) in words.into_iter().zip(signals).zip(inputs.into_iter().zip([bits, 1, 1])) {
                let name = spelled(style, base, word, input);
                ports.push(format!("{} logic [{}:0] {name}", if input { "input" } else { "output" }, wide - 1));
                expected.insert(name, (signals, number * 2 + usize::from(h2c)));
            }
        }
    }
    if style == 0 && random.below(2) == 0 {
        // A FIFO with "en" and "rdy" on both sides, as Amaranth has it.
        for (port, input, wide, signals, number) in [
            ("w_data", true, 24, ["dout"], 100),
            ("w_en", true, 1, ["empty_n"], 100),
            ("w_rdy", false, 1, ["read"], 100),
            ("r_data", false, 24, ["din"], 101),
            ("r_rdy", false, 1, ["write"], 101),
            ("r_en", true, 1, ["full_n"], 101),
        ] {
            ports.push(format!("{} logic [{}:0] {port}", if input { "input" } else { "output" }, wide - 1));
            expected.insert(port.to_string(), (signals.to_vec(), number));
        }
    }
    let outputs: Vec<String> =
        ports.iter().filter_map(|port| Some(format!("  assign {} = '0;\n", port.strip_prefix("output")?.rsplit(' ').next()?))).collect();
    (format!("module spelled (input logic clk, rst_n,\n  {}\n);\n{}endmodule\n", ports.join(",\n  "), outputs.concat()), expected)
}

fn tried(world: &World, seed: u64) {
    let (text, expected) = core(&mut Random(seed));
    let folder = world.root.join(format!("user/spelled-{seed}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("spelled.sv"), &text).unwrap();
    let made = draft(&folder, &[Path::new("spelled.sv").into()], "spelled", &[], None).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    std::fs::write(folder.join("towpath.toml"), &made.manifest).unwrap();
    let all = format!("seed {seed}\n{text}\n{}", made.manifest);
    let found: BTreeMap<&str, &str> =
        made.manifest.lines().filter_map(|line| line.split_once(" = ")).map(|(key, port)| (port.trim_matches('"'), key)).collect();
    let mut names: BTreeMap<usize, &str> = BTreeMap::new();
    for (port, (signals, stream)) in &expected {
        // Names that have always been known have one line for the bundle.
        let Some(key) = found.get(port.as_str()) else {
            let bundle = found.keys().any(|line| line.strip_suffix('*').is_some_and(|before| port.starts_with(before)));
            assert!(bundle, "no line for {port}: {all}");
            continue;
        };
        let signal = signals.iter().find(|signal| key.ends_with(&format!("_{signal}")));
        let name = &key[..key.len() - signal.unwrap_or_else(|| panic!("{port} is {key}: {all}")).len()];
        assert_eq!(*names.entry(*stream).or_insert(name), name, "{port}: {all}");
    }
    assert!(!made.manifest.contains("unused"), "{all}");
    let text = wrap(&folder, &BuildOptions::default(), None).unwrap_or_else(|e| panic!("{e}: {all}")).text;
    // Its bits are taken by number, also where there is one.
    let scalar = text.lines().find(|line| line.starts_with("  logic core_side_") && line.ends_with("_tkeep;"));
    assert_eq!(scalar, None, "{all}");
}

#[test]
fn streams_and_fifos_by_any_names() {
    let world = world();
    let first: u64 = std::env::var("TOWPATH_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("TOWPATH_SEED={first}");
    (first..first + 8).for_each(|seed| tried(&world, seed));
}
