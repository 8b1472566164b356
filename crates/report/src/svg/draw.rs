//! The pen: elements with a class, coordinates with one decimal, text escaped.

use std::fmt::Write;

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Begins there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

/// Two points, or a point and a size.
pub type Ends = ((f64, f64), (f64, f64));

/// A picture under construction.
pub struct Svg {
    width: f64,
    height: f64,
    title: String,
    about: String,
    body: String,
}

/// Text that can stand in an element or in a quoted attribute, of SVG and of HTML. Characters that XML cannot hold go, and those that are not shown but turn others around.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if record::hidden(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// One decimal is a tenth of a pixel; nothing that is not a number may reach a picture.
fn coordinate(x: f64) -> String {
    assert!(x.is_finite(), "a coordinate must be a number");
    let text = format!("{x:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    // A small negative number keeps its sign when it is rounded to 0.
    if text == "-0" { "0".into() } else { text.to_string() }
}

impl Svg {
    /// An empty picture, with what it shows in a few words and in a sentence.
    pub fn new(title: &str, about: &str, width: f64, height: f64) -> Svg {
        Svg { width, height, title: title.into(), about: about.into(), body: String::new() }
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let _ = writeln!(self.body, r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#);
    }

    /// A line through points; closed, it is a shape.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)], closed: bool) {
        let mut d = String::new();
        let mut last = (String::new(), String::new());
        for (i, &(x, y)) in points.iter().enumerate() {
            let at = (coordinate(x), coordinate(y));
            // Steps are half horizontal and half vertical: saying only what changes halves their size.
            let _ = match i {
                0 => write!(d, "M{} {}", at.0, at.1),
                // Points that round to the same place cannot be told apart.
                _ if at == last => continue,
                _ if at.1 == last.1 => write!(d, "H{}", at.0),
                _ if at.0 == last.0 => write!(d, "V{}", at.1),
                _ => write!(d, "L{} {}", at.0, at.1),
            };
            last = at;
        }
        if closed {
            d.push('Z');
        }
        let _ = writeln!(self.body, r#"<path class="{class}" d="{d}"/>"#);
    }

    /// A rectangle, more or less opaque.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), opacity: f64) {
        let [x, y, w, h] = [x, y, width, height].map(coordinate);
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}" opacity="{opacity:.2}"/>"#
        );
    }

    /// Many rectangles of one size and class as one element: maps and clouds of thousands stay small.
    pub fn cells(&mut self, class: &str, corners: &[(f64, f64)], (width, height): (f64, f64), opacity: f64) {
        let [w, h] = [width, height].map(coordinate);
        let mut d = String::new();
        for &(x, y) in corners {
            let _ = write!(d, "M{} {}h{w}v{h}h-{w}z", coordinate(x), coordinate(y));
        }
        if !d.is_empty() {
            let _ = writeln!(self.body, r#"<path class="{class}" d="{d}" opacity="{opacity:.2}"/>"#);
        }
    }

    /// Many straight lines of one class as one element.
    pub fn strokes(&mut self, class: &str, lines: &[Ends]) {
        let mut d = String::new();
        for &((x1, y1), (x2, y2)) in lines {
            let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
            let _ = write!(d, "M{x1} {y1}L{x2} {y2}");
        }
        if !d.is_empty() {
            let _ = writeln!(self.body, r#"<path class="{class}" d="{d}"/>"#);
        }
    }

    /// A line that has one of ten levels in each slice of time and shows one of them.
    pub fn filmed(&mut self, class: &str, ((x1, y1), (x2, y2)): Ends, (levels, shown): (&[u8], usize), tip: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
        let d = format!("M{x1} {y1}L{x2} {y2}");
        self.film(&format!(r#"path d="{d}""#), "path", class, (levels, shown), tip);
    }

    /// A box of that kind.
    pub fn filmed_box(&mut self, class: &str, ((x, y), (w, h)): Ends, (levels, shown): (&[u8], usize), tip: &str) {
        let [x, y, w, h] = [x, y, w, h].map(coordinate);
        let head = format!(r#"rect x="{x}" y="{y}" width="{w}" height="{h}""#);
        self.film(&head, "rect", class, (levels, shown), tip);
    }

    fn film(&mut self, head: &str, tag: &str, class: &str, (levels, shown): (&[u8], usize), tip: &str) {
        // The script takes one character per slice, and keeps only the first word of the class: `class` must be one word.
        let all: String = levels.iter().map(|l| char::from(b'0' + l.min(&9))).collect();
        let now = levels.get(shown).copied().unwrap_or(0);
        let _ = writeln!(
            self.body,
            r#"<{head} class="{class} k{now}" data-k="{all}"><title>{}</title></{tag}>"#,
            escape(tip)
        );
    }

    /// A bar that stands for a slice of time, with an invisible one of full height that can be pointed at.
    pub fn slice(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), (top, high): (f64, f64), now: bool, tip: &str) {
        let [x, y, w, h, top, high] = [x, y, w, h, top, high].map(coordinate);
        let class = if now { "slice now" } else { "slice" };
        let _ = writeln!(
            self.body,
            r#"<g class="{class}"><rect class="reach" x="{x}" y="{top}" width="{w}" height="{high}"/><rect x="{x}" y="{y}" width="{w}" height="{h}"/><title>{}</title></g>"#,
            escape(tip)
        );
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let [x, y, r] = [x, y, radius].map(coordinate);
        let _ = writeln!(self.body, r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#);
    }

    /// A dot that tells its value when pointed at.
    pub fn dot(&mut self, class: &str, at: (f64, f64), tip: &str) {
        self.round(class, at, 3.5, tip);
    }

    /// A smaller one, where many stand along a line.
    pub fn speck(&mut self, class: &str, at: (f64, f64), tip: &str) {
        self.round(class, at, 2.0, tip);
    }

    fn round(&mut self, class: &str, (x, y): (f64, f64), radius: f64, tip: &str) {
        let [x, y, r] = [x, y, radius].map(coordinate);
        let _ = writeln!(
            self.body,
            r#"<circle class="dot {class}" cx="{x}" cy="{y}" r="{r}"><title>{}</title></circle>"#,
            escape(tip)
        );
    }

    /// A text.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y] = [x, y].map(coordinate);
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{}</text>"#,
            escape(text)
        );
    }

    /// A text that reads upwards.
    pub fn text_up(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let [x, y] = [x, y].map(coordinate);
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" transform="translate({x} {y}) rotate(-90)" text-anchor="middle">{}</text>"#,
            escape(text)
        );
    }

    /// The names of the lines, side by side from the left and below each other where they do not fit: class and name.
    pub fn legend(&mut self, (x, y): (f64, f64), entries: &[(&str, &str)]) {
        let places = legend_places(self.width - x, entries.iter().map(|(_, name)| *name));
        for ((class, name), (dx, line)) in entries.iter().zip(places) {
            let (x, y) = (x + dx, y + LEGEND_LINE * line as f64);
            self.rect(&format!("area {class}"), (x, y - 8.0), (10.0, 8.0), 1.0);
            self.text("", (x + 14.0, y), Anchor::Start, name);
        }
    }

    /// The same below the picture, which grows by its lines.
    pub fn legend_below(&mut self, x: f64, entries: &[(&str, &str)]) {
        let names = entries.iter().map(|(_, name)| *name);
        let lines = legend_places(self.width - x, names).last().map_or(0, |(_, line)| line + 1);
        self.legend((x, self.height + 10.0), entries);
        self.height += LEGEND_LINE * lines as f64 + 2.0;
    }

    /// The text of the picture. `id` must be unique on its page.
    pub fn finish(self, id: &str) -> String {
        let Svg { width, height, title, about, body } = self;
        let (w, h) = (coordinate(width), coordinate(height));
        format!(
            "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\">\n<title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n{body}</svg>\n",
            escape(&title),
            escape(&about)
        )
    }
}

/// Height of a line of a legend.
pub const LEGEND_LINE: f64 = 14.0;

/// Where each name of a legend stands in this width: how far from the left, and on which line.
pub fn legend_places<'a>(width: f64, names: impl IntoIterator<Item = &'a str>) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (0.0, 0);
    let mut place = |name: &str| {
        // A box of 10 and a gap of 4, the name, and the gap to the next one.
        let wide = 14.0 + text_width(name) + 14.0;
        // A name wider than the picture does not leave an empty line above it.
        if x > 0.0 && x + wide > width {
            (x, line) = (0.0, line + 1);
        }
        x += wide;
        (x - wide, line)
    };
    names.into_iter().map(&mut place).collect()
}

