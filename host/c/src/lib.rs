// SPDX-License-Identifier: Apache-2.0
//! Towpath for C: the public Rust API as functions of C, without logic of its own.
//!
//! Users read the documentation of the exported items: `bindings/c/include/towpath.h` is made of it, and the manual pages of the header. So
//! it uses the terms of C. Rules kept here:
//! - Every function that can fail goes through [`call`], the one border: no panic crosses it, and it keeps the text of
//!   the error.
//! - No pointer is used but through [`border::Caller`], which checks what can be checked.
//! - Handles are places in tables, and nothing is read through them ([`handle`]); structs that may grow carry their size
//!   ([`grows`]).
//! - What is exported stands in `bindings/c/libtowpath.map`, too, by hand: it is the promise to programs that were
//!   built before.
#![allow(non_camel_case_types)] // the names are C's
#![allow(clippy::missing_safety_doc)] // the header contains the safety contracts

mod border;
mod buffer;
mod channel;
mod device;
mod fill;
mod general;
mod grows;
mod handle;
mod interrupts;
mod memory;
mod pair;
mod partial;
mod plugin;
mod qos;
mod registers;
mod say;
mod status;
mod ticket;
mod tlplog;
mod transfer;

pub use border::call;
pub use buffer::*;
pub use channel::*;
pub use device::*;
pub use fill::*;
pub use general::*;
pub use interrupts::*;
pub use memory::*;
pub use pair::*;
pub use partial::*;
pub use plugin::*;
pub use qos::*;
pub use registers::*;
pub use say::*;
pub use status::*;
pub use ticket::*;
pub use tlplog::*;
pub use transfer::*;
