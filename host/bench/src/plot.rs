// SPDX-License-Identifier: Apache-2.0
//! Bandwidth against transfer size, both logarithmic, as RIFFA 2.1 shows it in its figure 9: each configuration's curves under its link's limits,
//! with what the papers of others publish. As SVG or PNG, by the file's name.

use std::path::Path;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{register_font, FontStyle};

use crate::case::{bytes, Case, Row, Way};
use crate::plan::CURVES;

const SIZE: (u32, u32) = (1200, 800);
const FONT: &str = "sans-serif";
const COLOURS: [RGBColor; 4] = [RGBColor(148, 103, 189), RGBColor(31, 119, 180), RGBColor(44, 160, 44), RGBColor(214, 39, 40)];
/// Of the axes: bytes, and GB/s.
const SIZES: std::ops::Range<f64> = 4.0..2_147_483_648.0;
const RATES: std::ops::Range<f64> = 0.001..20.0;

/// What somebody else measured on a Gen2 x8 link (the last ones of RIFFA: on Gen1 x8), card to host and host to card, in GB/s.
///
/// RIFFA 2.1, table III, the best over all sizes (of VC707 and ML605), shown at 64 MiB; EPEE, table IV, at 200 MB; VerCoLib, section 5, at 1 GB.
const PUBLISHED: [(&str, f64, f64, f64); 4] = [
    ("RIFFA 2.1, Gen2 x8", 67_108_864.0, 3.640, 3.403),
    ("RIFFA 2.1, Gen1 x8", 67_108_864.0, 1.816, 1.694),
    ("EPEE, Gen2 x8", 200e6, 3.280, 3.198),
    ("VerCoLib, Gen2 x8", 1e9, 3.110, 3.130),
];

/// RIFFA 2.2.2, unmodified, under the same host model as everything here, Gen2 x8: per cent of the strict limit, C2H and H2C.
const RIFFA_SAME_MODEL: [(f64, f64, f64); 4] =
    [(4096.0, 19.8, 24.7), (16_384.0, 49.6, 55.6), (65_536.0, 79.5, 81.2), (1_048_576.0, 98.4, 95.1)];

/// Draw the curves among these rows.
pub fn draw(rows: &[Row], file: &Path) -> Result<(), String> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
    let shown = |why: &dyn std::fmt::Display| format!("drawing {}: {why}", file.display());
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => paint(rows, &SVGBackend::new(file, SIZE).into_drawing_area()).map_err(|why| shown(&why)),
        Some("png") => paint(rows, &BitMapBackend::new(file, SIZE).into_drawing_area()).map_err(|why| shown(&why)),
        _ => Err(shown(&"give a name that ends in .svg or .png")),
    }
}

fn paint<B: DrawingBackend>(rows: &[Row], area: &DrawingArea<B, Shift>) -> Result<(), String> {
    let failed = |why: DrawingAreaErrorKind<B::ErrorType>| why.to_string();
    area.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(area)
        .caption("Simulated bandwidth against transfer size, one blocking call by interrupt", (FONT, 22))
        .margin(12)
        .x_label_area_size(48)
        .y_label_area_size(70)
        .build_cartesian_2d(SIZES.log_scale().base(2.0), RATES.log_scale())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("transfer size")
        .y_desc("GB/s")
        .x_labels(16)
        .x_label_formatter(&|size| size_label(*size))
        .y_label_formatter(&|rate| format!("{rate}"))
        .light_line_style(BLACK.mix(0.04))
        .bold_line_style(BLACK.mix(0.12))
        .label_style((FONT, 15))
        .draw()
        .map_err(failed)?;

    for (curve, colour) in CURVES.iter().zip(COLOURS) {
        for (way, width) in [(Way::C2h, 3), (Way::H2c, 1)] {
            let of = |row: &&Row| row.case == Case { size: row.case.size, ..curve.case(way, 0) };
            let mut points: Vec<(f64, f64)> =
                rows.iter().filter(of).map(|row| (row.case.size as f64, row.case.size as f64 / row.nanoseconds)).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0)); // sizes of other tables come first
            let limit = curve.case(way, 0).limit();
            let limit = if way == Way::C2h { limit.c2h } else { limit.h2c } / 1000.0;
            let ends = [(SIZES.start, limit), (SIZES.end, limit)];
            let line = DashedLineSeries::new(ends, 2 * width, 6, colour.mix(0.6).stroke_width(1));
            chart.draw_series(line).map_err(failed)?;
            let style = colour.stroke_width(width);
            let name = if way == Way::C2h { "card to host" } else { "host to card" };
            chart
                .draw_series(LineSeries::new(points, style))
                .map_err(failed)?
                .label(format!("Gen{} x{}, {} bit, {name}", curve.generation, curve.lanes, curve.width))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], style));
        }
    }
    let limit = Case::new(Way::C2h, 0).limit();
    let style = BLACK.stroke_width(1);
    let (c2h, h2c) = (limit.c2h / 1e5, limit.h2c / 1e5); // GB/s for each per cent
    chart
        .draw_series(RIFFA_SAME_MODEL.map(|(size, percent, _)| Circle::new((size, percent * c2h), 4, style)))
        .map_err(failed)?
        .label("RIFFA 2.2.2 in the same model, Gen2 x8, card to host")
        .legend(move |(x, y)| Circle::new((x + 12, y), 4, style));
    chart
        .draw_series(RIFFA_SAME_MODEL.map(|(size, _, percent)| Cross::new((size, percent * h2c), 4, style)))
        .map_err(failed)?
        .label("RIFFA 2.2.2 in the same model, Gen2 x8, host to card")
        .legend(move |(x, y)| Cross::new((x + 12, y), 4, style));
    for ((name, size, c2h, h2c), colour) in
        PUBLISHED.iter().zip([BLACK, RGBColor(148, 103, 189), RGBColor(255, 127, 14), RGBColor(0, 150, 150)])
    {
        chart
            .draw_series([c2h, h2c].map(|rate| TriangleMarker::new((*size, *rate), 6, colour.filled())))
            .map_err(failed)?
            .label(format!("{name}, as published (both directions)"))
            .legend(move |(x, y)| TriangleMarker::new((x + 12, y), 6, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 14))
        .draw()
        .map_err(failed)?;
    area.present().map_err(failed)
}

fn size_label(size: f64) -> String {
    match size.round() as u64 {
        size if size >= 1 << 30 => format!("{} GiB", size >> 30),
        size => bytes(size),
    }
}
