//! `iolab fs resize-cores`: the number of domains changes, and nothing else.

use crate::support::Lab;

#[test]
fn an_image_has_as_many_domains_as_was_asked_for_and_all_its_files() {
    let lab = Lab::new();
    lab.file("letter", b"what stands in it".repeat(1_000));
    lab.run(["fs", "mkfs", "a.img", "--size", "400m"]).ended(0, "");
    lab.run(["fs", "mkdir", "a.img", "/drawer"]).ended(0, "");
    lab.run(["fs", "cp", "a.img", "letter", ":/drawer/letter"]).ended(0, "");
    let before = lab.run(["fs", "cat", "a.img", "/drawer/letter"]).ended(0, "").printed();
    assert_eq!(before.len(), 17_000);
    for domains in ["3", "2", "1"] {
        let resized = lab.run(["fs", "resize-cores", "a.img", domains, "--json"]).ended(0, "").json();
        assert_eq!((resized["domains"].to_string(), &resized["inodes"]), (domains.to_owned(), &3.into()));
        lab.run(["fs", "fsck", "a.img"]).ended(0, "");
    }
    assert_eq!(lab.run(["fs", "cat", "a.img", "/drawer/letter"]).ended(0, "").printed(), before);
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let lab = Lab::new();
    lab.run(["fs", "mkfs", "a.img", "--size", "40m"]).ended(0, "");
    let before = std::fs::read(lab.path("a.img")).unwrap();
    lab.run(["fs", "resize-cores", "a.img", "0"]).ended(2, "0 domains: expected 1 to 63");
    lab.run(["fs", "resize-cores", "a.img", "2"]).ended(2, "are needed");
    lab.run(["fs", "resize-cores", "none.img", "2"]).ended(2, "");
    assert!(before == std::fs::read(lab.path("a.img")).unwrap());
}
