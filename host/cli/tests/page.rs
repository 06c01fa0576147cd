// SPDX-License-Identifier: Apache-2.0
//! The page that `towpath trace --html` writes, in a browser: what it shows is compared with the record, and its keys, its pointer and its colours are
//! tried. Needs Chromium (`TOWPATH_BROWSER`, or on the path; Debian's package `chromium`); without it the test says so, and counts as ignored.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "common/browser.rs"]
mod browser;
mod common;
#[path = "common/optional.rs"]
mod optional;

use std::fmt::Write as _;

use browser::Browser;
use common::{done, pattern, Folder};
use serde_json::Value;

fn main() {
    let lacks = browser::program().is_none().then_some("no browser: sudo apt-get install chromium");
    optional::run(lacks, &[("the_page_shows_the_record", the_page_shows_the_record)]);
}

fn the_page_shows_the_record() {
    let folder = Folder::new();
    let mut browser = Browser::start(&browser::program().unwrap(), &folder.0);
    a_transfer(&mut browser, &folder);
    many_packets(&mut browser, &folder);
    assert_eq!(browser.faults, Vec::<String>::new(), "faults on the page");
}

fn page(folder: &Folder, record: &str) -> String {
    let page = folder.0.join("page.html").display().to_string();
    let output = done(&["trace", record, "--html", &page], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    format!("file://{page}")
}

/// The rows of the packets of the chosen descriptor: to, packet, bytes, meaning.
fn rows(browser: &mut Browser) -> Vec<[String; 4]> {
    let cells = "[...document.querySelectorAll('#packets tbody tr')].map((row) => [...row.cells].slice(1).map((cell) => cell.textContent))";
    serde_json::from_value(browser.value(cells)).unwrap()
}

fn chosen(browser: &mut Browser) -> String {
    browser.value("document.getElementById('chosen').textContent").as_str().unwrap().to_string()
}

fn range(browser: &mut Browser) -> (f64, f64) {
    let text = browser.value("document.getElementById('range').textContent");
    let numbers: Vec<f64> = text.as_str().unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1])
}

/// How many pixels of the lane in that place of the list have the colour of what is chosen.
fn marked(browser: &mut Browser, lane: usize) -> u64 {
    pixels(browser, lane, "chosen")
}

/// The same of a colour.
fn pixels(browser: &mut Browser, lane: usize, colour: &str) -> u64 {
    // The axis has 26 pixels, a lane of one level 28.
    let top = 26 + 28 * lane;
    let count = format!(
        "(() => {{ const canvas = document.getElementById('canvas'); const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--{colour}').trim(); probe.fillRect(0, 0, 1, 1);
        const wanted = probe.getImageData(0, 0, 1, 1).data, all = canvas.getContext('2d').getImageData(0, {top}, canvas.width, 24).data;
        let count = 0;
        for (let at = 0; at < all.length; at += 4) count += all[at] === wanted[0] && all[at + 1] === wanted[1] && all[at + 2] === wanted[2];
        return count; }})()"
    );
    browser.value(&count).as_u64().unwrap()
}

fn sum(rows: &[[String; 4]], to: &str, packet: &str) -> u64 {
    // Completions and descriptors are writes of their own meaning; what is moved has none but its address.
    let is_data = |row: &&[String; 4]| row[0] == to && row[1] == packet && !row[3].contains(':');
    rows.iter().filter(is_data).map(|row| row[2].parse::<u64>().unwrap()).sum()
}

/// Where the first descriptor of a channel is in the list.
fn first_of(browser: &mut Browser, channel: &str) -> u64 {
    let rows = "[...document.querySelectorAll('#descriptors tbody tr')]";
    browser.value(&format!("{rows}.findIndex((row) => row.cells[0].textContent === '{channel}')")).as_u64().unwrap()
}

/// Choose that one, by keys.
fn choose(browser: &mut Browser, channel: &str) {
    browser.key("Escape");
    for _ in 0..=first_of(browser, channel) {
        browser.key("n");
    }
}

