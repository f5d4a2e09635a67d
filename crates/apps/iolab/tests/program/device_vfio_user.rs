//! A virtual SSD behind vfio-user: served beside NVMe/TCP, identified, driven by jobs, and removed.

use crate::support::{Lab, Running};

const SIGINT: i32 = 2;

fn serve(lab: &Lab, words: &[&str]) -> Running {
    let server = lab.start(["device", "serve"].into_iter().chain(words.iter().copied()));
    server.until(|server| server.printed().contains("Press Ctrl-C"));
    server
}

#[test]
fn a_device_behind_vfio_user_is_driven_beside_hosts_on_the_network() {
    let lab = Lab::new();
    let (file, socket) = (lab.path("disk.img"), lab.path("disk.sock"));
    std::fs::write(&file, vec![7; 16 << 20]).unwrap();
    let (file, url) = (file.display().to_string(), format!("vfio-user:{}", socket.display()));
    let words = ["--file", &file, "--allow-destroy", &file, "--listen", &url, "--listen", "tcp://127.0.0.1:0"];
    let server = serve(&lab, &words);
    let printed = server.printed();
    let device = format!("trtype=VFIOUSER traddr={} ns=1", socket.display());
    assert!(printed.contains(&format!("at {}\n", device.trim_end_matches(" ns=1"))), "{printed}");
    let identify = lab.run(["nvme", "identify", &device]).ended(0, "").printed();
    assert!(identify.contains("namespace 1       16m"), "{identify}");
    // Several jobs, each with its own connection; with polling and with interrupts.
    for (wait, pattern, offset) in [("poll", 0x11, 0), ("interrupt", 0x22, 8)] {
        let job = format!(
            "[global]\nioengine=nvme\nfilename={device}\nwait={wait}\niodepth=16\nsize=4M\nbsrange=4k-128k\n\
             [low]\nrw=randwrite\nbuffer_pattern={pattern:#x}\noffset={offset}M\n\
             [high]\nrw=write\nbuffer_pattern={pattern:#x}\noffset={}M\n\
             [back]\nstonewall\nrw=randread\noffset={offset}M\n",
            offset + 4
        );
        lab.file("vm.fio", job);
        let done = lab.run(["run", "vm.fio", "--output-format=json"]).ended(0, "").json();
        for job in 0..3 {
            assert_eq!(done["jobs"][job]["error"].as_u64(), Some(0), "{done}");
        }
    }
    let perf = ["perf", "-q", "8", "-w", "randread", "-d", "500", "-r", &device];
    assert!(lab.run(perf).ended(0, "").printed().contains("Total"));
    // The other front end of the same drive reads the same.
    let port = printed.split_once("trsvcid=").unwrap().1.split_whitespace().next().unwrap().to_owned();
    lab.run(["nvme", "identify", &format!("trtype=TCP traddr=127.0.0.1 trsvcid={port}")]).ended(0, "");
    server.signal(SIGINT);
    server.finish().ended(0, "");
    assert!(!socket.exists());
    let bytes = std::fs::read(lab.path("disk.img")).unwrap();
    assert!(bytes[..8 << 20].iter().all(|byte| *byte == 0x11) && bytes[8 << 20..].iter().all(|byte| *byte == 0x22));
    lab.run(["nvme", "identify", &device]).ended(1, "no vfio-user device is served at");
}

#[test]
fn places_that_are_none_and_file_systems_are_refused() {
    let lab = Lab::new();
    for (url, says) in [("vfio-user:", "vfio-user:/run/fast.sock"), ("unix:/run/a.sock", "vfio-user:PATH")] {
        lab.run(["device", "serve", "--null", "64M", "--listen", url]).ended(2, says);
    }
    let socket = lab.path("refused.sock");
    let url = format!("vfio-user:{}", socket.display());
    lab.run(["device", "serve", "--null", "64M", "--listen", &url, "--nqn", "nqn.2014-08.org.x:a"]).ended(2, "--nqn");
    std::fs::write(&socket, "a file").unwrap();
    lab.run(["device", "serve", "--null", "64M", "--listen", &url]).ended(1, "not a socket");
    lab.run(["nvme", "identify", "trtype=VFIOUSER traddr=fast"]).ended(2, "path of the server's socket");

    let file = lab.path("xfs.img");
    let mut bytes = vec![0; 4 << 20];
    bytes[..4].copy_from_slice(b"XFSB");
    std::fs::write(&file, bytes).unwrap();
    let (file, url) = (file.display().to_string(), format!("vfio-user:{}", lab.path("xfs.sock").display()));
    let server = serve(&lab, &["--file", &file, "--allow-destroy", &file, "--listen", &url]);
    let device = format!("--filename=trtype=VFIOUSER traddr={} ns=1", lab.path("xfs.sock").display());
    let words = ["run", "--name=w", "--ioengine=nvme", &device, "--rw=write", "--bs=64k", "--size=1M"];
    lab.run(words).ended(3, "XFS");
    server.signal(SIGINT);
    server.finish().ended(0, "");
}
