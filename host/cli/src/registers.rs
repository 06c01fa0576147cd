// SPDX-License-Identifier: Apache-2.0
//! `reg` and `irq`: the user core's registers and interrupts.

use std::time::Duration;

use serde_json::json;
use towpath::Registers;

use crate::args::{number32, Cli, Irq, Reg};
use crate::exit::{Failure, Result, NOT_FOUND};

/// The offset that a name or number stands for; that it exists is checked here, so that it has an exit code of its own.
pub fn offset(registers: &Registers, text: &str) -> Result<u32> {
    let offset = match number32(text) {
        Ok(offset) => offset,
        Err(_) => registers.offset(text).map_err(|e| Failure::new(NOT_FOUND, e))?,
    };
    if offset >= registers.bytes() || offset % 4 != 0 {
        let there = match registers.bytes() {
            0 => "this core has none".to_string(),
            bytes => format!("this core's are 0x0 to {:#x}, in steps of 4", bytes.saturating_sub(4)),
        };
        return Err(Failure::new(NOT_FOUND, format!("no register at {offset:#x}; {there}")));
    }
    Ok(offset)
}

fn name_of(registers: &Registers, offset: u32) -> Option<&str> {
    registers.names().iter().find(|(_, known)| *known == offset).map(|(name, _)| name.as_str())
}

fn show(cli: &Cli, registers: &Registers, values: &[(u32, u32)]) -> Result {
    if cli.json {
        let list: Vec<_> =
            values.iter().map(|(offset, value)| json!({"offset": offset, "name": name_of(registers, *offset), "value": value})).collect();
        return crate::print(&crate::json(&list.into()));
    }
    let line = |(offset, value): &(u32, u32)| {
        format!("{offset:#06x}  {value:#010x}  {value:>10}  {}\n", name_of(registers, *offset).unwrap_or(""))
    };
    crate::print(&values.iter().map(line).collect::<String>())
}

pub fn reg(cli: &Cli, what: &Reg) -> Result {
    let device = crate::device::open(cli)?;
    let registers = device.registers();
    let offsets = match what {
        Reg::Read { registers: wanted } => wanted.iter().map(|text| offset(&registers, text)).collect::<Result<Vec<_>>>()?,
        Reg::Write { register, value } => {
            let offset = offset(&registers, register)?;
            registers.write(offset, *value)?;
            return Ok(());
        }
        Reg::Dump { range: Some(range) } => {
            let (first, last) = (range[0], range[1]);
            offset(&registers, &first.to_string())?;
            offset(&registers, &last.to_string())?;
            (first..=last).step_by(4).collect()
        }
        Reg::Dump { range: None } => {
            let mut offsets: Vec<u32> = registers.names().iter().map(|(_, offset)| *offset).collect();
            if offsets.is_empty() {
                return Err(Failure::new(NOT_FOUND, "this core's registers have no names here; give --range FIRST LAST"));
            }
            offsets.sort_unstable();
            offsets
        }
    };
    let values = offsets.into_iter().map(|offset| Ok((offset, registers.read(offset)?))).collect::<Result<Vec<_>>>()?;
    show(cli, &registers, &values)
}

pub fn irq(cli: &Cli, what: &Irq) -> Result {
    let device = crate::device::open(cli)?;
    let interrupts = device.interrupts();
    let there = interrupts.number();
    let check = |number: u16| match there {
        0 => Err(Failure::new(NOT_FOUND, format!("no interrupt {number}; this core has none"))),
        _ if number >= there => Err(Failure::new(NOT_FOUND, format!("no interrupt {number}; this core has 0 to {}", there - 1))),
        _ => Ok(()),
    };
    let counts = match what {
        Irq::Wait { number, timeout } => {
            check(*number)?;
            let fired = interrupts.wait(*number, Some(*timeout).filter(|t| *t != Duration::ZERO))?;
            vec![(*number, fired)]
        }
        Irq::Count { number: Some(number) } => {
            check(*number)?;
            vec![(*number, interrupts.count(*number)?)]
        }
        Irq::Count { number: None } => (0..there).map(|n| Ok((n, interrupts.count(n)?))).collect::<Result<Vec<_>>>()?,
    };
    if cli.json {
        let list: Vec<_> = counts.iter().map(|(number, count)| json!({"number": number, "count": count})).collect();
        return crate::print(&crate::json(&list.into()));
    }
    crate::print(&counts.iter().map(|(number, count)| format!("{number}  {count}\n")).collect::<String>())
}
