//! Selects the entries to show.

use rusqlite::types::Value;

/// The conditions on entries. All that are set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Started at this time or later, ns since the Unix epoch.
    pub since_unix_ns: Option<u64>,
    /// `ioengine` of one of its jobs.
    pub engine: Option<String>,
    /// Hostname.
    pub host: Option<String>,
    /// All of these tags.
    pub tags: Vec<String>,
    /// Part of the title, the job text, the note or the path, ignoring case.
    pub text: Option<String>,
    /// All of these options with their values, as the user wrote them.
    pub options: Vec<(String, String)>,
    /// The trials of this study.
    pub parent: Option<i64>,
    /// Include trials of studies, which by default are shown only with their study.
    pub with_trials: bool,
    /// Only this number of entries, the newest.
    pub limit: Option<u32>,
}

impl Filter {
    /// The query for the numbers of the entries, newest first, with its parameters.
    pub(crate) fn query(&self) -> (String, Vec<Value>) {
        let mut conditions = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, of: Vec<Value>| {
            conditions.push(condition.to_owned());
            values.extend(of);
        };
        let text = |word: &str| Value::Text(word.to_owned());
        if let Some(parent) = self.parent {
            add("parent = ?", vec![Value::Integer(parent)]);
        } else if !self.with_trials {
            add("parent IS NULL", Vec::new());
        }
        if let Some(since) = self.since_unix_ns {
            add("started_unix_ns >= ?", vec![Value::Integer(i64::try_from(since).unwrap_or(i64::MAX))]);
        }
        if let Some(host) = &self.host {
            add("hostname = ?", vec![text(host)]);
        }
        let own = "SELECT 1 FROM option WHERE option.entry IN (SELECT id FROM entry AS own WHERE own.id = entry.id OR own.parent = entry.id)";
        for (name, value) in self
            .engine
            .iter()
            .map(|engine| ("ioengine", engine))
            .chain(self.options.iter().map(|(name, value)| (name.as_str(), value)))
        {
            add(&format!("EXISTS ({own} AND name = ? AND value = ?)"), vec![text(name), text(value)]);
        }
        for tag in &self.tags {
            add("EXISTS (SELECT 1 FROM tag WHERE tag.entry = entry.id AND tag.name = ?)", vec![text(tag)]);
        }
        if let Some(part) = &self.text {
            let escaped = part.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            let pattern = text(&format!("%{escaped}%"));
            let like = ["title", "job_text", "note", "path"].map(|column| format!("{column} LIKE ? ESCAPE '\\'"));
            add(&format!("({})", like.join(" OR ")), vec![pattern; like.len()]);
        }
        let mut query = "SELECT id FROM entry".to_owned();
        if !conditions.is_empty() {
            query += &format!(" WHERE {}", conditions.join(" AND "));
        }
        query += " ORDER BY started_unix_ns DESC, id DESC";
        if let Some(limit) = self.limit {
            query += &format!(" LIMIT {limit}");
        }
        (query, values)
    }
}
