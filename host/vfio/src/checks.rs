// SPDX-License-Identifier: Apache-2.0
//! Checks what has to be in order before a card can be opened, and names the command where it is not. Changes nothing.

use crate::system::{names, text, Function, System};
use crate::{Finding, Ids, Level};

const MACHINE: &str = "machine";
const MODULE: &str = "vfio-pci";
/// Buffers in flight take as much of what may be locked as they are long.
const COMFORTABLE: u64 = 256 << 20;
const CAP_IPC_LOCK: u64 = 1 << 14;
const BUS_MASTER: u8 = 1 << 2;
/// Flags of a resource: memory; has no address.
const MEMORY: u64 = 0x200;
const UNSET: u64 = 0x2000_0000;

/// What every card needs of the machine.
pub fn machine(system: &System) -> Vec<Finding> {
    vec![iommu(system), modules(system), memory(system)]
}

/// What this card needs besides. A device that is no card gets no other finding: its driver must not be taken from it.
pub fn card(system: &System, function: &Function, ids: &Ids) -> Vec<Finding> {
    let identified = identification(function, ids);
    if identified.level == Level::Problem {
        return vec![identified];
    }
    let mut findings = vec![identified];
    findings.extend(present(function));
    findings.push(driver(function));
    findings.extend(group(system, function));
    if function.driver.as_deref() == Some(MODULE) {
        findings.extend(function.group.map(|number| file(system, function, number)));
    }
    findings
}

/// What a card needs, with any driver.
pub fn present(function: &Function) -> [Finding; 3] {
    [answer(function), bars(function), link(function)]
}

/// The number of a card's group, if nothing stands in the way of opening it; otherwise what does.
pub fn ready(system: &System, function: &Function, ids: &Ids) -> Result<u32, Finding> {
    // The machine's side comes second: a wrong device's name is reported first.
    let identified = identification(function, ids);
    let all = std::iter::once(identified).chain(machine(system)).chain(card(system, function, ids));
    match (all.into_iter().find(|finding| finding.level == Level::Problem), function.group) {
        (Some(problem), _) => Err(problem),
        (None, Some(group)) => Ok(group),
        (None, None) => Err(no_group(function)),
    }
}

// --- the machine -------------------------------------------------------------------------------------------------------------

/// A command that adds to the kernel's command line.
fn boot_with(option: &str) -> String {
    format!("echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {option}\"' | sudo tee -a /etc/default/grub && sudo update-grub && sudo reboot")
}

fn iommu(system: &System) -> Finding {
    let units: Vec<String> = names(&system.sys.join("class/iommu")).collect();
    let groups = names(&system.sys.join("kernel/iommu_groups")).count();
    if !units.is_empty() && groups > 0 {
        return Finding::ok(MACHINE, "iommu", format!("the IOMMU is on ({} units, {groups} groups)", units.len()));
    }
    let line = text(&system.proc.join("cmdline")).unwrap_or_default();
    let options: Vec<&str> = line.split_whitespace().collect();
    if let Some(off) = options.iter().find(|option| ["iommu=off", "intel_iommu=off", "amd_iommu=off"].contains(option)) {
        let seen = format!("the IOMMU is switched off: \"{off}\" stands on the kernel's command line");
        let remedy = format!("sudo sed -i 's/ *\\b{off}\\b//' /etc/default/grub && sudo update-grub && sudo reboot");
        return Finding::problem(MACHINE, "iommu", seen, remedy);
    }
    let of_intel = text(&system.proc.join("cpuinfo")).is_some_and(|text| text.contains("GenuineIntel"));
    let asked = options.iter().any(|option| option.strip_prefix("intel_iommu=").is_some_and(|values| values.split(',').any(|v| v == "on")));
    if of_intel && !asked {
        return Finding::problem(
            MACHINE,
            "iommu",
            "the IOMMU is off: there are no IOMMU groups, and the kernel was not told to switch it on",
            boot_with("intel_iommu=on"),
        );
    }
    Finding::problem(
        MACHINE,
        "iommu",
        "there is no IOMMU: the kernel found none, although nothing keeps it from looking",
        "sudo systemctl reboot --firmware-setup # and switch on there what is called VT-d, AMD-Vi or IOMMU",
    )
}

fn modules(system: &System) -> Finding {
    let missing: Vec<&str> = [(MODULE, "bus/pci/drivers/vfio-pci"), ("vfio_iommu_type1", "module/vfio_iommu_type1")]
        .into_iter()
        .filter(|(_, path)| !system.sys.join(path).exists())
        .map(|(name, _)| name)
        .collect();
    if !missing.is_empty() {
        let seen = format!("not loaded: {}", missing.join(", "));
        return Finding::problem(MACHINE, "modules", seen, format!("sudo modprobe -a {}", missing.join(" ")));
    }
    let container = system.dev.join("vfio/vfio");
    if !container.exists() {
        let seen = "/dev/vfio/vfio is not there, though the modules are loaded";
        return Finding::problem(MACHINE, "modules", seen, "sudo udevadm trigger && sudo udevadm settle");
    }
    if !(system.may_open)(&container) {
        let seen = "this user may not open /dev/vfio/vfio, which is meant for everybody";
        return Finding::problem(MACHINE, "modules", seen, "sudo chmod 0666 /dev/vfio/vfio");
    }
    Finding::ok(MACHINE, "modules", "vfio-pci and vfio_iommu_type1 are loaded")
}

