//! The parts of a plot around the curves: the background, the axes and their names.

use std::fmt::Write as _;

/// The dimensions of a plot in pixels. The curves are between the four margins.
#[derive(Clone, Copy, Debug)]
pub struct PlotFrame {
    /// The total width.
    pub width: f64,
    /// The total height.
    pub height: f64,
    /// The left margin, for the name and the labels of the y axis.
    pub left: f64,
    /// The top margin, for the title.
    pub top: f64,
    /// The right margin, for the legend.
    pub right: f64,
    /// The bottom margin, for the name and the labels of the x axis.
    pub bottom: f64,
    /// The distance between the name of the x axis and the lower end of the plot.
    pub name_above: f64,
}

/// The name of an axis, and its ticks. Each tick has a position from 0 to 1, and a label.
pub type NamedAxis<'a> = (&'a str, &'a [(f64, String)]);

impl PlotFrame {
    /// Returns the width and the height between the margins.
    pub const fn inside(&self) -> (f64, f64) {
        (
            self.width - self.left - self.right,
            self.height - self.top - self.bottom,
        )
    }

    /// Returns the beginning of an SVG file: everything that precedes the curves and the legend.
    pub fn begin(&self, title: &str, x_axis: NamedAxis<'_>, y_axis: NamedAxis<'_>) -> String {
        let Self {
            width,
            height,
            left,
            top,
            ..
        } = *self;
        let (wide, high) = self.inside();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{left}\" y=\"20\" font-size=\"13\">{}</text>\n",
            escaped(title)
        );
        for (share, label) in x_axis.1 {
            let x = left + share * wide;
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {top}V{:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                top + high,
                top + high + 15.0,
            );
        }
        for (share, label) in y_axis.1 {
            let y = top + (1.0 - share) * high;
            let _ = writeln!(
                svg,
                "<path d=\"M{left} {y:.1}H{:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left + wide,
                left - 6.0,
                y + 4.0,
            );
        }
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" fill=\"none\" \
             stroke=\"#444\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            left + wide / 2.0,
            height - self.name_above,
            escaped(x_axis.0),
            top + high / 2.0,
            escaped(y_axis.0)
        );
        svg
    }
}

/// Escapes a text for SVG.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns a round step for an axis: 1, 2 or 5 times a power of ten. It is at least a sixth of the
/// range.
pub fn round_step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|&step| step >= rough)
        .unwrap_or(rough)
}
