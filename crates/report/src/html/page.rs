//! What stands on a page, block by block, and the document around it.
//!
//! A page's own policy forbids it to load anything, and to run or show anything but its own script and styles. Every picture stands in a `figure` with the numbers behind it in a table,
//! which a small script offers as CSV; without the script nothing but that button is missing.

use super::policy::policy;
use crate::grid::Grid;
use crate::section::{Block, Headline, Section};
use crate::svg::network::MEANING;
use crate::svg::{self, Svg, escape};
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A table with more rows than this is folded.
const LONG: usize = 24;

/// A page under construction: what stands in `main`, and its contents.
#[derive(Default)]
pub struct Page {
    /// The HTML so far.
    pub body: String,
    contents: Vec<(String, String)>,
    figures: usize,
}

impl Page {
    /// Begins a section.
    pub fn section(&mut self, title: &str) {
        let id = format!("s{}", self.contents.len() + 1);
        // Each section closes the one before it; `whole` closes the last.
        if !self.contents.is_empty() {
            self.body.push_str("</section>\n");
        }
        let _ = writeln!(
            self.body,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2>",
            escape(title)
        );
        self.contents.push((id, title.to_string()));
    }

    /// A paragraph of plain text.
    pub fn say(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// What a reader must know before believing a number.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p class=\"note\"><strong>Note:</strong> {}</p>", escape(text));
    }

    /// Pictures with a caption and the numbers behind them.
    pub fn figure(&mut self, caption: &str, pictures: Vec<Svg>, numbers: &[Grid]) {
        self.figures += 1;
        let id = format!("figure{}", self.figures);
        let _ = writeln!(self.body, "<figure><figcaption>{}</figcaption><div class=\"panels\">", escape(caption));
        for (i, picture) in pictures.into_iter().enumerate() {
            self.body.push_str(&picture.finish(&format!("{id}-{}", i + 1)));
        }
        self.body.push_str("</div>\n");
        self.numbers(&id, numbers);
        self.body.push_str("</figure>\n");
    }

    /// Tables behind a picture, folded.
    fn numbers(&mut self, id: &str, numbers: &[Grid]) {
        for (i, grid) in numbers.iter().enumerate() {
            let _ = writeln!(self.body, "<details><summary>Numbers: {}</summary>", escape(&grid.caption));
            self.save(grid, &format!("{id}-numbers{}", i + 1), false);
            self.body.push_str("</details>\n");
        }
    }

    /// A picture with a slider over times; the script moves it and the words below.
    fn film(&mut self, picture: Svg, times: &[String], shown: usize) -> String {
        self.figures += 1;
        let id = format!("figure{}", self.figures);
        let _ = writeln!(
            self.body,
            "<p class=\"slider\" hidden><label for=\"{id}-slider\">Slice of the run</label> \
             <input type=\"range\" id=\"{id}-slider\" min=\"1\" max=\"{}\" value=\"{}\" aria-valuetext=\"{text}\"></p>\n\
             <p><output for=\"{id}-slider\" aria-live=\"off\">{text}</output></p>\n<div class=\"panels whole\">",
            times.len(),
            shown + 1,
            text = escape(&times[shown])
        );
        self.body.push_str(&picture.finish(&format!("{id}-1")));
        self.body.push_str("</div>\n<p class=\"key\">Stalled time:");
        for (level, words) in MEANING.iter().enumerate() {
            let _ = write!(self.body, " <span><i class=\"k{level}\"></i>{words}</span>");
        }
        self.body.push_str("</p>\n");
        id
    }

    fn headline(&mut self, headline: &Headline) {
        // Number and grade are made by subjects from numbers and fixed words; they have nothing to escape.
        let [first, second] = headline.sentences.each_ref().map(|s| escape(s));
        let level = headline.level;
        let _ = writeln!(
            self.body,
            "<article class=\"card\"><h3>{}</h3><p class=\"big h{level}\">{}</p><p><strong class=\"h{level}\">{}.</strong> \
             {first}</p><p>{second}</p></article>",
            escape(&headline.title),
            headline.number,
            headline.grade
        );
    }

    /// What stands in a section, after its heading.
    pub fn blocks(&mut self, section: Section) {
        let title = section.title;
        for block in section.blocks {
            match block {
                Block::Say(text) => self.say(&text),
                Block::Warn(text) => self.note(&text),
                Block::Headlines(all) => {
                    self.body.push_str("<div class=\"cards\">\n");
                    all.iter().for_each(|h| self.headline(h));
                    self.body.push_str("</div>\n");
                }
                Block::Table(grid) | Block::List(grid) => self.table_under(&title, &grid),
                Block::Figure { caption, pictures, numbers } => self.figure(&caption, pictures, &numbers),
                Block::Film { caption, picture, times, shown, numbers } => {
                    let caption = escape(&caption);
                    let _ = writeln!(self.body, "<figure class=\"film\"><figcaption>{caption}</figcaption>");
                    let id = self.film(picture, &times, shown);
                    self.numbers(&id, &numbers);
                    self.body.push_str("</figure>\n");
                }
            }
        }
    }

    /// A table, folded if it is long.
    pub fn table(&mut self, grid: &Grid) {
        self.table_under("", grid);
    }

    /// The same under a heading.
    fn table_under(&mut self, title: &str, grid: &Grid) {
        self.figures += 1;
        let id = format!("table{}", self.figures);
        if grid.rows.len() <= LONG {
            return self.save(grid, &id, grid.caption == title);
        }
        let _ = writeln!(self.body, "<details><summary>{}</summary>", escape(&grid.caption));
        self.save(grid, &id, false);
        self.body.push_str("</details>\n");
    }

    fn save(&mut self, grid: &Grid, id: &str, titled: bool) {
        self.body.push_str(&grid.html(id, titled));
        let _ = writeln!(self.body, "<button type=\"button\" data-table=\"{id}\" hidden>Save as CSV</button>");
    }
}

/// The document around what stands in `main`; heads and foot are HTML.
pub fn whole(title: &str, heads: &str, made: &str, page: Page) -> String {
    let mut links = String::new();
    for (id, title) in &page.contents {
        let _ = write!(links, "<li><a href=\"#{id}\">{}</a></li>", escape(title));
    }
    let title = escape(title);
    // As they stand in the page, to the last newline: the policy knows them by their hashes.
    let (style, script) = (format!("\n{}{STYLE}", svg::STYLE), format!("\n{SCRIPT}"));
    let policy = policy(&style, &script);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<title>Tailback: {title}</title>\n\
         <style>{style}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n\
         <header><h1>{title}</h1>\n{heads}</header>\n<nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n\
         <main id=\"main\">\n{}</section>\n</main>\n\
         <footer>{made}</footer>\n<script>{script}</script>\n</body>\n</html>\n",
        page.body
    )
}
