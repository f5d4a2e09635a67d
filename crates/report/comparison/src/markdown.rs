//! A comparison result as Markdown, for a comment on a pull request: the answer, what failed, the
//! table, and the rest folded.
//!
//! Tables and headings are those of GitHub Flavored Markdown (<https://github.github.com/gfm/>),
//! which GitLab reads, too. `details` and `summary` are HTML that both let through.

use std::collections::BTreeMap;

use iolab_findings::findings_text;
use iolab_study::word;
use iolab_text::{USUAL_COLUMNS, counted};

use crate::cells::{change, few, grid, limits};
use crate::compare::ComparisonResult;
use crate::text::method;
use crate::{JudgedCondition, Judgement};

/// The longest comment that GitHub takes has 65,536 characters; the rest is for what others add.
const MOST_CHARACTERS: usize = 60_000;

/// The whole result as Markdown. Rows that would make it longer than a comment may be are left out,
/// and counted.
pub fn markdown(outcome: &ComparisonResult) -> String {
    let mut text = format!("### {}\n\n", answer(outcome));
    let (baseline, candidate) = (&outcome.baseline, &outcome.candidate);
    text += &format!(
        "{} ({}) against {} ({})\n\n",
        plain(&candidate.name),
        counted(candidate.runs as u64, "run"),
        plain(&baseline.name),
        counted(baseline.runs as u64, "run")
    );
    if !outcome.findings.is_empty() {
        text += &format!("```text\n{}\n```\n\n", findings_text(&outcome.findings, USUAL_COLUMNS).trim_end());
    }
    for judged in &outcome.conditions {
        text += &condition(judged);
    }
    if !outcome.conditions.is_empty() {
        text.push('\n');
    }
    let after = folded(outcome);
    text += &table(outcome, MOST_CHARACTERS.saturating_sub(text.chars().count() + after.chars().count()));
    text + &after
}

/// The result in one line: what failed, or else how many figures got which verdict.
fn answer(outcome: &ComparisonResult) -> String {
    let failed: Vec<String> = outcome
        .conditions
        .iter()
        .filter(|judged| judged.judgement == Judgement::Holds)
        .map(|judged| code(&judged.condition.text))
        .collect();
    if !failed.is_empty() {
        return format!("iolab: {} failed: {}", counted(failed.len() as u64, "condition"), failed.join(", "));
    }
    let mut verdicts: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &outcome.rows {
        if let Some(comparison) = &row.comparison {
            *verdicts.entry(word(&row.of, comparison.verdict)).or_default() += 1;
        }
    }
    const ORDER: [&str; 6] = ["worse", "better", "lower", "higher", "undecided", "equivalent"];
    let found: Vec<String> =
        ORDER.iter().filter_map(|word| verdicts.get(word).map(|count| format!("{count} {word}"))).collect();
    match (found.is_empty(), outcome.rows.is_empty()) {
        (false, _) => format!("iolab: {}", found.join(", ")),
        (true, true) => "iolab: nothing to compare".to_owned(),
        (true, false) => "iolab: no verdict".to_owned(),
    }
}

fn condition(judged: &JudgedCondition) -> String {
    let word = match judged.judgement {
        Judgement::Holds => "**fails**",
        Judgement::Open => "open",
        Judgement::Refuted => "passes",
    };
    let mut text = format!("- {} {word}\n", code(&judged.condition.text));
    if judged.rows.is_empty() {
        text += "  - nothing was compared\n";
    }
    for row in judged.rows.iter().filter(|row| row.judgement != Judgement::Refuted) {
        let name = if row.name.is_empty() { String::new() } else { format!("{}: ", plain(&row.name)) };
        let ratio = row.ratio.map_or(String::new(), |ratio| format!("{} {}", change(ratio.estimate), limits(&ratio)));
        let reason = row.reason.as_ref().map_or(String::new(), |reason| format!(" ({})", plain(reason)));
        text += &format!("  - {name}{}{reason}\n", plain(&ratio));
    }
    text
}

fn table(outcome: &ComparisonResult, room: usize) -> String {
    let grid = grid(&outcome.rows, &outcome.rules);
    if outcome.rows.is_empty() {
        return String::new();
    }
    let line = |cells: &Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let columns = grid.lines[0].len();
    let ruler: Vec<&str> =
        (0..columns).map(|column| if grid.numbers.contains(&column) { "---:" } else { "---" }).collect();
    let mut text = line(&grid.lines[0]) + &format!("| {} |\n", ruler.join(" | "));
    let mut used = text.chars().count();
    for (index, cells) in grid.lines.iter().enumerate().skip(1) {
        let row = line(cells);
        used += row.chars().count();
        if used > room {
            text += &format!("\n{} left out.\n", counted((grid.lines.len() - index) as u64, "row"));
            break;
        }
        text += &row;
    }
    text
}

/// How the table was made, and what else differs.
fn folded(outcome: &ComparisonResult) -> String {
    let mut items: Vec<String> = Some(method(outcome)).filter(|method| !method.is_empty()).into_iter().collect();
    for one in &outcome.differences {
        items.push(format!("{}: {} → {}", one.what, few(&one.baseline), few(&one.candidate)));
    }
    items.extend(outcome.notes.iter().cloned());
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("- {}\n", plain(item))).collect();
    format!("\n<details><summary>Method, other differences, notes</summary>\n\n{items}\n</details>\n")
}

/// A text in which nothing is markup: names come from files and people.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            // A mention would call people.
            '@' => escaped += "&#64;",
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A span of code, with more backticks around it than in it.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let gap = if longest > 0 { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_markup() {
        assert_eq!(plain("a|b_<c> @all [x](y)"), "a\\|b\\_&lt;c&gt; &#64;all \\[x\\](y)");
        assert_eq!(plain("two\nlines"), "two lines");
        assert_eq!(code("p99 > +5%"), "`p99 > +5%`");
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
    }
}
