// SPDX-License-Identifier: Apache-2.0
//! Registers of a core of high-level synthesis, as the files say that the tool wrote beside it: the header of its driver (`xNAME_hw.h`), the comment in the
//! source of its bus, or IP-XACT (`component.xml`).

use super::{DraftRegister, Drafting};
use crate::listed::tidy;
use crate::wires::CONTROL;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A register, or an array behind the bus.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mapped {
    pub name: String,
    pub offset: u32,
    /// Of the value, which may take several words; 0: not known.
    pub bits: u32,
    /// Of an array.
    pub words: Option<u32>,
    /// The host reads it, and writes it; neither: not known.
    pub reads: bool,
    pub writes: bool,
    /// It starts the core, and waits for a word to go on after it is done.
    pub control: bool,
    pub chain: bool,
}

impl Mapped {
    fn new(name: &str, offset: u32) -> Mapped {
        Mapped { name: name.into(), offset, ..Mapped::default() }
    }

    /// What a reader of the manifest is told of it.
    pub fn about(&self) -> String {
        let access = match (self.reads, self.writes) {
            (true, true) => "read, write",
            (true, false) => "read",
            (false, true) => "write",
            (false, false) => "",
        };
        let size = match (self.words, self.bits) {
            (Some(words), bits) => format!("{words} words of {bits} bit"),
            (None, 0) => String::new(),
            (None, bits) => format!("{bits} bit"),
        };
        [size.as_str(), access].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn allows(&mut self, text: &str) {
        let text = text.to_ascii_lowercase();
        self.reads |= text.contains("read");
        self.writes |= text.contains("write") || text.contains("tow");
    }
}

/// The offset of a register that is beyond all that 32 bits reach: none has it, for it is no multiple of 4.
const NOWHERE: u32 = u32::MAX;

/// A bus and its registers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Map {
    pub bus: String,
    pub registers: Vec<Mapped>,
}

/// A map, and the file that it is from.
pub(super) type Told = (Map, PathBuf);

