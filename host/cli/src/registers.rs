// SPDX-License-Identifier: Apache-2.0
//! `reg` and `irq`: the user core's registers and interrupts.

use std::time::Duration;

use serde_json::json;

use crate::args::{number32, register_value, Access, Cli, Irq, Look, Reg};
use crate::device::Card;
use crate::exit::{Failure, Result, NOT_FOUND, USAGE};
use crate::output;

/// The offset that a name or number stands for; that it exists is checked here, so that it has an exit code of its own.
fn offset(card: &Card, text: &str) -> Result<u32> {
    let offset = match (number32(text), card.names.iter().find(|(name, _)| name == text)) {
        (_, Some((_, offset))) => *offset,
        (Ok(offset), None) => offset,
        (Err(_), None) => {
            let known: Vec<&str> = card.names.iter().map(|(name, _)| name.as_str()).collect();
            let known = match known.is_empty() {
                false => format!("there are {}, and offsets", known.join(", ")),
                true => "no names are known here: give its offset, or --core and the folder of the card's core".into(),
            };
            return Err(Failure::new(NOT_FOUND, format!("no register \"{text}\"; {known}")));
        }
    };
    let bytes = card.device.registers().bytes();
    if offset >= bytes || offset % 4 != 0 {
        let there = match bytes {
            0 => "this core has none".to_string(),
            bytes => format!("this core's are 0x0 to {:#x}, in steps of 4", bytes.saturating_sub(4)),
        };
        return Err(Failure::new(NOT_FOUND, format!("no register at {offset:#x}; {there}")));
    }
    Ok(offset)
}

/// Write registers in this order; returns where they are. All are looked up before the first is written.
pub fn write_all(card: &Card, writes: &[(String, u32)]) -> Result<Vec<(u32, u32)>> {
    let registers = card.device.registers();
    let values = writes.iter().map(|(name, value)| Ok((offset(card, name)?, *value))).collect::<Result<Vec<_>>>()?;
    values.iter().try_for_each(|(offset, value)| registers.write(*offset, *value))?;
    Ok(values)
}

/// What `reg write` is to write: REGISTER=VALUE, any number of them, or REGISTER VALUE.
fn assignments(words: &[String]) -> Result<Vec<(String, u32)>> {
    let wrong = |word: &str, why: String| Failure::new(USAGE, format!("\"{word}\": {why}"));
    match words {
        [register, value] if !register.contains('=') && !value.contains('=') => {
            Ok(vec![(register.clone(), number32(value).map_err(|why| wrong(value, why))?)])
        }
        _ => words.iter().map(|word| register_value(word).map_err(|why| wrong(word, why))).collect(),
    }
}

pub fn reg(cli: &Cli, what: &Reg) -> Result {
    let writes = match &what.access {
        Access::Write { registers } => assignments(registers)?,
        _ => Vec::new(),
    };
    let card = crate::device::open(cli, &what.core)?;
    let registers = card.device.registers();
    let offsets = match &what.access {
        Access::Read { registers: wanted } => wanted.iter().map(|text| offset(&card, text)).collect::<Result<Vec<_>>>()?,
        Access::Write { .. } => return show(cli, &card, &write_all(&card, &writes)?, false),
        Access::Dump { range: Some(range) } => {
            let (first, last) = (range[0], range[1]);
            offset(&card, &first.to_string())?;
            offset(&card, &last.to_string())?;
            (first..=last).step_by(4).collect()
        }
        Access::Dump { range: None } => {
            let mut offsets: Vec<u32> = card.names.iter().map(|(_, offset)| *offset).collect();
            if offsets.is_empty() {
                let how = "give --range FIRST LAST, or --core and the folder of the card's core";
                return Err(Failure::new(NOT_FOUND, format!("this core's registers have no names here; {how}")));
            }
            offsets.sort_unstable();
            offsets
        }
    };
    let values = offsets.into_iter().map(|offset| Ok((offset, registers.read(offset)?))).collect::<Result<Vec<_>>>()?;
    show(cli, &card, &values, true)
}

fn show(cli: &Cli, card: &Card, values: &[(u32, u32)], to_people: bool) -> Result {
    let name = |offset: u32| card.names.iter().find(|(_, known)| *known == offset).map(|(name, _)| name.as_str());
    let list: Vec<_> = values.iter().map(|(offset, value)| json!({"offset": offset, "name": name(*offset), "value": value})).collect();
    let line = |(offset, value): &(u32, u32)| format!("{offset:#06x}  {value:#010x}  {value:>10}  {}\n", name(*offset).unwrap_or(""));
    let text = if to_people { values.iter().map(line).collect() } else { String::new() };
    output::answer(cli, &json!({"registers": list}), &text)
}

pub fn irq(cli: &Cli, what: &Irq) -> Result {
    let card = crate::device::open(cli, &what.core)?;
    let interrupts = card.device.interrupts();
    let there = interrupts.number();
    let check = |number: u16| match there {
        0 => Err(Failure::new(NOT_FOUND, format!("no interrupt {number}; this core has none"))),
        _ if number >= there => Err(Failure::new(NOT_FOUND, format!("no interrupt {number}; this core has 0 to {}", there - 1))),
        _ => Ok(()),
    };
    let counts = match &what.look {
        Look::Wait { number, writes, timeout } => {
            check(*number)?;
            write_all(&card, writes)?;
            let fired = interrupts.wait(*number, Some(*timeout).filter(|t| *t != Duration::ZERO))?;
            vec![(*number, fired)]
        }
        Look::Count { number: Some(number) } => {
            check(*number)?;
            vec![(*number, interrupts.count(*number)?)]
        }
        Look::Count { number: None } => (0..there).map(|n| Ok((n, interrupts.count(n)?))).collect::<Result<Vec<_>>>()?,
    };
    let list: Vec<_> = counts.iter().map(|(number, count)| json!({"number": number, "count": count})).collect();
    let text: String = counts.iter().map(|(number, count)| format!("{number}  {count}\n")).collect();
    output::answer(cli, &json!({"interrupts": list}), &text)
}