fn a_transfer(browser: &mut Browser, folder: &Folder) {
    let (file, data) = (folder.0.join("packets").display().to_string(), pattern(30_001, 1));
    let output = done(&["-d", &format!("sim:loopback?packets={file}"), "pipe"], &data);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    browser.open(&page(folder, &file));
    assert_eq!(browser.value("performance.getEntriesByType('resource').length"), 0, "the page fetches something");
    assert_eq!(chosen(browser), "No descriptor chosen");
    let lanes = browser.value("document.getElementById('descriptors').innerText").as_str().unwrap().to_string();
    assert!(lanes.contains("in") && lanes.contains("out"), "{lanes}");

    // A descriptor of each channel, by the keys: all bytes that the card read for one, and all that it wrote for the other.
    choose(browser, "in");
    assert!(chosen(browser).starts_with("Descriptor 0 of in: direct, 30001 bytes at 0x"), "{}", chosen(browser));
    let mine = rows(browser);
    assert_eq!(sum(&mine, "card", "completion"), 30_001);
    assert_eq!(sum(&mine, "host", "read"), 30_001);
    assert_eq!(sum(&mine, "host", "write"), 0);
    assert!(mine[0][3].contains("first words") && mine.iter().any(|row| row[3].contains("completion 0, 30001 bytes")), "{mine:?}");
    choose(browser, "out");
    let mine = rows(browser);
    assert!(chosen(browser).contains(" of out: direct, "), "{}", chosen(browser));
    assert_eq!((sum(&mine, "host", "write"), sum(&mine, "card", "completion")), (30_001, 0));

    // The core's beats have a lane below each channel's: all clocks of the first one that moved anything, when seen from near.
    let beats = "(() => { const data = JSON.parse(document.getElementById('data').textContent); const what = data.what.indexOf('beats');
        const windows = data.events.filter((event) => event[2] === what); return [windows.length, windows.reduce((sum, one) => sum + one[8].moved, 0)]; })()";
    let beats: [u64; 2] = serde_json::from_value(browser.value(beats)).unwrap();
    assert!(beats[0] > 50 && beats[1] == 2 * 30_001_u64.div_ceil(16), "{beats:?}");

    // A click on a bar chooses it and marks its packets; a click beside everything changes nothing.
    browser.key("Escape");
    assert!(chosen(browser).starts_with("No descriptor"));
    let shown: Vec<f64> = serde_json::from_value(browser.value(
        "(() => { const box = document.getElementById('canvas').getBoundingClientRect(); return [box.left, box.top, box.width]; })()",
    ))
    .unwrap();
    let [left, top, width] = shown[..] else { panic!("{shown:?}") };
    let first = first_of(browser, "in");
    let text =
        browser.value(&format!("document.querySelectorAll('#descriptors tbody tr')[{first}].innerText")).as_str().unwrap().to_string();
    let times: Vec<f64> = text.split_whitespace().filter(|word| word.contains('.')).map(|word| word.parse().unwrap()).collect();
    let (from, to) = range(browser);
    let middle = (times[0] + times[1] / 2.0) / 1000.0; // the axis has microseconds here
    let x = left + 130.0 + (middle - from) / (to - from) * (width - 130.0);
    browser.click(left + 140.0, top + 40.0);
    assert!(chosen(browser).starts_with("No descriptor"), "nothing is there");
    browser.click(x, top + 26.0 + 14.0);
    assert!(chosen(browser).starts_with("Descriptor 0 of in"), "{}", chosen(browser));
    let last = browser.value("(document.getElementById('canvas').height - 26) / 28 - 1").as_f64().unwrap() as usize;
    let marks = [0, last - 2, last - 1].map(|lane| marked(browser, lane));
    assert!(marks.iter().all(|mark| *mark > 50), "its packets are marked: {marks:?}");
    assert!(pixels(browser, 1, "beats") > 100, "beats from afar");
    for _ in 0..8 {
        browser.wheel(x, top + 60.0, -400.0);
    }
    assert!(pixels(browser, 1, "beats") + pixels(browser, 1, "held") > 100, "beats from near");
    browser.key("0");
    browser.key("Escape");
    assert_eq!((marked(browser, 0), marked(browser, last - 2)), (0, 0));

    // Closer, wider, earlier, later: by keys, by buttons, by the wheel, by hand.
    let before = range(browser);
    browser.key("+");
    let closer = range(browser);
    assert!(((closer.1 - closer.0) * 2.0 - (before.1 - before.0)).abs() < 0.01, "{before:?} {closer:?}");
    browser.key("ArrowRight");
    let later = range(browser);
    assert!(later.0 > closer.0 && ((later.1 - later.0) - (closer.1 - closer.0)).abs() < 0.01, "{closer:?} {later:?}");
    browser.drag((left + 500.0, top + 100.0), (left + 600.0, top + 100.0));
    assert!(range(browser).0 < later.0, "dragged to the right, earlier comes into view");
    browser.key("0");
    assert_eq!(range(browser), before);
    browser.wheel(left + 700.0, top + 60.0, -400.0);
    let wheeled = range(browser);
    assert!(wheeled.0 > before.0 && wheeled.1 < before.1, "{before:?} {wheeled:?}");
    browser.value("document.getElementById('all').click()");
    browser.settle();
    assert_eq!(range(browser), before);

    // In light and in dark: each colour against what is behind it, as WCAG 2.1 counts (1.4.3, 1.4.11).
    for scheme in ["light", "dark"] {
        browser.call("Emulation.setEmulatedMedia", serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}));
        browser.settle();
        for name in
            ["text", "dim", "descriptor", "completion", "interrupt", "doorbell", "inline", "register", "data", "beats", "held", "chosen"]
        {
            let contrast = contrast(&colour(browser, name), &colour(browser, "back"));
            assert!(contrast >= if ["text", "dim"].contains(&name) { 4.5 } else { 3.0 }, "{name} in {scheme}: {contrast}");
        }
        let corner = browser.value("[...document.getElementById('canvas').getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)");
        assert_eq!(corner, serde_json::json!(colour(browser, "back")), "the canvas follows the scheme");
    }
}

