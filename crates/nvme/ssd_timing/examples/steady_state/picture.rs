//! The picture: write amplification in the upper panel, rate in the lower one, against how often
//! the drive was written.
//!
//! Guarantees: the same rows give the same bytes. Lines differ by their dashes and labels, not by
//! colour alone. Title and description say in words what is drawn. A dark page gets light lines. It
//! is not a general plotting module.

use std::fmt::Write;

use iolab_ssd_timing::Preset;

use crate::curves::Row;

const STYLE: &str = "
    text { font: 13px system-ui, sans-serif; fill: #1f2328; }
    .head { font-weight: 600; font-size: 15px; }
    .tick, .quiet { font-size: 12px; fill: #59636e; }
    .paper { fill: #ffffff; }
    .grid { stroke: #d1d9e0; stroke-width: 1; }
    .axis { stroke: #59636e; stroke-width: 1; }
    .sheet { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 2 3; }
    .line { fill: none; stroke-width: 2.25; stroke-linejoin: round; }
    .a { stroke: #0550ae; } .b { stroke: #bc4c00; stroke-dasharray: 9 4; } .c { stroke: #1a7f37; stroke-dasharray: 9 3 2 3; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; } .tick, .quiet { fill: #9198a1; } .paper { fill: #0d1117; } .grid { stroke: #30363d; }
      .axis, .sheet { stroke: #9198a1; } .a { stroke: #79c0ff; } .b { stroke: #ffa657; } .c { stroke: #7ee787; }
    }
";
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 610.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 650.0;

/// One of the two panels: its position, and its data.
struct Panel {
    top: f64,
    bottom: f64,
    title: &'static str,
    step: f64,
    most: f64,
    /// The unit of the axis labels: 1000 for thousands.
    unit: f64,
    value: fn(&Row) -> f64,
}

impl Panel {
    fn y(&self, value: f64) -> f64 {
        self.bottom - value / self.most * (self.bottom - self.top)
    }
}

/// Draws the rows, which belong to one preset.
pub(crate) fn draw(rows: &[Row]) -> String {
    let curves: Vec<&[Row]> = rows.chunk_by(|one, next| one.spare_percent == next.spare_percent).collect();
    let Some(first) = rows.first() else { return String::new() };
    let sheet = Preset::named(&first.preset).ok().and_then(|preset| preset.sheet);
    let sheet = sheet.map_or(0.0, |sheet| sheet.write_iops as f64);
    let highest = |value: fn(&Row) -> f64| rows.iter().map(value).fold(1.0, f64::max);
    let steps = |most: f64, step: f64| (most / step).ceil() * step;
    let factor: fn(&Row) -> f64 = |row| row.write_amplification;
    let rate: fn(&Row) -> f64 = |row| row.iops;
    let fastest = highest(rate).max(sheet);
    let panels = [
        Panel {
            top: 90.0,
            bottom: 290.0,
            title: "Write amplification: bytes written to flash per byte written by the host",
            step: 2.0,
            most: steps(highest(factor), 2.0),
            unit: 1.0,
            value: factor,
        },
        Panel {
            top: 350.0,
            bottom: 550.0,
            title: "Random writes of 4 KiB, thousands of IOPS",
            step: 100_000.0,
            most: steps(fastest, 100_000.0),
            unit: 1000.0,
            value: rate,
        },
    ];
    let longest = highest(|row| row.drive_writes).ceil();
    let mut svg = head(&curves, first);
    for panel in &panels {
        frame(&mut svg, panel, longest);
        lines(&mut svg, panel, &curves, longest);
    }
    if sheet > 0.0 {
        let y = panels[1].y(sheet);
        line(&mut svg, "sheet", [LEFT, y, RIGHT, y]);
        text(&mut svg, "quiet", "start", [RIGHT + 8.0, y + 4.0], "data sheet");
    }
    let about = "Drive writes: host bytes written since the drive was fresh, in multiples of its capacity";
    text(&mut svg, "", "middle", [(LEFT + RIGHT) / 2.0, HEIGHT - 28.0], about);
    svg.push_str("</svg>\n");
    svg
}

/// Everything before the first panel, including the description for screen readers.
fn head(curves: &[&[Row]], first: &Row) -> String {
    let mut told = String::new();
    for (begin, end) in curves.iter().filter_map(|curve| curve.first().zip(curve.last())) {
        // Writing to a String cannot fail.
        let _ = write!(
            told,
            " With {} % spare, write amplification goes from {:.1} to {:.1} and the rate from {:.0} to {:.0} IOPS \
             over {:.0} drive writes.",
            begin.spare_percent,
            begin.write_amplification,
            end.write_amplification,
            begin.iops,
            end.iops,
            end.drive_writes
        );
    }
    let gib = first.visible_bytes as f64 / f64::from(1 << 30);
    let title = format!("A drive from fresh to steady: {} with {gib} GiB", first.preset);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"title desc\">\n<title id=\"title\">{title}</title>\n<desc id=\"desc\">Two line charts over \
         drive writes.{told}</desc>\n<style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
    );
    text(&mut svg, "head", "start", [LEFT, 28.0], &title);
    let load = "Uniformly random writes of 4 KiB, depth 32, in virtual time; lines differ in spare flash";
    text(&mut svg, "quiet", "start", [LEFT, 47.0], load);
    svg
}

fn x(drive_writes: f64, longest: f64) -> f64 {
    LEFT + drive_writes / longest * (RIGHT - LEFT)
}

fn frame(svg: &mut String, panel: &Panel, longest: f64) {
    text(svg, "", "start", [LEFT, panel.top - 12.0], panel.title);
    for step in 0..=(panel.most / panel.step).round() as u64 {
        let value = step as f64 * panel.step;
        let y = panel.y(value);
        line(svg, if step == 0 { "axis" } else { "grid" }, [LEFT, y, RIGHT, y]);
        text(svg, "tick", "end", [LEFT - 8.0, y + 4.0], &format!("{:.0}", value / panel.unit));
    }
    for writes in 0..=longest as u64 {
        let at = x(writes as f64, longest);
        line(svg, "axis", [at, panel.bottom, at, panel.bottom + 5.0]);
        text(svg, "tick", "middle", [at, panel.bottom + 20.0], &writes.to_string());
    }
}

fn lines(svg: &mut String, panel: &Panel, curves: &[&[Row]], longest: f64) {
    let mut labels = Vec::new();
    for (curve, class) in curves.iter().zip(["a", "b", "c"].into_iter().cycle()) {
        let points =
            curve.iter().map(|row| format!("{:.1},{:.1}", x(row.drive_writes, longest), panel.y((panel.value)(row))));
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(svg, "<polyline class=\"line {class}\" points=\"{points}\"/>");
        labels.extend(curve.last().map(|row| (panel.y((panel.value)(row)), row.spare_percent)));
    }
    // From bottom to top: a label that would overlap the previous one moves up.
    labels.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut free = f64::INFINITY;
    for (y, spare) in labels {
        let y = y.min(free);
        text(svg, "", "start", [RIGHT + 8.0, y + 4.0], &format!("{spare} % spare"));
        free = y - 16.0;
    }
}

fn line(svg: &mut String, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
    let _ = writeln!(svg, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn text(svg: &mut String, class: &str, anchor: &str, [x, y]: [f64; 2], words: &str) {
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}
