//! `iolab fs` on images of several domains: operations across domains, and the content of each
//! domain.

use std::fs;

use crate::support::Lab;

/// `iolab fs …`
fn words(line: &str) -> Vec<&str> {
    ["fs"].into_iter().chain(line.split_whitespace()).collect()
}

/// A lab with `a.img`, in which the directories `/one`, `/two` and `/three` belong to different
/// domains.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.run(words("mkfs a.img --size 48m --block-size 512 --cluster-size 64k --domains 3")).ended(0, "");
    lab.run(words("mkdir a.img /one /two /three")).ended(0, "");
    let domains = ["/one", "/two", "/three"].map(|path| domain(&lab, path));
    let others: std::collections::BTreeSet<u64> = domains.into_iter().collect();
    assert_eq!(others.len(), 3, "{domains:?}");
    lab
}

fn stat(lab: &Lab, path: &str) -> serde_json::Value {
    lab.run(["fs", "stat", "a.img", path, "--json"]).ended(0, "").json()
}

/// The upper 16 bits of an inode number (docs/logfs/format.md).
fn domain(lab: &Lab, path: &str) -> u64 {
    stat(lab, path)["inode"].as_u64().unwrap() >> 48
}

fn listed(lab: &Lab, path: &str) -> String {
    lab.run(["fs", "ls", "-R", "a.img", path]).ended(0, "").printed()
}

