// SPDX-License-Identifier: Apache-2.0
//! Arguments as Python gives them. Each error names the argument, its value and what is allowed.

use std::ffi::CStr;
use std::fmt::Display;
use std::time::Duration;

use pyo3::prelude::*;
use towpath::ChannelName;

use crate::error;

/// As much of a value's representation as an error shows.
const SHOWN: usize = 60;

/// A value as errors show it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "?".to_string(), |repr| repr.to_string_lossy().into_owned());
    if text.chars().count() > SHOWN {
        return text.chars().take(SHOWN).chain("...".chars()).collect();
    }
    text
}

/// The argument has an invalid type.
fn wrong_type(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "?".to_string(), |name| name.to_string());
    error::of_class(value.py(), "ArgumentTypeError", &format!("{name}={} is of type {kind}; give {allowed}", shown(value)))
}

/// The argument's value is out of range.
fn out_of_range(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    error::of_class(value.py(), "RangeError", &format!("{name}={} is out of range; give {allowed}", shown(value)))
}

/// Has its type a method of this name, other than None?
fn has(value: &Bound<'_, PyAny>, method: &CStr) -> bool {
    method.to_str().is_ok_and(|method| value.get_type().getattr(method).is_ok_and(|found| !found.is_none()))
}

/// A whole number from 0 to `most`.
pub fn number<T: TryFrom<u64> + Into<u64> + Copy + Display>(name: &str, value: &Bound<'_, PyAny>, most: T) -> PyResult<T> {
    let allowed = || format!("a whole number from 0 to {most} ({:#x})", most.into());
    if !has(value, c"__index__") {
        return Err(wrong_type(name, value, &allowed()));
    }
    let number = value.extract::<u64>().ok().filter(|number| *number <= most.into());
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| out_of_range(name, value, &allowed()))
}

/// As [`number`]; None is None.
pub fn optional<T: TryFrom<u64> + Into<u64> + Copy + Display>(
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
    most: T,
) -> PyResult<Option<T>> {
    value.map(|value| number(name, value, most)).transpose()
}

/// Seconds.
pub fn seconds(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyResult<Duration> {
    if !has(value, c"__float__") && !has(value, c"__index__") {
        return Err(wrong_type(name, value, allowed));
    }
    let number = value.extract::<f64>().map_err(|_| out_of_range(name, value, allowed))?;
    Duration::try_from_secs_f64(number).map_err(|_| out_of_range(name, value, allowed))
}

/// Seconds for one call; None is no limit. The default of each call is ten.
#[derive(Clone, Copy)]
pub struct Limit(pub Option<Duration>);

impl Limit {
    pub const USUAL: Limit = Limit(Some(Duration::from_secs(10)));
}

impl<'a, 'py> FromPyObject<'a, 'py> for Limit {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Limit(None));
        }
        seconds("timeout", &value, "seconds from 0 to 1.8e19, or None to wait for ever").map(|time| Limit(Some(time)))
    }
}

/// Does the message end with this call?
#[derive(Clone, Copy)]
pub struct End(pub bool);

impl<'a, 'py> FromPyObject<'a, 'py> for End {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        value.extract::<bool>().map(End).map_err(|_| wrong_type("end", &value, "True or False"))
    }
}

/// Do the bytes move through pinned memory of the host?
#[derive(Clone, Copy)]
pub struct Staged(pub bool);

impl<'a, 'py> FromPyObject<'a, 'py> for Staged {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        value.extract::<bool>().map(Staged).map_err(|_| wrong_type("staged", &value, "True or False"))
    }
}

/// A channel's name or number.
pub fn channel(value: &Bound<'_, PyAny>) -> PyResult<ChannelName> {
    if let Ok(name) = value.extract::<String>() {
        return Ok(name.into());
    }
    if !has(value, c"__index__") {
        return Err(wrong_type("channel", value, "a channel's name (str) or number (int)"));
    }
    // A number that is too large is a channel that there is not, too.
    Ok(value.extract::<i64>().map_or_else(|_| shown(value).into(), ChannelName::from))
}

/// A text or a path.
pub fn text(name: &str, value: &Bound<'_, PyAny>, allowed: &str) -> PyResult<String> {
    let text = value.py().import("os")?.call_method1("fspath", (value,)).and_then(|text| text.extract::<String>());
    text.map_err(|_| wrong_type(name, value, allowed))
}

/// A register: its name, or its byte offset within the register window.
pub enum Place {
    Name(String),
    Offset(u32),
}

impl Place {
    pub fn of(value: &Bound<'_, PyAny>, window: u32) -> PyResult<Place> {
        let allowed = || format!("a register's name (str), or its byte offset: a multiple of 4 from 0 to {:#x}", window.saturating_sub(4));
        if let Ok(name) = value.extract::<String>() {
            return Ok(Place::Name(name));
        }
        if !has(value, c"__index__") {
            return Err(wrong_type("register", value, &allowed()));
        }
        value.extract::<u32>().map(Place::Offset).map_err(|_| out_of_range("register", value, &allowed()))
    }
}

/// A number of any size and sign, as far as it is one of an interrupt; `None`: there is none of it.
pub fn interrupt(value: &Bound<'_, PyAny>) -> PyResult<(Option<u16>, String)> {
    if !has(value, c"__index__") {
        return Err(wrong_type("interrupt", value, "an interrupt's number (int), counted from 0"));
    }
    Ok((value.extract::<u16>().ok(), shown(value)))
}
