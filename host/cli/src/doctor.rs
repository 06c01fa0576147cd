// SPDX-License-Identifier: Apache-2.0
//! `doctor`: the findings of the library's checks, as lines or as JSON.

use serde_json::json;
use towpath::{Finding, Level};

use crate::args::{Cli, Doctor};
use crate::exit::{Failure, Result, TRANSFER};
use crate::output::answer;

pub fn doctor(cli: &Cli, what: &Doctor) -> Result {
    let name = what.name.as_deref().or(cli.device.as_deref()).unwrap_or("");
    let findings = towpath::doctor(name);
    let list: Vec<_> = findings
        .iter()
        .map(|f| json!({"subject": f.subject, "check": f.check, "level": f.level.to_string(), "seen": f.seen, "remedy": f.remedy}))
        .collect();
    answer(cli, &json!({"findings": list}), &lines(&findings))?;
    match findings.iter().filter(|finding| finding.level == Level::Problem).count() {
        0 => Ok(()),
        1 => Err(Failure::new(TRANSFER, "1 problem")),
        count => Err(Failure::new(TRANSFER, format!("{count} problems"))),
    }
}

/// What was seen, and below it the command that corrects it.
fn lines(findings: &[Finding]) -> String {
    let width = |of: fn(&Finding) -> usize| findings.iter().map(of).max().unwrap_or(0);
    let (subject, check) = (width(|finding| finding.subject.len()), width(|finding| finding.check.len()));
    let mut text = String::new();
    for finding in findings {
        text += &format!("{:7}  {:subject$}  {:check$}  {}\n", finding.level, finding.subject, finding.check, finding.seen);
        if let Some(remedy) = &finding.remedy {
            text += &format!("         {remedy}\n");
        }
    }
    text
}
