//! A virtual SSD as an NVMe/TCP subsystem: served, discovered, identified, driven by jobs.

use crate::support::{Lab, Running};

const SIGINT: i32 = 2;

/// A served device: its server, its port, and the name of its subsystem as job files write it.
struct Served {
    server: Option<Running>,
    port: String,
    subsystem: String,
}

impl Served {
    fn start(lab: &Lab, words: &[&str]) -> Served {
        let server = lab.start(["device", "serve"].into_iter().chain(words.iter().copied()));
        server.until(|server| server.printed().contains("Press Ctrl-C"));
        let printed = server.printed();
        let after = |key: &str| {
            let rest = printed.split_once(key).unwrap_or_else(|| panic!("no {key} in {printed}")).1;
            rest.split_whitespace().next().unwrap_or_default().to_owned()
        };
        let (port, subsystem) = (after("trsvcid="), after("subnqn="));
        Served { server: Some(server), port, subsystem }
    }

    fn device(&self, more: &str) -> String {
        format!("trtype=TCP adrfam=IPv4 traddr=127.0.0.1 trsvcid={}{more} ns=1", self.port)
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
fn a_device_on_the_network_is_found_and_driven() {
    let lab = Lab::new();
    let name = format!("test-tcp-{}", std::process::id());
    let data = lab.path("net.data");
    let media = format!("file:{}", data.display());
    lab.run(["device", "create", &name, "--size", "64M", "--media", &media, "lba=4096", "serial=NET1"]).ended(0, "");
    let served = Served::start(&lab, &[&name, "--listen", "tcp://127.0.0.1:0"]);
    let found = lab.run(["nvme", "discover", &format!("127.0.0.1:{}", served.port)]).ended(0, "").printed();
    assert!(found.contains(&format!("subnqn={}", served.subsystem)) && found.contains("NVM subsystem"), "{found}");
    let identify = lab.run(["nvme", "identify", &served.device("")]).ended(0, "").printed();
    assert!(identify.contains("serial            NET1\n"), "{identify}");
    assert!(identify.contains("64m (16384 blocks of 4096 bytes)"), "{identify}");
    lab.run(["nvme", "smart", &served.device("")]).ended(0, "");
    lab.run(["nvme", "hello", &served.device("")]).ended(3, "--allow-destroy");

    // Uses the name of the subsystem, digests and several jobs; the file then holds what was
    // written.
    let escaped = served.subsystem.replace(':', "\\:");
    let patterns = [("none", "11", "21"), ("header", "12", "22"), ("data", "13", "23"), ("both", "14", "24")];
    for (number, (digest, low, high)) in patterns.into_iter().enumerate() {
        let device = served.device(&format!(" subnqn={escaped} digest={digest}"));
        let job = format!(
            "[global]\nioengine=nvme\nfilename={device}\niodepth=32\nsize=4M\nbsrange=4k-128k\n\
             [low]\nrw=randwrite\nbuffer_pattern=0x{low}\noffset={}M\n\
             [high]\nrw=write\nbuffer_pattern=0x{high}\noffset={}M\n\
             [back]\nstonewall\nrw=randread\noffset={}M\n",
            number * 8,
            number * 8 + 4,
            number * 8
        );
        lab.file("net.fio", job);
        let done = lab.run(["run", "net.fio", "--output-format=json"]).ended(0, "").json();
        for job in 0..3 {
            let side = if job == 2 { "read" } else { "write" };
            assert_eq!(done["jobs"][job]["error"].as_u64(), Some(0), "{done}");
            assert_eq!(done["jobs"][job][side]["io_bytes"].as_u64(), Some(4 << 20), "{done}");
        }
    }
    let perf = ["perf", "-q", "8", "-w", "randread", "-d", "500", "-r", &served.device("")];
    let table = lab.run(perf).ended(0, "").printed();
    assert!(table.contains("Total"), "{table}");
    let ended = served.end();
    assert!(ended.contains("write commands"), "{ended}");
    let bytes = std::fs::read(&data).unwrap();
    for (number, (_, low, high)) in patterns.into_iter().enumerate() {
        for (half, pattern) in [low, high].into_iter().enumerate() {
            let pattern = u8::from_str_radix(pattern, 16).unwrap();
            let start = (number * 8 + half * 4) << 20;
            assert!(bytes[start..start + (4 << 20)].iter().all(|byte| *byte == pattern), "{pattern:#x}");
        }
    }
    lab.run(["device", "destroy", &name]).ended(0, "");
}

#[test]
fn a_host_that_is_not_admitted_and_a_target_that_is_not_there_are_told_apart() {
    let lab = Lab::new();
    let host = "nqn.2014-08.org.nvmexpress:uuid:admitted";
    let served = Served::start(&lab, &["--null", "64M", "--listen", "tcp://127.0.0.1:0", "--hosts", host]);
    let stranger = served.device(&format!(" subnqn={}", served.subsystem));
    lab.run(["nvme", "identify", &stranger]).ended(3, "does not admit host");
    lab.run(["perf", "-q", "1", "-w", "read", "-d", "1", "-r", &stranger]).ended(3, "does not admit host");
    let filename = stranger.replace("nqn.2026-11.invalid.iolab:", "nqn.2026-11.invalid.iolab\\:");
    let job = ["run", "--name=stranger", "--ioengine=nvme", "--rw=read", &format!("--filename={filename}")];
    lab.run(job).ended(3, "does not admit host");
    lab.run(["nvme", "identify", &served.device("")]).ended(1, "has 0 subsystems for this host");
    let known = served.device(&format!(" hostnqn={host}"));
    lab.run(["nvme", "identify", &known]).ended(0, "");
    let wrong = served.device(&format!(" hostnqn={host} subnqn=nqn.2014-08.org.nvmexpress:other"));
    lab.run(["nvme", "identify", &wrong]).ended(3, "has no subsystem nqn.2014-08.org.nvmexpress:other");
    let gone = known.clone();
    served.end();
    lab.run(["nvme", "identify", &gone]).ended(1, "refused");
    lab.run(["device", "serve", "--null", "64M"]).ended(2, "--listen");
    lab.run(["device", "serve", "--null", "64M", "--listen", "127.0.0.1:1"]).ended(2, "write tcp://");
}

#[test]
fn a_file_is_served_as_it_is() {
    let lab = Lab::new();
    let path = lab.path("disk.img");
    std::fs::write(&path, vec![7; 4 << 20]).unwrap();
    let file = path.display().to_string();
    let words = ["--file", &file, "--listen", "tcp://127.0.0.1:0", "--allow-destroy", &file];
    let served = Served::start(&lab, &words);
    let device = served.device("");
    let job = format!("[a]\nioengine=nvme\nfilename={device}\nrw=write\nbs=64k\nsize=1M\nbuffer_pattern=0x5a\n");
    lab.file("write.fio", job);
    lab.run(["run", "write.fio"]).ended(0, "");
    served.end();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes[..1 << 20].iter().all(|byte| *byte == 0x5a) && bytes[1 << 20..].iter().all(|byte| *byte == 7));
}

#[test]
fn a_file_has_a_name_while_it_is_served() {
    let lab = Lab::new();
    let file = lab.path("disk.img").display().to_string();
    std::fs::write(&file, vec![0; 4 << 20]).unwrap();
    let (name, taken) = (format!("test-named-{}", std::process::id()), format!("test-taken-{}", std::process::id()));
    let listen = ["--listen", "tcp://127.0.0.1:0,ana=optimized", "--listen", "tcp://127.0.0.1:0"];
    let words = [&[&name, "--file", &file, "--allow-destroy", &file][..], &listen].concat();
    let served = Served::start(&lab, &words);
    let found = lab.run(["nvme", "discover", &format!("127.0.0.1:{}", served.port)]).ended(0, "").printed();
    assert_eq!(found.matches("NVM subsystem").count(), 2, "both addresses: {found}");
    lab.run(["device", "set", &name, "ana=non-optimized", "--listen", &format!("127.0.0.1:{}", served.port)])
        .ended(0, "");
    lab.run(["device", "stats", &name]).ended(0, "");
    lab.file("here.fio", format!("[a]\nioengine=nvme\nfilename=trtype=VIRT traddr={name}\nsize=64k\n"));
    lab.run(["run", "here.fio"]).ended(0, "");
    served.end();

    lab.run(["device", "create", &taken, "--size", "1M"]).ended(0, "");
    lab.run(["device", "serve", &taken, "--file", &file]).ended(2, "choose another name");
    lab.run(["device", "serve", "no/name", "--null", "1M"]).ended(2, "not a valid device name");
}

#[test]
fn a_device_of_the_driver_is_served_to_hosts() {
    let lab = Lab::new();
    let name = format!("test-through-{}", std::process::id());
    lab.run(["device", "create", &name, "--size", "16M", "--model", "ideal", "lba=4096"]).ended(0, "");
    let below = lab.start(["device", "serve", &name]);
    below.until(|server| server.printed().contains("Press Ctrl-C"));
    let device = format!("trtype=VIRT traddr={name}");
    let served = Served::start(&lab, &["--device", &device, "--listen", "tcp://127.0.0.1:0"]);
    let identify = lab.run(["nvme", "identify", &served.device("")]).ended(0, "").printed();
    assert!(identify.contains("16m (4096 blocks of 4096 bytes)"), "{identify}");
    let job = |filename: &str, rw: &str| {
        format!(
            "[a]\nioengine=nvme\nfilename={filename}\nrw={rw}\nbsrange=4k-512k\nsize=8M\niodepth=8\nbuffer_pattern=0x5a\n"
        )
    };
    lab.file("write.fio", job(&served.device(""), "randwrite"));
    lab.run(["run", "write.fio"]).ended(0, "");
    lab.file(
        "trim.fio",
        job(&served.device(""), "trim").replace("bsrange=4k-512k", "bs=64k").replace("size=8M", "size=1M"),
    );
    lab.run(["run", "trim.fio"]).ended(0, "");
    // Data that came over the network is on the device below, and trimmed blocks are zeroes.
    for (offset, size, pattern) in [("1M", "7M", "0x5a"), ("0", "1M", "0x00")] {
        let read = format!(
            "[v]\nioengine=nvme\nfilename={device}\nrw=read\nbs=64k\noffset={offset}\nsize={size}\nverify=pattern\n\
             verify_pattern={pattern}\nverify_only=1\n"
        );
        lab.file("verify.fio", read);
        lab.run(["run", "verify.fio"]).ended(0, "");
    }
    served.end();
    below.signal(SIGINT);
    below.finish().ended(0, "");
    lab.run(["device", "destroy", &name]).ended(0, "");
    lab.run(["device", "serve", "--device", "trtype=VIRT size=1M", "--listen", "tcp://127.0.0.1:0"])
        .ended(1, "inside this process");
}

#[test]
fn hosts_prove_that_they_know_their_secret() {
    let lab = Lab::new();
    for (file, hmac) in [("host.key", "1"), ("device.key", "3"), ("other.key", "0")] {
        let path = lab.path(file).display().to_string();
        lab.run(["nvme", "gen-dhchap-key", "--hmac", hmac, "--output", &path]).ended(0, "");
        lab.run(["nvme", "gen-dhchap-key", "--output", &path]).ended(1, "exists");
    }
    let path = |file: &str| lab.path(file).display().to_string();
    let (host, own, other) = (path("host.key"), path("device.key"), path("other.key"));
    let words =
        ["--null", "64M", "--listen", "tcp://127.0.0.1:0", "--dhchap-secret", &host, "--dhchap-ctrl-secret", &own];
    let served = Served::start(&lab, &words);
    let device = |more: String| served.device(&more);
    lab.run(["nvme", "identify", &device(String::new())]).ended(3, "add dhchap_secret=FILE");
    lab.run(["nvme", "identify", &device(format!(" dhchap_secret={other}"))]).ended(3, "the secret does not match");
    let mutual = device(format!(" dhchap_secret={host} dhchap_ctrl_secret={own}"));
    lab.run(["nvme", "identify", &mutual]).ended(0, "");
    let impostor = device(format!(" dhchap_secret={host} dhchap_ctrl_secret={other}"));
    lab.run(["nvme", "identify", &impostor]).ended(3, "has not proved who it is");
    let perf = ["perf", "-q", "4", "-w", "randread", "-d", "100", "--dhchap-key", &host, "-r", &device(String::new())];
    lab.run(perf).ended(0, "");
    // A secret given directly is refused.
    let text = std::fs::read_to_string(&host).unwrap();
    lab.run(["nvme", "identify", &device(format!(" dhchap_secret={}", text.trim()))]).ended(2, "names a file");
    served.end();
}

#[test]
fn jobs_of_spdk_reach_a_device_by_an_attached_controller() {
    let lab = Lab::new();
    let path = lab.path("disk.img");
    std::fs::write(&path, vec![0; 4 << 20]).unwrap();
    let file = path.display().to_string();
    let served = Served::start(&lab, &["--file", &file, "--listen", "tcp://127.0.0.1:0", "--allow-destroy", &file]);
    let attach = format!(
        r#"{{"method": "bdev_nvme_attach_controller", "params": {{"name": "Nvme0", "trtype": "TCP", "adrfam": "IPv4",
            "traddr": "127.0.0.1", "trsvcid": "{}", "subnqn": "{}"}}}}"#,
        served.port, served.subsystem
    );
    lab.file("bdev.json", format!(r#"{{"subsystems": [{{"subsystem": "bdev", "config": [{attach}]}}]}}"#));
    let job = "[a]\nioengine=spdk_bdev\nspdk_conf=bdev.json\nfilename=Nvme0n1\nthread=1\nrw=randwrite\nbsrange=4k-64k\nsize=1M\n\
        iodepth=8\nbuffer_pattern=0x5a\n";
    lab.file("spdk.fio", job);
    lab.run(["run", "spdk.fio"]).ended(0, "");
    served.end();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes[..1 << 20].iter().all(|byte| *byte == 0x5a) && bytes[1 << 20..].iter().all(|byte| *byte == 0));
}
