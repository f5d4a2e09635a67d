//! Which servers a command line names, and the job files of each.
//!
//! ```text
//!  --client=a x.fio --client=b y.fio     x.fio on a, y.fio on b
//!  --client=a --client=b x.fio           x.fio on both
//!  --client=hosts.list x.fio             x.fio on every host of the file
//!  x.fio --client=a --client=b y.fio     as the second, with both files
//! ```

use std::path::Path;

use iolab_hosts::HostAddress;
use iolab_jobfile::command_line::CommandLine;

use crate::exit::ExitFailure;

/// Servers with the same job files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) servers: Vec<HostAddress>,
    /// Job files of this machine.
    pub(super) files: Vec<String>,
    /// Job files of the server (`--remote-config`).
    pub(super) remote_files: Vec<String>,
}

impl Target {
    fn has_files(&self) -> bool {
        !self.files.is_empty() || !self.remote_files.is_empty()
    }
}

/// All of them, in the order of the command line.
pub(super) fn targets(line: &CommandLine) -> Result<Vec<Target>, ExitFailure> {
    let mut targets: Vec<Target> = Vec::new();
    let (mut leading, mut leading_remote) = (Vec::new(), Vec::new());
    let mut files = line.files.iter().zip(&line.options_before_files).peekable();
    for (place, setting) in line.program.iter().enumerate() {
        while let Some((file, _)) = files.next_if(|(_, before)| **before <= place) {
            targets.last_mut().map_or(&mut leading, |target| &mut target.files).push(file.clone());
        }
        let value = setting.value.as_deref().unwrap_or_default();
        match setting.name {
            "client" => {
                if targets.last().is_none_or(Target::has_files) {
                    targets.push(Target::default());
                }
                if let Some(target) = targets.last_mut() {
                    target.servers.extend(servers(value)?);
                }
            }
            "remote-config" => {
                targets
                    .last_mut()
                    .map_or(&mut leading_remote, |target| &mut target.remote_files)
                    .push(value.to_owned());
            }
            _ => {}
        }
    }
    for (file, _) in files {
        targets.last_mut().map_or(&mut leading, |target| &mut target.files).push(file.clone());
    }
    for target in &mut targets {
        target.files.splice(0..0, leading.iter().cloned());
        target.remote_files.splice(0..0, leading_remote.iter().cloned());
        if !target.has_files() && !line.defines_jobs() {
            let names: Vec<String> = target.servers.iter().map(ToString::to_string).collect();
            return Err(ExitFailure::mistake(format!(
                "iolab: no job for client {}: name a job file after it, or --remote-config=FILE",
                names.join(", ")
            )));
        }
    }
    Ok(targets)
}

/// The servers of one `--client`: an address, or the addresses in a file, one in each line.
fn servers(value: &str) -> Result<Vec<HostAddress>, ExitFailure> {
    let wrong = |what: String| ExitFailure::mistake(format!("iolab: --client={value}: {what}"));
    if !Path::new(value).is_file() {
        return Ok(vec![HostAddress::parse(value).map_err(|error| wrong(error.to_string()))?]);
    }
    let text = iolab_bounded_read::read_text(Path::new(value), iolab_bounded_read::HOST_LIST);
    let text = text.map_err(|error| wrong(error.to_string()))?;
    let words = text.lines().map(|line| line.split('#').next().unwrap_or_default()).flat_map(str::split_whitespace);
    let found: Result<Vec<_>, _> = words.map(HostAddress::parse).collect();
    match found {
        Ok(found) if found.is_empty() => Err(wrong("the file names no host".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(wrong(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::here;
    use crate::run_options::shapes;

    fn of(words: &[&str]) -> Result<Vec<Target>, ExitFailure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        targets(&iolab_jobfile::command_line::parse(&words, &shapes(), &here()).unwrap())
    }

    /// As `a b: x y / remote`.
    fn text(targets: &[Target]) -> Vec<String> {
        let of = |target: &Target| {
            let servers: Vec<String> = target.servers.iter().map(HostAddress::name).collect();
            format!("{}: {} / {}", servers.join(" "), target.files.join(" "), target.remote_files.join(" "))
        };
        targets.iter().map(of).collect()
    }

    #[test]
    fn files_belong_to_the_clients_before_them() {
        let cases: [(&[&str], &[&str]); 7] = [
            (&["--client=a", "x.fio"], &["a: x.fio / "]),
            (&["--client=a", "x", "--client=b", "y"], &["a: x / ", "b: y / "]),
            (&["--client=a", "--client=b", "x"], &["a b: x / "]),
            (&["--client", "a", "x", "y"], &["a: x y / "]),
            (&["--client=a", "--remote-config=r", "--client=b", "y"], &["a:  / r", "b: y / "]),
            (&["x", "--client=a", "--eta=never", "--client=b", "y"], &["a b: x y / "]),
            (&["--client=a", "--client=b", "--name=j", "--size=1m"], &["a b:  / "]),
        ];
        for (words, expected) in cases {
            assert_eq!(text(&of(words).unwrap()), expected, "{words:?}");
        }
    }

    #[test]
    fn a_file_is_a_list_of_servers() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("hosts");
        std::fs::write(&list, "a # the first\n\nip6:::1,7 sock:/s\n").unwrap();
        let client = format!("--client={}", list.display());
        assert_eq!(text(&of(&[&client, "x"]).unwrap()), ["a ::1 /s: x / "]);
        std::fs::write(&list, "# none\n").unwrap();
        assert!(of(&[&client, "x"]).unwrap_err().message.contains("names no host"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(of(&["--client=a", "x", "--client=b"]).unwrap_err().message.contains("no job for client b"));
        assert!(of(&["--client=a:1", "x"]).unwrap_err().message.contains("follows a comma"));
    }
}
