// SPDX-License-Identifier: Apache-2.0
//! The library's errors as the package's exceptions, and its named tuples. Both are defined in Python (`_errors.py`, `_types.py`), where a
//! class can have two parents.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyTuple};
use towpath::{Error, Status};

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::UnknownScheme { .. } | Error::NoSuchDevice { .. } | Error::NoSuchChannel { .. } | Error::NoSuchMemory { .. } => {
            "NotFoundError"
        }
        Error::WrongDirection { .. }
        | Error::WrongKind { .. }
        | Error::ChannelInUse { .. }
        | Error::Paired { .. }
        | Error::UnknownTicket { .. }
        | Error::BufferInUse
        | Error::Forked
        | Error::Invalid(_)
        | Error::Unavailable(_) => "UsageError",
        Error::QueueFull { .. } => "QueueFullError",
        Error::Core { .. } | Error::Bus { source: towpath::BusError::Stopped(_), .. } => "CoreError",
        Error::NotTowpath { .. } | Error::Version { .. } | Error::Discovery { .. } => "VersionError",
        Error::Cancelled { .. }
        | Error::Interrupted { .. }
        | Error::Reset { .. }
        | Error::Fault { .. }
        | Error::Kind { .. }
        | Error::Protocol { .. } => "TransferError",
        Error::Bus { .. } | Error::Memory { .. } | Error::NotReady { .. } => "DeviceError",
        Error::Register { .. } => "RegisterError",
        other if other.is_timeout() => "TimeoutError",
        _ => "Error",
    }
}

/// The exception for a library's error.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    let status = match &error {
        Error::Cancelled { .. } => Some("cancelled".to_string()),
        Error::Reset { .. } => Some("reset".to_string()),
        Error::Fault { status, .. } => Some(status.to_string()),
        Error::Kind { number, .. } => Some(Status::Kind(*number).to_string()),
        _ => None,
    };
    let number = if let Error::Kind { number, .. } = &error { Some(*number) } else { None };
    exception(py, class_of(&error), &error.to_string(), error.channel(), error.bytes().unwrap_or(0), (status, number))
}

type EndedWith = (Option<String>, Option<u8>);

fn exception(py: Python<'_>, class: &str, message: &str, channel: Option<&str>, bytes: u64, (status, number): EndedWith) -> PyErr {
    let made = py.import("towpath._errors").and_then(|module| module.getattr(class)).and_then(|class| {
        let arguments = (message, channel, bytes, status, number);
        class.call1(arguments)
    });
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// An exception of one of the package's classes, by its name.
pub fn of_class(py: Python<'_>, class: &str, message: &str) -> PyErr {
    exception(py, class, message, None, 0, (None, None))
}

/// The call is invalid.
pub fn usage(py: Python<'_>, message: &str) -> PyErr {
    of_class(py, "UsageError", message)
}

/// One of the package's named tuples, by its name.
pub fn tuple<'py, A>(py: Python<'py>, class: &str, values: A) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
{
    let values = values.into_pyobject(py)?;
    py.import("towpath._types")?.getattr(class)?.call1(values)
}

/// The same by names, for those with many fields.
pub fn named<'py>(py: Python<'py>, class: &str, values: impl IntoPyDict<'py>) -> PyResult<Bound<'py, PyAny>> {
    py.import("towpath._types")?.getattr(class)?.call((), Some(&values.into_py_dict(py)?))
}