fn hex(text: &str) -> Option<u32> {
    let digits = text.trim().strip_prefix("0x").or(text.trim().strip_prefix("0X"))?;
    u32::from_str_radix(digits.split(|c: char| !c.is_ascii_hexdigit()).next()?, 16).ok()
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What the comments say: "0x10 : Data signal of x", and below it "bit 31~0 - x[31:0] (Read/Write)". A word alone is the name of a bus.
fn comments(text: &str) -> Vec<Map> {
    let mut maps: Vec<Map> = Vec::new();
    let (mut bus, mut from) = (String::new(), None);
    // What the lines about bits belong to: nothing, while a line is about something else.
    let mut open = false;
    for line in text.lines() {
        let line = line.trim();
        let Some(line) = line.strip_prefix("//").or(line.strip_prefix("--")).map(str::trim) else { continue };
        if is_word(line) && !line.chars().all(|c| c.is_ascii_digit()) {
            bus = line.to_string();
            continue;
        }
        if let (Some(offset), true) = (hex(line), line.ends_with('~')) {
            from = Some(offset);
            continue;
        }
        if let (Some(offset), Some((_, what))) = (hex(line), line.split_once(" : ")) {
            let what = what.trim();
            let first = from.take().unwrap_or(offset);
            if offset == 0 || maps.is_empty() {
                maps.push(Map { bus: bus.clone(), registers: Vec::new() });
            }
            let Some(map) = maps.last_mut() else { continue };
            let last = |prefix: &str| what.strip_prefix(prefix).map(str::trim).filter(|name| is_word(name));
            let found = if what.starts_with("Control signals") {
                Some(Mapped { control: true, bits: 32, ..Mapped::new(CONTROL, offset) })
            } else if what.starts_with("Global Interrupt Enable") {
                Some(Mapped { bits: 32, ..Mapped::new("gie", offset) })
            } else if what.starts_with("IP Interrupt Enable") {
                Some(Mapped { bits: 32, reads: true, writes: true, ..Mapped::new("ier", offset) })
            } else if what.starts_with("IP Interrupt Status") {
                Some(Mapped { bits: 32, reads: true, writes: true, ..Mapped::new("isr", offset) })
            } else if let Some(name) = last("Data signal of") {
                // A wide value has a line for each word.
                open = true;
                if map.registers.iter().any(|register| register.name == name) {
                    continue;
                }
                Some(Mapped::new(name, offset))
            } else if let Some(name) = last("Control signal of") {
                Some(Mapped { bits: 32, ..Mapped::new(&format!("{name}_ctrl"), offset) })
            } else {
                let array = what.strip_prefix("Memory '").and_then(|rest| rest.split_once("' ("));
                array.and_then(|(name, size)| {
                    let (words, bits) = size.split_once('*')?;
                    let bits = bits.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
                    let words = words.trim().parse().ok()?;
                    Some(Mapped { words: Some(words), bits, reads: true, writes: true, ..Mapped::new(name, first) })
                })
            };
            open = found.is_some();
            map.registers.extend(found);
            continue;
        }
        let Some(register) = maps.last_mut().and_then(|map| map.registers.last_mut()).filter(|_| open) else { continue };
        let Some((bits, what)) = line.strip_prefix("bit ").and_then(|rest| rest.split_once('-')) else { continue };
        if let Some((_, access)) = what.rsplit_once('(') {
            register.allows(access);
        }
        register.chain |= register.control && what.contains("ap_continue");
        // Of values: "31~0", or "0"; those of a second word come on top. Its name and its bits: "x[63:32]".
        if !register.control && register.bits != 32 || what.contains('[') {
            let top = what.split_once('[').and_then(|(_, range)| range.split([':', ']']).next()?.parse::<u32>().ok());
            let top = top.or(bits.trim().split('~').next().and_then(|bit| bit.parse().ok()));
            register.bits = register.bits.max(top.map_or(0, |top| top + 1));
        }
    }
    maps.retain(|map| !map.registers.is_empty());
    maps
}

/// What the macros say: `XNAME_BUS_ADDR_X_DATA`, `_BITS_X_DATA`, and of an array `_ADDR_X_BASE`, `_WIDTH_X`, `_DEPTH_X`.
fn macros(text: &str) -> Vec<Map> {
    let defined: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.trim().strip_prefix("#define")?.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect();
    let mut maps: Vec<Map> = Vec::new();
    for (name, value) in &defined {
        let Some(((bus, register), offset)) = name.split_once("_ADDR_").zip(hex(value)) else { continue };
        if register.ends_with("_HIGH") {
            continue;
        }
        let number = |key: String| defined.iter().find(|(name, _)| **name == key).and_then(|(_, value)| value.parse::<u32>().ok());
        let plain = register.trim_end_matches("_DATA").trim_end_matches("_BASE").to_lowercase();
        let mut found = Mapped::new(&plain, offset);
        found.bits = number(format!("{bus}_BITS_{register}")).unwrap_or(32);
        if let Some(array) = register.strip_suffix("_BASE") {
            found.words = number(format!("{bus}_DEPTH_{array}"));
            found.bits = number(format!("{bus}_WIDTH_{array}")).unwrap_or(32);
        }
        found.control = plain == CONTROL;
        match maps.iter_mut().find(|map| map.bus == *bus) {
            Some(map) => map.registers.push(found),
            None => maps.push(Map { bus: bus.to_string(), registers: vec![found] }),
        }
    }
    maps
}

/// Of IP-XACT the elements by their names without the prefix: of each memory map its registers.
fn ip_xact(text: &str) -> Vec<Map> {
    let mut maps: Vec<Map> = Vec::new();
    let mut inside: Vec<String> = Vec::new();
    let mut base = Some(0u32);
    for piece in text.split('<').skip(1) {
        let Some((tag, content)) = piece.split_once('>') else { continue };
        let name = |tag: &str| tag.split_whitespace().next().unwrap_or_default().rsplit(':').next().unwrap_or_default().to_string();
        if tag.starts_with(['!', '?']) || tag.ends_with('/') {
            continue;
        }
        if let Some(end) = tag.strip_prefix('/') {
            if inside.last() == Some(&name(end)) {
                inside.pop();
            }
            continue;
        }
        inside.push(name(tag));
        let content = content.trim();
        let number = || hex(content).or(content.parse().ok());
        let path: Vec<&str> = inside.iter().rev().take(3).map(String::as_str).collect();
        match path[..] {
            ["memoryMap", ..] => maps.push(Map::default()),
            _ if maps.is_empty() => {}
            ["name", "memoryMap", ..] => maps.iter_mut().last().into_iter().for_each(|map| map.bus = content.to_string()),
            ["baseAddress", "addressBlock", ..] => base = number(),
            ["register", ..] => maps.iter_mut().last().into_iter().for_each(|map| map.registers.push(Mapped::default())),
            [key, "register", ..] | [key, "field", ..] => {
                let field = path[1] == "field";
                let Some(register) = maps.last_mut().and_then(|map| map.registers.last_mut()) else { continue };
                match (key, field) {
                    ("name", false) => {
                        register.name = content.to_string();
                        register.control |= content.eq_ignore_ascii_case("AP_CTRL");
                    }
                    ("name", true) => {
                        register.control |= content.eq_ignore_ascii_case("AP_START");
                        register.chain |= content.eq_ignore_ascii_case("AP_CONTINUE");
                    }
                    ("addressOffset", false) => {
                        register.offset = base.zip(number()).and_then(|(base, offset)| base.checked_add(offset)).unwrap_or(NOWHERE);
                    }
                    ("size", false) => register.bits = number().unwrap_or(0),
                    ("access", false) => register.allows(content),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    for register in maps.iter_mut().flat_map(|map| &mut map.registers).filter(|register| register.control) {
        register.name = CONTROL.into();
    }
    maps.retain(|map| !map.registers.is_empty());
    maps
}

/// What a file says, whatever it is.
pub(super) fn read(text: &str) -> Vec<Map> {
    if text.trim_start().starts_with('<') {
        return ip_xact(text);
    }
    let told = comments(text);
    if told.is_empty() {
        macros(text)
    } else {
        told
    }
}

/// Folders of drivers, as they stand beside sources or above them.
const DRIVERS: [&str; 5] = ["drivers", "misc/drivers", "ip/drivers", "impl/misc/drivers", "impl/ip/drivers"];

/// Files beside the sources that may tell of registers: in their folder, in that of the driver, and in those above, as the tools lay them out.
fn beside(folder: &Path, sources: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let listed = |place: &Path| -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        files
    };
    let named = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name == "component.xml" || name.starts_with('x') && name.ends_with("_hw.h")
    };
    let mut seen = BTreeSet::new();
    let folders: Vec<PathBuf> = sources.iter().filter_map(|source| Some(tidy(&folder.join(source)).parent()?.to_path_buf())).collect();
    for near in folders.iter().filter(|near| seen.insert(near.to_path_buf())) {
        for place in near.ancestors().take(4).filter(|place| place.is_dir()) {
            all.extend(listed(place).into_iter().filter(named));
            let drivers = DRIVERS.iter().flat_map(|drivers| listed(&place.join(drivers))).chain([place.join("driver")]);
            all.extend(drivers.flat_map(|driver| listed(&driver.join("src"))).filter(named));
        }
    }
    // Headers tell names as the core's author wrote them, and what may be read and written.
    all.sort_by_key(|file| file.extension().is_some_and(|extension| extension == "xml"));
    all
}

/// The map of the bus whose ports begin so, from the file that is named, or from what is found: beside the sources only what belongs to this top. Files that
/// say nothing of registers do not count.
pub(super) fn find(named: Option<&Path>, folder: &Path, sources: &[PathBuf], top: &str, bus: &str) -> Option<Told> {
    let small = top.to_lowercase();
    let mine = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let xml = || std::fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("ame>{top}<")));
        name == format!("x{small}_hw.h") || name == "component.xml" && xml()
    };
    let files: Vec<PathBuf> = match named {
        Some(file) => vec![file.to_path_buf()],
        None => {
            let buses = sources.iter().filter(|source| source.to_string_lossy().contains("_s_axi.")).map(|source| folder.join(source));
            beside(folder, sources).into_iter().filter(mine).chain(buses).collect()
        }
    };
    let bus = bus.to_lowercase();
    files.into_iter().find_map(|file| {
        let mut maps = read(&String::from_utf8_lossy(&std::fs::read(&file).ok()?));
        // As much as possible of the bus's name is in that of the ports.
        let fits = |map: &Map| -> usize {
            let name = map.bus.to_lowercase();
            let tails = name.char_indices().filter(|(at, _)| *at == 0 || name[..*at].ends_with('_')).map(|(at, _)| &name[at..]);
            tails.filter(|tail| bus.contains(*tail)).map(str::len).max().unwrap_or(0)
        };
        let best = maps.iter().map(fits).max()?;
        let one = maps.iter().position(|map| fits(map) == best)?;
        Some((maps.swap_remove(one), file))
    })
}

