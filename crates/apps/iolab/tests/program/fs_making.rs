//! `iolab fs mkfs`, `info` and `ls`: what they create, show and refuse.

use crate::support::Lab;

#[test]
fn a_new_file_system_is_what_was_asked_for() {
    for domains in [1, 3] {
        a_new_file_system_has_so_many_domains(domains);
    }
}

fn a_new_file_system_has_so_many_domains(domains: u32) {
    let lab = Lab::new();
    let words =
        format!("fs mkfs a.img --size 32m --cluster-size 64k --block-size 512 --small 100 --domains {domains} --id");
    let id = "00112233-4455-6677-8899-aabbccddeeff";
    let text = lab.run(words.split(' ').chain([id])).ended(0, "").printed();
    assert!(text.contains("00112233445566778899aabbccddeeff") && text.contains("512 of 64 KiB"), "{text}");
    assert_eq!(std::fs::metadata(lab.path("a.img")).unwrap().len(), 32 << 20);

    let before = std::fs::read(lab.path("a.img")).unwrap();
    let info = lab.run(["fs", "info", "a.img", "--json"]).ended(0, "").json();
    assert_eq!(info["layout"]["block_bytes"], 512);
    assert_eq!(info["layout"]["small_max_bytes"], 100);
    assert_eq!(info["recovery"]["closed"], true);
    assert_eq!(info["domains"].as_array().unwrap().len(), domains as usize);
    let (clusters, free) = (&info["clusters"], 510 - 3 * domains);
    assert_eq!(
        (&clusters["fixed"], &clusters["log"], &clusters["free"]),
        (&2.into(), &(3 * domains).into(), &free.into())
    );
    let text = lab.run(["fs", "info", "a.img"]).ended(0, "").printed();
    let said = format!("free clusters     {free} ({:.1} MiB)", f64::from(free) / 16.0);
    assert!(text.contains(&said) && text.contains("state             closed"), "{text}");
    assert_eq!(lab.run(["fs", "ls", "-lR", "a.img"]).ended(0, "").printed(), "/:\n");
    assert!(before == std::fs::read(lab.path("a.img")).unwrap(), "looking changes nothing");
}

#[test]
fn what_is_there_is_not_overwritten_by_mistake() {
    let lab = Lab::new();
    lab.run(["fs", "mkfs", "a.img"]).ended(2, "use --size=SIZE to create a file");
    lab.run(["fs", "mkfs", "a.img", "--size", "32m"]).ended(0, "");
    lab.run(["fs", "mkfs", "a.img"])
        .ended(3, "a logfs file system\niolab: nothing was changed; use --force to overwrite it");
    let processors = std::thread::available_parallelism().unwrap().get();
    let text = lab.run(["fs", "mkfs", "cores.img", "--size", "8g", "--domains", "cores"]).ended(0, "").printed();
    assert!(text.contains(&format!("\ndomains   {processors}\n")), "{text}");
    lab.run(["fs", "mkfs", "a.img", "--force", "--domains", "many"]).ended(2, "a number, or cores");
    lab.run(["fs", "mkfs", "a.img", "--force"]).ended(0, "");
    lab.run(["fs", "mkfs", "a.img", "--force", "--size", "16m"]).ended(2, "exists with a different size");

    let letter = lab.file("letter", vec![b'x'; 40 << 20]);
    lab.run(["fs", "mkfs", "letter"]).ended(3, "iolab did not write");
    assert!(std::fs::read(&letter).unwrap().iter().all(|byte| *byte == b'x'));
    let mut xfs = vec![0; 1 << 20];
    xfs[..4].copy_from_slice(b"XFSB");
    lab.file("xfs.img", xfs);
    lab.run(["fs", "mkfs", "xfs.img"]).ended(3, "an XFS file system");
    lab.run(["fs", "mkfs", "."]).ended(2, "neither a regular file nor a block device");
    lab.run(["fs", "mkfs", "/dev/null"]).ended(2, "neither a regular file nor a block device");
}

#[test]
fn options_that_cannot_be_leave_no_file() {
    let lab = Lab::new();
    for (words, said) in [
        ("--size 32m --cluster-size 48k", "a power of two from 16 KiB to 16 MiB"),
        ("--size 32m --block-size 5000", "a power of two from 512 to 65536"),
        ("--size 1m", "clusters of 1048576 bytes are too few: at least"),
        ("--size 32m --small 1m", "the limit is an eighth of a cluster"),
        ("--size many", "many"),
        ("--size 32m --id 123", "32 hexadecimal digits"),
    ] {
        lab.run(["fs", "mkfs", "a.img"].into_iter().chain(words.split(' '))).ended(2, said);
        assert!(!lab.path("a.img").exists(), "{words}");
    }
}

#[test]
fn what_is_no_image_is_told() {
    let lab = Lab::new();
    lab.run(["fs", "info", "none.img"]).ended(2, "create an image with `iolab fs mkfs --size=SIZE`");
    lab.file("short", "short");
    lab.run(["fs", "info", "short"]).ended(1, "is it a logfs image?");
    lab.file("zeroes", vec![0; 1 << 20]);
    lab.run(["fs", "ls", "zeroes"]).ended(1, "no logfs bootstrap record");
    lab.run(["fs", "mkfs", "a.img", "--size", "32m"]).ended(0, "");
    lab.run(["fs", "ls", "a.img", "/no\u{1b}thing"]).ended(1, "a.img: /no\\u{1b}thing: no such file or directory");
}

#[test]
fn an_image_that_is_written_to_is_not_opened() {
    let lab = Lab::new();
    lab.run(["fs", "mkfs", "a.img", "--size", "32m"]).ended(0, "");
    let file = std::fs::File::open(lab.path("a.img")).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockShared).unwrap();
    lab.run(["fs", "mkfs", "--force", "a.img"]).ended(3, "another program has locked it");
    lab.run(["fs", "ls", "a.img"]).ended(0, "");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    lab.run(["fs", "ls", "a.img"]).ended(3, "another process writes to it");
}
