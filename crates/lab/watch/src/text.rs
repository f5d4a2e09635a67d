//! Reports as text: iostat's tables, iostat's JSON document, JSON lines.

use std::fmt::Write;

use iolab_iostat::{self as columns, DeviceActivity};

use super::groups::Of;
use super::looks::{Facts, Look, Looker};
use super::more;
use crate::request::WatchFormat;

/// Makes the text of one report after the other.
#[derive(Debug)]
pub(crate) struct Printer {
    form: WatchFormat,
    facts: Facts,
    /// Whether the document's list already has an element.
    follows: bool,
}

impl Printer {
    pub(crate) fn new(form: WatchFormat, facts: Facts) -> Printer {
        Printer { form, facts, follows: false }
    }

    /// Text before the first report.
    pub(crate) fn begin(&self) -> String {
        let facts = &self.facts;
        let (Facts { kernel, hostname, machine, cpus, .. }, date) = (facts, date(facts.unix_ns));
        if self.form.lines {
            return String::new();
        }
        if self.form.document {
            let [hostname, kernel, machine] =
                [hostname, kernel, machine].map(|text| serde_json::Value::from(text.as_str()));
            return format!(
                "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{\n\t\t\t\"nodename\": {hostname},\n\t\t\t\"sysname\": \"Linux\",\n\
                 \t\t\t\"release\": {kernel},\n\t\t\t\"machine\": {machine},\n\t\t\t\"number-of-cpus\": {cpus},\n\
                 \t\t\t\"date\": \"{date}\",\n\t\t\t\"statistics\": [\n"
            );
        }
        format!("Linux {kernel} ({hostname}) \t{date} \t_{machine}_\t({cpus} CPU)\n\n")
    }

    /// Text in place of a skipped report.
    pub(crate) fn skip(&self) -> String {
        if self.form.lines { String::new() } else { "\n".to_owned() }
    }

    /// One report: what happened since `before`, or since boot.
    pub(crate) fn report(&mut self, before: Option<&Look>, look: &Look, looker: &Looker) -> String {
        let mut devices = looker.lines(before, look);
        devices.retain(|(_, activity)| !self.form.omit_idle || !activity.is_idle());
        if self.form.lines {
            return more::json_lines(self.form, before, look, &devices, looker);
        }
        if self.form.document {
            return self.element(before, look, &named(&devices, looker));
        }
        self.tables(before, look, &devices, looker)
    }

    /// Text after the last report.
    pub(crate) fn end(&self) -> String {
        let end = if self.form.document { "\n\t\t\t]\n\t\t}\n\t]\n}}\n" } else { "" };
        end.to_owned()
    }

    fn tables(&self, before: Option<&Look>, look: &Look, devices: &[(Of, DeviceActivity)], looker: &Looker) -> String {
        let form = self.form;
        let mut text = String::new();
        // Writing to a String cannot fail.
        if form.timestamps {
            let _ = writeln!(text, "{} {}", date(look.unix_ns), time(look.unix_ns));
        }
        if form.cpu {
            let since = before.map(|look| look.cpu).unwrap_or_default();
            let _ = writeln!(text, "{}\n{}\n", columns::cpu_header(), form.layout.cpu_row(&since, &look.cpu));
        }
        if form.devices {
            text += &form.layout.tables(&named(devices, looker));
        } else {
            text += "\n";
        }
        if form.more {
            text += &more::text(before, look, devices, looker);
        }
        text + "\n"
    }

    fn element(&mut self, before: Option<&Look>, look: &Look, devices: &[(String, DeviceActivity)]) -> String {
        const INDENT: &str = "\t\t\t\t\t";
        let form = self.form;
        let mut parts = Vec::new();
        if form.timestamps {
            parts.push(format!("{INDENT}\"timestamp\": \"{} {}\"", date(look.unix_ns), time(look.unix_ns)));
        }
        if form.cpu {
            let since = before.map(|look| look.cpu).unwrap_or_default();
            parts.push(format!("{INDENT}\"avg-cpu\":  {}", columns::cpu_json(&since, &look.cpu)));
        }
        if form.devices {
            let object = |(name, activity): &(String, DeviceActivity)| {
                format!("{INDENT}\t{}", columns::json_object(name, activity, &form.layout))
            };
            let objects: Vec<String> = devices.iter().map(object).collect();
            parts.push(format!("{INDENT}\"disk\": [\n{}\n{INDENT}]", objects.join(",\n")));
        }
        let comma = if std::mem::replace(&mut self.follows, true) { ",\n" } else { "" };
        format!("{comma}\t\t\t\t{{\n{}\n\t\t\t\t}}", parts.join(",\n"))
    }
}

/// Lines by the names that are shown.
fn named(lines: &[(Of, DeviceActivity)], looker: &Looker) -> Vec<(String, DeviceActivity)> {
    lines.iter().map(|(of, activity)| (looker.shown(of), *activity)).collect()
}

/// `11/22/26`, as iostat without a locale.
fn date(unix_ns: u64) -> String {
    let text = iolab_report::iso_text(unix_ns / 1_000_000_000);
    format!("{}/{}/{}", &text[5..7], &text[8..10], &text[2..4])
}

/// `05:31:40`, UTC.
fn time(unix_ns: u64) -> String {
    iolab_report::iso_text(unix_ns / 1_000_000_000)[11..].to_owned()
}
