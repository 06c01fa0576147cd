// SPDX-License-Identifier: Apache-2.0
//! Runs a plan and shows what came out, as tables in Markdown and as a list of rows.

use std::fmt::Write;

use serde_json::Value;

use crate::case::{bytes, Case, Descriptor, Notify, Row, Way};
use crate::measure::measure;
use crate::plan::{Goal, Table};
use crate::BenchError;

/// What a plan came to.
#[derive(Debug)]
pub struct Report {
    tables: Vec<Table>,
    rows: Vec<Row>,
    missing: Vec<(Case, String)>,
}

/// Measure every case of a plan, each once. `progress` is told which; a case that cannot be measured yet is left out, any other failure ends
/// the run.
pub fn run(tables: Vec<Table>, progress: &(dyn Fn(&str) + Sync)) -> Result<Report, BenchError> {
    let mut report = Report { tables: Vec::new(), rows: Vec::new(), missing: Vec::new() };
    for table in &tables {
        progress(table.title);
        for planned in &table.cases {
            if report.of(&planned.case).next().is_some() || report.missing.iter().any(|(case, _)| *case == planned.case) {
                continue;
            }
            match measure(&planned.case, progress) {
                Ok(rows) => report.rows.extend(rows),
                Err(BenchError::NotYet(why)) => report.missing.push((planned.case, why)),
                Err(BenchError::Wrong(why)) => return Err(BenchError::Wrong(format!("{}: {why}", planned.case))),
                Err(error) => {
                    progress(&format!("failed: {}", planned.case));
                    return Err(error);
                }
            }
        }
    }
    report.tables = tables;
    Ok(report)
}

/// A row against its goal.
struct Verdict {
    reached: String,
    target: String,
    bound: String,
    /// None without a target.
    met: Option<bool>,
}

impl Report {
    /// All rows, in the order of the plan.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// As `--json` writes them.
    pub fn json(&self) -> Value {
        Value::Array(self.rows.iter().map(Row::json).collect())
    }

    /// Rows that miss their targets, and cases that could not be measured, one line each.
    pub fn shortfalls(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for planned in self.tables.iter().flat_map(|table| &table.cases) {
            for (row, goal) in self.of(&planned.case).zip(planned.goals) {
                let verdict = self.verdict(row, goal);
                if verdict.met == Some(false) {
                    lines.push(format!("{}: {} of {} ({})", row.direction, verdict.reached, verdict.target, row.case));
                }
            }
        }
        lines.extend(self.missing.iter().map(|(case, why)| format!("{case}: not measured: {why}")));
        lines
    }

