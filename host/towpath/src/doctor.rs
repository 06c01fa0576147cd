// SPDX-License-Identifier: Apache-2.0
//! What has to be in order before a device can be opened, checked one by one: of the simulator, of the machine, of its cards.

use crate::cards;
use towpath_vfio::{checks, Address, Finding, Function, Ids, Level, System};

/// Which devices the checks are about.
enum Wanted {
    All,
    Simulator,
    Card(Address),
}

/// Check what the device of that name needs: `sim:CORE` (the simulator's tools), `vfio:0000:65:00.0` or a bare address (that card); the
/// empty name stands for the simulator and every card there is. Changes nothing. Each finding says what was seen, and what mends it.
pub fn doctor(name: &str) -> Vec<Finding> {
    match cards::stands_for(name) {
        Ok(name) => examine(&name, &System::here(), Ids::from_environment(), simulator),
        Err(why) => vec![Finding::problem(name, "name", why.to_string(), "towpath list")],
    }
}

fn wanted(name: &str) -> Result<Wanted, Finding> {
    let address = |text: &str| text.parse().map(Wanted::Card).map_err(|why: String| Finding::problem(name, "name", why, "towpath list"));
    match name.split_once(':') {
        None if name.is_empty() => Ok(Wanted::All),
        Some(("sim", _)) => Ok(Wanted::Simulator),
        Some(("vfio-user", _)) => Err(Finding::ok(name, "name", "a card in another process needs nothing of this machine")),
        Some(("vfio", rest)) => address(rest),
        _ => address(name),
    }
}

fn examine(name: &str, system: &System, ids: Result<Ids, String>, simulator: fn() -> Vec<Finding>) -> Vec<Finding> {
    let wanted = match wanted(name) {
        Ok(wanted) => wanted,
        Err(finding) => return vec![finding],
    };
    let ids = match ids {
        Ok(ids) => ids,
        Err(why) => return vec![Finding::problem("machine", "identification", why, "unset TOWPATH_PCI_IDS # or mend it")],
    };
    match wanted {
        Wanted::Simulator => simulator(),
        Wanted::Card(address) => match Function::read(system, address) {
            Some(function) => of_cards(system, &[function], &ids),
            None => vec![Finding::problem(
                address,
                "identification",
                format!("no device of PCI is at {address}"),
                "lspci -D # shows which there are; look again: echo 1 | sudo tee /sys/bus/pci/rescan",
            )],
        },
        // Who has no card does not need what cards need, and who has one may do without the simulator.
        Wanted::All => {
            let cards = system.cards(&ids);
            let boards = if cards.is_empty() {
                let seen = format!("no card is on this machine (looked for: {ids})");
                vec![Finding::ok("machine", "cards", seen)]
            } else {
                of_cards(system, &cards, &ids)
            };
            simulator().into_iter().map(as_warning).chain(boards).collect()
        }
    }
}

fn of_cards(system: &System, cards: &[Function], ids: &Ids) -> Vec<Finding> {
    checks::machine(system).into_iter().chain(cards.iter().flat_map(|card| checks::card(system, card, ids))).collect()
}

fn as_warning(finding: Finding) -> Finding {
    Finding { level: finding.level.min(Level::Warning), ..finding }
}

fn simulator() -> Vec<Finding> {
    let finding = |(check, found): (&'static str, Result<String, towpath_cores::CoreError>)| match found {
        Ok(seen) => Finding::ok("simulator", check, seen),
        Err(why) => Finding { level: Level::Problem, ..Finding::ok("simulator", check, why.to_string()) },
    };
    towpath_cores::needs().into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> System {
        let nowhere = std::path::PathBuf::from("/nonexistent");
        System { sys: nowhere.clone(), dev: nowhere.clone(), proc: nowhere, may_open: |_| false }
    }

    fn broken() -> Vec<Finding> {
        vec![Finding::problem("simulator", "verilator", "not there", "install it")]
    }

    #[test]
    fn a_name_says_what_is_checked() {
        let levels = |name: &str| {
            let found = examine(name, &nothing(), Ids::with(""), broken);
            found.into_iter().map(|finding| (finding.subject, finding.check, finding.level)).collect::<Vec<_>>()
        };
        let simulator = |level| ("simulator".to_string(), "verilator", level);
        assert_eq!(levels("sim:loopback"), [simulator(Level::Problem)]);
        assert_eq!(
            levels(""),
            [simulator(Level::Warning), ("machine".into(), "cards", Level::Ok)],
            "a machine without cards is no problem"
        );
        for name in ["vfio:0000:65:00.0", "0000:65:00.0", "65:00.0"] {
            assert_eq!(levels(name), [("0000:65:00.0".into(), "identification", Level::Problem)], "{name}");
        }
        for name in ["vfio:65", "teapot"] {
            assert_eq!(levels(name), [(name.into(), "name", Level::Problem)], "{name}");
        }
        assert_eq!(levels("vfio-user:/a"), [("vfio-user:/a".into(), "name", Level::Ok)]);
        let ids = examine("", &nothing(), Ids::with("nonsense"), broken);
        assert!(ids.len() == 1 && ids[0].level == Level::Problem && ids[0].seen.contains("nonsense"), "{ids:?}");
    }

    #[test]
    fn the_simulators_tools_are_there_when_its_tests_run() {
        let found = simulator();
        let checks: Vec<_> = found.iter().map(|finding| finding.check).collect();
        assert_eq!(checks, ["verilator", "compiler", "home"]);
        assert!(found.iter().all(|finding| !finding.seen.is_empty()), "{found:?}");
    }
}
