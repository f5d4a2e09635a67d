//! Reads a page as strictly as its readers may need: tags balanced, attributes quoted, ids unique,
//! references that lead somewhere.
//!
//! It knows just the HTML that the reports are made of; it is no parser for other pages.

use std::collections::BTreeSet;

/// Elements without an end.
const VOID: [&str; 6] = ["meta", "link", "br", "hr", "img", "input"];

/// What a page consists of.
#[derive(Debug, Default)]
pub struct HtmlPage {
    /// Level and text of each heading, in order.
    pub headings: Vec<(u8, String)>,
    /// Names of all elements, in the order of their starts.
    pub elements: Vec<String>,
    /// Elements with what stands around them, outermost first, as `main/section/figure`.
    pub paths: Vec<String>,
    /// Name and value of all attributes.
    pub attributes: Vec<(String, String)>,
    /// All text between tags, without style sheets.
    pub text: String,
}

/// Reads a page.
///
/// # Panics
/// It is not well-formed, or refers to what is not there; the message says where.
pub fn read_html(page: &str) -> HtmlPage {
    let mut found = HtmlPage::default();
    let body = page.strip_prefix("<!DOCTYPE html>").expect("it begins with its document type");
    let (mut open, mut rest): (Vec<String>, &str) = (Vec::new(), body);
    while let Some(start) = rest.find('<') {
        found.take_text(&rest[..start], open.last().map_or("", String::as_str));
        let (tag, after) = split_tag(&rest[start..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop().unwrap_or_default();
            assert_eq!(last, name.trim(), "ends another element than it began: {}", &rest[..rest.len().min(100)]);
            continue;
        }
        let closed = tag.ends_with('/');
        let (name, attributes) =
            tag.trim_end_matches('/').split_once([' ', '\n']).unwrap_or((tag.trim_end_matches('/'), ""));
        found.elements.push(name.to_owned());
        found.paths.push(open.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("/"));
        found.take_attributes(attributes, name);
        if let Some(level) = name.strip_prefix('h').and_then(|level| level.parse().ok()) {
            found.headings.push((level, String::new()));
        }
        if !closed && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
        if name == "style" || name == "script" {
            rest = &rest[rest.find(&format!("</{name}>")).expect("it ends")..];
        }
    }
    assert!(open.is_empty(), "never ended: {open:?}");
    found.check_references();
    found
}

/// The inside of the tag at the front, and what follows it.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return (&text[1..at], &text[at + 1..]),
            _ => {}
        }
    }
    panic!("a tag without an end: {}", &text[..text.len().min(100)]);
}

impl HtmlPage {
    fn take_text(&mut self, text: &str, inside: &str) {
        if inside != "style" {
            self.text.push_str(text);
        }
        let is_heading = |name: &str| name.len() == 2 && name.starts_with('h') && name != "hr";
        if let Some(last) = self.headings.last_mut().filter(|_| is_heading(inside) || inside == "bdi") {
            // A heading's text may stand in an element of its own.
            if last.1.is_empty() {
                last.1 = text.trim().to_owned();
            }
        }
    }

    fn take_attributes(&mut self, mut text: &str, element: &str) {
        loop {
            text = text.trim_start();
            if text.is_empty() {
                return;
            }
            let end = text.find([' ', '=']).unwrap_or(text.len());
            let name = text[..end].to_owned();
            text = &text[end..];
            let value = match text.strip_prefix("=\"") {
                Some(quoted) => {
                    let end = quoted.find('"').unwrap_or_else(|| panic!("{element} {name}: no closing quote"));
                    text = &quoted[end + 1..];
                    quoted[..end].to_owned()
                }
                None => {
                    assert!(!text.starts_with('='), "{element} {name} is not quoted");
                    String::new()
                }
            };
            assert!(!value.contains('<'), "{element} {name} is not escaped: {value}");
            self.attributes.push((name, value));
        }
    }