/// How much memory may be pinned for cards.
pub fn memory(system: &System) -> Finding {
    let status = text(&system.proc.join("self/status")).unwrap_or_default();
    let rights = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(|bits| u64::from_str_radix(bits.trim(), 16).unwrap_or(0));
    if rights.is_some_and(|rights| rights & CAP_IPC_LOCK != 0) {
        return Finding::ok(MACHINE, "memory", "this process may lock any amount of memory (CAP_IPC_LOCK)");
    }
    let limits = text(&system.proc.join("self/limits")).unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max locked memory")?.split_whitespace().next());
    match limit.map(str::parse::<u64>) {
        Some(Ok(bytes)) if bytes < COMFORTABLE => Finding::warning(
            MACHINE,
            "memory",
            format!("this user may lock {} KiB of memory: no more than that can be registered or in flight together", bytes >> 10),
            "sudo prlimit --memlock=unlimited --pid $$ # for this shell; for good, from the next login on: echo \"$USER - memlock unlimited\" | \
             sudo tee /etc/security/limits.d/towpath.conf",
        ),
        Some(Ok(bytes)) => Finding::ok(MACHINE, "memory", format!("this user may lock {} MiB of memory", bytes >> 20)),
        _ => Finding::ok(MACHINE, "memory", "this user may lock any amount of memory"),
    }
}

// --- a card ------------------------------------------------------------------------------------------------------------------

fn identification(function: &Function, ids: &Ids) -> Finding {
    let id = format!("{:04x}:{:04x}", function.vendor, function.device);
    if ids.contains(function.vendor, function.device) {
        return Finding::ok(function.address, "identification", id);
    }
    let seen = format!("{id} is not the identification of a Towpath card (those are {ids})");
    Finding::problem(
        function.address,
        "identification",
        seen,
        format!("export {}={id} # if it is one all the same", crate::ids::ENVIRONMENT),
    )
}

/// Commands that make the kernel scan the card's slot again.
fn look_again(function: &Function) -> String {
    format!("echo 1 | sudo tee /sys/bus/pci/devices/{}/remove; echo 1 | sudo tee /sys/bus/pci/rescan", function.address)
}

fn answer(function: &Function) -> Finding {
    match function.configuration() {
        Some(bytes) if bytes[..2] == [0xff; 2] => {
            let seen = "the card does not answer: its link is down, or its FPGA was configured anew since the machine started";
            Finding::problem(function.address, "answer", seen, look_again(function))
        }
        Some(bytes) => {
            let state = if bytes[4] & BUS_MASTER != 0 { "on" } else { "off until it is opened" };
            Finding::ok(function.address, "answer", format!("the card answers; bus mastering is {state}"))
        }
        None => Finding::warning(function.address, "answer", "its configuration space cannot be read", look_again(function)),
    }
}

fn bars(function: &Function) -> Finding {
    let bars: Vec<(usize, u64, std::ops::Range<u64>)> = function
        .resources()
        .into_iter()
        .take(6)
        .enumerate()
        .filter(|(_, (flags, _))| flags & MEMORY != 0)
        .map(|(number, (flags, range))| (number, flags, range))
        .collect();
    if let Some((number, ..)) = bars.iter().find(|(_, flags, range)| flags & UNSET != 0 || range.start == 0) {
        let seen = format!("BAR {number} has no address: firmware and kernel found no room for it");
        return Finding::problem(function.address, "bars", seen, boot_with("pci=realloc"));
    }
    if bars.first().is_none_or(|(number, ..)| *number != 0) {
        return Finding::problem(
            function.address,
            "bars",
            "the card has no BAR 0: no Towpath bit stream is configured",
            look_again(function),
        );
    }
    let sizes: Vec<String> =
        bars.iter().map(|(number, _, range)| format!("BAR {number}: {} KiB", (range.end - range.start) >> 10)).collect();
    Finding::ok(function.address, "bars", sizes.join(", "))
}

