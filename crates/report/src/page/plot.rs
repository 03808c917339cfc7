//! Draws plots as SVG: axes, a legend and curves. The output does not depend on a font, a locale or
//! a time.

use std::fmt::Write as _;

use super::Drawing;
use super::frame::{PlotFrame, escaped, round_step};
use super::table::Table;

/// A curve, which is drawn as a line through its values. A single value is drawn as a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// The values (x, y) of the curve. They are finite, and in the order of drawing.
    pub points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// The name of its file, without the suffix.
    pub name: String,
    /// The title above the plot.
    pub title: String,
    /// The name of the x axis.
    pub x: String,
    /// The name of the y axis.
    pub y: String,
    /// True if the y axis is logarithmic.
    pub log_y: bool,
    /// The curves; the ten colours are reused after the tenth curve.
    pub curves: Vec<Curve>,
}

const COLOURS: [&str; 10] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#e377c2",
    "#7f7f7f", "#bcbd22",
];
const FRAME: PlotFrame = PlotFrame {
    width: 640.0,
    height: 400.0,
    left: 64.0,
    top: 34.0,
    right: 150.0,
    bottom: 48.0,
    name_above: 12.0,
};

/// The range of an axis, divided into round steps.
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
        // The axis starts at zero, unless most of it would then be empty. For a single value, it
        // always starts at zero. An axis around that value would not show how large it is.
        if low > 0.0 && (low < 0.5 * high || high <= low) {
            low = 0.0;
        }
        if high <= low {
            high = low + 1.0;
        }
        let step = round_step(low, high);
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
        }
    }

    /// Returns the axis of logarithmic values. It has a step for each power of ten, or for each
    /// half of a power if the range is small.
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

    /// Returns the relative position of a value on the axis: 0 at the low end, 1 at the high end.
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
        let log = |y: f64| if self.log_y { y.max(1e-9).log10() } else { y };
        let all = || self.curves.iter().flat_map(|curve| curve.points.iter());
        let x_axis = Axis::of(all().map(|point| point.0));
        let y_axis = Axis::of(all().map(|point| log(point.1)));
        let y_axis = if self.log_y {
            y_axis.in_powers()
        } else {
            y_axis
        };
        let x_ticks: Vec<(f64, String)> = x_axis
            .ticks()
            .map(|tick| (x_axis.place(tick), number(tick)))
            .collect();
        let value = |tick| if self.log_y { 10f64.powf(tick) } else { tick };
        let y_ticks: Vec<(f64, String)> = y_axis
            .ticks()
            .map(|tick| (y_axis.place(tick), number(value(tick))))
            .collect();
        let mut svg = FRAME.begin(&self.title, (&self.x, &x_ticks), (&self.y, &y_ticks));
        let PlotFrame {
            width,
            left,
            top,
            right,
            ..
        } = FRAME;
        let (wide, high) = FRAME.inside();
        let px = |x: f64| left + x_axis.place(x) * wide;
        let py = |y: f64| top + (1.0 - y_axis.place(log(y))) * high;
        for (place, curve) in self.curves.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            // A line needs two points, so a single value is drawn as a point.
            if curve.points.len() > 1 {
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
            } else {
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
            let y = top + 12.0 + 16.0 * place as f64;
            let x = width - right + 10.0;
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
                left + wide / 2.0,
                top + high / 2.0
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

    /// Two sweeps have only one comparison between them, so each curve has one value.
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
