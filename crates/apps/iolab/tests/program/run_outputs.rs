//! Outputs: files that the program writes for people never replace another file of theirs.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::{Done, Lab};

const PRECIOUS: &str = "the only copy\n";
const JOB: &str = "[a]\nioengine=null\nsize=1m\nrw=read\ncalibrate=0\n";

/// Command lines for each kind of output; `OUT` is replaced by its name.
const OUTPUTS: [&[&str]; 11] = [
    &["run", "j.fio", "--record=OUT"],
    &["run", "j.fio", "--output=OUT"],
    &["run", "j.fio", "--output=OUT", "--output-format=json", "--status-interval=1"],
    &["run", "j.fio", "--record=kept.iolab", "--output=OUT", "--minimal"],
    &["perf", "-q1", "-w", "read", "-d", "10", "-r", "trtype:VIRT model:ideal size:1m", "--record=OUT"],
    &["report", "a.iolab", "-o", "OUT"],
    &["report", "a.iolab", "-o", "OUT", "--output-format=html"],
    &["compare", "a.iolab", "b.iolab", "-o", "OUT"],
    &["compare", "a.iolab", "b.iolab", "-o", "OUT", "--json"],
    &["db", "export", "-o", "OUT"],
    &["db", "export", "--format=jsonl", "-o", "OUT"],
];

/// A lab with two recordings, a job file and a file of the user.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("j.fio", JOB);
    for name in ["a", "b"] {
        lab.run(["run", "j.fio", &format!("--record={name}.iolab")]).ended(0, "");
    }
    lab.file("precious.txt", PRECIOUS);
    lab
}

fn with_output(lab: &Lab, words: &[&str], output: &str, more: &[&str]) -> Done {
    let words = words.iter().map(|word| word.replace("OUT", output));
    lab.run(words.chain(more.iter().map(|word| (*word).to_owned())))
}

fn read(lab: &Lab, name: &str) -> String {
    std::fs::read_to_string(lab.path(name)).unwrap()
}

#[test]
fn a_file_of_the_users_is_replaced_only_by_force() {
    let lab = lab();
    symlink(lab.path("precious.txt"), lab.path("link")).unwrap();
    for words in OUTPUTS {
        for name in ["precious.txt", "link"] {
            let done = with_output(&lab, words, name, &[]).ended(3, "add --force");
            assert!(done.errors().contains(name), "{words:?}: {done:?}");
            assert_eq!(read(&lab, "precious.txt"), PRECIOUS, "{words:?}");
        }
        with_output(&lab, words, "link", &["--force"]).ended(0, "");
        assert_eq!(read(&lab, "precious.txt"), PRECIOUS, "{words:?}: a link is replaced, not what it leads to");
        with_output(&lab, words, "link", &[]).ended(0, "");
        std::fs::remove_file(lab.path("link")).unwrap();
        symlink(lab.path("precious.txt"), lab.path("link")).unwrap();
    }
}

#[test]
fn an_output_goes_onto_no_input_and_onto_no_other_output() {
    let lab = lab();
    let before = ["j.fio", "a.iolab", "b.iolab"].map(|name| read(&lab, name));
    std::fs::hard_link(lab.path("a.iolab"), lab.path("alias")).unwrap();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["report", "a.iolab", "-o", "a.iolab"], 3, "this is the recording"),
        (&["report", "a.iolab", "-o", "alias", "--force"], 3, "this is the recording"),
        (&["compare", "a.iolab", "b.iolab", "-o", "b.iolab", "--force"], 3, "a run to compare"),
        (&["compare", "a.iolab", "b.iolab", "-o", "a.iolab"], 3, "a run to compare"),
        (&["run", "j.fio", "--record=j.fio", "--force"], 3, "this is a job file"),
        (&["run", "j.fio", "--output=j.fio", "--force"], 3, "this is a job file"),
        (&["run", "j.fio", "--record=x", "--output=x"], 2, "would go to the same file"),
        (&["run", "j.fio", "--record=x", "--output=x.partial"], 2, "would go to the same file"),
        (&["run", "--name=j", "--ioengine=psync", "--filename=x", "--size=4k", "--output=x"], 2, "a file of job j"),
    ];
    for (words, code, said) in cases {
        lab.run(words).ended(code, said);
    }
    lab.run(["run", "j.fio", "--write_lat_log=l", "--output=l_lat.1.log"]).ended(2, "would go to the same file");
    let database = lab.path("recordings.db");
    let size = std::fs::metadata(&database).unwrap().len();
    lab.run(["db", "export", "--force", "-o", "recordings.db"]).ended(3, "this is the database");
    assert_eq!(std::fs::metadata(&database).unwrap().len(), size);
    assert_eq!(["j.fio", "a.iolab", "b.iolab"].map(|name| read(&lab, name)), before);
    assert!(!lab.path("x").exists());
}

