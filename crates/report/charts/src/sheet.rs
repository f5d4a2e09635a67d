//! The sheet that a chart is drawn on: title, legend, plots one below the other, and the finished
//! figure.
//!
//! Everything is placed from top to bottom, so that nothing overlaps: a legend is above the data,
//! never over them.

use crate::data::Heading;
use crate::figure::{DrawnChart, xml_id};
use crate::series::{Look, Style, missing};
use crate::svg::{Anchor, Path, Rect, Svg, escaped, px};
use crate::table::Table;
use crate::text::{Face, fit, width, wrap};

/// Width of every figure, px.
pub(crate) const WIDTH: f64 = 720.0;
/// Empty space at the edges, px.
pub(crate) const MARGIN: f64 = 10.0;
/// Distance between two lines of labels, px.
pub(crate) const LINE: f64 = 18.0;

/// A figure being drawn.
pub(crate) struct Sheet<'h> {
    heading: &'h Heading,
    pub(crate) id: String,
    pub(crate) svg: Svg,
    definitions: Svg,
    hatched: Vec<usize>,
    /// The lower end of what has been drawn, px.
    pub(crate) y: f64,
    /// Number of values that the axes could not show.
    pub(crate) hidden: usize,
    notes: Vec<String>,
    caption: String,
    is_empty: bool,
    /// Index of the plot being drawn. Series of different plots are different, even with the same
    /// number.
    pub(crate) plot: usize,
}

/// Sizes in a legend: the sample, the space between entries, the longest text; px.
const SAMPLE: f64 = 30.0;
const GAP: f64 = 16.0;
const LONGEST: f64 = 330.0;

/// Width of a legend in one line.
pub(crate) fn legend_width(entries: &[Entry]) -> f64 {
    entries.iter().map(|entry| SAMPLE + width(&entry.text, Face::Label).min(LONGEST) + GAP).sum()
}

/// One entry of a legend.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) look: Look,
    /// The series that it belongs to. Readers switch the series off by clicking it.
    series: Option<usize>,
}

impl Entry {
    pub(crate) fn new(text: &str, look: Look) -> Entry {
        Entry { text: text.to_owned(), look, series: None }
    }

    /// An entry of a series.
    pub(crate) fn of(number: usize, text: &str, look: Look) -> Entry {
        Entry { text: text.to_owned(), look, series: Some(number) }
    }
}

