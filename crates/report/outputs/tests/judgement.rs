//! What an output may replace, and what it never changes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use iolab_outputs::{OutputError, OutputKind, Outputs};
use tempfile::TempDir;

const PRECIOUS: &str = "the only copy";
const REPORT: &str = "a: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\n";
const RECORDING: &str = "{\"iolab_recording\":1}";

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        // Not in a tmpfs, if possible.
        Folder(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Names of all files in it.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn outputs(force: bool) -> Outputs {
    Outputs::new(force, |_| None)
}

fn write(force: bool, path: &Path, kind: OutputKind, text: &str) -> Result<(), OutputError> {
    outputs(force).place(path, kind, "the output")?.write(text.as_bytes())
}

fn is_foreign(answer: Result<(), OutputError>) -> bool {
    matches!(answer, Err(OutputError::Foreign { .. }))
}

#[test]
fn a_file_of_the_users_is_refused_and_replaced_only_by_force() {
    let folder = Folder::new();
    for kind in [OutputKind::Recording, OutputKind::Partial, OutputKind::Report, OutputKind::Log] {
        let path = folder.file("precious.txt", PRECIOUS);
        let other = folder.path("other name");
        fs::hard_link(&path, &other).unwrap();
        assert!(is_foreign(write(false, &path, kind, "new")), "{kind:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), PRECIOUS);
        write(true, &path, kind, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(&other).unwrap(), PRECIOUS, "{kind:?}: the file itself is not written to");
        fs::remove_file(&other).unwrap();
    }
    assert_eq!(folder.names(), ["precious.txt"], "nothing is left beside it");
}

#[test]
fn what_iolab_wrote_is_replaced_by_content_by_mark_or_because_it_is_empty() {
    let folder = Folder::new();
    for (text, kind) in [
        (REPORT, OutputKind::Report),
        (RECORDING, OutputKind::Recording),
        ("", OutputKind::Report),
        ("", OutputKind::Log),
    ] {
        let path = folder.file("out", text);
        let before = fs::metadata(&path).unwrap().ino();
        write(false, &path, kind, "words that nothing is known by").unwrap();
        assert_ne!(fs::metadata(&path).unwrap().ino(), before, "a new file");
    }
    let path = folder.path("marked");
    write(false, &path, OutputKind::Report, "words that nothing is known by").unwrap();
    write(false, &path, OutputKind::Report, "other words").unwrap();
    assert!(is_foreign(write(false, &path, OutputKind::Recording, RECORDING)), "a recording is no report");
    fs::File::options().append(true).open(&path).unwrap().write_all(b"and a note of mine").unwrap();
    assert!(is_foreign(write(false, &path, OutputKind::Report, "x")), "somebody wrote into it");
}

#[test]
fn links_are_not_followed() {
    let folder = Folder::new();
    let path = folder.file("precious.txt", PRECIOUS);
    let (link, dangling) = (folder.path("link"), folder.path("dangling"));
    symlink(&path, &link).unwrap();
    symlink(folder.path("elsewhere"), &dangling).unwrap();
    for name in [&link, &dangling] {
        assert!(is_foreign(write(false, name, OutputKind::Report, REPORT)));
        write(true, name, OutputKind::Report, REPORT).unwrap();
        assert!(fs::symlink_metadata(name).unwrap().is_file(), "the link is replaced, not what it leads to");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), PRECIOUS);
    assert!(!folder.path("elsewhere").exists());
}

#[test]
fn inputs_and_other_outputs_are_refused_even_by_force() {
    let folder = Folder::new();
    let input = folder.file("a.iolab", RECORDING);
    let other_name = folder.path("b.iolab");
    fs::hard_link(&input, &other_name).unwrap();
    let mut outputs = outputs(true);
    outputs.reads(&input, "the recording");
    for name in [&input, &other_name] {
        let answer = outputs.place(name, OutputKind::Recording, "--output");
        assert!(matches!(answer, Err(OutputError::Input { .. })), "{answer:?}");
    }
    let place =
        |outputs: &mut Outputs, name: &str, what: &str| outputs.place(&folder.path(name), OutputKind::Report, what);
    place(&mut outputs, "x", "--output").unwrap();
    place(&mut outputs, "x", "--output").unwrap();
    assert!(matches!(place(&mut outputs, "x", "--record"), Err(OutputError::Clash { .. })));
    assert!(matches!(place(&mut outputs, "./x", "--output"), Err(OutputError::Clash { .. })), "two names of one place");
    outputs.occupied(&folder.path("data"), "a file of job a");
    assert!(matches!(place(&mut outputs, "data", "--output"), Err(OutputError::Clash { .. })));
    let study = folder.path("study/trials");
    fs::create_dir_all(&study).unwrap();
    fs::write(study.join("t.iolab"), RECORDING).unwrap();
    outputs.reads(&folder.path("study"), "the study");
    let answer = outputs.place(&study.join("t.iolab"), OutputKind::Recording, "--output");
    assert!(matches!(answer, Err(OutputError::Input { .. })), "{answer:?}");
}

#[test]
fn what_cannot_be_an_output_is_said_before_anything_is_made() {
    let folder = Folder::new();
    fs::create_dir(folder.path("folder")).unwrap();
    folder.file("file", PRECIOUS);
    let devices = ["/dev/mem", "/dev/loop-control", "/dev/fuse"].into_iter().filter(|name| Path::new(name).exists());
    for name in ["folder", "folder/", "no/such", "file/x", "", ".."].into_iter().chain(devices) {
        let path = if name.is_empty() { PathBuf::new() } else { folder.path(name) };
        let answer = outputs(true).place(&path, OutputKind::Report, "the output");
        assert!(answer.as_ref().is_err_and(|error| error.is_mistake() || error.is_refusal()), "{name}: {answer:?}");
    }
    let used = Outputs::new(true, |_| Some("the system swaps to it".to_owned())).place(
        &folder.path("file"),
        OutputKind::Report,
        "the output",
    );
    assert!(matches!(used, Err(OutputError::Never { .. })));
    assert_eq!(folder.names(), ["file", "folder"]);
}

#[test]
fn streams_are_written_to_as_they_are() {
    let folder = Folder::new();
    write(false, Path::new("/dev/null"), OutputKind::Recording, "gone").unwrap();
    assert!(outputs(false).place(Path::new("/dev/full"), OutputKind::Report, "x").unwrap().write(b"more").is_err());
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    write(false, &pipe, OutputKind::Report, "through the pipe").unwrap();
    assert_eq!(reader.join().unwrap(), "through the pipe");
    // A descriptor that the caller opened, under its name.
    let given = folder.file("given", "before ");
    let file = fs::File::options().append(true).open(&given).unwrap();
    let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    write(false, Path::new(&name), OutputKind::Report, "after").unwrap();
    assert_eq!(fs::read_to_string(&given).unwrap(), "before after");
}

#[test]
fn a_file_that_takes_the_name_meanwhile_keeps_it() {
    let folder = Folder::new();
    for before in [None, Some(REPORT)] {
        let path = folder.path("out");
        let _ = fs::remove_file(&path);
        if let Some(text) = before {
            fs::write(&path, text).unwrap();
        }
        let mut output = outputs(false).place(&path, OutputKind::Report, "the output").unwrap().begin().unwrap();
        output.write_all(b"new").unwrap();
        let newcomer = folder.file("newcomer", PRECIOUS);
        fs::rename(newcomer, &path).unwrap();
        assert!(matches!(output.finish(), Err(OutputError::Changed { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), PRECIOUS);
        assert_eq!(folder.names(), ["out"]);
    }
}

#[test]
fn recordings_are_their_owners_and_reports_keep_their_mode() {
    let folder = Folder::new();
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    for kind in [OutputKind::Recording, OutputKind::Partial] {
        write(false, &folder.path("private"), kind, RECORDING).unwrap();
        assert_eq!(mode("private"), 0o600, "{kind:?}");
        fs::remove_file(folder.path("private")).unwrap();
    }
    folder.file("report", REPORT);
    fs::set_permissions(folder.path("report"), fs::Permissions::from_mode(0o640)).unwrap();
    write(false, &folder.path("report"), OutputKind::Report, REPORT).unwrap();
    assert_eq!(mode("report"), 0o640);
    iolab_outputs::make_private_folder(&folder.path("deep/down")).unwrap();
    assert_eq!((mode("deep"), mode("deep/down")), (0o700, 0o700));
}

#[test]
fn what_is_set_aside_takes_no_name_from_anybody() {
    let folder = Folder::new();
    folder.file("x.partial.1", PRECIOUS);
    folder.file("x.partial", "");
    let mut place =
        outputs(false).place(&folder.path("x.partial"), OutputKind::Partial, "the partial recording").unwrap();
    assert_eq!(place.set_aside().unwrap(), folder.path("x.partial.2"));
    assert!(!place.is_taken());
    let mut output = place.begin().unwrap();
    output.publish().unwrap();
    assert_eq!(folder.names(), ["x.partial", "x.partial.1", "x.partial.2"]);
    output.remove();
    assert_eq!(folder.names(), ["x.partial.1", "x.partial.2"]);
}
