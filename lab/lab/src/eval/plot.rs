//! Draws plots as SVG, with linear or logarithmic axes, a legend, our curves, and the points of a
//! paper.
//!
//! Each curve has its own dashes and marks, so curves that coincide stay visible. The result does
//! not depend on a font, a locale or a time.

use std::fmt::Write as _;

use resemble_report::page::{Drawing, PlotFrame, Table, escaped, round_step};

/// The style in which the values of a curve are drawn. A single value is always drawn as a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CurveStyle {
    /// A line through the values, with some marks on it.
    #[default]
    Line,
    /// Marks without a line.
    Points,
    /// Values from a paper: hollow black squares. If there are several, a dashed black line
    /// connects them.
    Paper,
    /// Bars from the least to the greatest value at each x, in the colour of the previous curve.
    Range,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name of the curve in the legend.
    pub label: String,
    /// The values (x, y) in the order of drawing. All numbers are finite.
    pub points: Vec<(f64, f64)>,
    /// The style of the values.
    pub style: CurveStyle,
}

/// A plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The name of the plot's file, without its suffix.
    pub name: String,
    /// The title above the plot.
    pub title: String,
    /// The name of the x axis.
    pub x: String,
    /// The name of the y axis.
    pub y: String,
    /// The style of curves that [`Self::curve`] adds.
    pub style: CurveStyle,
    /// True if the x axis is logarithmic.
    pub log_x: bool,
    /// True if the y axis is logarithmic. Such an axis cannot show values of 0 or less.
    pub log_y: bool,
    /// The curves.
    pub curves: Vec<Curve>,
}

const COLOURS: [&str; 8] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#e377c2",
];
const DASHES: [&str; 5] = ["none", "9 5", "2 4", "12 4 2 4", "5 3"];
const FRAME: PlotFrame = PlotFrame {
    width: 680.0,
    height: 400.0,
    left: 64.0,
    top: 34.0,
    right: 190.0,
    bottom: 62.0,
    name_above: 28.0,
};

/// The approximate number of marks of a line.
const MARKS: usize = 7;

