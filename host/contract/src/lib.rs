// SPDX-License-Identifier: Apache-2.0
//! Constants and structs that host and card agree on, generated from `contract/towpath.rdl`. What they mean is in `contract/protocol.md`.
//!
//! Not for programs: they use crate `towpath`.
#![no_std]

mod generated; // a link to contract/generated/towpath.rs
pub use generated::*;
