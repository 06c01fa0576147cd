// SPDX-License-Identifier: Apache-2.0
//! Checks what has to be in order before a device can be opened: the simulator, the machine, its cards.

use crate::cards;
use towpath_kmod::{MODULE, RIGHTS};
use towpath_vfio::{checks, fabric, Address, Finding, Function, Ids, Level, System};

/// Which devices the checks are about.
enum Wanted {
    All,
    Simulator,
    Card(Address),
    /// One that the kernel module holds, by the folder of its files.
    Held(String),
}

/// Check what the device of that name needs: `sim:CORE` (the simulator's tools), `vfio:0000:65:00.0`, a bare address or `/dev/towpath0`
/// (that card); the empty name stands for the simulator and every card there is. Changes nothing. Each finding reports what was seen, and
/// what corrects it.
pub fn doctor(name: &str) -> Vec<Finding> {
    match cards::stands_for(name) {
        Ok(name) => examine(&name, &System::here(), Ids::from_environment(), simulator),
        Err(why) => vec![Finding::problem(name, "name", why.to_string(), "towpath list")],
    }
}

fn wanted(name: &str) -> Result<Wanted, Finding> {
    let address = |text: &str| text.parse().map(Wanted::Card).map_err(|why: String| Finding::problem(name, "name", why, "towpath list"));
    if name.starts_with('/') {
        return Ok(Wanted::Held(name.trim_end_matches('/').into()));
    }
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
            Some(function) => {
                let mut findings = of_cards(system, std::slice::from_ref(&function), &ids);
                let others = system.cards(&ids).into_iter().filter(|other| other.address != address);
                findings.extend(others.map(|other| pair(system, &function, &other)));
                findings
            }
            None => vec![Finding::problem(
                address,
                "identification",
                format!("no device of PCI is at {address}"),
                "lspci -D # shows which there are; look again: echo 1 | sudo tee /sys/bus/pci/rescan",
            )],
        },
        Wanted::Held(name) => {
            let card = towpath_kmod::cards(&system.sys).into_iter().find(|card| card.name == name);
            let address = card.and_then(|card| card.address?.parse().ok());
            match address.and_then(|address| Function::read(system, address)) {
                Some(function) => of_cards(system, &[function], &ids),
                None => vec![Finding::problem(
                    name,
                    "name",
                    "the kernel module holds no card of this name",
                    "sudo modprobe towpath && towpath list",
                )],
            }
        }
        // A machine without cards does not need what cards need, and one with cards may do without the simulator.
        Wanted::All => {
            let cards = system.cards(&ids);
            let boards = if cards.is_empty() {
                let seen = format!("no card is on this machine (looked for: {ids})");
                vec![Finding::ok("machine", "cards", seen)]
            } else {
                let pairs = cards.iter().enumerate().flat_map(|(n, one)| cards[n + 1..].iter().map(move |other| (one, other)));
                let ways: Vec<_> = pairs.map(|(one, other)| pair(system, one, other)).collect();
                of_cards(system, &cards, &ids).into_iter().chain(ways).collect()
            };
            simulator().into_iter().map(as_warning).chain(boards).collect()
        }
    }
}

/// What the machine needs depends on the holder of the cards: the kernel module needs no IOMMU and no VFIO.
fn of_cards(system: &System, cards: &[Function], ids: &Ids) -> Vec<Finding> {
    let held = |card: &&Function| card.driver.as_deref() == Some(MODULE);
    let mut findings = if cards.iter().all(|card| held(&card)) { vec![checks::memory(system)] } else { checks::machine(system) };
    for card in cards {
        findings.extend(if held(&card) { of_held(system, card) } else { checks::card(system, card, ids) });
    }
    findings
}

/// Whether the two can be paired; the kernel module makes no pairs.
fn pair(system: &System, one: &Function, other: &Function) -> Finding {
    let way = fabric::between(system, one, other);
    let held: Vec<_> = [one, other].into_iter().filter(|card| card.driver.as_deref() == Some(MODULE)).collect();
    if held.is_empty() {
        return way;
    }
    let names = held.iter().map(|card| card.address.to_string()).collect::<Vec<_>>().join(" and ");
    let seen = format!("the kernel module, which has {names}, makes no pairs; through VFIO: {}", way.seen);
    let remedy = held.into_iter().map(checks::bind).collect::<Vec<_>>().join("; ");
    Finding::warning(way.subject, way.check, seen, remedy)
}

/// What a card needs that the kernel module holds.
fn of_held(system: &System, function: &Function) -> Vec<Finding> {
    let address = function.address;
    let mut findings = checks::present(function).to_vec();
    let Some(card) = towpath_kmod::cards(&system.sys).into_iter().find(|card| card.address == Some(address.to_string())) else {
        let seen = "the kernel module has the card, but has made no files of it";
        findings.push(Finding::problem(address, "driver", seen, "sudo dmesg | grep towpath # what the module says of it"));
        return findings;
    };
    findings.push(Finding::ok(address, "driver", format!("the kernel module holds the card: {}, core \"{}\"", card.name, card.core)));
    let control = system.dev.join(card.name.trim_start_matches("/dev/")).join("control");
    findings.push(if !control.exists() {
        let seen = format!("{}/control is not there, though the kernel module holds the card", card.name);
        Finding::problem(address, "file", seen, "sudo udevadm trigger && sudo udevadm settle")
    } else if (system.may_open)(&control) {
        Finding::ok(address, "file", format!("this user may open {}/control", card.name))
    } else {
        Finding::problem(address, "file", format!("this user may not open {}/control", card.name), RIGHTS)
    });
    findings
}

