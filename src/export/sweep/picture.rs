//! A picture as SVG, written piece by piece. All text is in one font of fixed width, so that its length is
//! known: six tenths of its size a character.

use std::fmt::Write;

/// Where a text stands at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// Its size in pixels.
    pub size: f64,
    /// Its colour.
    pub fill: &'static str,
    /// Whether it is bold.
    pub bold: bool,
    /// Where it stands.
    pub anchor: Anchor,
}

impl Type {
    /// Plain text that begins at its point.
    pub const fn new(size: f64, fill: &'static str) -> Self {
        Self { size, fill, bold: false, anchor: Anchor::Start }
    }

    /// The same in bold.
    #[must_use]
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same around its point.
    #[must_use]
    pub const fn middle(self) -> Self {
        Self { anchor: Anchor::Middle, ..self }
    }

    /// The same up to its point.
    #[must_use]
    pub const fn end(self) -> Self {
        Self { anchor: Anchor::End, ..self }
    }
}

/// The width of a text in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// How a line looks.
#[derive(Clone, Copy, Debug)]
pub struct Stroke {
    /// Its colour.
    pub color: &'static str,
    /// Its width in pixels.
    pub width: f64,
    /// Its dashes, as SVG has them; none where empty.
    pub dashes: &'static str,
}

impl Stroke {
    /// A whole line.
    pub const fn new(color: &'static str, width: f64) -> Self {
        Self { color, width, dashes: "" }
    }

    /// The same in dashes.
    #[must_use]
    pub const fn dashed(self, dashes: &'static str) -> Self {
        Self { dashes, ..self }
    }

    fn attributes(&self) -> String {
        let Self { color, width, dashes } = self;
        let dashes = if dashes.is_empty() {
            String::new()
        } else {
            format!(" stroke-dasharray=\"{dashes}\"")
        };
        format!("stroke=\"{color}\" stroke-width=\"{}\"{dashes}", number(*width))
    }
}

/// A picture under way.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    body: String,
}

/// A tenth of a pixel is finer than anybody sees.
pub fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as XML has it; control characters, which it cannot have, are left out.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}

impl Picture {
    /// A piece as it is.
    pub fn raw(&mut self, piece: impl AsRef<str>) {
        self.body += piece.as_ref();
        self.body.push('\n');
    }

    /// A text at a point of its base line.
    pub fn text(&mut self, x: f64, y: f64, look: Type, text: &str) {
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if look.bold { " font-weight=\"bold\"" } else { "" };
        self.raw(format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{weight}{anchor}>{}</text>",
            number(x),
            number(y),
            number(look.size),
            look.fill,
            escaped(text)
        ));
    }

    /// A text whose lines go upwards, around a point.
    pub fn text_upwards(&mut self, x: f64, y: f64, look: Type, text: &str) {
        self.raw(format!("<g transform=\"rotate(-90 {} {})\">", number(x), number(y)));
        self.text(x, y, look, text);
        self.raw("</g>");
    }

    /// A line between two points.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.raw(format!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>",
            number(from.0),
            number(from.1),
            number(to.0),
            number(to.1),
            stroke.attributes()
        ));
    }

    /// A line through some points.
    pub fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        let mut text = String::new();
        for (x, y) in points {
            // Writing to a String cannot fail.
            let _ = write!(text, "{},{} ", number(*x), number(*y));
        }
        self.raw(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\" {}/>",
            text.trim_end(),
            stroke.attributes()
        ));
    }

    /// A filled rectangle.
    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        self.raw(format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
            number(x),
            number(y),
            number(width.max(0.0)),
            number(height.max(0.0)),
        ));
    }

    /// The whole, with the words for those who do not see it.
    pub fn finish(self, (width, height): (f64, f64), title: &str, description: &str) -> String {
        let (width, height) = (number(width), number(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            self.body
        )
    }
}

/// Round numbers from 0 up to at least `most`, about five of them: steps of 1, 2, 2.5 or 5 times a power
/// of ten.
pub fn ticks(most: f64) -> Vec<f64> {
    if !most.is_finite() || most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let rough = most / 5.0;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|step| step * power);
    let step = step.into_iter().find(|&step| step >= rough * 0.999).unwrap_or(rough);
    let last = (most / step - 1e-6).ceil().max(1.0) as u32;
    (0..=last).map(|tick| f64::from(tick) * step).collect()
}

/// A text in lines of so many characters, broken at spaces.
pub fn folded(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The first `most` characters, the last of them `…` where something is cut off.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        assert_eq!(ticks(1_186.7), [0.0, 250.0, 500.0, 750.0, 1000.0, 1250.0]);
        assert_eq!(ticks(100.0), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(7.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        assert_eq!(ticks(f64::NAN), [0.0, 1.0]);
        for most in [0.003, 0.9, 12.0, 333.0, 98_765.0] {
            let ticks = ticks(most);
            assert!(ticks[ticks.len() - 1] >= most && (4..=7).contains(&ticks.len()), "{ticks:?}");
        }
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let mut picture = Picture::default();
        picture.text(1.0, 2.0, Type::new(10.0, "#000"), "a<b>&\"\u{1b}[0m");
        let svg = picture.finish((10.0, 10.0), "<&>", "d");
        assert!(svg.contains("a&lt;b&gt;&amp;&quot;[0m") && svg.contains("&lt;&amp;&gt;"), "{svg}");
    }

    #[test]
    fn texts_are_folded_and_cut_by_characters() {
        assert_eq!(folded("one two three", 7), ["one two", "three"]);
        assert_eq!((cut("κλμν", 4), cut("κλμν", 3)), ("κλμν".into(), "κλ…".into()));
        assert!((width("four", 10.0) - 24.0).abs() < 1e-9);
        assert_eq!([1.04, 1.0, -0.04].map(number), ["1", "1", "0"]);
    }
}