    fn of<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |row| row.case == *case)
    }

    /// The row of the same direction of another case.
    fn other(&self, row: &Row, case: &Case) -> Option<&Row> {
        self.rows.iter().find(|other| other.case == *case && other.direction == row.direction)
    }

    fn verdict(&self, row: &Row, goal: Goal) -> Verdict {
        let percent = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.2}"));
        let at_least = |value: Option<f64>, target: f64, text: String, bound: String| Verdict {
            reached: percent(value),
            target: text,
            bound,
            met: value.map(|value| value >= target),
        };
        let unknown = |value: Option<f64>| Verdict { reached: percent(value), target: "?".into(), bound: String::new(), met: Some(false) };
        let (all, flow) = (row.end_to_end_percent, row.while_data_flows_percent);
        match goal {
            Goal::None => Verdict { reached: percent(all), target: String::new(), bound: String::new(), met: None },
            Goal::EndToEnd(target, bound) => at_least(all, target, format!("{target}"), format!("{bound}")),
            Goal::Flow(target, bound) => at_least(flow, target, format!("{target} flowing"), format!("{bound}")),
            Goal::Nanoseconds(most) => Verdict {
                reached: format!("{:.0} ns", row.nanoseconds),
                target: format!("{most:.0} ns"),
                bound: String::new(),
                met: Some(row.nanoseconds <= most),
            },
            Goal::EndToEndNear(points, case) => match self.other(row, &case).and_then(|other| other.end_to_end_percent) {
                Some(other) => at_least(all, other - points, format!("{:.2}", other - points), format!("{other:.2}")),
                None => unknown(all),
            },
            Goal::FlowNear(points, case) => match self.other(row, &case).and_then(|other| other.while_data_flows_percent) {
                Some(other) => at_least(flow, other - points, format!("{:.2} flowing", other - points), String::from("100")),
                None => unknown(flow),
            },
            Goal::Shared(part, case, spread) => match self.other(row, &case).and_then(|other| other.while_data_flows_percent) {
                Some(other) => {
                    let target = other * part / 100.0;
                    let even = row.spread_percent.unwrap_or(f64::INFINITY);
                    Verdict {
                        reached: format!("{}, shares within {even:.2}", percent(flow)),
                        target: format!("{target:.2} flowing, shares within {spread}"),
                        bound: String::new(),
                        met: flow.map(|flow| flow >= target && even <= spread),
                    }
                }
                None => unknown(flow),
            },
        }
    }

    /// All tables, in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            let _ = writeln!(text, "### {}\n", table.title);
            let goals = table.cases.iter().any(|planned| planned.goals != [Goal::None, Goal::None]);
            text += "| direction | size | link and host | wait | end to end | while data flows | header-only limit | ns a message |";
            text += if goals { " target | bound | |\n" } else { "\n" };
            text += "|---|---|---|---|---|---|---|---|";
            text += if goals { "---|---|---|\n" } else { "\n" };
            for planned in &table.cases {
                for (row, goal) in self.of(&planned.case).zip(planned.goals) {
                    text += &line(row);
                    if goals {
                        let verdict = self.verdict(row, goal);
                        let spread = row.spread_percent.map_or(String::new(), |spread| format!(" (shares within {spread:.2})"));
                        let mark = match verdict.met {
                            None => String::new(),
                            Some(met) => format!("{}{spread}", if met { "met" } else { "**missed**" }),
                        };
                        let _ = write!(text, " {} | {} | {mark} |", verdict.target, verdict.bound);
                    }
                    text.push('\n');
                }
                if let Some((case, why)) = self.missing.iter().find(|(case, _)| *case == planned.case) {
                    let _ = write!(
                        text,
                        "| {} | {} | {} | {} | | | | |",
                        crate::case::name(case.way),
                        bytes(case.size),
                        place(case),
                        wait(case)
                    );
                    let _ = writeln!(text, "{}", if goals { format!(" | | not measured: {why} |") } else { String::new() });
                }
            }
            text.push('\n');
        }
        text
    }
}

fn place(case: &Case) -> String {
    let mut text = format!("Gen{} x{}, {} bit, {} ns", case.generation, case.lanes, case.width, case.read_latency_ns);
    if case.mps != 128 {
        let _ = write!(text, ", MPS {}", case.mps);
    }
    if case.channels > 1 {
        let _ = write!(text, ", {0}+{0} channels", case.channels);
    }
    match case.descriptor {
        Descriptor::Direct => (),
        Descriptor::List => text += ", list",
        Descriptor::Inline => text += ", inline",
    }
    text
}

fn wait(case: &Case) -> String {
    let mut text = match case.notify {
        Notify::Interrupt => format!("interrupt, {} us", case.wake_ns as f64 / 1000.0),
        Notify::Early => format!("early, {} us", case.wake_ns as f64 / 1000.0),
        Notify::Poll => "poll".into(),
    };
    if case.in_flight > 1 {
        let _ = write!(text, ", {} in flight", case.in_flight);
    }
    if case.way == Way::Both && case.in_flight == 1 {
        text += ", one each";
    }
    text
}

fn line(row: &Row) -> String {
    let percent = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.2}"));
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {:.0} |",
        row.direction,
        bytes(row.case.size),
        place(&row.case),
        wait(&row.case),
        percent(row.end_to_end_percent),
        percent(row.while_data_flows_percent),
        percent(row.header_only_percent),
        row.nanoseconds
    )
}
