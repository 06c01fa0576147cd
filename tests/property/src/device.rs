// SPDX-License-Identifier: Apache-2.0
//! Names of devices with random settings of the simulated link and host.

use crate::random::Random;

/// The name with random settings behind it, if it is one of a simulated device; others are what they are.
pub fn vary(name: &str, random: &mut Random) -> String {
    if !name.starts_with("sim:") {
        return name.into();
    }
    let mps = random.pick(&[128, 256, 512]);
    let boundary: usize = random.pick(&[64, 128]);
    let completion = random.pick(&[boundary, 128, mps]);
    // Below 4 GiB, across it, just above it, and far up.
    let iova = random.pick(&[0x10_0000u64, 0xff00_0000, 0x1_0000_0000, 0x1f_fff0_0000]);
    let (generation, lanes) = random.pick(&[(2, 8), (2, 8), (3, 8), (1, 8), (2, 4)]);
    let settings = [
        ("mps", mps),
        ("mrrs", random.pick(&[128, 256, 512, 1024, 4096])),
        ("rcb", boundary),
        ("completion", completion),
        ("latency", random.pick(&[0, 100, 500, 500, 1000, 2000])),
        ("jitter", random.pick(&[0, 0, 50, 300, 2000])),
        ("reorder", usize::from(!random.one_in(4))),
        ("split", usize::from(!random.one_in(4))),
        ("scatter", usize::from(!random.one_in(4))),
        ("tags", random.pick(&[5, 8, 10])),
        ("relaxed", random.below(2)),
        ("transmit", random.pick(&[1, 2, 8, 32])),
        ("credits", random.pick(&[1, 4, 32])),
        // Links that bring more than a narrow card takes are part of the test; so there is room for all that the card may ask for.
        ("completion_headers", 65536),
        ("completion_data", 65536),
        ("generation", generation),
        ("lanes", lanes),
        ("seed", random.below(1 << 32)),
    ];
    let mut name = name.to_string();
    for (setting, value) in settings.map(|(setting, value)| (setting, value as u64)).into_iter().chain([("iova", iova)]) {
        name.push(if name.contains('?') { '&' } else { '?' });
        name += &format!("{setting}={value}");
    }
    name
}
