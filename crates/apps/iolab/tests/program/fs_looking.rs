//! `iolab fs` on images with content: cp, ls, stat, cat, tree, mkdir, rm, mv, fsck, dump-log.

use std::fs;

use crate::support::Lab;

/// A lab with an empty `a.img`.
fn lab() -> Lab {
    lab_of(1)
}

/// The same with this number of domains.
fn lab_of(domains: u32) -> Lab {
    let lab = Lab::new();
    let words = format!("mkfs a.img --size 32m --block-size 512 --cluster-size 64k --domains {domains}");
    lab.run(self::words(&words)).ended(0, "");
    lab
}

/// The numbers of domains that a test is repeated with: all commands take any number.
const DOMAINS: [u32; 2] = [1, 3];

/// `iolab fs …`
fn words(line: &str) -> Vec<&str> {
    ["fs"].into_iter().chain(line.split_whitespace()).collect()
}

#[test]
fn files_go_in_and_come_out() {
    for domains in DOMAINS {
        files_go_in_and_come_out_with(&lab_of(domains));
    }
}

fn files_go_in_and_come_out_with(lab: &Lab) {
    fs::create_dir_all(lab.path("project/deep")).unwrap();
    lab.file("project/notes", "one two three");
    lab.file("project/deep/long", vec![b'z'; 300_000]);
    std::os::unix::fs::symlink("deep/long", lab.path("project/link")).unwrap();
    let text = lab.run(words("cp -rv a.img project :/")).ended(0, "").printed();
    assert_eq!(text, "3 files and 2 directories, 293 KiB\n");
    lab.run(words("cp a.img project/notes project/deep/long :/project/deep")).ended(0, "");

    assert_eq!(lab.run(words("ls a.img")).ended(0, "").printed(), "project\n");
    assert_eq!(
        lab.run(words("ls -R a.img /project")).ended(0, "").printed(),
        "/project:\ndeep\nlink\nnotes\n\n/project/deep:\nlong\nnotes\n"
    );
    let long = lab.run(words("ls -l a.img /project")).ended(0, "").printed();
    assert!(long.lines().any(|line| line.starts_with('l') && line.ends_with("link -> deep/long")), "{long}");
    let lines = lab.run(words("ls --json -R a.img /")).ended(0, "").printed();
    let sizes: Vec<u64> = lines
        .lines()
        .filter(|line| line.contains("\"file\""))
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["size"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [13, 300_000, 13], "{lines}");
    let tree = lab.run(words("tree -s a.img")).ended(0, "").printed();
    assert_eq!(
        tree,
        "/\n└── project\n    ├── deep\n    │   ├── long  293 KiB\n    │   └── notes  13 bytes\n    ├── link -> deep/long\n    └── notes  13 bytes\n\n\
         2 directories, 4 files\n"
    );
    assert_eq!(
        lab.run(words("cat a.img /project/notes /project/deep/notes")).ended(0, "").printed(),
        "one two threeone two three"
    );
    assert_eq!(lab.run(words("cat a.img /project/notes --offset 4 --length 3")).ended(0, "").printed(), "two");
    let stat = lab.run(words("stat a.img /project/deep/long --json")).ended(0, "").json();
    assert_eq!(
        (&stat["size"], &stat["stored_bytes"], &stat["kind"]),
        (&300_000.into(), &300_000.into(), &"file".into())
    );
    let stat = lab.run(words("stat a.img /project/link")).ended(0, "").printed();
    assert!(stat.contains("target    deep/long\n") && stat.contains("kind      symlink"), "{stat}");

    lab.run(words("cp -r a.img :/project out")).ended(0, "");
    assert_eq!(fs::read(lab.path("out/deep/long")).unwrap(), vec![b'z'; 300_000]);
    assert_eq!(fs::read_link(lab.path("out/link")).unwrap().to_str(), Some("deep/long"));
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn names_change() {
    for domains in DOMAINS {
        names_change_with(&lab_of(domains));
    }
}

fn names_change_with(lab: &Lab) {
    lab.file("x", "content");
    lab.run(words("mkdir a.img /one")).ended(0, "");
    lab.run(words("mkdir -p a.img /two/three/four /one")).ended(0, "");
    lab.run(words("cp a.img x :/one/first")).ended(0, "");
    lab.run(words("mv a.img /one/first /two/three")).ended(0, "");
    lab.run(words("mv a.img /two/three/first /two/second")).ended(0, "");
    assert_eq!(lab.run(words("cat a.img two/second")).ended(0, "").printed(), "content");
    lab.run(words("cp a.img x :/third")).ended(0, "");
    lab.run(words("mv -n a.img /third /two/second")).ended(1, "the name already exists");
    lab.run(words("rm a.img /third")).ended(0, "");
    lab.run(words("rm a.img /third")).ended(1, "a.img: /third: no such file or directory");
    lab.run(words("rm -f a.img /third")).ended(0, "");
    lab.run(words("rm a.img /two")).ended(1, "-r removes it and everything in it");
    lab.run(words("rm -r a.img /two")).ended(0, "");
    assert_eq!(lab.run(words("ls -R a.img")).ended(0, "").printed(), "/:\none\n\n/one:\n");
    lab.run(words("mkdir a.img /one")).ended(1, "the name already exists");
    lab.run(words("mkdir a.img /no/where")).ended(1, "no such file or directory");
    lab.run(words("rm a.img /")).ended(1, "the root has no name");
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn copies_that_make_no_sense_are_refused() {
    for domains in DOMAINS {
        copies_that_make_no_sense_are_refused_with(&lab_of(domains));
    }
}

fn copies_that_make_no_sense_are_refused_with(lab: &Lab) {
    lab.file("x", "x");
    for (line, code, said) in [
        ("cp a.img x y", 2, "such paths begin with a colon"),
        ("cp a.img :/x :/y", 2, "both source and destination are in the image"),
        ("cp a.img . :/y", 2, "use -r to copy it"),
        ("cp a.img none :/y", 1, "none: examining it: No such file"),
        ("cp a.img x :/no/where", 1, "/no/where: no such file or directory"),
        ("cp a.img :/none out", 1, "in the image: /none: no such file or directory"),
        ("cp a.img :/ out", 2, "use -r to copy it"),
        ("cp a.img :/a :/b x", 2, "x: not a folder"),
        ("cp a.img x", 2, "2 values required"),
        ("cat a.img /", 1, "a.img: /: is a directory"),
    ] {
        lab.run(words(line)).ended(code, said);
    }
    lab.file("large", vec![1; 40 << 20]);
    lab.run(words("cp a.img large :/")).ended(1, "in the image: /large: no space left on the device");
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn a_check_changes_nothing_until_it_is_told() {
    for domains in DOMAINS {
        a_check_changes_nothing_until_it_is_told_with(&lab_of(domains));
    }
}

fn a_check_changes_nothing_until_it_is_told_with(lab: &Lab) {
    lab.file("x", vec![b'x'; 100_000]);
    lab.run(words("cp a.img x :/")).ended(0, "");
    let done = lab.run(words("fsck a.img")).ended(0, "").printed();
    assert!(done.starts_with("a.img: clean (2 inodes, 97.7 KiB of content"), "{done}");

    let mut image = fs::read(lab.path("a.img")).unwrap();
    image[..512].fill(0);
    lab.file("a.img", &image);
    let done = lab.run(words("fsck a.img")).ended(4, "").printed();
    assert!(
        done.contains("bootstrap record: the bootstrap record at byte 0")
            && done.contains("--repair fixes what can be fixed"),
        "{done}"
    );
    assert!(image == fs::read(lab.path("a.img")).unwrap());
    let report = lab.run(words("fsck a.img --json")).ended(4, "").json();
    assert_eq!((&report["exit_code"], &report["repaired"]), (&4.into(), &false.into()));
    assert_eq!(report["faults"][0]["kind"], "bootstrap record");
    let done = lab.run(words("fsck a.img --repair")).ended(1, "").printed();
    assert!(done.contains("1 error, repaired"), "{done}");
    lab.run(words("fsck a.img")).ended(0, "");
    assert_eq!(lab.run(words("cat a.img /x")).ended(0, "").printed().len(), 100_000);

    let mut image = fs::read(lab.path("a.img")).unwrap();
    // Destroys both anchors of the first domain. The log is searched for, but only for a repair.
    image[512..1536].fill(0x55);
    lab.file("a.img", &image);
    lab.run(words("ls a.img")).ended(1, "`iolab fs fsck a.img`");
    let done = lab.run(words("fsck a.img --repair")).ended(1, "").printed();
    assert!(done.contains("anchor at byte 512") && done.contains("2 errors, repaired"), "{done}");
    lab.run(words("fsck a.img")).ended(0, "");
    assert_eq!(lab.run(words("cat a.img /x")).ended(0, "").printed().len(), 100_000);

    let mut image = fs::read(lab.path("a.img")).unwrap();
    image[512..1536].fill(0x55);
    // Destroys every frame of any log as well.
    image.chunks_mut(512).filter(|block| block.starts_with(b"LFFR")).for_each(|block| block.fill(0x55));
    lab.file("a.img", &image);
    let done = lab.run(words("fsck a.img --repair")).ended(4, "").printed();
    assert!(done.contains("neither anchor can be read") && done.contains("dump-log"), "{done}");
    lab.run(words("ls a.img")).ended(1, "`iolab fs fsck a.img`");
    lab.run(words("fsck none.img")).ended(8, "no such file or device");
    let file = fs::File::open(lab.path("a.img")).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    lab.run(words("fsck a.img")).ended(8, "another process writes to it");
}

#[test]
fn content_that_changed_by_itself_is_told_and_never_copied() {
    for domains in DOMAINS {
        let lab = lab_of(domains);
        lab.file("x", vec![b'x'; 100_000]);
        lab.file("y", vec![b'y'; 3_000]);
        lab.run(words("cp a.img x y :/")).ended(0, "");
        let done = lab.run(words("fsck a.img --content")).ended(0, "").printed();
        assert!(done.contains("content matches its checksums: 101 KiB verified, 0 bytes without a checksum"), "{done}");

        let mut image = fs::read(lab.path("a.img")).unwrap();
        let at = image.chunks(512).position(|block| block.iter().all(|byte| *byte == b'x')).unwrap();
        image[at * 512 + 7] ^= 4;
        lab.file("a.img", &image);
        let done = lab.run(words("fsck a.img")).ended(0, "").printed();
        assert!(done.contains("file content was not checked; --content checks it"), "{done}");
        for line in ["fsck a.img --content", "fsck a.img --content --repair"] {
            let done = lab.run(words(line)).ended(4, "").printed();
            assert!(done.contains("a.img: content: /x") && done.contains("1 parts of files are lost"), "{done}");
        }
        let report = lab.run(words("fsck a.img --content --json")).ended(4, "").json();
        assert_eq!(report["exit_code"], 4);
        lab.run(words("cat a.img /x")).ended(1, "");
        lab.run(words("cp a.img :/x out")).ended(1, "");
        assert!(!fs::read(lab.path("out")).is_ok_and(|out| out.len() == 100_000), "wrong content was copied");
        assert_eq!(lab.run(words("cat a.img /y")).ended(0, "").printed(), "y".repeat(3_000));
    }
}

#[test]
fn the_log_is_told_and_where_it_ends() {
    let lab = lab();
    lab.file("notes", "a few words");
    lab.run(words("cp a.img notes :/")).ended(0, "");
    let text = lab.run(words("dump-log a.img")).ended(0, "").printed();
    for wanted in [
        "bootstrap  at=0  state=good",
        "    create  directory=1  name=\"notes\"",
        "    write inline",
        "content=<11 bytes>",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
    assert!(text.trim_end().ends_with("verdict=the log was closed here"), "{text}");
    let frames = lab.run(words("dump-log --frames a.img")).ended(0, "").printed();
    assert!(frames.contains("frame  cluster=2") && !frames.contains("    create"), "{frames}");
    let lines = lab.run(words("dump-log --json a.img")).ended(0, "").printed();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let create = lines.iter().find(|line| line["type"] == "create").unwrap();
    assert_eq!((&create["name"], &create["directory"], &create["kind"]), (&"notes".into(), &1.into(), &"file".into()));

    let frame = lines.iter().filter(|line| line["line"] == "frame").nth(1).unwrap();
    let at = frame["cluster"].as_u64().unwrap() * 65_536 + frame["offset"].as_u64().unwrap();
    let mut image = fs::read(lab.path("a.img")).unwrap();
    image[at as usize + 80] ^= 1;
    lab.file("a.img", &image);
    let text = lab.run(words("dump-log a.img")).ended(0, "").printed();
    assert!(
        text.contains("torn, damaged or from another domain")
            && text.contains("frames are missing that were durable according to the anchor"),
        "{text}"
    );
    lab.run(words("dump-log a.img --domain 3")).ended(1, "domain 3: the image has only 1");
    lab.file("zeroes", vec![0; 1 << 20]);
    lab.run(words("dump-log zeroes")).ended(1, "no logfs bootstrap record");
}
