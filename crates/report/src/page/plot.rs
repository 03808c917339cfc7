//! Plots as SVG: axes, a legend, curves or points. Nothing in them depends on a font, a locale or a
//! time.

use std::fmt::Write as _;

use super::table::Table;

/// How the values of a curve are drawn. A single value is always a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marks {
    /// A line through them.
    #[default]
    Line,
    /// Points.
    Points,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// Its values (x, y), finite, in the order of drawing.
    pub points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The name of its file, without the suffix.
    pub name: String,
    /// The title above it.
    pub title: String,
    /// The name of the x axis.
    pub x: String,
    /// The name of the y axis.
    pub y: String,
    /// How values are drawn.
    pub marks: Marks,
    /// Whether the y axis is logarithmic.
    pub log_y: bool,
    /// The curves; there are ten colours, which are used again after that.
    pub curves: Vec<Curve>,
}

const COLOURS: [&str; 10] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#e377c2",
    "#7f7f7f", "#bcbd22",
];
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 150.0;
const BOTTOM: f64 = 48.0;

/// A range with round steps in it.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // The axis starts at zero, unless most of it would be empty then. A single value is always
        // shown from zero on: an axis around this value alone would say nothing about it.
        if low > 0.0 && (low < 0.5 * high || high <= low) {
            low = 0.0;
        }
        if high <= low {
            high = low + 1.0;
        }
        let rough = (high - low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|times| times * power)
            .find(|&step| step >= rough)
            .unwrap_or(rough);
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
        }
    }

    /// The axis for logarithms: a step for each power of ten, or for half of one.
    fn in_powers(self) -> Self {
        let step = if self.high - self.low > 2.0 { 1.0 } else { 0.5 };
        Self {
            low: (self.low / step).floor() * step,
            high: (self.high / step).ceil() * step,
            step,
        }
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + '_ {
        let count = ((self.high - self.low) / self.step).round() as u32;
        (0..=count).map(|i| self.low + f64::from(i) * self.step)
    }

    /// 0 at the low end, 1 at the high one.
    fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

fn number(value: f64) -> String {
    if value.abs() >= 100.0 {
        return format!("{value:.0}");
    }
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Plot {
    /// A plot without curves.
    pub fn new(name: &str, title: &str, x: &str, y: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            x: x.to_owned(),
            y: y.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a curve.
    pub fn curve(
        &mut self,
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) {
        self.curves.push(Curve {
            label: label.into(),
            points: points.into_iter().collect(),
        });
    }

    /// The plot with points instead of lines.
    #[must_use]
    pub fn points(self) -> Self {
        Self {
            marks: Marks::Points,
            ..self
        }
    }

    /// The values as a table: curve, x, y.
    pub fn to_table(&self) -> Table {
        let mut table = Table::new(&self.name, &["curve", &self.x, &self.y]);
        for curve in &self.curves {
            for &(x, y) in &curve.points {
                table.row([curve.label.clone(), x.to_string(), y.to_string()]);
            }
        }
        table
    }

    /// The plot as an SVG file.
    pub fn to_svg(&self) -> String {
        let log = |y: f64| if self.log_y { y.max(1e-9).log10() } else { y };
        let all = || self.curves.iter().flat_map(|curve| curve.points.iter());
        let x_axis = Axis::of(all().map(|point| point.0));
        let y_axis = Axis::of(all().map(|point| log(point.1)));
        let y_axis = if self.log_y {
            y_axis.in_powers()
        } else {
            y_axis
        };
        let (wide, high) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let px = |x: f64| LEFT + x_axis.place(x) * wide;
        let py = |y: f64| TOP + (1.0 - y_axis.place(log(y))) * high;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"13\">{}</text>\n",
            escaped(&self.title)
        );
        for tick in x_axis.ticks() {
            let x = px(tick);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                TOP + high,
                TOP + high + 15.0,
                number(tick)
            );
        }
        for tick in y_axis.ticks() {
            let y = TOP + (1.0 - y_axis.place(tick)) * high;
            let value = if self.log_y { 10f64.powf(tick) } else { tick };
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT + wide,
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{wide}\" height=\"{high}\" fill=\"none\" \
             stroke=\"#444\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + wide / 2.0,
            HEIGHT - 12.0,
            escaped(&self.x),
            TOP + high / 2.0,
            escaped(&self.y)
        );
        for (place, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            match self.marks {
                // A line through one point would not be seen.
                Marks::Line if curve.points.len() > 1 => {
                    let points: Vec<String> = curve
                        .points
                        .iter()
                        .map(|&(x, y)| format!("{:.1},{:.1}", px(x), py(y)))
                        .collect();
                    let _ = writeln!(
                        svg,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" \
                         stroke-width=\"1.6\"/>",
                        points.join(" ")
                    );
                }
                Marks::Line | Marks::Points => {
                    for &(x, y) in &curve.points {
                        let _ = writeln!(
                            svg,
                            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\" fill=\"{colour}\" \
                             fill-opacity=\"0.75\"/>",
                            px(x),
                            py(y)
                        );
                    }
                }
            }
            let y = TOP + 12.0 + 16.0 * place as f64;
            let x = WIDTH - RIGHT + 10.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"3\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                y - 5.0,
                x + 17.0,
                escaped(&curve.label)
            );
        }
        if all().next().is_none() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">no values</text>",
                LEFT + wide / 2.0,
                TOP + high / 2.0
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_land_inside_the_axes() {
        let mut plot = Plot::new("p", "a < b", "x", "y");
        plot.curve("one", [(0.0, 0.66), (50.0, 0.97)]);
        plot.curve("none", []);
        let svg = plot.to_svg();
        assert!(
            svg.contains("a &lt; b") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let axis = Axis::of([0.66, 0.97].into_iter());
        let ticks: Vec<String> = axis.ticks().map(number).collect();
        assert_eq!(ticks.first().map(String::as_str), Some("0.6"));
        assert_eq!(ticks.last().map(String::as_str), Some("1"));
        for empty in [
            Plot::new("p", "", "", ""),
            Plot {
                log_y: true,
                ..plot
            },
        ] {
            assert!(!empty.to_svg().contains("NaN"));
        }
    }

    /// Two sweeps have one step between them: each curve is one value.
    #[test]
    fn a_curve_of_one_value_is_a_point_and_no_values_are_said() {
        let mut plot = Plot::new("p", "", "day", "files");
        plot.curve("edited", [(31.0, 4.0)]);
        plot.curve("died", [(31.0, 4.0)]);
        let svg = plot.to_svg();
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(
            !svg.contains("<polyline") && !svg.contains("no values"),
            "{svg}"
        );
        let ticks: Vec<String> = Axis::of([31.0].into_iter()).ticks().map(number).collect();
        assert_eq!(ticks, ["0", "10", "20", "30", "40"]);
        let mut none = Plot::new("p", "", "day", "files");
        none.curve("died", []);
        assert!(none.to_svg().contains(">no values</text>"));
    }
}
