// SPDX-License-Identifier: Apache-2.0
//! Runs a plan and shows what came out, as tables in Markdown and as a list of rows.

use std::fmt::Write;

use serde_json::Value;

use crate::case::{bytes, Case, Descriptor, Notify, Row, Way};
use crate::measure::measure;
use crate::plan::{Curve, Goal, Table, CURVES, DLLP_PER_MILLE};
use crate::BenchError;

/// Under the same model, as in the page's text: RIFFA's C2H, H2C, both H2C, both C2H; LitePCIe's C2H and H2C.
type Anchor = (u64, [&'static str; 4], Option<[&'static str; 2]>);
const ANCHORS: [Anchor; 4] = [
    (4 << 10, ["19.8 (100)", "24.7 (98.9)", "24.1", "19.5"], Some(["34.3 (95.0)", "44.4 (82.8), done told early"])),
    (16 << 10, ["49.6 (99.9)", "55.6 (96.9)", "48.6", "51.7"], None),
    (64 << 10, ["79.5 (100)", "81.2 (96.5)", "63.8", "76.7"], Some(["85.4 (94.9)", "78.8 (84.1)"])),
    (1 << 20, ["98.4 (100)", "95.1 (96.3)", "57.1", "97.0"], Some(["94.2 (94.9)", "81.8 (84.1)"])),
];

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

    /// As `--json` writes them. Rows with a share for data link packets, which the list has no field for, are in the tables alone.
    pub fn json(&self) -> Value {
        Value::Array(self.rows.iter().filter(|row| row.case.dllp_per_mille == 0).map(Row::json).collect())
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

    /// The page with everything, which shows the plot beside it.
    pub fn page(&self) -> String {
        let mut missed: Vec<String> = self.shortfalls().iter().map(|line| format!("- {line}\n")).collect();
        if missed.is_empty() {
            missed.push("Every target is met.\n".into());
        } else {
            missed.insert(0, "Short of their targets:\n\n".into());
        }
        include_str!("page.txt")
            .replace("{{LIMITS}}\n", &limits())
            .replace("{{ANCHORS}}\n", &self.anchors())
            .replace("{{TRIP}}", &self.trip())
            .replace("{{MISSED}}\n", &missed.concat())
            .replace("{{TABLES}}\n", &self.markdown())
    }

    /// Towpath's rows below those of others.
    fn anchors(&self) -> String {
        let mut text = String::from("| size | | C2H | H2C | both: H2C | both: C2H |\n|---|---|---|---|---|---|\n");
        for (size, riffa, litepcie) in ANCHORS {
            let _ = writeln!(text, "| {} | RIFFA | {} | {} | {} | {} |", bytes(size), riffa[0], riffa[1], riffa[2], riffa[3]);
            if let Some([c2h, h2c]) = litepcie {
                let _ = writeln!(text, "| | LitePCIe | {c2h} | {h2c} | | |");
            }
            let percent = |direction: &str, way: Way| {
                let row = self.of(&Case::new(way, size)).find(|row| row.direction == direction).cloned();
                let values = row.and_then(|row| Some((row.end_to_end_percent?, row.while_data_flows_percent)));
                values.map_or("-".into(), |(all, flow)| match flow {
                    Some(flow) => format!("**{all:.1}** ({flow:.1})"),
                    None => format!("**{all:.1}**"),
                })
            };
            let (c2h, h2c) = (percent("c2h", Way::C2h), percent("h2c", Way::H2c));
            let _ =
                writeln!(text, "| | Towpath | {c2h} | {h2c} | {} | {} |", percent("both-h2c", Way::Both), percent("both-c2h", Way::Both));
        }
        text
    }

    /// Round trips, in words.
    fn trip(&self) -> String {
        let mut parts = Vec::new();
        for row in self.rows.iter().filter(|row| row.case.way == Way::RoundTrip && row.case.size == 16) {
            let how = if row.case.notify == Notify::Poll { "polling" } else { "interrupt" };
            parts.push(format!("{:.2} us by {how}", row.nanoseconds / 1000.0));
        }
        format!("Towpath {}.", parts.join(", "))
    }

    /// All tables, in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            let _ = writeln!(text, "### {}\n", table.title);
            if let Some(curve) = CURVES.iter().find(|curve| curve.title == table.title) {
                text += &self.curve(curve);
                continue;
            }
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

/// Links' limits, in GB/s.
fn limits() -> String {
    let mut text = String::new();
    for (generation, lanes) in [(1, 8), (2, 8), (3, 8), (3, 16), (4, 8)] {
        for mps in [128, 256] {
            let case = Case { generation, lanes, mps, ..Case::new(Way::C2h, 0) };
            let (limit, less) = (case.limit(), Case { dllp_per_mille: DLLP_PER_MILLE, ..case }.limit());
            let rates = [limit.c2h, limit.h2c, limit.c2h_header_only, limit.h2c_header_only].map(|rate| format!("{:.3}", rate / 1000.0));
            let less = format!("{:.3} / {:.3}", less.c2h / 1000.0, less.h2c / 1000.0);
            let _ = writeln!(text, "| Gen{generation} x{lanes}, {mps} | {} | {less} |", rates.join(" | "));
        }
    }
    text
}

fn place(case: &Case) -> String {
    let mut text = format!("Gen{} x{}, {} bit, {} ns", case.generation, case.lanes, case.width, case.read_latency_ns);
    if case.mps != 128 {
        let _ = write!(text, ", MPS {}", case.mps);
    }
    if case.channels > 1 {
        let _ = write!(text, ", {0}+{0} channels", case.channels);
    }
    if case.dllp_per_mille != 0 {
        text += ", data link packets";
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

impl Report {
    fn curve(&self, curve: &Curve) -> String {
        let mut text = String::from("GB/s of payload in one blocking call by interrupt, and per cent of the strict limit.\n\n");
        text += "| size | card to host | | host to card | |\n|---|---|---|---|---|\n";
        let mut points: Vec<&Row> = self.rows.iter().filter(|row| row.case == curve.case(Way::C2h, row.case.size)).collect();
        points.sort_by_key(|row| row.case.size);
        for row in points {
            let h2c = curve.case(Way::H2c, row.case.size);
            let both = [Some(row), self.of(&h2c).next()];
            let cells = both.into_iter().flatten().map(|row| {
                let rate = row.case.size as f64 / row.nanoseconds;
                format!("{rate:.4} | {:.2}", row.end_to_end_percent.unwrap_or_default())
            });
            let _ = writeln!(text, "| {} | {} |", bytes(row.case.size), cells.collect::<Vec<_>>().join(" | "));
        }
        text.push('\n');
        text
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{full, quick, Planned};

    fn row(case: Case, direction: &'static str, all: f64, flow: f64) -> Row {
        let (end_to_end_percent, while_data_flows_percent, header_only_percent) = (Some(all), Some(flow), Some(all));
        let spread_percent = (case.channels > 1).then_some(4.0);
        Row { case, direction, end_to_end_percent, while_data_flows_percent, header_only_percent, nanoseconds: 1000.0, spread_percent }
    }

    fn shortfalls(rows: Vec<Row>, goal: Goal) -> Vec<String> {
        let cases = rows.last().map(|row| Planned { case: row.case, goals: [goal, Goal::None] });
        let tables = vec![Table { title: "", cases: cases.into_iter().collect() }];
        Report { tables, rows, missing: Vec::new() }.shortfalls()
    }

    #[test]
    fn goals_are_met_or_named() {
        let base = Case::new(Way::C2h, 4096);
        let other = Case { read_latency_ns: 1000, ..base };
        let eight = Case { channels: 8, ..base };
        let one = |case| row(case, "c2h", 44.0, 99.0);
        for (case, goal, met) in [
            (base, Goal::None, true),
            (base, Goal::EndToEnd(44.0, 48.7), true),
            (base, Goal::EndToEnd(44.1, 48.7), false),
            (base, Goal::Flow(99.0, 100.0), true),
            (base, Goal::Flow(99.5, 100.0), false),
            (base, Goal::Nanoseconds(1000.0), true),
            (base, Goal::Nanoseconds(999.0), false),
            (base, Goal::EndToEndNear(6.0, other), true),
            (base, Goal::EndToEndNear(5.0, other), false),
            (base, Goal::FlowNear(0.5, other), true),
            (base, Goal::FlowNear(0.4, other), false),
            (eight, Goal::Shared(99.0, other, 5.0), true),
            (eight, Goal::Shared(99.9, other, 5.0), false),
            (eight, Goal::Shared(99.0, other, 3.0), false),
            // What it is compared with was not measured.
            (base, Goal::FlowNear(0.5, Case { mps: 256, ..base }), false),
        ] {
            let found = shortfalls(vec![row(other, "c2h", 50.0, 99.5), one(case)], goal);
            assert_eq!(found.is_empty(), met, "{goal:?}: {found:?}");
        }
    }

    #[test]
    fn what_was_not_measured_is_named_and_not_shown_as_measured() {
        let case = Case::new(Way::H2c, 4096);
        let tables = vec![Table { title: "One", cases: vec![Planned { case, goals: [Goal::EndToEnd(37.0, 39.9), Goal::None] }] }];
        let report = Report { tables, rows: Vec::new(), missing: vec![(case, "no reason".into())] };
        assert_eq!(report.shortfalls().len(), 1);
        assert!(report.markdown().contains("not measured: no reason") && report.json() == Value::Array(Vec::new()));
    }

    #[test]
    fn the_page_and_the_plot_hold_everything() {
        let (tables, mut rows) = (full(), Vec::new());
        for planned in tables.iter().flat_map(|table| &table.cases) {
            let directions: &[&str] = match planned.case.way {
                Way::H2c => &["h2c"],
                Way::C2h => &["c2h"],
                Way::Both => &["both-h2c", "both-c2h"],
                Way::RoundTrip => &["round-trip"],
            };
            rows.extend(directions.iter().map(|direction| row(planned.case, direction, 50.0, 100.0)));
        }
        let report = Report { tables, rows, missing: Vec::new() };
        let page = report.page();
        assert!(!page.contains("{{") && !page.contains("}}"), "a place of the page was not filled");
        for table in quick() {
            assert!(page.contains(table.title), "{}", table.title);
        }
        assert!(page.contains("| | Towpath | **50.0** (100.0) | **50.0** (100.0) |") && page.contains("Gen3 x16, 256"));
        let hidden = report.rows().iter().filter(|row| row.case.dllp_per_mille != 0).count();
        assert!(hidden > 0 && report.json().as_array().map(Vec::len) == Some(report.rows().len() - hidden));

        let folder = std::env::temp_dir().join(format!("towpath-bench-{}", std::process::id()));
        assert!(std::fs::create_dir_all(&folder).is_ok());
        for (name, begins) in [("plot.svg", b"<svg".as_slice()), ("plot.png", b"\x89PNG")] {
            let file = folder.join(name);
            assert_eq!(crate::plot::draw(report.rows(), &file), Ok(()));
            assert!(std::fs::read(&file).is_ok_and(|bytes| bytes.starts_with(begins)), "{name}");
        }
        assert!(crate::plot::draw(report.rows(), &folder.join("plot.gif")).is_err());
        let _ = std::fs::remove_dir_all(&folder);
    }
}
