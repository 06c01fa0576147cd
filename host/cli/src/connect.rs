// SPDX-License-Identifier: Apache-2.0
//! `connect`: a pair of two cards' streams, for as long as this command or a program runs.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{json, Value};
use towpath::{Pair, PairOptions, PairStatus, Parted};

use crate::args::{Cli, Connect, Core};
use crate::device::open_this;
use crate::exit::{Failure, Result, TRANSFER, USAGE};
use crate::output;
use crate::program::{judged, Program};
use crate::registers::write_all;
use crate::transfer::patience;

/// Between two looks at cards and program. A simulated card's time passes by the looks.
const LOOK: Duration = Duration::from_millis(20);

pub fn connect(cli: &Cli, what: &Connect) -> Result {
    let card = |name: &str| open_this(cli, Some(name), &Core { core: None });
    let (one, other) = (card(&what.from.0)?, card(&what.to.0)?);
    let (from, to) = (one.device.receiver(&what.from.1)?, other.device.sender(&what.to.1)?);
    let slot_bytes = what.slot.map(u32::try_from).transpose().map_err(|_| Failure::new(USAGE, "--slot: no slot is as large as that"))?;
    let signal = Arc::new(AtomicI32::new(0));
    let heard = signal.clone();
    crate::signals::at_first(move |signal| heard.store(signal, Ordering::SeqCst))?;
    let mut pair = towpath::connect_with(&from, &to, PairOptions { slot_bytes })?;
    write_all(&one, &what.writes)?;
    let names = [&what.from, &what.to].map(|(card, channel)| format!("{card}:{channel}"));
    if !cli.json {
        output::eprintln_lossy(&format!("{} sends to {}, in slots of {} bytes", names[0], names[1], pair.slot_bytes()));
    }
    let mut program = match Program::start(&what.program) {
        Ok(program) => program,
        Err(failure) => {
            pair.disconnect(Some(Duration::ZERO).into())?;
            return Err(failure);
        }
    };
    let simulated = one.device.wire().is_some();
    let watched = watch(&pair, &signal, program.as_mut(), simulated);
    if let (Some(program), Ok(None) | Err(_)) = (&mut program, &watched) {
        program.end();
    }
    let code = watched?;
    let last = pair.status()?;
    let parted = pair.disconnect(patience(what.timeout).into())?;
    let signal = Some(signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0);
    let (value, text) = figures(&names, &pair, &last, &parted, signal, code);
    output::answer(cli, &value, &text)?;
    match parted.fault {
        Some(fault) => Err(Failure::new(TRANSFER, format!("{} to {}: {fault}", names[0], names[1]))),
        None => judged(code),
    }
}

/// Until a signal, the program's end, or a fault. Returns the program's exit code, if it has ended.
fn watch(pair: &Pair, signal: &AtomicI32, mut program: Option<&mut Program>, simulated: bool) -> Result<Option<u8>> {
    loop {
        if let Some(program) = &mut program {
            if let Some(code) = program.code()? {
                return Ok(Some(code));
            }
        }
        if signal.load(Ordering::SeqCst) != 0 || pair.status()?.fault.is_some() {
            return Ok(None);
        }
        if !simulated {
            std::thread::sleep(LOOK);
        }
    }
}

fn figures(names: &[String; 2], pair: &Pair, last: &PairStatus, parted: &Parted, signal: Option<i32>, code: Option<u8>) -> (Value, String) {
    let fault = parted.fault.as_ref().map(ToString::to_string);
    let value = json!({
        "from": names[0], "to": names[1], "slot_bytes": pair.slot_bytes(), "slots_arrived": last.slots_arrived, "arrived": parted.arrived,
        "taken": parted.taken, "cut": parted.cut, "fault": fault, "signal": signal, "exit_code": code,
    });
    let arrived = match (parted.arrived, parted.taken) {
        (false, _) => "not all that was sent has arrived",
        (true, false) => "all that was sent has arrived, and the core there has still to take it",
        (true, true) => "all that was sent has arrived, and the core there has taken it",
    };
    let cut = if parted.cut { "; a message in progress was cut" } else { "" };
    (value, format!("{} to {}: {arrived}{cut}\n", names[0], names[1]))
}