/// The range of an axis, and its ticks at round numbers. On a logarithmic axis, all these numbers
/// are logarithms.
struct Axis {
    is_log: bool,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, is_log: bool) -> Self {
        let values = values.filter(|&value| !is_log || value > 0.0);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        if is_log {
            return Self::logarithmic(low, high);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // The axis starts at zero, unless a quarter of the axis or more would then be empty.
        if low > 0.0 && (low < 0.25 * high || high <= low) {
            low = 0.0;
        }
        if high <= low {
            high = low + 1.0;
        }
        let step = round_step(low, high);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = (last - first) as u32;
        Self {
            is_log,
            low: first * step,
            high: last * step,
            ticks: (0..=count)
                .map(|at| (first + f64::from(at)) * step)
                .collect(),
        }
    }

    /// Creates a logarithmic axis with ticks at 1, 3, 10, 30 and so on. If there are more than four
    /// powers of ten, only the powers get ticks.
    fn logarithmic(low: f64, high: f64) -> Self {
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        // Ticks are numbered, two for each power of ten. Even numbers belong to the powers of ten.
        let place = |tick: i32| {
            let power = f64::from(tick.div_euclid(2));
            if tick.rem_euclid(2) == 0 {
                power
            } else {
                power + 3f64.log10()
            }
        };
        let slack = 1e-9;
        let mut first = 2 * (low.log10().floor() as i32) + 1;
        while place(first) > low.log10() + slack {
            first -= 1;
        }
        let mut last = first + 1;
        while place(last) < high.log10() - slack {
            last += 1;
        }
        let every = if last - first > 8 { 2 } else { 1 };
        if every == 2 {
            first -= first.rem_euclid(2);
            last += last.rem_euclid(2);
        }
        Self {
            is_log: true,
            low: place(first),
            high: place(last),
            ticks: (first..=last).step_by(every).map(place).collect(),
        }
    }

    /// Returns the position of a value on the axis, from 0 at the low end to 1 at the high end.
    /// Returns `None` if a logarithmic axis cannot show the value.
    fn place(&self, value: f64) -> Option<f64> {
        let value = if self.is_log {
            (value > 0.0).then(|| value.log10())?
        } else {
            value
        };
        Some(self.share(value))
    }

    fn share(&self, tick: f64) -> f64 {
        (tick - self.low) / (self.high - self.low)
    }

    /// Returns the positions of the ticks and their labels.
    fn labels(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        self.ticks.iter().map(|&tick| {
            let value = if self.is_log { 10f64.powf(tick) } else { tick };
            (self.share(tick), number(value))
        })
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 99.5 {
        return format!("{value:.0}");
    }
    let decimals = if value.abs() < 0.01 { 6 } else { 3 };
    let text = format!("{value:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Draws a mark. The number of the curve selects a circle, square, triangle, diamond or cross.
fn mark(number: usize, x: f64, y: f64, colour: &str) -> String {
    let path = match number % 5 {
        0 => return format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>"),
        1 => "m-2.4 -2.4h4.8v4.8h-4.8z",
        2 => "m0 -3.4l3.2 5.6h-6.4z",
        3 => "m0 -3.6l3.2 3.6l-3.2 3.6l-3.2 -3.6z",
        _ => {
            return format!(
                "<path d=\"M{x:.1} {y:.1}m-2.6 -2.6l5.2 5.2m0 -5.2l-5.2 5.2\" \
                 stroke=\"{colour}\" stroke-width=\"1.5\"/>"
            );
        }
    };
    format!("<path d=\"M{x:.1} {y:.1}{path}\" fill=\"{colour}\"/>")
}

fn hollow(x: f64, y: f64) -> String {
    format!(
        "<path d=\"M{x:.1} {y:.1}m-3.6 -3.6h7.2v7.2h-7.2z\" fill=\"none\" stroke=\"#000\" \
         stroke-width=\"1.3\"/>"
    )
}

impl Plot {
    /// Creates a plot without curves.
    pub fn new(name: &str, title: &str, x: &str, y: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            x: x.to_owned(),
            y: y.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a curve in the style of this plot.
    pub fn curve(
        &mut self,
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        let style = self.style;
        self.styled(label, points, style);
    }

    /// Adds values of the paper as a curve. The values are from the paper's text unless the label
    /// says otherwise.
    pub fn paper(
        &mut self,
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        self.styled(label, points, CurveStyle::Paper);
    }

    /// Adds a curve of ranges, each with x, the least y and the greatest y.
    pub fn ranges(
        &mut self,
        label: impl Into<String>,
        ranges: impl IntoIterator<Item = (f64, f64, f64)>,
    ) {
        let ends = ranges
            .into_iter()
            .flat_map(|(x, low, high)| [(x, low), (x, high)]);
        self.styled(label, ends, CurveStyle::Range);
    }

    fn styled(
        &mut self,
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
        style: CurveStyle,
    ) {
        self.curves.push(Curve {
            label: label.into(),
            points: points.into_iter().collect(),
            style,
        });
    }

    /// Returns the plot with marks instead of lines.
    #[must_use]
    pub fn points(self) -> Self {
        Self {
            style: CurveStyle::Points,
            ..self
        }
    }
}

impl Drawing for Plot {
    fn name(&self) -> &str {
        &self.name
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn to_table(&self) -> Table {
        let curves = self.curves.iter();
        let curves = curves.map(|curve| (&*curve.label, &*curve.points));
        Table::of_curves(&self.name, (&self.x, &self.y), curves)
    }

    fn to_svg(&self) -> String {
        let all = || self.curves.iter().flat_map(|curve| curve.points.iter());
        let x_axis = Axis::of(all().map(|point| point.0), self.log_x);
        let y_axis = Axis::of(all().map(|point| point.1), self.log_y);
        let x_ticks: Vec<(f64, String)> = x_axis.labels().collect();
        let y_ticks: Vec<(f64, String)> = y_axis.labels().collect();
        let mut svg = FRAME.begin(&self.title, (&self.x, &x_ticks), (&self.y, &y_ticks));
        let PlotFrame {
            width,
            height,
            left,
            top,
            right,
            ..
        } = FRAME;
        let (wide, high) = FRAME.inside();
        let mut missing = 0;
        // This number selects the colour of a curve. Ranges and points of a paper are not counted.
        let mut own = 0;
        for (row, curve) in self.curves.iter().enumerate() {
            let mut places = Vec::new();
            for &(x, y) in &curve.points {
                match (x_axis.place(x), y_axis.place(y)) {
                    (Some(x), Some(y)) => {
                        places.push((left + x * wide, top + (1.0 - y) * high));
                    }
                    _ => missing += 1,
                }
            }
            let y = top + 12.0 + 16.0 * row as f64;
            let x = width - right + 10.0;
            let legend = [(x, y - 4.0), (x + 24.0, y - 4.0)];
            let number = match curve.style {
                CurveStyle::Range => own.max(1) - 1,
                _ => own,
            };
            svg.push_str(&drawn(curve.style, number, &places));
            svg.push_str(&drawn(curve.style, number, &legend));
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                x + 31.0,
                escaped(&curve.label)
            );
            own += usize::from(matches!(curve.style, CurveStyle::Line | CurveStyle::Points));
        }
        let note = match (all().next(), missing) {
            (None, _) => "no values".to_owned(),
            (_, 0) => String::new(),
            (_, missing) => format!("not shown: {missing} values that are not above 0"),
        };
        if !note.is_empty() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#666\">{note}</text>",
                left + wide,
                height - 6.0
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Draws the values of one curve at these places.
fn drawn(style: CurveStyle, number: usize, places: &[(f64, f64)]) -> String {
    let colour = COLOURS[number % COLOURS.len()];
    let mut svg = String::new();
    let line = |colour: &str, dashes: &str| {
        let points: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" \
             stroke-dasharray=\"{dashes}\"/>\n",
            points.join(" ")
        )
    };
    match style {
        CurveStyle::Line => {
            if places.len() > 1 {
                svg.push_str(&line(colour, DASHES[number % DASHES.len()]));
            }
            // Only some values get a mark. The place of the first mark depends on the curve, so
            // that marks of different curves do not coincide.
            let every = places.len().div_ceil(MARKS).max(1);
            for &(x, y) in places.iter().skip(number % every).step_by(every) {
                svg.push_str(&mark(number, x, y, colour));
            }
        }
        CurveStyle::Points => {
            for &(x, y) in places {
                svg.push_str(&mark(number, x, y, colour));
            }
        }
        CurveStyle::Paper => {
            if places.len() > 1 {
                svg.push_str(&line("#000", "3 3"));
            }
            for &(x, y) in places {
                svg.push_str(&hollow(x, y));
            }
        }
        CurveStyle::Range => {
            for ends in places.chunks_exact(2) {
                let ((x, low), (_, high)) = (ends[0], ends[1]);
                // Bars of different curves at the same x are drawn side by side.
                let x = x + 2.5 * (number % 5) as f64;
                let _ = write!(
                    svg,
                    "<path d=\"M{x:.1} {low:.1}V{high:.1}m-3 0h6M{x:.1} {low:.1}m-3 0h6\" \
                     stroke=\"{colour}\"/>"
                );
            }
        }
    }
    svg.push('\n');
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], is_log: bool) -> Vec<String> {
        let axis = Axis::of(values.iter().copied(), is_log);
        axis.labels().map(|(_, label)| label).collect()
    }

    #[test]
    fn axes_have_readable_ticks() {
        assert_eq!(labels(&[9_000.0, 540_000.0], true).first().unwrap(), "3000");
        assert_eq!(
            labels(&[0.9, 40.0], true),
            ["0.3", "1", "3", "10", "30", "100"]
        );
        assert_eq!(labels(&[1.0, 10.0], true), ["1", "3", "10"]);
        assert_eq!(
            labels(&[0.001, 100.0], true),
            ["0.001", "0.01", "0.1", "1", "10", "100"]
        );
        assert_eq!(labels(&[5.0, 5.0], true), ["3", "10"]);
        assert_eq!(
            labels(&[66.0, 97.0], false),
            ["60", "70", "80", "90", "100"]
        );
        assert_eq!(labels(&[31.0], false), ["0", "10", "20", "30", "40"]);
        assert_eq!(labels(&[12.0, 28.0], false), ["10", "15", "20", "25", "30"]);
        assert_eq!(labels(&[20.0, 100.0], false).first().unwrap(), "0");
        assert_eq!(labels(&[], true), ["1", "3", "10"]);
    }

    #[test]
    fn zero_has_no_place_on_a_logarithmic_axis() {
        let mut plot = Plot {
            log_y: true,
            ..Plot::new("p", "a < b", "x", "y")
        };
        plot.curve("one", [(1.0, 0.0), (2.0, 20.0), (3.0, 40.0)]);
        let svg = plot.to_svg();
        assert!(svg.contains("not shown: 1 values"), "{svg}");
        assert!(svg.contains("a &lt; b") && !svg.contains("NaN") && !svg.contains("inf"));
        assert!(!svg.contains(">0.001<"), "{svg}");
        assert!(
            Plot::new("p", "", "", "")
                .to_svg()
                .contains(">no values</text>")
        );
    }

    #[test]
    fn equal_curves_are_drawn_differently() {
        let mut plot = Plot::new("p", "", "x", "y");
        plot.curve("one", [(0.0, 1.0), (1.0, 2.0)]);
        plot.ranges("range", [(1.0, 1.5, 2.5)]);
        plot.curve("two", [(0.0, 1.0), (1.0, 2.0)]);
        plot.paper("paper", [(1.0, 2.0)]);
        let svg = plot.to_svg();
        let dashes = |dashes: &str| {
            svg.matches(&format!("stroke-dasharray=\"{dashes}\""))
                .count()
        };
        // The dashes of a curve occur twice, in the plot and in the legend. A single point of the
        // paper has dashes only in the legend.
        assert_eq!((dashes("none"), dashes("9 5"), dashes("3 3")), (2, 2, 1));
        assert!(
            svg.contains(COLOURS[1]) && !svg.contains(COLOURS[2]),
            "{svg}"
        );
    }
}
