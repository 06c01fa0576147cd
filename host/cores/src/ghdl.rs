// SPDX-License-Identifier: Apache-2.0
//! What GHDL writes wrongly as Verilog, written rightly.
//!
//! - GHDL 2 writes a constant of more than 32 bits that is a vector to VHDL as a text, `"0101..."`, whose characters are eight bits each. Texts
//!   of newer ones are texts.
//! - A number below 0 in more than 32 bits has its sign in the lowest 32 bits only: `40'b0000000011111...`. A vector can look the same; GHDL's
//!   netlist (`--out=raw`) tells which it is. Words of a memory and choices of a case are never numbers below 0.
//! - GHDL 2 leaves out what a case has for all others, `default:`. The netlist has it.
//! - A shift to the right that keeps the sign is written as one that does not: `$signed(a) >> 3`.
//! - Quotients and remainders of signed numbers are written as those of unsigned ones: `a / b; // sdiv`.
//! - The smaller and the larger of two signed numbers are written in VHDL, `n <= a when $signed(a) > $signed(b) else b;`, and so is a number
//!   without its sign, `n <= std_logic_vector(abs $signed(a));`.

use std::collections::{BTreeMap, BTreeSet};

/// A constant of more than 32 bits that may be a number below 0: its width, and its lowest 32 bits. Those above are 0, and the highest of these 1.
type Doubtful = (usize, u32);

/// Is it GHDL 2, by the first line of `ghdl --version`?
pub(crate) fn is_2(version: &str) -> bool {
    version.split_whitespace().nth(1).is_some_and(|number| number.split('.').next() == Some("2"))
}

/// Has this Verilog constants of which only the netlist tells what they are, or cases without what they have for all others?
pub(crate) fn needs_netlist(verilog: &str) -> bool {
    let mut lines = verilog.lines().zip([""].into_iter().chain(verilog.lines()));
    lines.any(|(line, before)| choice(before, line).is_some() || numbers(line, &mut |_| true) != line)
}

/// GHDL's Verilog with these mended, by its netlist. The error is a message for the designer.
pub(crate) fn mended(verilog: &str, netlist: &str, is_2: bool) -> Result<String, String> {
    let known = Netlist::of(netlist, is_2);
    let words: BTreeSet<&str> = verilog.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let (mut result, mut place, mut module, mut case, mut wrong) = (String::new(), "", "", None, None);
    for (line, before) in verilog.lines().zip([""].into_iter().chain(verilog.lines())) {
        place = line.trim().strip_prefix("/* ").and_then(|rest| rest.strip_suffix("*/")).map_or(place, str::trim);
        module = line.strip_prefix("module ").map_or(module, str::trim);
        // A case is of one signal.
        case = choice(before, line).or(case).filter(|_| !line.trim_start().starts_with("default:"));
        if let Some(to) = case.take_if(|_| line.trim() == "endcase") {
            match known.others.get(&(module.to_string(), to.to_string())) {
                Some(other) if other.contains('\'') || words.contains(other.as_str()) => result.push_str(&format!("      default: {to} <= {other};\n")),
                _ => drop(wrong.get_or_insert(format!(
                    "{place}: GHDL 2 leaves out what this case has for `others`, and its netlist does not tell. Write `if` in place of `case`, or install \
                     a newer GHDL."
                ))),
            }
        }
        let line = numbers(line, &mut |constant @ (width, value)| {
            let negative = known.negative.contains(&constant);
            if negative && known.vectors.contains(&constant) {
                let number = value as i32;
                wrong.get_or_insert(format!(
                    "{place}: GHDL writes the number {number} and the vector x\"{value:X}\" of {width} bits, which are both in this entity or below \
                     it, alike as Verilog. Write the number as to_signed({number}, {width})."
                ));
            }
            negative
        });
        let line = if is_2 { texts(&line) } else { line };
        result.push_str(&chosen(&signed(&shifts(&line))));
        result.push('\n');
    }
    wrong.map_or(Ok(result), Err)
}

/// The signal of a case's first choice, "      3'b100: NAME <= ...". Where the first is 0, all choices are there.
fn choice<'a>(before: &str, line: &'a str) -> Option<&'a str> {
    if !before.trim_start().starts_with("case (") {
        return None;
    }
    let (width, rest) = line.trim_start().split_once("'b1")?;
    let (zeros, rest) = rest.split_once(": ")?;
    let only = width.parse::<usize>().is_ok() && zeros.chars().all(|c| c == '0');
    only.then(|| rest.split_once(" <= ")).flatten().map(|(to, _)| to)
}