fn colour(browser: &mut Browser, name: &str) -> Vec<u8> {
    let value = browser.value(&format!("getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"));
    let digits = value.as_str().unwrap().strip_prefix('#').unwrap().to_string();
    (0..3).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// The ratio of two colours' luminances.
fn contrast(one: &[u8], other: &[u8]) -> f64 {
    let luminance = |colour: &[u8]| -> f64 {
        let linear = |part: &u8| match f64::from(*part) / 255.0 {
            low if low <= 0.040_45 => low / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        };
        colour.iter().map(linear).zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum()
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

/// A record of 1000 descriptors and 101,001 packets.
fn many_packets(browser: &mut Browser, folder: &Folder) {
    let mut text = String::from("{\"towpath_packets\":1,\"device\":\"many\",\"byte_fs\":250000}\n");
    let mut ps = 0;
    let mut line = |rest: &str| {
        ps += 10_000;
        writeln!(text, "{{\"ps\":{ps},{rest}}}").unwrap();
    };
    let words = |number: u64| number.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    line(&format!("\"to\":\"card\",\"packet\":\"write\",\"bar\":0,\"offset\":16392,\"bytes\":8,\"data\":\"{}\"", words(0x8000)));
    for number in 0..1000_u64 {
        let address = 0x1_0000_0000 + number * 65536;
        line(&format!("\"to\":\"card\",\"packet\":\"write\",\"bar\":0,\"offset\":20480,\"bytes\":8,\"data\":\"{}\"", words(address)));
        let second = 6272 | number << 32;
        line(&format!("\"to\":\"card\",\"packet\":\"write\",\"bar\":0,\"offset\":20488,\"bytes\":8,\"data\":\"{}\"", words(second)));
        for read in 0..49_u64 {
            let tag = read % 32;
            line(&format!("\"to\":\"host\",\"packet\":\"read\",\"address\":{},\"bytes\":128,\"tag\":{tag}", address + read * 128));
            line(&format!("\"to\":\"card\",\"packet\":\"completion\",\"tag\":{tag},\"status\":\"successful\",\"bytes\":128"));
        }
        let entry = words(6272) + &words(number << 32);
        line(&format!("\"to\":\"host\",\"packet\":\"write\",\"address\":32768,\"bytes\":16,\"data\":\"{entry}\""));
    }
    let file = folder.0.join("many").display().to_string();
    std::fs::write(&file, text).unwrap();
    browser.open(&(page(folder, &file) + "#descriptor=999"));
    assert!(chosen(browser).contains("Descriptor 999 of channel 0"), "{}", chosen(browser));
    assert_eq!(rows(browser).len(), 101);
    assert!(browser
        .value("document.getElementById('summary').textContent")
        .as_str()
        .unwrap()
        .starts_with("101001 packets, 1000 descriptors, from"));
    browser.key("0");
    browser.key("p");
    assert!(chosen(browser).contains("Descriptor 998"), "{}", chosen(browser));
    browser.value("(() => { const find = document.getElementById('find'); find.value = '17'; find.dispatchEvent(new Event('input')); })()");
    let found = browser.value("[...document.querySelectorAll('#descriptors tbody tr')].map((row) => row.dataset.descriptor)");
    assert_eq!(found, serde_json::json!(["17"]));
    let click = "document.querySelector('#descriptors tbody button').click()";
    browser.value(click);
    assert_eq!(sum(&rows(browser), "card", "completion"), 49 * 128);
    let last: Value = browser.value("location.hash");
    assert_eq!(last, "#descriptor=17", "the choice is in the address");
}
