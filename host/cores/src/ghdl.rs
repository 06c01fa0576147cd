// SPDX-License-Identifier: Apache-2.0
//! What GHDL 2 writes wrongly as Verilog, written rightly. Newer ones write it so themselves, and nothing is changed.
//!
//! - A constant of more than 32 bits that is a vector to VHDL is written as a text, `"0101..."`, whose characters are eight bits each.
//! - One that is a number below 0 has its sign in the lowest 32 bits only: `40'b0000000011111...`. Vectors are texts, and no number of VHDL
//!   has bit 31 set but those below 0, so that the bits above can be told.
//! - A shift to the right that keeps the sign is written as one that does not: `$signed(a) >> 3`.

/// GHDL's Verilog with these mended.
pub(crate) fn mended(verilog: &str) -> String {
    verilog.lines().map(|line| shifts(&texts(&numbers(line))) + "\n").collect()
}

fn is_bit(c: char) -> bool {
    matches!(c, '0' | '1' | 'x' | 'X' | 'z' | 'Z')
}

/// Texts of bits as constants. GHDL writes no other texts into an expression; one in a comment is left alone.
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

/// Numbers below 0 with their sign in all bits.
fn numbers(line: &str) -> String {
    let mut parts = line.split("'b");
    let mut result = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let bits = part.chars().take_while(|c| is_bit(*c)).count();
        let (constant, rest) = part.split_at(bits);
        let above = bits.saturating_sub(32);
        let negative = above > 0 && constant[above..].starts_with('1') && constant[..above].chars().all(|c| c == '0');
        result.push_str("'b");
        result.push_str(&if negative { "1".repeat(above) } else { constant[..above].to_string() });
        result.push_str(&constant[above..]);
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

#[cfg(test)]
mod tests {
    use super::*;

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
            // -3 in 40 bits; a vector that looks like it; 2^31 - 1; 32 bits.
            ("x <= a + 40'b0000000011111111111111111111111111111101;", format!("x <= a + 40'b{ones}11111111111111111111111111111101;")),
            (r#"x <= "0000000011111111111111111111111111111101";"#, "x <= 40'b0000000011111111111111111111111111111101;".to_string()),
            ("a + 40'b0000000001111111111111111111111111111111", "a + 40'b0000000001111111111111111111111111111111".to_string()),
            ("a + 32'b10000000000000000000000000000000 + 1'b1", "a + 32'b10000000000000000000000000000000 + 1'b1".to_string()),
            // Shifts.
            ("assign n = $signed(a) >> 31'b011;", "assign n = $signed(a) >>> 31'b011;".to_string()),
            ("assign n = $signed(a) < $signed(b);", "assign n = $signed(a) < $signed(b);".to_string()),
            ("assign n = a >> 31'b011; // \"01\"", "assign n = a >> 31'b011; // \"01\"".to_string()),
            ("assign n = $signed(a) >>> 2'b11;", "assign n = $signed(a) >>> 2'b11;".to_string()),
        ];
        for (wrong, right) in cases {
            assert_eq!(mended(wrong), right + "\n", "{wrong}");
        }
    }
}