/// What the netlist has of doubtful constants, those that are numbers and the vectors that are not written as texts, and what cases have for all
/// others: by module and signal, the signal or constant.
#[derive(Default)]
struct Netlist {
    negative: BTreeSet<Doubtful>,
    vectors: BTreeSet<Doubtful>,
    others: BTreeMap<(String, String), String>,
}

impl Netlist {
    /// A constant's line has "{n29w40} := " and then `$const_SB32{i27} #($val=4294967293)`, `40'uh80000000`, or `$const_bit{i8} #(4294967293, 0)`,
    /// lowest 32 bits first.
    fn of(netlist: &str, is_2: bool) -> Netlist {
        let mut found = Netlist::default();
        let (mut module, mut cases) = ("", Vec::new());
        for line in netlist.lines() {
            if let Some((_, name)) = line.trim_start().strip_prefix("module ").and_then(|rest| rest.split_once('\\')) {
                module = name;
            }
            // A case's inputs follow it, and those that have inputs have them between.
            let line = match line.trim_start().strip_prefix(".$def{").and_then(|rest| rest.split_once("}: ")) {
                Some((_, other)) => {
                    found.others.extend(cases.pop().zip(value(other)).map(|(to, other)| ((module.to_string(), to), other)));
                    other
                }
                None => line.trim_start(),
            };
            if line.contains("} := $pmux{") {
                let from = line.find('%').unwrap_or_default();
                cases.push(name(&line[from..]).unwrap_or_default());
            }
            let Some((net, value)) = line.split_once("} := ") else { continue };
            let Some(width) = net.rsplit_once('w').and_then(|(_, width)| width.parse().ok()).filter(|width| *width > 32) else { continue };
            let words = || value.split_once("#(").and_then(|(_, rest)| rest.split(')').next()).unwrap_or_default();
            let low = |word: &str| word.rsplit(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<u32>().ok());
            let (set, low) = if value.starts_with("$const_SB32") {
                (&mut found.negative, low(words()))
            } else if let Some((_, digits)) = value.split_once("'uh") {
                let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
                (&mut found.vectors, u32::from_str_radix(&digits[..end], 16).ok())
            } else if value.starts_with("$const_bit") && !is_2 {
                let mut words = words().split(',').map(low);
                let first = words.next().flatten();
                (&mut found.vectors, first.filter(|_| words.all(|word| word == Some(0))))
            } else {
                continue;
            };
            set.extend(low.filter(|low| low >> 31 == 1).map(|low| (width, low)));
        }
        found
    }
}

