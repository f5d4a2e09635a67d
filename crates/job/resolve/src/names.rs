//! File names: `filename` lists with escapes, and names derived from the job's (`filename_format`).

/// Splits at `:`; `\:` stands for a colon within a name. Empty names are dropped.
pub fn split(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => names.last_mut().into_iter().for_each(|name| name.push(':')),
            ':' => names.push(String::new()),
            c => names.last_mut().into_iter().for_each(|name| name.push(c)),
        }
        if c == '\\' && chars.peek() == Some(&':') {
            chars.next();
        }
    }
    names.retain(|name| !name.trim().is_empty());
    names
}

/// The values of the keywords of a `filename_format`.
pub(crate) struct Keywords<'a> {
    pub(crate) job: &'a str,
    pub(crate) clone: u32,
    pub(crate) file: usize,
    /// Empty in a run without a client.
    pub(crate) client: &'a str,
}

/// Fills in a format. As in fio, a `/` in the job's name is kept, so the file is in that directory.
pub(crate) fn generate(format: &str, keywords: &Keywords<'_>) -> String {
    let mut name = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        name.push_str(&rest[..at]);
        rest = &rest[at..];
        let (keyword, text) = [
            ("$jobname", keywords.job.to_owned()),
            ("$jobnum", keywords.clone.to_string()),
            ("$filenum", keywords.file.to_string()),
            ("$clientuid", keywords.client.to_owned()),
        ]
        .into_iter()
        .find(|(keyword, _)| rest.starts_with(keyword))
        .unwrap_or(("$", "$".to_owned()));
        name.push_str(&text);
        rest = &rest[keyword.len()..];
    }
    name + rest
}

/// Puts a name below a directory; even an absolute name, as in fio. `unique`, unless it is empty,
/// and a dot come before the name there.
pub(crate) fn below(directory: Option<&str>, unique: &str, name: &str) -> String {
    match directory {
        Some(directory) => {
            let dot = if unique.is_empty() { "" } else { "." };
            format!("{}/{unique}{dot}{}", directory.trim_end_matches('/'), name.trim_start_matches('/'))
        }
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_unescaped_colons() {
        let cases: [(&str, &[&str]); 5] = [
            ("/dev/sda:/dev/sdb", &["/dev/sda", "/dev/sdb"]),
            ("/dev/foo@3,0\\:c", &["/dev/foo@3,0:c"]),
            ("a\\:b:c\\d", &["a:b", "c\\d"]),
            ("one", &["one"]),
            ("a::b:", &["a", "b"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn formats_are_filled() {
        let keywords = Keywords { job: "my/job", clone: 3, file: 7, client: "10.0.0.7" };
        let cases = [
            ("$jobname.$jobnum.$filenum", "my/job.3.7"),
            ("testfiles.$filenum", "testfiles.7"),
            ("a/b/$jobnum-$jobname", "a/b/3-my/job"),
            ("cost$5.$clientuid-$filenum", "cost$5.10.0.0.7-7"),
        ];
        for (format, expected) in cases {
            assert_eq!(generate(format, &keywords), expected, "{format}");
        }
    }

    #[test]
    fn directories_come_first() {
        assert_eq!(below(Some("/mnt/"), "", "x"), "/mnt/x");
        assert_eq!(below(Some("/mnt"), "", "/abs"), "/mnt/abs");
        assert_eq!(below(None, "10.0.0.7", "/abs"), "/abs");
        assert_eq!(below(Some("/mnt"), "10.0.0.7", "/abs"), "/mnt/10.0.0.7.abs");
    }
}
