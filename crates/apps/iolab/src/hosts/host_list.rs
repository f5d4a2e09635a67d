//! Lists of hosts: `a,b,c:2`, or a file with a host in each line.

use std::path::Path;

use crate::exit::ExitFailure;

/// Most ranks of a run.
const MOST_RANKS: usize = 10_000;

/// The host of each rank.
pub(super) fn hosts(list: &str) -> Result<Vec<String>, ExitFailure> {
    let wrong = |what: String| ExitFailure::mistake(format!("iolab: --hosts={list}: {what}"));
    let text = if Path::new(list).is_file() {
        let text = iolab_bounded_read::read_text(Path::new(list), iolab_bounded_read::HOST_LIST);
        text.map_err(|error| wrong(error.to_string()))?
    } else {
        list.to_owned()
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.flat_map(|line| line.split(|letter: char| letter == ',' || letter.is_whitespace()));
    let mut hosts = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let (host, count) = match word.rsplit_once(':') {
            Some((host, count)) => {
                let count = count.parse().ok().filter(|count| (1..=MOST_RANKS).contains(count));
                (host, count.ok_or_else(|| wrong(format!("`{word}`: after the colon stands the number of ranks")))?)
            }
            None => (word, 1),
        };
        if host.is_empty() || host.starts_with('-') {
            return Err(wrong(format!("`{word}` names no host")));
        }
        hosts.extend(std::iter::repeat_n(host.to_owned(), count));
    }
    match hosts.len() {
        0 => Err(wrong("no host is named; write a,b,c:2".to_owned())),
        1..=MOST_RANKS => Ok(hosts),
        many => Err(wrong(format!("{many} ranks are more than {MOST_RANKS}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_and_wrong_ones_refused() {
        for (list, ranks) in
            [("a", "a"), ("a,b,c:2", "a b c c"), (" a:1, b ", "a b"), ("node[1].x:3", "node[1].x node[1].x node[1].x")]
        {
            assert_eq!(hosts(list).unwrap().join(" "), ranks, "{list}");
        }
        for (list, said) in [
            ("", "no host"),
            (",", "no host"),
            ("a:0", "number of ranks"),
            ("a:x", "number of ranks"),
            (":2", "names no host"),
            ("-oProxyCommand=x", "names no host"),
            ("a:9999,b:2", "10001 ranks"),
        ] {
            assert!(hosts(list).unwrap_err().message.contains(said), "{list}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        std::fs::write(&file, "a:2 # the first\nb\n").unwrap();
        assert_eq!(hosts(&file.display().to_string()).unwrap(), ["a", "a", "b"]);
    }
}