/// The Verilog of a net, "%14:$o{n18w4}", "\\name{n3w4}" or "\\instance:\\port{n5w4}".
fn name(net: &str) -> Option<String> {
    let (name, rest) = net.split_once('{')?;
    let (_, rest) = rest.split_once('}')?;
    let whole = rest.is_empty() || rest.starts_with([',', ')']) || rest.starts_with(" := ");
    let name = match name.split_once(':') {
        Some((number, output)) if number.starts_with('%') => format!("n{}_{}", &number[1..], output.strip_prefix('$')?),
        Some((signal, "$o")) => signal.strip_prefix('\\')?.to_string(),
        Some((instance, port)) => format!("{}_{}", instance.strip_prefix('\\')?, port.strip_prefix('\\')?),
        None => name.strip_prefix('\\')?.to_string(),
    };
    (whole && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some(name)
}

/// The Verilog of a net, or of a constant: "%28:$o{n31w4} := 4'uha", or "$const_" with a kind and words.
fn value(net: &str) -> Option<String> {
    let constant = || {
        let (net, value) = net.split_once("} := ")?;
        let width: usize = net.rsplit_once('w')?.1.parse().ok()?;
        if let Some((_, digits)) = value.split_once("'uh") {
            let digits: String = digits.chars().take_while(char::is_ascii_hexdigit).collect();
            return Some(format!("{width}'h{digits}"));
        }
        let kind = value.strip_prefix("$const_")?.split('{').next()?;
        let words = value.split_once("#(").and_then(|(_, rest)| rest.split(')').next()).unwrap_or_default();
        let words: Option<Vec<u32>> =
            words.split(',').filter(|word| !word.is_empty()).map(|word| word.rsplit(['=', ' ']).next()?.parse().ok()).collect();
        let words = words?;
        let word = |n: usize| words.get(n).copied().unwrap_or_default();
        let bit = |n: usize| {
            let one = |word: u32| (word >> (n % 32) & 1) as usize;
            let code = match kind {
                "bit" => one(word(n / 32)),
                "SB32" => one(if n < 32 { word(0) } else { 0u32.wrapping_sub(word(0) >> 31) }),
                "UL32" if n >= 32 => 0,
                "UL32" | "log" => one(word(n / 32 * 2)) + 2 * one(word(n / 32 * 2 + 1)),
                "Z" => 2,
                "X" => 3,
                _ => return None,
            };
            "01zx".chars().nth(code)
        };
        let bits: Option<String> = (0..width).rev().map(bit).collect();
        Some(format!("{width}'b{}", bits?))
    };
    constant().or_else(|| name(net))
}

fn is_bit(c: char) -> bool {
    matches!(c, '0' | '1' | 'x' | 'X' | 'z' | 'Z')
}

/// Texts of bits as constants. GHDL 2 writes no other texts into an expression; one in a comment is left alone.
fn texts(line: &str) -> String {
    let mut parts = line.split('"');
    let mut result = parts.next().unwrap_or_default().to_string();
    if result.contains("//") || result.contains("/*") || result.contains("(*") {
        return line.to_string();
    }
    while let Some(text) = parts.next() {
        match text.is_empty() || !text.chars().all(is_bit) {
            true => result.push_str(&format!("\"{text}\"")),
            false => result.push_str(&format!("{}'b{text}", text.len())),
        }
        result.push_str(parts.next().unwrap_or_default());
    }
    result
}

/// A memory's word, "    NAME[3] = 40'b...", or an instance's generic or port, "    .NAME(40'b...".
fn holds_no_numbers(line: &str) -> bool {
    let line = line.trim_start();
    let index = line.split_once(" = ").and_then(|(to, _)| to.strip_suffix(']')?.rsplit_once('['));
    let word = index.is_some_and(|(name, index)| !name.contains(' ') && index.chars().all(|c| c.is_ascii_digit()));
    word || line.starts_with('.')
}

/// The doubtful constants that are negative, with their sign in all bits.
fn numbers(line: &str, negative: &mut dyn FnMut(Doubtful) -> bool) -> String {
    if holds_no_numbers(line) {
        return line.to_string();
    }
    let mut parts = line.split("'b");
    let mut result = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let bits = part.chars().take_while(|c| is_bit(*c)).count();
        let (constant, rest) = part.split_at(bits);
        let (above, low) = constant.split_at(bits.saturating_sub(32));
        // A constant before ":" is a case's choice.
        let doubtful = !above.is_empty() && above.chars().all(|c| c == '0') && low.starts_with('1') && !rest.starts_with(':');
        let low_bits = u32::from_str_radix(low, 2).ok().filter(|_| doubtful);
        result.push_str("'b");
        result.push_str(&if low_bits.is_some_and(|low| negative((bits, low))) { "1".repeat(above.len()) } else { above.to_string() });
        result.push_str(low);
        result.push_str(rest);
    }
    result
}

/// Shifts that keep the sign. GHDL has a shift's operand in a signal of its own, and `$signed` around it only where the sign counts.
fn shifts(line: &str) -> String {
    let mut result = line.to_string();
    let mut from = 0;
    while let Some(at) = result[from..].find("$signed(").map(|at| at + from) {
        from = at + "$signed(".len();
        let Some(end) = result[from..].find(')').map(|end| end + from + 1) else { break };
        if result[end..].starts_with(" >> ") {
            result.insert(end + 1, '>');
        }
    }
    result
}

/// Quotients and remainders of signed numbers: "  assign N = A / B; // sdiv". VHDL's `mod` has the divisor's sign, `rem` and Verilog's % the other's.
fn signed(line: &str) -> String {
    let parts = || {
        let (code, kind) = line.split_once("; // ")?;
        let (to, value) = code.split_once(" = ")?;
        let (a, b) = value.split_once(if kind == "sdiv" { " / " } else { " % " })?;
        let signed = |operand: &str| if operand.starts_with("$signed(") { operand.to_string() } else { format!("$signed({operand})") };
        Some((to, signed(a), signed(b), kind))
    };
    match parts() {
        Some((to, a, b, "sdiv")) => format!("{to} = {a} / {b}; // sdiv"),
        Some((to, a, b, "srem")) => format!("{to} = {a} % {b}; // srem"),
        Some((to, a, b, "smod")) => {
            format!("{to} = {a} % {b} == 0 || ({a} % {b} < 0) == ({b} < 0) ? {a} % {b} : {a} % {b} + {b}; // smod")
        }
        _ => line.to_string(),
    }
}

