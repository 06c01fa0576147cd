// SPDX-License-Identifier: Apache-2.0
//! What the kernel's refusals mean, and what to do about them.

use std::fmt;
use std::io;
use towpath_bus::BusError;
use towpath_driver::Error;
use towpath_system::errno;

/// Why a card could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// There is no such card; contains what is there instead.
    NotThere(String),
    /// The machine must be prepared first.
    NotReady {
        /// What was seen.
        seen: String,
        /// The command to run; after a `#`, a remark.
        remedy: String,
    },
    /// Anything else.
    Failed(Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NotThere(why) => f.write_str(why),
            OpenError::NotReady { seen, remedy } => write!(f, "{seen}; mend this: {remedy}"),
            OpenError::Failed(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// How a user gets access.
pub const RIGHTS: &str = "sudo usermod -a -G towpath \"$USER\" # with the rule in driver/linux/packaging, and from the next login on";
/// How module and library are brought to the same version.
pub(crate) const RENEW: &str =
    "# build and load the kernel module of this library's version (driver/linux), or install the library of the module's";

/// The reasons why a card is lost permanently.
pub(crate) fn is_end(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(errno::ENODEV | errno::EIO))
}

/// A request that the kernel refused.
pub(crate) fn refused(doing: String, why: io::Error) -> Error {
    let source = match why.raw_os_error() {
        Some(errno::ENODEV) => BusError::Gone("it was unplugged, or taken from its driver; open it again when `towpath list` shows it".into()),
        Some(errno::EIO) => BusError::Gone(
            "it did not do what it was told, so the kernel keeps it from all memory until the driver is bound to it again; `dmesg` has more"
                .into(),
        ),
        Some(errno::ENOLINK) => BusError::Gone("its link is down, or it does not answer; open the device again when `towpath doctor` finds it well".into()),
        Some(errno::EPROTO) => {
            BusError::System("its transfers were collected by somebody else, such as a child of fork: open the channel again".into(), why)
        }
        Some(errno::ENOMEM) => BusError::System(
            "too little memory may be pinned, or there is none; `ulimit -l` is the limit in KiB, and `towpath doctor` says how to raise it".into(),
            why,
        ),
        Some(errno::EFAULT) => BusError::System("the memory cannot be pinned: it is not the program's, or of a kind that stays elsewhere".into(), why),
        Some(errno::EACCES | errno::EPERM) => BusError::System(format!("this user may not; mend this: {RIGHTS}"), why),
        Some(errno::ENOTTY | errno::E2BIG) => BusError::System(format!("the kernel module speaks another contract; mend this: {RENEW}"), why),
        _ => BusError::System("the kernel module".into(), why),
    };
    Error::Bus { doing, source, bytes: None }
}
