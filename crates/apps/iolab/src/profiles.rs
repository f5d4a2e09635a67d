//! `--profile=tiobench`: the jobs of a profile of fio instead of the word.
//!
//! ```text
//!  --profile=tiobench --size=64 --threads=4   ─▶   --size=64m --numjobs=4 … --name=seqwrite … --name=randread …
//! ```
//!
//! A profile has options of its own, which stand for those of its jobs. fio accepts them, too, but
//! runs the jobs with their defaults.

use std::collections::BTreeMap;

use crate::exit::ExitFailure;

/// The options of the profile.
const OPTIONS: [&str; 5] = ["size", "block", "numruns", "dir", "threads"];

/// The words with the jobs of a profile in place of it; `None` if there is none.
///
/// # Errors
/// There is no such profile, or a value of it is no number.
pub(crate) fn expand(words: &[String], memory_mib: impl FnOnce() -> u64) -> Result<Option<Vec<String>>, ExitFailure> {
    let (mut profile, mut given, mut others) = (None, BTreeMap::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let option = word.strip_prefix("--").map(|option| option.split_once('=').unwrap_or((option, "")));
        match option {
            Some(("profile", "")) => profile = rest.next().cloned(),
            Some(("profile", name)) => profile = Some(name.to_owned()),
            Some((name, value)) if OPTIONS.contains(&name) => {
                given.insert(name.to_owned(), (word.clone(), value.to_owned()));
            }
            _ => others.push(word.clone()),
        }
    }
    let Some(profile) = profile else { return Ok(None) };
    if profile != "tiobench" {
        return Err(ExitFailure::mistake(format!(
            "iolab: --profile={profile}: the only profile is tiobench: write the jobs out, or use iolab bench"
        )));
    }
    let value = |name: &str| given.get(name).map(|(_, value)| value.as_str());
    let number = |name: &str| match value(name).map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(number)) if number > 0 => Ok(Some(number)),
        Some(_) => {
            let (word, _) = &given[name];
            Err(ExitFailure::mistake(format!("iolab: {word}: profile tiobench takes a whole number from 1 here")))
        }
    };
    // fio's default: as many blocks of 4 KiB as this machine has MiB of memory.
    let size_bytes =
        number("size")?.map_or_else(|| memory_mib().saturating_mul(4096), |mib| mib.saturating_mul(1 << 20));
    let block = number("block")?.unwrap_or(4096);
    let (loops, threads) = (number("numruns")?.unwrap_or(1), number("threads")?.unwrap_or(1));
    let folder = value("dir").filter(|folder| !folder.is_empty()).unwrap_or("./");
    let common = [
        format!("--size={size_bytes}"),
        format!("--bs={block}"),
        format!("--loops={loops}"),
        format!("--directory={folder}"),
        format!("--numjobs={threads}"),
    ];
    let jobs = [
        "--buffered=0 --runtime=600 --group_reporting --thread --overwrite=1",
        "--filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4",
        "--name=seqwrite --rw=write --end_fsync=1",
        "--name=randwrite --stonewall --rw=randwrite --end_fsync=1",
        "--name=seqread --stonewall --rw=read",
        "--name=randread --stonewall --rw=randread",
    ];
    let jobs = jobs.iter().flat_map(|job| job.split(' ')).map(str::to_owned);
    Ok(Some(others.into_iter().chain(common).chain(jobs).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> Result<Option<Vec<String>>, ExitFailure> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        expand(&words, || 1000)
    }

    #[test]
    fn a_profile_becomes_its_jobs() {
        assert_eq!(expanded("--name=a --size=1m --dir=x").expect("no profile"), None);
        let words =
            expanded("--minimal --profile=tiobench --size=2 --threads=3 --dir=/x").expect("jobs").expect("a profile");
        assert_eq!(words[0], "--minimal");
        for word in ["--size=2097152", "--numjobs=3", "--directory=/x", "--bs=4096", "--loops=1"] {
            assert!(words.iter().any(|found| found == word), "{word}: {words:?}");
        }
        assert_eq!(words.iter().filter(|word| word.starts_with("--name=")).count(), 4);
        let words = expanded("--profile tiobench").expect("jobs").expect("a profile");
        assert!(words.contains(&"--size=4096000".to_owned()));
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        for (line, said) in [
            ("--profile=act", "the only profile is tiobench"),
            ("--profile=tiobench --size=2m", "--size=2m: profile tiobench takes a whole number"),
            ("--profile=tiobench --threads=0", "--threads=0"),
        ] {
            let refused = expanded(line).expect_err(line);
            assert!(refused.message.contains(said), "{line}: {}", refused.message);
        }
    }
}