/// The smaller or the larger of two signed numbers, and a number without its sign.
fn chosen(line: &str) -> String {
    let parts = || {
        let (to, value) = line.trim().strip_suffix(';')?.split_once(" <= ")?;
        if let Some(a) = value.strip_prefix("std_logic_vector(abs ").and_then(|rest| rest.strip_suffix(')')) {
            return Some(format!("  assign {to} = {a} < 0 ? -{a} : {a};"));
        }
        let (a, rest) = value.split_once(" when ")?;
        let (condition, b) = rest.split_once(" else ")?;
        Some(format!("  assign {to} = {condition} ? {a} : {b};"))
    };
    parts().unwrap_or_else(|| line.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MINUS_3: &str = "0000000011111111111111111111111111111101";
    const NUMBER: &str = "          .$b{p40}: %29:$o{n36w40} := $const_SB32{i34} #($val=4294967293)),\n";
    const VECTOR: &str = "      .$b{p17}: %9:$o{n15w40} := 40'uhfffffffd)\n";
    const BITS: &str = "      .$b{p17}: %9:$o{n15w40} := $const_bit{i9} #(4294967293, 0))\n";

    #[test]
    fn what_ghdl_2_writes_is_mended() {
        let ones = "1".repeat(8);
        let cases = [
            // A vector, as such and with bits that are open.
            (
                r#"assign a = b + "0000000010000000000000000000000000000000";"#,
                "assign a = b + 40'b0000000010000000000000000000000000000000;".to_string(),
            ),
            (r#"assign a = c ? "01X0" : "ZZ1";"#, "assign a = c ? 4'b01X0 : 3'bZZ1;".to_string()),
            // -3 in 40 bits, a vector that looks like it, another vector; 2^31 - 1; 32 bits.
            ("x <= a + 40'b0000000011111111111111111111111111111101;", format!("x <= a + 40'b{ones}11111111111111111111111111111101;")),
            (r#"x <= "0000000011111111111111111111111111111101";"#, format!("x <= 40'b{MINUS_3};")),
            ("a + 40'b0000000010000000000000000000000000000000;", "a + 40'b0000000010000000000000000000000000000000;".to_string()),
            ("a + 40'b0000000001111111111111111111111111111111", "a + 40'b0000000001111111111111111111111111111111".to_string()),
            ("a + 32'b10000000000000000000000000000000 + 1'b1", "a + 32'b10000000000000000000000000000000 + 1'b1".to_string()),
            // A memory's word, a generic, a case's choice.
            ("    n59[3] = 40'b0000000011111111111111111111111111111101;", format!("    n59[3] = 40'b{MINUS_3};")),
            ("    .V(40'b0000000011111111111111111111111111111101),", format!("    .V(40'b{MINUS_3}),")),
            (
                "      40'b0000000011111111111111111111111111111101: n <= 40'b0000000011111111111111111111111111111101;",
                format!("      40'b{MINUS_3}: n <= 40'b{ones}11111111111111111111111111111101;"),
            ),
            // Shifts.
            ("assign n = $signed(a) >> 31'b011;", "assign n = $signed(a) >>> 31'b011;".to_string()),
            ("assign n = $signed(a) < $signed(b);", "assign n = $signed(a) < $signed(b);".to_string()),
            ("assign n = a >> 31'b011; // \"01\"", "assign n = a >> 31'b011; // \"01\"".to_string()),
            ("assign n = $signed(a) >>> 2'b11;", "assign n = $signed(a) >>> 2'b11;".to_string()),
            // Signed numbers.
            ("  assign n = a / 3'b101; // sdiv", "  assign n = $signed(a) / $signed(3'b101); // sdiv".to_string()),
            ("  assign n = $signed(a) % b; // srem", "  assign n = $signed(a) % $signed(b); // srem".to_string()),
            ("  assign n = a / b; // udiv", "  assign n = a / b; // udiv".to_string()),
            ("  n9_o <= std_logic_vector(abs $signed(s));", "  assign n9_o = $signed(s) < 0 ? -$signed(s) : $signed(s);".to_string()),
            ("  n3_o <= a when $signed(a) > $signed(b) else b;", "  assign n3_o = $signed(a) > $signed(b) ? a : b;".to_string()),
        ];
        for (wrong, right) in cases {
            assert_eq!(mended(wrong, NUMBER, true).unwrap(), right + "\n", "{wrong}");
        }
    }

    #[test]
    fn a_constant_is_a_number_only_where_the_netlist_has_one() {
        let verilog = format!("  /* a.vhd:18:11  */\n  assign n = s + 40'b{MINUS_3};\n");
        for (is_2, netlist) in [(true, VECTOR), (true, BITS), (true, ""), (false, VECTOR), (false, BITS)] {
            assert_eq!(mended(&verilog, netlist, is_2).unwrap(), verilog, "{netlist}");
            assert_eq!(mended(&verilog, &[NUMBER.replace("w40", "w41").as_str(), netlist].concat(), is_2).unwrap(), verilog, "{netlist}");
        }
        // GHDL 2's vectors of many bits are texts; newer ones' are not.
        let right = verilog.replace("b00000000", "b11111111");
        assert_eq!(mended(&verilog, &[NUMBER, BITS].concat(), true).unwrap(), right);
        assert_eq!(mended(&verilog, NUMBER, false).unwrap(), right);
        for (is_2, netlist) in [(true, [NUMBER, VECTOR]), (false, [VECTOR, NUMBER]), (false, [NUMBER, BITS])] {
            let error = mended(&verilog, &netlist.concat(), is_2).unwrap_err();
            assert!(error.starts_with("a.vhd:18:11: ") && error.contains("to_signed(-3, 40)"), "{error}");
        }
        // Without a doubt, GHDL is not asked.
        assert!(needs_netlist(&verilog) && !needs_netlist(&format!("    n5[0] = 40'b{MINUS_3};\n  assign n = \"{MINUS_3}\";")));
    }

    #[test]
    fn cases_get_what_they_have_for_others() {
        let verilog = "module f\n  reg [3:0] n16_o;\n  wire [3:0] n14_o, x_y, s;\n    case (n15_o)\n      2'b10: n16_o <= p;\n      2'b01: n16_o <= s;\n    endcase\n";
        let netlist = |module: &str, other: &str| {
            format!(
                "  module {{m100}} \\{module}\n    \\q:$o{{n1w4}} := $pmux{{i1}} (\n    .$def{{p1}}: \\s{{n3w4}},\n    %16:$o{{n20w4}} := $pmux{{i18}} #($n=4) (\n      \
                 .$s{{p25}}: %15:$o{{n19w2}} := $concat2{{i17}} (\n          .$i1{{p22}}: %9:$o{{n9w2}} := $pmux{{i9}} (\n.$def{{p3}}: %8:$o{{n8w4}}),\n      \
                 .$def{{p26}}: {other}\n"
            )
        };
        let cases = [
            ("%14:$o{n18w4} := $sub{i16} (", "n14_o"),
            ("%14:$o{n18w4} := $pmux{i16} (", "n14_o"),
            ("\\s{n3w4},", "s"),
            ("\\s:$o{n3w4},", "s"),
            ("\\x:\\y{n3w4},", "x_y"),
            ("%28:$o{n31w4} := 4'uha,", "4'ha"),
            ("%28:$o{n31w4} := $const_UL32{i65} #($val=13, $xz=14),", "4'bxxz1"),
            ("%28:$o{n31w40} := $const_bit{i65} #(2147483651, 255))", "40'b1111111110000000000000000000000000000011"),
            ("%28:$o{n31w34} := $const_SB32{i65} #($val=4294967293))", "34'b1111111111111111111111111111111101"),
            ("%28:$o{n31w34} := $const_log{i65} #(1, 0, 3, 2))", "34'bx100000000000000000000000000000001"),
            ("%28:$o{n31w4} := $const_X{i65},", "4'bxxxx"),
        ];
        assert!(needs_netlist(verilog));
        let all = "    case (k)\n      2'b00: n <= a;\n      2'b01: n <= b;\n      2'b10: n <= c;\n      2'b11: n <= d;\n    endcase\n";
        assert!(!needs_netlist(all) && mended(all, "", true).unwrap() == all);
        for (other, name) in cases {
            let right = verilog.replace("    endcase", &format!("      default: n16_o <= {name};\n    endcase"));
            assert_eq!(mended(verilog, &netlist("f", other), true).unwrap(), right, "{other}");
            // What has one needs none.
            assert_eq!(mended(&right, &netlist("f", "\\s{n3w4}"), false).unwrap(), right);
        }
        for (module, other) in [("g", "\\s{n3w4}"), ("f", "\\k{n2w3}"), ("f", "\\s{n2w3}[1:0]"), ("f", "%13:$o{n1w4} := $new{i1},")] {
            assert!(mended(verilog, &netlist(module, other), true).unwrap_err().contains("leaves out"), "{other}");
        }
    }

    #[test]
    fn texts_of_newer_ones_are_texts() {
        assert!(is_2("GHDL 2.0.0 (Debian 2.0.0+dfsg-6.2+b2) [Dunoon edition]"));
        assert!(!is_2("GHDL 4.1.0 (4.1.0.r0.gc0e7d7a) [Dunoon edition]") && !is_2("GHDL 20.1") && !is_2(""));
        let generic = "    .MODE(\"01\"))\n";
        assert_eq!(mended(generic, "", false).unwrap(), generic);
    }
}
