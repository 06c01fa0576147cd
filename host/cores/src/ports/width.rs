// SPDX-License-Identifier: Apache-2.0
//! The width of the data, for a core's module that has a parameter for it.

use super::{Elaborated, Module, Verilator, Warnings, WIDTH};
use crate::CoreError;
use std::path::Path;

impl Module<'_> {
    /// With the path's width, and with a parameter of the core's family, each if the module has such a parameter.
    pub(super) fn elaborate_at(
        &mut self,
        verilator: &Verilator,
        width: u32,
        own: Option<(&'static str, String)>,
        scratch: &Path,
        warnings: &Warnings,
    ) -> Result<Elaborated, CoreError> {
        let (mut width, mut own) = (Some(width), own);
        self.parameters.extend(own.clone());
        // Verilator refuses a parameter that the module does not have, and only the elaborated module shows it: try with all, then without.
        loop {
            let unknown = match self.elaborate(verilator, width, scratch, warnings)? {
                Ok(mut top) => {
                    top.given = own;
                    return Ok(Ok(top));
                }
                Err(unknown) => unknown,
            };
            let lacks = |name: &str| unknown.iter().any(|lacking| lacking == name);
            let without = own.as_ref().is_some_and(|(name, _)| lacks(name));
            let ours = usize::from(width.is_some() && lacks(WIDTH)) + usize::from(without);
            if ours < unknown.len() || ours == 0 {
                let of_family = own.as_ref().map_or(WIDTH, |(name, _)| name);
                return Ok(Err(unknown.into_iter().filter(|name| name != WIDTH && name != of_family).collect()));
            }
            width = width.filter(|_| !lacks(WIDTH));
            if without {
                self.parameters.pop();
                own = None;
            }
        }
    }
}