impl<'h> Sheet<'h> {
    /// A sheet with the title.
    pub(crate) fn new(heading: &'h Heading) -> Sheet<'h> {
        let mut sheet = Sheet {
            heading,
            id: xml_id(&heading.id),
            svg: Svg::default(),
            definitions: Svg::default(),
            hatched: Vec::new(),
            y: MARGIN,
            hidden: 0,
            notes: Vec::new(),
            caption: String::new(),
            is_empty: false,
            plot: 0,
        };
        for line in wrap(&heading.title, Face::Title, WIDTH - 2.0 * MARGIN, 3) {
            sheet.svg.words((MARGIN, sheet.y + 15.0), Anchor::Start, Face::Title, &line);
            sheet.y += 22.0;
        }
        sheet.y += 2.0;
        sheet
    }

    /// Lines of entries, as many in each as fit.
    pub(crate) fn legend(&mut self, entries: &[Entry]) {
        self.legend_from(entries, MARGIN);
    }

    /// As [`Sheet::legend`], with the first line starting further to the right.
    pub(crate) fn legend_from(&mut self, entries: &[Entry], mut x: f64) {
        if entries.is_empty() {
            return;
        }
        for entry in entries {
            let text = fit(&entry.text, Face::Label, LONGEST);
            let wide = SAMPLE + width(&text, Face::Label) + GAP;
            if x > MARGIN && x + wide - GAP > WIDTH - MARGIN {
                x = MARGIN;
                self.y += LINE;
            }
            if let Some(series) = entry.series {
                let key = self.key(series);
                self.svg.open("g", &[("class", "key"), ("data-key", &key)]);
            }
            sample(self, entry.look, (x, self.y + LINE / 2.0));
            self.svg.words((x + SAMPLE, self.y + 13.0), Anchor::Start, Face::Label, &text);
            if entry.series.is_some() {
                self.svg.close("g");
            }
            x += wide;
        }
        self.y += LINE + 2.0;
    }

    /// A text across the figure, on several lines if necessary.
    pub(crate) fn line_of_words(&mut self, text: &str) {
        for line in wrap(text, Face::Label, WIDTH - 2.0 * MARGIN, 3) {
            self.svg.words((MARGIN, self.y + 13.0), Anchor::Start, Face::Label, &line);
            self.y += LINE;
        }
    }

    /// An empty frame that says why it is empty.
    pub(crate) fn nothing(&mut self, reason: &str) {
        let place = Rect { x: MARGIN, y: self.y + 4.0, width: WIDTH - 2.0 * MARGIN, height: 88.0 };
        self.svg.rect(&[("class", "none"), ("rx", "4")], place, "");
        let text = fit(reason, Face::Label, place.width - 20.0);
        self.svg.words((WIDTH / 2.0, place.y + place.height / 2.0 + 4.0), Anchor::Middle, Face::Label, &text);
        self.y += 96.0;
        self.notes.push(format!("Nothing is drawn: {reason}."));
        self.is_empty = true;
    }

    /// An id that is unique among the series of the figure.
    fn key(&self, series: usize) -> String {
        format!("{}-{series}", self.plot)
    }

    /// Opens the group of a series' elements; closing `g` ends it.
    pub(crate) fn open_series(&mut self, style: Style) {
        let key = self.key(style.number);
        self.svg.open("g", &[("class", &style.class()), ("data-series", &key)]);
    }

    /// Sets the caption.
    pub(crate) fn see(&mut self, sentence: &str) {
        self.caption = capital(sentence.trim());
    }

    /// Adds a sentence to the description.
    pub(crate) fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// The fill of areas of series `number`: its colour with a hatching of its own.
    pub(crate) fn fill(&mut self, number: usize) -> String {
        let number = number % 8;
        let id = format!("{}-h{number}", self.id);
        if !self.hatched.contains(&number) {
            self.hatched.push(number);
            let class = format!("s{number}");
            let tile = [
                ("id", id.as_str()),
                ("class", &class),
                ("width", "8"),
                ("height", "8"),
                ("patternUnits", "userSpaceOnUse"),
            ];
            self.definitions.open("pattern", &tile);
            self.definitions.leaf("rect", &[("class", "body"), ("width", "8"), ("height", "8")]);
            if !HATCHES[number].is_empty() {
                self.definitions.leaf("path", &[("class", "hatch"), ("d", HATCHES[number])]);
            }
            self.definitions.close("pattern");
        }
        format!("url(#{id})")
    }

    /// Finishes the figure.
    pub(crate) fn finish(mut self, description: &str, table: Table) -> DrawnChart {
        if self.hidden > 0 {
            let note = format!(
                "Not shown, because a logarithmic axis has positive values only: {}.",
                iolab_text::counted(self.hidden as u64, "value")
            );
            self.svg.words((MARGIN, self.y + 13.0), Anchor::Start, Face::Label, &note);
            self.y += LINE;
            self.notes.push(note);
        }
        let note = self.heading.note.trim();
        let parts = std::iter::once(description).chain(self.notes.iter().map(String::as_str)).chain([note]);
        let description = capital(&parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "));
        let (id, height) = (&self.id, px((self.y + MARGIN).ceil()));
        let named = [&self.heading.title, &self.heading.id].into_iter().find(|name| !name.trim().is_empty());
        let title = named.map_or("figure", String::as_str);
        let mut svg = Svg::default();
        let attributes = [
            ("xmlns", "http://www.w3.org/2000/svg"),
            ("class", "iolab-figure"),
            ("viewBox", &format!("0 0 {WIDTH} {height}")),
            ("width", &WIDTH.to_string()),
            ("height", &height),
            ("role", "img"),
            ("aria-labelledby", &format!("{id}-title {id}-desc")),
            ("direction", "ltr"),
        ];
        svg.open("svg", &attributes);
        svg.text.push_str(&format!("<title id=\"{id}-title\">{}</title>", escaped(title)));
        svg.text.push_str(&format!("<desc id=\"{id}-desc\">{}</desc>", escaped(&description)));
        if !self.definitions.text.is_empty() {
            svg.text.push_str(&format!("<defs>{}</defs>", self.definitions.text));
        }
        svg.leaf("rect", &[("class", "ground"), ("width", &WIDTH.to_string()), ("height", &height)]);
        svg.text.push_str(&self.svg.text);
        svg.close("svg");
        DrawnChart {
            id: self.id,
            title: title.to_owned(),
            description,
            caption: self.caption,
            is_empty: self.is_empty,
            svg: svg.text,
            table,
        }
    }
}

/// Draws the sample of a legend, its middle line at `y`.
fn sample(sheet: &mut Sheet<'_>, look: Look, (x, y): (f64, f64)) {
    let (from, to, middle) = ((x, y), (x + 24.0, y), (x + 12.0, y));
    let area = |height: f64| Rect { x: x + 2.0, y: y - height / 2.0, width: 20.0, height };
    match look {
        Look::Line(style) => {
            sheet.svg.open("g", &[("class", &style.class())]);
            sheet.svg.line(&style.line_class(), from, to);
            if style.marked {
                style.mark(&mut sheet.svg, middle, "");
            }
            sheet.svg.close("g");
        }
        Look::Marker(style) => {
            sheet.svg.open("g", &[("class", &style.class())]);
            style.mark(&mut sheet.svg, middle, "");
            sheet.svg.close("g");
        }
        Look::Area(number) => {
            let fill = sheet.fill(number);
            let class = format!("s{} f", number % 8);
            sheet.svg.rect(&[("class", &class), ("fill", &fill)], area(11.0), "");
        }
        Look::Deviation => {
            sheet.svg.open("g", &[("class", "s6")]);
            sheet.svg.line("v", (x + 12.0, y - 6.0), (x + 12.0, y + 6.0));
            sheet.svg.close("g");
        }
        Look::Missing => missing(&mut sheet.svg, (x + 12.0, y + 9.0), ""),
        Look::Rule(dash) => sheet.svg.line(&format!("r d{dash}"), from, to),
        Look::Zone => sheet.svg.rect(&[("class", "z")], area(11.0), ""),
        Look::Trials => {
            let mut dots = Path::default();
            [(5.0, -2.5), (12.0, 2.5), (19.0, -1.0)].into_iter().for_each(|(dx, dy)| dots.dot(x + dx, y + dy));
            sheet.svg.open("g", &[("class", "open")]);
            sheet.svg.leaf("path", &[("class", "p"), ("d", &dots.d)]);
            sheet.svg.close("g");
        }
    }
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

/// Hatchings that distinguish areas without colour, in tiles of 8 by 8.
const HATCHES: [&str; 8] = [
    "",
    "M-1 1L1-1M-1 9L9-1M7 9L9 7",
    "M-1 7L1 9M-1-1L9 9M7-1L9 1",
    "M0 4H8",
    "M4 0V8",
    "M0 4H8M4 0V8",
    "M2 2h1M6 6h1",
    "M-1-1L9 9M-1 9L9-1",
];
