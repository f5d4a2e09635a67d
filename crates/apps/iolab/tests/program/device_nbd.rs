//! Devices as exports of NBD: served, driven by jobs of `ioengine=nbd`, refused where they must be.

use crate::support::{Lab, Running};

const SIGINT: i32 = 2;

/// A server, and the address of its export.
struct Served {
    server: Option<Running>,
    uri: String,
}

impl Served {
    fn start(lab: &Lab, words: &[&str]) -> Served {
        let server = lab.start(["device", "serve"].into_iter().chain(words.iter().copied()));
        server.until(|server| server.printed().contains("Press Ctrl-C"));
        let printed = server.printed();
        let uri = printed.lines().find_map(|line| line.strip_prefix("at nbd"));
        let uri = format!("nbd{}", uri.unwrap_or_else(|| panic!("no export in {printed}")));
        Served { server: Some(server), uri }
    }

    fn end(mut self) -> String {
        let server = self.server.take().unwrap();
        server.signal(SIGINT);
        server.finish().ended(0, "").printed()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.signal(SIGINT);
        }
    }
}

#[test]
fn what_jobs_write_to_an_export_is_verified_and_is_in_the_file() {
    let lab = Lab::new();
    let path = lab.path("disk.img");
    std::fs::write(&path, vec![0; 16 << 20]).unwrap();
    let file = path.display().to_string();
    let socket = format!("nbd+unix:///disk?socket={}", lab.path("s").display());
    for listen in ["nbd://127.0.0.1:0", &socket] {
        let served = Served::start(&lab, &["--file", &file, "--listen", listen, "--allow-destroy", &file]);
        let job = format!(
            "[global]\nioengine=nbd\nuri={}\niodepth=16\nnbd_connections=2\nbsrange=512-64k\n\
             [check]\nrw=randwrite\nsize=4M\nverify=crc32c\ndo_verify=1\nfsync=64\n\
             [stamp]\nstonewall\nrw=write\noffset=8M\nsize=4M\nbuffer_pattern=0x5a\n\
             [trim]\nstonewall\nrw=trim\nbs=64k\noffset=12M\nsize=1M\n",
            served.uri
        );
        lab.file("job.fio", job);
        let done = lab.run(["run", "job.fio", "--output-format=json"]).ended(0, "").json();
        for (job, side, bytes) in
            [(0, "write", 4 << 20), (0, "read", 4 << 20), (1, "write", 4 << 20), (2, "trim", 1 << 20)]
        {
            assert_eq!(done["jobs"][job]["error"].as_u64(), Some(0), "{done}");
            assert_eq!(done["jobs"][job][side]["io_bytes"].as_u64(), Some(bytes), "{done}");
        }
        let ended = served.end();
        assert!(ended.contains("clients: ") && ended.contains("0 failures"), "{ended}");
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes[8 << 20..12 << 20].iter().all(|byte| *byte == 0x5a));
        std::fs::write(&path, vec![0; 16 << 20]).unwrap();
    }
}

#[test]
fn a_virtual_ssd_has_clients_by_name_and_refusals_say_why() {
    let lab = Lab::new();
    let served = Served::start(&lab, &["--null", "64M", "--listen", "nbd://127.0.0.1:0"]);
    assert!(served.uri.ends_with("/null"), "{}", served.uri);
    let base = served.uri.trim_end_matches("null").to_owned();
    let read = |uri: &str, more: &[&str]| {
        let uri = format!("--uri={uri}");
        let words = ["run", "--name=r", "--ioengine=nbd", "--rw=randread", "--number_ios=100", "--iodepth=8", &uri];
        lab.run(words.iter().chain(more).copied())
    };
    read(&served.uri, &[]).ended(0, "");
    read(&base, &["--numjobs=3"]).ended(0, "");
    read(&format!("{base}other"), &[]).ended(2, "no export `other`; it has `null`");
    read(&served.uri, &["--size=128M"]).ended(2, "has only");
    read("nbds://127.0.0.1/?tls-psk-file=/x", &[]).ended(2, "tls-psk-file=/x` is not supported");
    lab.run(["run", "--name=r", "--ioengine=nbd", "--rw=read", "--size=1M"]).ended(2, "give uri=");
    served.end();
    read(&base, &[]).ended(2, "cannot connect");
    let zoned = ["device", "create", "nbd-zoned", "--model", "ideal", "--size", "64M", "zoned=yes", "zone=16M"];
    lab.run(zoned).ended(0, "");
    lab.run(["device", "serve", "nbd-zoned", "--listen", "nbd://127.0.0.1:0"]).ended(2, "has no zones");
    lab.run(["device", "destroy", "nbd-zoned"]).ended(0, "");
    lab.run(["device", "serve", "--null", "64M", "--listen", "nbd+unix:///x"]).ended(2, "socket=PATH is missing");
}

#[test]
fn an_export_with_a_file_system_on_it_is_not_overwritten() {
    let lab = Lab::new();
    let path = lab.path("disk.img");
    let mut disk = vec![0; 4 << 20];
    disk[..4].copy_from_slice(b"XFSB");
    std::fs::write(&path, &disk).unwrap();
    let file = path.display().to_string();
    let served = Served::start(&lab, &["--file", &file, "--listen", "nbd://127.0.0.1:0", "--allow-destroy", &file]);
    let uri = format!("--uri={}", served.uri);
    let job = ["run", "--name=w", "--ioengine=nbd", "--rw=write", "--size=1M", &uri];
    lab.run(job).ended(3, "holds an XFS file system");
    assert!(std::fs::read(&path).unwrap() == disk, "nothing was written");
    lab.run(job.into_iter().chain(["--allow-destroy", &served.uri])).ended(0, "");
    served.end();
}