/// About how wide a text of 11 units is. Fonts differ; this errs on the wide side.
pub fn text_width(text: &str) -> f64 {
    6.3 * text.chars().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        let mut svg = Svg::new("<b>", "a & \"b\"", 10.0, 10.0);
        svg.text("", (1.0, 2.0), Anchor::End, "</text><script>\u{7}");
        svg.dot("s0", (1.0, 1.0), "'<");
        let text = svg.finish("x");
        assert!(!text.contains("<script") && !text.contains("<b>") && !text.contains('\u{7}'), "{text}");
        assert!(text.contains("&lt;/text&gt;") && text.contains("a &amp; &quot;b&quot;"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([0.04, -0.04, 3.0, 2.25].map(coordinate), ["0", "0", "3", "2.2"]);
    }

    #[test]
    fn paths_say_only_what_changes() {
        let mut svg = Svg::new("", "", 1.0, 1.0);
        svg.path("mark", &[(0.0, 0.0), (1.0, 0.0), (1.0, 2.0), (1.0, 2.0), (3.0, 3.0)], false);
        assert!(svg.finish("x").contains("M0 0H1V2L3 3\""));
    }

    #[test]
    fn a_legend_goes_on_below_where_it_does_not_fit() {
        let names = ["one name", "another name", "a third name"];
        let lines = |width| legend_places(width, names).into_iter().map(|(_, line)| line).collect::<Vec<_>>();
        assert_eq!(lines(1000.0), [0, 0, 0]);
        assert_eq!(lines(10.0), [0, 1, 2]);
        let narrow = legend_places(10.0, names);
        assert!(narrow.iter().all(|(x, _)| *x == 0.0), "{narrow:?}");
    }
}