#[test]
fn logs_and_figures_are_outputs_like_the_others() {
    let lab = lab();
    for name in ["l_bw.1.log", "agg-read_bw.log"] {
        lab.file(name, PRECIOUS);
        let words = ["run", "j.fio", "--write_bw_log=l", "--bandwidth-log"];
        lab.run(words).ended(3, "not a log that iolab wrote");
        assert_eq!(read(&lab, name), PRECIOUS);
        std::fs::remove_file(lab.path(name)).unwrap();
        lab.run(words).ended(0, "");
        lab.run(words).ended(0, "");
        assert_ne!(read(&lab, name), PRECIOUS);
    }
    lab.run(["report", "a.iolab", "--figures=pictures"]).ended(0, "");
    lab.run(["report", "a.iolab", "--figures=pictures"]).ended(0, "");
    let first = std::fs::read_dir(lab.path("pictures")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&first, PRECIOUS).unwrap();
    lab.run(["report", "a.iolab", "--figures=pictures"]).ended(3, "add --force");
    assert_eq!(std::fs::read_to_string(&first).unwrap(), PRECIOUS);
}

#[test]
fn as_fio_outputs_of_fio_are_replaced_and_nothing_else() {
    let lab = lab();
    let terse = format!("3;fio-3.36;a;0;0{}\n", ";0".repeat(125));
    for (text, code) in [
        ("a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n", 0),
        ("{\n  \"fio version\" : \"fio-3.36\",\n  \"jobs\" : []\n}\n", 0),
        (terse.as_str(), 0),
        ("", 0),
        (PRECIOUS, 3),
        ("{\"name\": \"mine\"}\n", 3),
    ] {
        lab.file("out", text);
        let done = lab.fio(["j.fio", "--output=out"]);
        assert_eq!(done.code(), code, "{text}: {done:?}");
        assert_eq!(read(&lab, "out") == text, code != 0, "{text}");
    }
    lab.file("l_lat.1.log", "0, 1200, 0, 4096, 0\n17, 900, 0, 4096, 0\n");
    lab.fio(["j.fio", "--write_lat_log=l"]).ended(0, "");
    lab.file("l_lat.1.log", "0, 1200, 0, 4096, 0\nand what I think of it\n");
    lab.fio(["j.fio", "--write_lat_log=l"]).ended(3, "not a log");
}

#[test]
fn recordings_and_the_database_are_their_owners_whatever_the_umask() {
    let lab = Lab::new();
    lab.file("j.fio", JOB);
    let program = env!("CARGO_BIN_EXE_iolab");
    lab.shell(&format!(
        "umask 0; {program} run j.fio && {program} run j.fio --record=r.iolab && {program} study run s.toml"
    ))
    .ended(2, "s.toml");
    lab.shell(&format!("umask 0; {program} run j.fio --repeat=6 --folder=s")).ended(0, "");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let kept: Vec<_> = std::fs::read_dir(lab.path("recordings")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    for name in ["r.iolab", "recordings.db", "s/trials/b01-c000.iolab", "s/analysis.json"] {
        assert_eq!(mode(&lab.path(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&kept[0]), 0o600);
    for name in ["recordings", "s", "s/trials"] {
        assert_eq!(mode(&lab.path(name)), 0o700, "{name}");
    }
}

#[test]
fn links_in_the_folder_of_a_study_are_not_followed() {
    let lab = lab();
    let words = ["run", "j.fio", "--repeat=6", "--folder=s"];
    lab.run(words).ended(0, "");
    for name in ["jobs/c000.fio", "analysis.json", "trials/b01-c000.log"] {
        std::fs::remove_file(lab.path("s").join(name)).unwrap();
        symlink(lab.path("precious.txt"), lab.path("s").join(name)).unwrap();
        std::fs::remove_file(lab.path("s/trials/b01-c000.iolab")).unwrap();
        lab.run(["study", "resume", "s"]).ended(3, "a symbolic link");
        assert_eq!(read(&lab, "precious.txt"), PRECIOUS, "{name}");
        std::fs::remove_file(lab.path("s").join(name)).unwrap();
        lab.run(["study", "resume", "s"]).ended(0, "");
    }
}

#[test]
fn descriptors_of_the_caller_are_streams() {
    let lab = lab();
    let program = env!("CARGO_BIN_EXE_iolab");
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/fd/7"] {
        lab.shell(&format!("{program} report a.iolab -o {name} >out 7>&1")).ended(0, "");
        assert!(read(&lab, "out").contains("IOPS="), "{name}");
    }
    lab.shell(&format!("{program} report a.iolab -o /dev/null")).ended(0, "");
    lab.shell(&format!("mkfifo p; cat p >out & {program} report a.iolab -o p; wait")).ended(0, "");
    assert!(read(&lab, "out").contains("IOPS="));
}
