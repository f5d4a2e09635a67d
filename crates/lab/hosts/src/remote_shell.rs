//! Remote shells: programs such as `ssh` that get a host and a line for the shell there.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// How long a remote shell may take to end when its program has, ns.
const SHELL_END_NS: u64 = 2_000_000_000;

/// A line for the shell there.
pub(crate) fn line(program: &Path, arguments: &[String]) -> String {
    let words = std::iter::once(program.display().to_string()).chain(arguments.iter().cloned());
    words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it, whatever is in it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-=+,:@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Starts a remote shell: both directions are one socket.
pub(crate) fn shell(words: &[String], host: &str, line: &str) -> io::Result<(OwnedFd, Option<Child>)> {
    let [program, first @ ..] = words else { return Err(io::Error::other("no remote shell is named")) };
    let (own, theirs) = UnixStream::pair()?;
    let theirs = OwnedFd::from(theirs);
    let mut command = Command::new(program);
    command.args(first).arg(host).arg(line);
    command.stdin(Stdio::from(theirs.try_clone()?)).stdout(Stdio::from(theirs));
    // The terminal's signals are for this program, which tells the ranks.
    command.process_group(0);
    let child = command.spawn().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    Ok((own.into(), Some(child)))
}

/// A remote shell, which ends with its rank.
pub(crate) struct Shell(Option<Child>);

impl Shell {
    /// Of a rank that is reached through none, if there is no process.
    pub(crate) fn of(child: Option<Child>) -> Shell {
        Shell(child)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            iolab_process::end_or_kill(child, SHELL_END_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_by_a_shell_as_they_were() {
        let words = ["/opt/an iolab", "it's", "", "a;b", "$HOME", "plain-1.2=x"];
        let rest: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
        let line = line(Path::new(words[0]), &rest);
        let output = Command::new("/bin/sh").arg("-c").arg(format!("printf '%s\\n' {line}")).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>(), words);
    }

    #[test]
    fn both_directions_are_one_socket_and_the_end_is_noticed() {
        use std::io::{Read, Write};
        let words = ["/bin/sh".to_owned(), "-c".to_owned(), "read word; echo \"$0 $1 $word\"".to_owned()];
        let (socket, child) = shell(&words, "host", "line").unwrap();
        let mut socket = UnixStream::from(socket);
        socket.write_all(b"said\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "host line said\n");
        drop(Shell::of(child));
    }
}