#[test]
fn a_file_moves_between_domains_with_all_that_is_of_it() {
    let lab = lab();
    let sparse = fs::File::create(lab.path("sparse")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"island", 1 << 24).unwrap();
    sparse.set_len(1 << 25).unwrap();
    rustix::fs::fchmod(&sparse, rustix::fs::Mode::from_raw_mode(0o4751)).unwrap();
    lab.run(words("cp a.img sparse :/one/sparse")).ended(0, "");
    let before = stat(&lab, "/one/sparse");
    lab.run(words("mv a.img /one/sparse /two")).ended(0, "");
    let after = stat(&lab, "/two/sparse");
    for fact in ["kind", "mode", "uid", "gid", "size", "modified_ns", "accessed_ns", "links"] {
        assert_eq!(before[fact], after[fact], "{fact}");
    }
    assert!(after["stored_bytes"].as_u64().unwrap() < 1 << 20, "holes stay holes: {after}");
    assert_eq!(domain(&lab, "/two/sparse"), domain(&lab, "/two"));
    assert_eq!(lab.run(words("cat a.img /two/sparse --offset 16m --length 6")).ended(0, "").printed(), "island");
    assert_eq!(listed(&lab, "/one"), "/one:\n");
    // A move to the top level copies nothing: the name goes to the domain of the file.
    lab.run(words("mv a.img /two/sparse /sparse")).ended(0, "");
    assert_eq!(stat(&lab, "/sparse")["inode"], after["inode"]);
    lab.run(words("mv a.img /sparse /three/again")).ended(0, "");
    assert_eq!(listed(&lab, "/"), "/:\none\nthree\ntwo\n\n/one:\n\n/three:\nagain\n\n/two:\n");
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn a_directory_moves_between_domains_with_all_below_it() {
    let lab = lab();
    fs::create_dir_all(lab.path("tree/deep/deeper")).unwrap();
    lab.file("tree/deep/long", vec![b'z'; 300_000]);
    fs::hard_link(lab.path("tree/deep/long"), lab.path("tree/deep/deeper/same")).unwrap();
    std::os::unix::fs::symlink("deep/long", lab.path("tree/link")).unwrap();
    lab.run(words("cp -r a.img tree :/one")).ended(0, "");
    lab.run(words("mv a.img /one/tree /three/moved")).ended(0, "");
    assert_eq!(
        listed(&lab, "/three/moved"),
        "/three/moved:\ndeep\nlink\n\n/three/moved/deep:\ndeeper\nlong\n\n/three/moved/deep/deeper:\nsame\n"
    );
    let (long, same) = (stat(&lab, "/three/moved/deep/long"), stat(&lab, "/three/moved/deep/deeper/same"));
    assert_eq!((&long["inode"], &long["links"]), (&same["inode"], &2.into()));
    assert_eq!(stat(&lab, "/three/moved/link")["target"], "deep/long");
    assert_eq!(listed(&lab, "/one"), "/one:\n");
    // Replaces an empty directory of another domain, as rename(2) does within one domain.
    lab.run(words("mkdir a.img /two/sub /two/sub/moved /moved")).ended(0, "");
    lab.run(words("mv a.img /three/moved /two/sub")).ended(0, "");
    lab.run(words("mv a.img /two/sub/moved /")).ended(0, "");
    assert_eq!(domain(&lab, "/moved"), domain(&lab, "/two"));
    assert_eq!(lab.run(words("cat a.img /moved/deep/long")).ended(0, "").printed().len(), 300_000);
    lab.run(words("rm -r a.img /moved /two")).ended(0, "");
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn a_move_between_domains_that_cannot_be_changes_nothing() {
    let lab = lab();
    lab.file("x", "x");
    lab.file("large", vec![1; 13 << 20]);
    lab.run(words("cp a.img x :/one/x")).ended(0, "");
    lab.run(words("cp a.img x :/two/x")).ended(0, "");
    lab.run(words("cp a.img large :/one")).ended(0, "");
    lab.run(words("cp a.img large :/two/other")).ended(0, "");
    lab.run(words("mkdir -p a.img /one/full /two/full/of /two/file/large")).ended(0, "");
    for (line, said) in [
        ("mv -n a.img /one/x /two/x", "the name already exists"),
        ("mv a.img /one/full /two/x", "a.img: /two/x: not a directory"),
        ("mv a.img /one/full /two", "not empty"),
        ("mv a.img /one/x /two/none/x", "no such file or directory"),
        ("mv a.img /one/large /two/file", "is a directory"),
        ("mv a.img /one/large /two/large", "no space left"),
    ] {
        let before = listed(&lab, "/");
        lab.run(words(line)).ended(1, said);
        assert_eq!(listed(&lab, "/"), before, "{line}");
    }
    lab.run(words("mv a.img /one/x /two/x")).ended(0, "");
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn each_domain_tells_what_it_has() {
    let lab = lab();
    lab.file("large", vec![1; 1 << 20]);
    lab.run(words("cp a.img large :/two")).ended(0, "");
    let before = fs::read(lab.path("a.img")).unwrap();
    let info = lab.run(words("info a.img --json")).ended(0, "").json();
    assert!(before == fs::read(lab.path("a.img")).unwrap(), "looking changes nothing");
    let parts = info["domains"].as_array().unwrap();
    assert_eq!((parts.len(), &info["layout"]["domains"]), (3, &3.into()));
    for (group, fact) in [("space", "live_bytes"), ("space", "inodes"), ("space", "free_bytes"), ("clusters", "free")] {
        let sum: u64 = parts.iter().map(|part| part[group][fact].as_u64().unwrap()).sum();
        assert_eq!(info[group][fact].as_u64().unwrap(), sum, "{fact}");
    }
    assert_eq!((&info["space"]["inodes"], &info["clusters"]["fixed"]), (&5.into(), &2.into()));
    let two = domain(&lab, "/two") as usize;
    assert_eq!(parts[two]["space"]["live_bytes"], 1 << 20);
    let text = lab.run(words("info a.img")).ended(0, "").printed();
    assert!(text.contains("domains           3\n  domain 0        "), "{text}");
}

#[test]
fn files_of_all_domains_are_put_together() {
    let lab = lab();
    let odd: Vec<u8> = (0..400_000_u32).map(|number| (number % 251) as u8).collect();
    lab.file("odd", &odd);
    for path in [":/one/odd", ":/two/odd", ":/three/odd"] {
        lab.run(["fs", "cp", "a.img", "odd", path]).ended(0, "");
    }
    let text = lab.run(words("defrag a.img --rate 1g")).ended(0, "").printed();
    assert!(text.contains("3 files: "), "{text}");
    for path in ["one", "two", "three"] {
        lab.run(["fs", "cp", "a.img", &format!(":/{path}/odd"), path]).ended(0, "");
        assert!(fs::read(lab.path(path)).unwrap() == odd, "{path}");
    }
    lab.run(words("fsck a.img")).ended(0, "");
}