fn as_warning(finding: Finding) -> Finding {
    Finding { level: finding.level.min(Level::Warning), ..finding }
}

#[cfg(not(feature = "sim"))]
fn simulator() -> Vec<Finding> {
    Vec::new()
}

#[cfg(feature = "sim")]
fn simulator() -> Vec<Finding> {
    let finding = |(check, found): (&'static str, Result<String, towpath_cores::CoreError>)| match found {
        Ok(seen) => Finding::ok("simulator", check, seen),
        Err(why) => Finding { level: Level::Problem, ..Finding::ok("simulator", check, why.to_string()) },
    };
    towpath_cores::needs().into_iter().map(finding).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
        assert_eq!(levels("/dev/towpath0"), [("/dev/towpath0".into(), "name", Level::Problem)]);
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

    #[test]
    fn a_card_that_the_kernel_module_holds_needs_its_files_and_no_vfio() {
        let place = std::env::temp_dir().join(format!("towpath-held-{}", std::process::id()));
        let device = place.join("bus/pci/devices/0000:65:00.0");
        let held = place.join("class/towpath/towpath3!control");
        for folder in [&device, &held, &place.join("towpath3")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let files = [("vendor", "0x1234"), ("device", "0x7470"), ("config", &"x".repeat(64)), ("resource", "0x1000 0x1fff 0x200\n")];
        files.iter().for_each(|(name, text)| std::fs::write(device.join(name), text).unwrap());
        std::os::unix::fs::symlink(place.join("bus/pci/drivers/towpath"), device.join("driver")).unwrap();
        let system = System { sys: place.clone(), dev: place.clone(), proc: place.clone(), may_open: |_| false };
        let problems = |name: &str, system: &System| {
            let found = examine(name, system, Ids::with(""), broken);
            assert!(found.iter().all(|finding| !["iommu", "modules", "group"].contains(&finding.check)), "{found:?}");
            let bad = |finding: &Finding| finding.level == Level::Problem;
            found.into_iter().filter(bad).map(|finding| (finding.check, finding.seen)).collect::<Vec<_>>()
        };
        let without = problems("65:00.0", &system);
        assert!(without.len() == 1 && without[0].1.contains("no files"), "{without:?}");
        std::os::unix::fs::symlink(&device, held.join("device")).unwrap();
        let missing = problems("/dev/towpath3", &system);
        assert!(missing.len() == 1 && missing[0].1.contains("not there"), "{missing:?}");
        std::fs::write(place.join("towpath3/control"), "").unwrap();
        let closed = problems("/dev/towpath3/", &system);
        assert!(closed.len() == 1 && closed[0] == ("file", "this user may not open /dev/towpath3/control".into()), "{closed:?}");
        assert_eq!(problems("65:00.0", &System { may_open: |_| true, ..system }), []);
        std::fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn each_two_cards_have_a_finding_of_their_own() {
        let place = std::env::temp_dir().join(format!("towpath-pairs-{}", std::process::id()));
        let listed = place.join("bus/pci/devices");
        std::fs::create_dir_all(&listed).unwrap();
        for (port, address) in [("01", "0000:65:00.0"), ("02", "0000:66:00.0"), ("03", "0000:67:00.0")] {
            let device = place.join(format!("devices/pci0000:00/0000:00:{port}.0/{address}"));
            std::fs::create_dir_all(&device).unwrap();
            [("vendor", "0x1234"), ("device", "0x7470")].iter().for_each(|(name, text)| std::fs::write(device.join(name), text).unwrap());
            std::os::unix::fs::symlink(&device, listed.join(address)).unwrap();
        }
        let system = System { sys: place.clone(), dev: place.clone(), proc: place.clone(), may_open: |_| false };
        let pairs = |name: &str| {
            let found = examine(name, &system, Ids::with(""), broken);
            found.into_iter().filter(|finding| finding.check == "peers").map(|finding| finding.subject).collect::<Vec<_>>()
        };
        let [one, two, three] = ["0000:65:00.0", "0000:66:00.0", "0000:67:00.0"];
        let all = [format!("{one} and {two}"), format!("{one} and {three}"), format!("{two} and {three}")];
        assert_eq!(pairs(""), all);
        assert_eq!(pairs(two), [format!("{two} and {one}"), format!("{two} and {three}")]);
        // The kernel module makes none: it is said how VFIO gets the cards.
        std::os::unix::fs::symlink(place.join("bus/pci/drivers/towpath"), listed.join(one).join("driver")).unwrap();
        let found = examine("", &system, Ids::with(""), broken);
        let ways: Vec<_> = found.into_iter().filter(|finding| finding.check == "peers").collect();
        assert_eq!(ways.len(), 3);
        for (way, held) in ways.iter().zip([true, true, false]) {
            let remedy = way.remedy.as_deref().unwrap();
            let text = way.to_string();
            assert_eq!(way.seen.contains(&format!("which has {one}, makes no pairs")), held, "{text}");
            assert_eq!(remedy.contains(&format!("echo {one} > /sys/bus/pci/devices/{one}/driver/unbind")), held, "{text}");
            assert!(way.seen.contains("different root ports") && !remedy.contains(&format!("{two}/driver")), "{text}");
        }
        std::fs::remove_dir_all(&place).unwrap();
    }
}
