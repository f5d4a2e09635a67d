//! `iolab capture` on the command line: traces of commands, their display and summaries, refusals,
//! signals.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn iolab(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iolab")).args(words).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_command_is_captured_shown_and_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    let script = "dd if=/dev/zero of=app.db bs=4096 count=25 conv=fsync 2>/dev/null; exit 3";
    let captured = iolab(folder.path(), &["capture", "-o", "a.trace", "--", "sh", "-c", script]);
    let told = text(&captured.stderr);
    assert_eq!(captured.status.code(), Some(3), "{told}");
    assert!(told.starts_with("not seen: 0 % of the bytes"), "{told}");
    assert!(told.contains("\ncost: ") && told.contains("the command exited with 3"), "{told}");
    let stat = text(&iolab(folder.path(), &["capture", "stat", "a.trace"]).stdout);
    let line = stat.lines().find(|line| line.ends_with("/app.db")).unwrap();
    let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(&cells[..9], ["table", "0", "0 B", "-", "25", "100 KiB", "100 %", "0 %", "1"], "{stat}");
    let shown = text(&iolab(folder.path(), &["capture", "show", "a.trace"]).stdout);
    let writes: Vec<&str> =
        shown.lines().filter(|line| line.contains(" write ") && line.ends_with("/app.db")).collect();
    assert_eq!(writes.len(), 25, "{shown}");
    assert!(writes[24].contains(" write 98304 4096 4096 "), "{}", writes[24]);
    let first = text(&iolab(folder.path(), &["capture", "show", "-n", "2", "a.trace"]).stdout);
    assert_eq!(first.lines().count(), 3);
}

/// The tracer keeps a program whose threads do not call at the same time on one CPU; the program
/// does not notice.
#[test]
fn a_program_sees_all_of_its_cpus() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), [b'x'; 500]).unwrap();
    let script = "while read -r -n 1 x; do :; done < text; taskset -cp $$ > cpus; nproc >> cpus";
    let cpus = || fs::read_to_string(folder.path().join("cpus")).unwrap().replace(|c: char| c.is_alphabetic(), "");
    let places = |cpus: String| cpus.split_once(':').unwrap().1.to_owned();
    assert!(Command::new("bash").args(["-c", script]).current_dir(folder.path()).status().unwrap().success());
    let alone = places(cpus());
    assert!(iolab(folder.path(), &["capture", "--", "bash", "-c", script]).status.success());
    assert_eq!(places(cpus()), alone);
}

#[test]
fn names_can_be_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["capture", "--anonymize", "--", "sh", "-c", "echo x > hidden-name"];
    assert!(iolab(folder.path(), &words).status.success());
    let bytes = fs::read(folder.path().join("capture.trace")).unwrap();
    let trace = text(&bytes);
    assert!(!trace.contains("hidden-name") && !trace.contains("libc.so"), "{trace}");
    let stat = text(&iolab(folder.path(), &["capture", "stat", "capture.trace"]).stdout);
    assert!(stat.starts_with("trace by ptrace, names hidden\n"), "{stat}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "my own").unwrap();
    for (words, code, message) in [
        (&["capture", "--", "./no-such-program"][..], 2, "iolab: capture: ./no-such-program: No such file"),
        (&["capture", "-o", "mine", "--", "true"], 3, "not a trace that iolab wrote"),
        (&["capture", "show", "mine"], 2, "not a trace"),
        (&["capture", "stat", "missing"], 2, "No such file"),
        (&["capture"], 2, "COMMAND"),
    ] {
        let output = iolab(folder.path(), words);
        assert_eq!(output.status.code(), Some(code), "{words:?}");
        assert!(text(&output.stderr).contains(message), "{words:?}: {}", text(&output.stderr));
    }
    assert_eq!(fs::read_to_string(folder.path().join("mine")).unwrap(), "my own");
    assert!(!folder.path().join("capture.trace").exists(), "nothing is left of a command that cannot be run");
}

#[test]
fn a_trace_that_is_cut_off_is_shown_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    assert!(iolab(folder.path(), &["capture", "--", "sh", "-c", "echo abc > a"]).status.success());
    let path = folder.path().join("capture.trace");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let output = iolab(folder.path(), &["capture", "stat", "capture.trace"]);
    let (stat, told) = (text(&output.stdout), text(&output.stderr));
    assert!(stat.contains("incomplete: the file is cut off at byte") && stat.contains("write"), "{stat}");
    assert!(told.contains("warning: capture.trace: the file is cut off"), "{told}");
}

/// The output of strace is imported as a trace, exported as an iolog, and imported again.
#[test]
fn what_others_wrote_is_imported_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let strace = "7 1700000000.000100 pwrite64(5</db/pg_wal/1>, \"x\"..., 8192, 16384) = 8192 <0.000020>\n\
                  7 1700000000.000200 fdatasync(5</db/pg_wal/1>) = 0 <0.001000>\n";
    fs::write(folder.path().join("pg.strace"), strace).unwrap();
    let imported = iolab(folder.path(), &["capture", "--from", "pg.strace", "-o", "pg.trace"]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    assert!(text(&imported.stderr).contains("pg.trace: 2 operations"), "{}", text(&imported.stderr));
    let exported = iolab(folder.path(), &["capture", "export", "pg.trace", "-o", "pg.iolog"]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let iolog = fs::read_to_string(folder.path().join("pg.iolog")).unwrap();
    let expected = "fio version 3 iolog\n0 /db/pg_wal/1 add\n0 /db/pg_wal/1 open\n0 /db/pg_wal/1 write 16384 8192\n\
                    100 /db/pg_wal/1 datasync 0 0\n100 /db/pg_wal/1 close\n";
    assert_eq!(iolog, expected);
    assert!(iolab(folder.path(), &["capture", "--from", "pg.iolog", "-o", "again.trace"]).status.success());
    let shown = text(&iolab(folder.path(), &["capture", "show", "again.trace"]).stdout);
    assert!(shown.contains(" write_of_a_job 16384 8192 8192 "), "{shown}");
    for (words, message) in [
        (&["capture", "--from", "missing"][..], "No such file"),
        (&["capture", "--from", "pg.strace", "pg.iolog"], "import others one by one"),
        (&["capture", "--from", "pg.strace", "-o", "pg.strace", "--force"], "an input of the same command"),
    ] {
        let output = iolab(folder.path(), words);
        assert!(!output.status.success() && text(&output.stderr).contains(message), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read_to_string(folder.path().join("pg.strace")).unwrap(), strace);
}

/// Ctrl-C reaches both the command and the capture; the trace is complete.
#[test]
fn an_interrupt_from_the_terminal_ends_both_and_the_trace_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_iolab"))
        .args(["capture", "--", "sh", "-c", "while :; do echo x >> log; done"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    while !folder.path().join("log").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 2));
    let stat = text(&iolab(folder.path(), &["capture", "stat", "capture.trace"]).stdout);
    assert!(stat.lines().any(|line| line.ends_with("/log")) && !stat.contains("incomplete"), "{stat}");
}

/// A signal to the capture alone is passed on to the command, and the trace is complete.
#[test]
fn a_signal_ends_the_command_and_the_trace_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo begun > begun; while :; do echo x >> log; sleep 0.05; done";
    let mut child = Command::new(env!("CARGO_BIN_EXE_iolab"))
        .args(["capture", "--", "sh", "-c", script])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !folder.path().join("log").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    let stat = text(&iolab(folder.path(), &["capture", "stat", "capture.trace"]).stdout);
    assert!(stat.lines().any(|line| line.ends_with("/log")) && !stat.contains("incomplete"), "{stat}");
}