fn link(function: &Function) -> Finding {
    let of = |folder: &std::path::Path, what: &str| text(&folder.join(what)).filter(|text| !text.is_empty());
    let [speed, width, best_speed, best_width] =
        ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"].map(|what| of(&function.path, what));
    let (Some(speed), Some(width), Some(best_speed), Some(best_width)) = (speed, width, best_speed, best_width) else {
        return Finding::ok(function.address, "link", "the kernel does not tell of a link");
    };
    let number = |text: &str| text.split_whitespace().next().and_then(|digits| digits.parse::<f64>().ok()).unwrap_or(0.0);
    // A device that is part of the processor's own, or an emulated one, has none.
    if number(&speed) == 0.0 || number(&best_speed) == 0.0 {
        return Finding::ok(function.address, "link", "the kernel does not tell of a link");
    }
    let now = format!("{speed}, {width} lanes");
    if number(&speed) >= number(&best_speed) && number(&width) >= number(&best_width) {
        return Finding::ok(function.address, "link", now);
    }
    let slot = std::fs::canonicalize(&function.path).ok().and_then(|path| path.parent().map(std::path::Path::to_path_buf));
    let slot = slot.and_then(|slot| Some((of(&slot, "max_link_speed")?, of(&slot, "max_link_width")?)));
    let narrow = slot.filter(|(speed, width)| number(speed) < number(&best_speed) || number(width) < number(&best_width));
    let (why, remedy) = match narrow {
        Some((speed, width)) => {
            (format!("; its slot has no more than {speed}, {width} lanes"), "# put the card into a better slot".to_string())
        }
        None => (
            String::new(),
            format!(
                "sudo lspci -vv -s {} | grep Lnk # what holds the link back, rest states included; or seat the card again",
                function.address
            ),
        ),
    };
    Finding::warning(function.address, "link", format!("{now}, of {best_speed}, {best_width} lanes that the card could have{why}"), remedy)
}

/// The command that binds a function to vfio-pci.
pub fn bind(function: &Function) -> String {
    let (device, name) = (format!("/sys/bus/pci/devices/{}", function.address), function.address);
    let unbind = if function.driver.is_some() { format!("echo {name} > {device}/driver/unbind; ") } else { String::new() };
    format!("sudo sh -c 'modprobe vfio-pci; echo {MODULE} > {device}/driver_override; {unbind}echo {name} > /sys/bus/pci/drivers_probe'")
}

fn driver(function: &Function) -> Finding {
    match function.driver.as_deref() {
        Some(MODULE) => Finding::ok(function.address, "driver", "the card belongs to vfio-pci"),
        Some(other) => {
            let seen = format!("the card has another driver, {other}: whoever uses it through that must have ended");
            Finding::problem(function.address, "driver", seen, bind(function))
        }
        None => Finding::problem(function.address, "driver", "the card has no driver", bind(function)),
    }
}

fn no_group(function: &Function) -> Finding {
    let seen = "the card is in no IOMMU group: no IOMMU translates for its slot";
    Finding::problem(function.address, "group", seen, "sudo dmesg | grep -i -e iommu -e dmar -e ivrs # what the kernel says of it")
}

fn group(system: &System, function: &Function) -> Vec<Finding> {
    let Some(number) = function.group else { return vec![no_group(function)] };
    let folder = system.sys.join(format!("kernel/iommu_groups/{number}"));
    if text(&folder.join("name")).is_some_and(|name| name == "vfio-noiommu") {
        let seen = "the card was given to vfio-pci without an IOMMU (noiommu), which cannot give it memory";
        let remedy = iommu(system).remedy.unwrap_or_else(|| bind(function));
        return vec![Finding::problem(function.address, "group", seen, remedy)];
    }
    let others: Vec<Function> = names(&folder.join("devices"))
        .filter_map(|name| name.parse().ok())
        .filter(|address| *address != function.address)
        .filter_map(|address| Function::read(system, address))
        .filter(|other| !other.is_bridge())
        .collect();
    let foreign = |other: &&Function| other.driver.as_deref().is_some_and(|driver| driver != MODULE && driver != "pci-stub");
    let mut found: Vec<Finding> = others
        .iter()
        .filter(foreign)
        .map(|other| {
            let driver = other.driver.as_deref().unwrap_or_default();
            let seen = format!(
                "its IOMMU group {number} also holds {}, which has driver {driver}; the whole group must belong to vfio-pci",
                other.address
            );
            Finding::problem(function.address, "group", seen, format!("{} # or put the card into another slot", bind(other)))
        })
        .collect();
    if found.is_empty() {
        let with = others.iter().map(|other| other.address.to_string()).collect::<Vec<_>>();
        let with =
            if with.is_empty() { String::new() } else { format!(", with {}: programs share or block each other there", with.join(", ")) };
        found.push(Finding::ok(function.address, "group", format!("IOMMU group {number}{with}")));
    }
    found
}

fn file(system: &System, function: &Function, number: u32) -> Finding {
    let path = system.dev.join(format!("vfio/{number}"));
    let shown = format!("/dev/vfio/{number}");
    if !path.exists() {
        let seen = format!("{shown} is not there, though the card belongs to vfio-pci");
        return Finding::problem(function.address, "file", seen, "sudo udevadm trigger && sudo udevadm settle");
    }
    if !(system.may_open)(&path) {
        let seen = format!("this user may not open {shown}");
        let remedy = format!("sudo chown $USER {shown} # until the next boot; for good by a udev rule: see docs/guide/vfio.md");
        return Finding::problem(function.address, "file", seen, remedy);
    }
    Finding::ok(function.address, "file", format!("this user may open {shown}"))
}