    fn check_references(&self) {
        let mut ids = BTreeSet::new();
        for (_, id) in self.attributes.iter().filter(|(name, _)| name == "id") {
            assert!(ids.insert(id.as_str()), "two elements have the id {id}");
        }
        for (name, value) in &self.attributes {
            let targets: Vec<&str> = match name.as_str() {
                "aria-labelledby" | "aria-describedby" => value.split(' ').collect(),
                "href" => value.strip_prefix('#').into_iter().collect(),
                _ => Vec::new(),
            };
            for target in targets {
                assert!(ids.contains(target), "{name} leads to {target}, which is not there");
            }
        }
        let mut deepest = 0;
        for (level, text) in &self.headings {
            assert!(*level <= deepest + 1, "heading {level} '{text}' below a heading {deepest}");
            deepest = *level;
        }
    }

    /// Asserts what holds of every page of reports: it asks for nothing from outside, and every
    /// figure has its numbers in a table; no character is written as its escape.
    ///
    /// # Panics
    /// It does not hold.
    pub fn stands_alone(&self) {
        assert!(!self.text.contains("\\u{"), "a character is written as its escape");
        for (name, value) in &self.attributes {
            assert!(!["src", "srcset", "action", "formaction"].contains(&name.as_str()), "{name}={value}");
            assert!(!name.starts_with("on"), "{name}={value}");
            let is_outside = value.contains("://") && name != "xmlns";
            assert!(!is_outside, "{name}={value} leads outside");
            let stays = |value: &str| value.starts_with('#') || value.starts_with("data:text/csv;");
            assert!(name != "href" || stays(value), "{name}={value} leads outside");
        }
        let scripts = self.elements.iter().filter(|name| *name == "script").count();
        let hashed = self.attributes.iter().any(|(_, value)| value.contains("script-src 'sha256-"));
        assert!(
            scripts == 0 || scripts == 1 && hashed,
            "there is a script that the policy does not know by its hash ({scripts} in all)"
        );
        for element in ["iframe", "object", "embed", "link", "base", "form"] {
            assert!(!self.elements.iter().any(|name| name == element), "there is a {element}");
        }
        let figures = self.elements.iter().filter(|name| *name == "figure").count();
        let mut tables_of_figures = 0;
        let mut seen = false;
        for path in &self.paths {
            if path.ends_with("/figure") {
                seen = false;
            }
            if path.contains("/figure/") && path.ends_with("/table") && !seen {
                seen = true;
                tables_of_figures += 1;
            }
        }
        assert_eq!(figures, tables_of_figures, "every figure has its numbers in a table");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_pages_are_read() {
        let page = read_html(
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><style>a > b {}</style></head><body><h1>One</h1><h2 id=\"x\"><bdi>Two</bdi></h2><a href=\"#x\">x</a></body></html>",
        );
        assert_eq!(page.headings, [(1, "One".to_owned()), (2, "Two".to_owned())]);
        page.stands_alone();
    }

    #[test]
    fn canary() {
        for (body, reason) in [
            ("<p><b></p></b>", "ends another element"),
            ("<p>", "ends another element"),
            ("<p id=x></p>", "is not quoted"),
            ("<p id=\"x\"></p><p id=\"x\"></p>", "two elements have the id"),
            ("<a href=\"#y\"></a>", "which is not there"),
            ("<h1>a</h1><h3>b</h3>", "below a heading"),
            ("<a href=\"http://x.example/\"></a>", "leads outside"),
            ("<script></script>", "there is a script"),
            ("<a href=\"data:text/html,x\"></a>", "leads outside"),
            ("<p onclick=\"x\"></p>", "onclick"),
            ("<main><figure></figure></main>", "every figure has"),
        ] {
            let page = format!("<!DOCTYPE html><html>{body}</html>");
            let refused = std::panic::catch_unwind(|| read_html(&page).stands_alone());
            let error = refused.expect_err(body);
            let text = error.downcast_ref::<String>().cloned().unwrap_or_default();
            assert!(text.contains(reason), "{body}: {text}");
        }
    }
}
