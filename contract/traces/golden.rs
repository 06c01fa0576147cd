// SPDX-License-Identifier: Apache-2.0
//! Reads golden traces; README.md beside this file says what they mean. For tests: `#[path]` or `include!` it as a module.

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// In the file, from 1.
    pub number: usize,
    /// Its first word.
    pub verb: String,
    /// The others.
    pub words: Vec<String>,
}

/// Everything in a trace, its first two lines and comments apart.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What it is called.
    pub name: String,
    /// `both`, `card` or `host`.
    pub replay: String,
    /// The events, `channel` lines among them.
    pub lines: Vec<Line>,
}

/// Reads the text of a trace; an error names the line.
pub fn parse(text: &str) -> Result<Trace, String> {
    let mut lines: Vec<Line> = Vec::new();
    for (at, raw) in text.lines().enumerate() {
        let mut words = raw.split('#').next().unwrap_or("").split_whitespace().map(String::from);
        if let Some(verb) = words.next() {
            lines.push(Line { number: at + 1, verb, words: words.collect() });
        }
    }
    match lines.as_slice() {
        [first, second, ..] if first.verb == "trace" && second.verb == "replay" => match (&first.words[..], &second.words[..]) {
            ([format, name], [replay]) if format == "1" => {
                Ok(Trace { name: name.clone(), replay: replay.clone(), lines: lines[2..].to_vec() })
            }
            _ => Err(format!("line {}: not `trace 1 NAME`, `replay WHO`: another format needs another reader", first.number)),
        },
        _ => Err("a trace starts with `trace 1 NAME` and `replay WHO`".into()),
    }
}

/// A number: decimal, or hexadecimal with `0x`.
pub fn number(word: &str) -> Result<u64, String> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    }
    .map_err(|_| format!("not a number: {word}"))
}

/// Data: `-`, hexadecimal bytes, or `~SEED:LENGTH`.
pub fn data(word: &str) -> Result<Vec<u8>, String> {
    if word == "-" {
        return Ok(Vec::new());
    }
    if let Some((seed, length)) = word.strip_prefix('~').and_then(|w| w.split_once(':')) {
        let (seed, length) = (number(seed)?, number(length)?);
        return Ok((0..length).map(|i| (seed + 37 * i + i / 256) as u8).collect());
    }
    let digits: Option<Vec<u8>> = word.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        _ => Err(format!("not data: {word}")),
    }
}