impl Drafting {
    /// Names of the registers behind the bus, if something tells them.
    pub(super) fn mapped(&mut self, told: Option<Told>) {
        let Some((map, file)) = told else {
            self.registers.push_str("# towpath new --registers FILE reads [registers.names] from a driver's header or IP-XACT\n");
            return;
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(self.registers, "[registers.names]     # as {name} says");
        let room = self.registers.lines().find_map(|line| line.strip_prefix("bytes = ")?.parse::<u32>().ok()).unwrap_or(0);
        let mut seen = BTreeSet::new();
        for register in map.registers {
            let name: String = register.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
            if name.is_empty() || register.offset % 4 != 0 || register.offset >= room || !seen.insert(name.clone()) {
                self.unsure(format!(
                    "register \"{}\" at {:#x} is left out: it has no place of its own in {room} bytes",
                    register.name, register.offset
                ));
                continue;
            }
            let _ = writeln!(self.registers, "{:<21} # {}", format!("{name} = {:#x}", register.offset), register.about());
            if register.control && register.offset == 0 {
                (self.draft.control, self.draft.chain) = (true, register.chain);
            } else if register.words.is_none() && !matches!(name.as_str(), "gie" | "ier" | "isr") && !name.ends_with("_ctrl") {
                let (offset, bits) = (register.offset, register.bits);
                self.draft.wires.push(DraftRegister { name, offset, input: register.writes, bits });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMENTS: &str = "// control
// 0x00 : Control signals
//        bit 0  - ap_start (Read/Write/COH)
//        bit 4  - ap_continue (Read/Write/SC)
//        others - reserved
// 0x04 : Global Interrupt Enable Register
//        bit 0  - Global Interrupt Enable (Read/Write)
// 0x10 : Data signal of base
//        bit 31~0 - base[31:0] (Read/Write)
// 0x14 : Data signal of base
//        bit 31~0 - base[63:32] (Read/Write)
// 0x18 : reserved
// 0x1c : Data signal of flag
//        bit 0  - flag[0] (Read/Write)
// 0x20 : Data signal of total
//        bit 23~0 - total[23:0] (Read)
// 0x24 : Control signal of total
//        bit 0  - total_ap_vld (Read/COR)
// 0x40 ~
// 0x7f : Memory 'table' (16 * 32b)
//        Word n : bit [31:0] - table[n]
// other
// 0x00 : Data signal of beside
//        bit 7~0 - beside[7:0] (Read/Write)
";

    fn shown(maps: &[Map]) -> Vec<(String, u32, String)> {
        maps[0].registers.iter().map(|register| (register.name.clone(), register.offset, register.about())).collect()
    }

    fn expected(list: &[(&str, u32, &str)]) -> Vec<(String, u32, String)> {
        list.iter().map(|(name, offset, about)| (name.to_string(), *offset, about.to_string())).collect()
    }

    #[test]
    fn comments_macros_and_ip_xact_tell_the_same() {
        let maps = read(COMMENTS);
        let all = [
            ("ap_ctrl", 0, "32 bit, read, write"),
            ("gie", 4, "32 bit, read, write"),
            ("base", 0x10, "64 bit, read, write"),
            ("flag", 0x1c, "1 bit, read, write"),
            ("total", 0x20, "24 bit, read"),
            ("total_ctrl", 0x24, "32 bit, read"),
            ("table", 0x40, "16 words of 32 bit, read, write"),
        ];
        assert_eq!(shown(&maps), expected(&all));
        assert!(maps[0].registers[0].chain && maps[1].bus == "other" && maps[1].registers[0].name == "beside");
        let macros = read(
            "#define XF_CONTROL_ADDR_AP_CTRL 0x00\n#define XF_CONTROL_ADDR_BASE_DATA 0x10\n#define XF_CONTROL_BITS_BASE_DATA 64\n\
             #define XF_CONTROL_ADDR_TABLE_BASE 0x40\n#define XF_CONTROL_ADDR_TABLE_HIGH 0x7f\n#define XF_CONTROL_WIDTH_TABLE 32\n\
             #define XF_CONTROL_DEPTH_TABLE 16\n",
        );
        let some = [("ap_ctrl", 0, "32 bit"), ("base", 0x10, "64 bit"), ("table", 0x40, "16 words of 32 bit")];
        assert_eq!(shown(&macros), expected(&some));
        let xml = "<?xml version=\"1.0\"?><s:component><s:name>f</s:name><s:memoryMaps><s:memoryMap><s:name>s_axi_control</s:name>\
            <s:addressBlock><s:name>Reg</s:name><s:baseAddress>0</s:baseAddress><s:register><s:name>CTRL</s:name>\
            <s:addressOffset>0x0</s:addressOffset><s:size>32</s:size><s:access>read-write</s:access>\
            <s:field><s:name>AP_START</s:name><s:access>read-write</s:access></s:field></s:register>\
            <s:register><s:name>total</s:name><s:description>a &lt; b</s:description><s:addressOffset>0x20</s:addressOffset>\
            <s:size>24</s:size><s:access>read-only</s:access></s:register></s:addressBlock></s:memoryMap></s:memoryMaps></s:component>";
        let two = [("ap_ctrl", 0, "32 bit, read, write"), ("total", 0x20, "24 bit, read")];
        assert_eq!(shown(&read(xml)), expected(&two));
        for (base, offset) in [("0xfffffff0", "0x20"), ("0", "0x100000010"), ("0x100000000", "0x10")] {
            let far = xml.replace("s:baseAddress>0<", &format!("s:baseAddress>{base}<")).replace(">0x20<", &format!(">{offset}<"));
            assert_eq!(read(&far)[0].registers[1].offset, NOWHERE, "{base} and {offset}");
        }
        assert!(read("nothing of this kind\n// 0x10 : reserved").is_empty());
    }
}
