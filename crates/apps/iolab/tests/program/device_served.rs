//! A device that one process serves, and that others drive, examine and interrupt.

use crate::support::{Lab, Running};

const SIGINT: i32 = 2;

/// A name that no other test and no other run of the tests uses: sockets are in a folder of the
/// user.
fn name(of: &str) -> String {
    format!("test-{of}-{}", std::process::id())
}

/// A running device. It is interrupted, so that nothing stays behind when a test fails.
struct Served(Option<Running>);

impl Served {
    fn start(lab: &Lab, name: &str, more: &[&str]) -> Served {
        let words = ["device", "serve", name].into_iter().chain(more.iter().copied());
        let running = lab.start(words);
        running.until(|server| server.printed().contains("Press Ctrl-C"));
        Served(Some(running))
    }

    /// Ends the server, and returns what it printed.
    fn end(mut self) -> String {
        let running = self.0.take().unwrap();
        running.signal(SIGINT);
        running.finish().ended(0, "").printed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.signal(SIGINT);
        }
    }
}

fn counter(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {text}"));
    let number = line[name.len()..].split_whitespace().next().unwrap();
    number.parse().unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn several_processes_drive_one_served_device() {
    let lab = Lab::new();
    let name = name("shared");
    let data = lab.path("shared.data");
    let media = format!("file:{}", data.display());
    lab.run(["device", "create", &name, "--model", "ideal", "--size", "64M", "--media", &media]).ended(0, "");
    let served = Served::start(&lab, &name, &["--dispatchers", "2", "--workers", "1"]);
    lab.run(["device", "serve", &name]).ended(3, "is already running");
    lab.run(["device", "destroy", &name]).ended(3, "is running: stop `iolab device serve");
    let list = lab.run(["device", "list"]).ended(0, "").printed();
    assert!(list.contains(" served ") && !list.contains("not served"), "{list}");

    // Two processes write at the same time.
    let job = |offset: &str, more: &str| {
        format!(
            "[job]\nioengine=nvme\nfilename=trtype=VIRT traddr={name}\nbs=4k\niodepth=8\noffset={offset}\nsize=16M\n{more}"
        )
    };
    lab.file("low.fio", job("0", "rw=randwrite\nbuffer_pattern=0x3c\n"));
    lab.file("high.fio", job("16M", "rw=write\nbuffer_pattern=0x5a\n"));
    let low = lab.start(["run", "low.fio", "--output-format=json"]);
    let high = lab.start(["run", "high.fio", "--output-format=json"]);
    for done in [low.finish(), high.finish()] {
        let done = done.ended(0, "");
        assert_eq!(done.json()["jobs"][0]["write"]["total_ios"].as_u64(), Some(4096));
    }
    lab.file("read.fio", job("16M", "rw=randread\n"));
    let read = lab.run(["run", "read.fio", "--output-format=json"]).ended(0, "").json();
    assert_eq!(read["jobs"][0]["read"]["io_bytes"].as_u64(), Some(16 << 20), "{read}");

    let stats = lab.run(["device", "stats", &name]).ended(0, "").printed();
    assert_eq!(counter(&stats, "write commands"), 8192, "{stats}");
    assert_eq!(counter(&stats, "written"), 32 << 20, "{stats}");
    let json = lab.run(["device", "stats", "--json", &name]).ended(0, "").json();
    assert_eq!(json["written_bytes"].as_u64(), Some(32 << 20), "{json}");
    assert_eq!(json["read_bytes"].as_u64(), Some(counter(&stats, "read  ")), "{json}");

    let ended = served.end();
    assert_eq!(counter(&ended, "write commands"), 8192, "{ended}");
    let bytes = std::fs::read(&data).unwrap();
    let is = |range: std::ops::Range<usize>, byte: u8| bytes[range].iter().all(|found| *found == byte);
    assert!(is(0..16 << 20, 0x3c) && is(16 << 20..32 << 20, 0x5a) && is(32 << 20..64 << 20, 0));
    lab.run(["run", "high.fio"]).ended(2, "device serve");
    lab.run(["device", "stats", &name]).ended(2, "is not running");
    lab.run(["device", "destroy", &name]).ended(0, "");
}

#[test]
fn a_served_device_tells_about_itself() {
    let lab = Lab::new();
    let name = name("looked-at");
    let words = ["device", "create", &name, "--model", "nand", "--size", "256M", "lba=4096", "serial=LOOK1"];
    lab.run(words).ended(0, "");
    let served = Served::start(&lab, &name, &[]);
    let identify = lab.run(["nvme", "identify", &name]).ended(0, "").printed();
    for said in ["serial            LOOK1\n", "namespace 1       256m (65536 blocks of 4096 bytes)\n", "write zeroes"] {
        assert!(identify.contains(said), "{said}: {identify}");
    }
    let hello = lab.run(["nvme", "hello", &format!("trtype=VIRT traddr={name} ns=1")]).ended(0, "").printed();
    assert!(hello.contains("wrote \"Hello world!\"") && hello.ends_with("restored the old data\n"), "{hello}");
    let smart = lab.run(["nvme", "smart", &name]).ended(0, "").printed();
    // Two writes and two reads: the old data, the greeting, and the old data again.
    assert_eq!((counter(&smart, "write commands"), counter(&smart, "read commands")), (2, 2), "{smart}");
    assert!(smart.contains("media errors         0\n"), "{smart}");
    lab.run(["nvme", "hello", &format!("trtype=VIRT traddr={name} ns=2")]).ended(2, "its namespaces are 1");
    served.end();
    lab.run(["nvme", "identify", &name]).ended(1, &format!("iolab device serve {name}"));
}

#[test]
fn a_file_keeps_the_data_from_one_service_to_the_next() {
    let lab = Lab::new();
    let name = name("kept");
    let data = lab.path("kept.data");
    let media = format!("file:{}", data.display());
    lab.run(["device", "create", &name, "--model", "ideal", "--size", "16M", "--media", &media]).ended(0, "");
    let target = format!("--filename=trtype=VIRT traddr={name}");
    let write = ["run", "--name=w", "--ioengine=nvme", &target, "--rw=write", "--bs=64k", "--buffer_pattern=0xc3"];
    let served = Served::start(&lab, &name, &[]);
    lab.run(write.into_iter().chain(["--end_fsync=1"])).ended(0, "");
    served.end();
    assert_eq!(std::fs::metadata(&data).unwrap().len(), 16 << 20);

    // When it is served again, it has the old blocks; overwritten blocks are kept with the others.
    let served = Served::start(&lab, &name, &[]);
    lab.run(["nvme", "hello", &name]).ended(0, "");
    let second = ["run", "--name=w", "--ioengine=nvme", &target, "--rw=write", "--bs=64k", "--buffer_pattern=0x11"];
    lab.run(second.into_iter().chain(["--offset=1M", "--size=1M"])).ended(0, "");
    served.end();
    let bytes = std::fs::read(&data).unwrap();
    let other = bytes.iter().enumerate().filter(|(at, _)| !(1 << 20..2 << 20).contains(at));
    assert!(bytes[1 << 20..2 << 20].iter().all(|byte| *byte == 0x11));
    assert!(other.into_iter().all(|(_, byte)| *byte == 0xc3));

    let told = lab.run(["device", "destroy", &name, "--data"]).ended(0, "").printed();
    assert!(told.contains("its data file"), "{told}");
    assert!(!data.exists());
}
