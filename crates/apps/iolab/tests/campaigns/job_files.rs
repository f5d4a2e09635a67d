//! Plans job files with random options and random values.

use iolab_jobfile::OPTIONS;

use crate::random::{HOSTILE, Random, scrambled};
use crate::support::Lab;
use crate::{bounded, campaign, inputs};

/// Engines that need nothing from the machine.
const ENGINES: &[&str] =
    &["null", "psync", "sync", "pvsync2", "libaio", "io_uring", "mmap", "posixaio", "cpuio", "filestat"];

fn line(random: &mut Random) -> String {
    let entry = random.pick(OPTIONS);
    let accepted: Vec<&str> = entry.accepts.iter().map(|pair| pair.0).collect();
    let value = match random.below(8) {
        0 => random.pick(HOSTILE),
        1 if !entry.rejects.is_empty() => *random.pick(entry.rejects),
        _ if !accepted.is_empty() => *random.pick(&accepted),
        _ => "1",
    };
    format!("{}={value}\n", entry.name)
}

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for section in 0..1 + random.below(4) {
        let name = if section == 0 && random.below(2) == 0 { "global".to_owned() } else { format!("job{section}") };
        text += &format!(
            "[{name}]\nioengine={}\nsize={}\n",
            random.pick(ENGINES),
            random.pick(&["64k", "1m", "1g", "1%", "1t"])
        );
        for _ in 0..random.below(8) {
            match random.below(30) {
                0 => text += "include other.fio\n",
                1 => text += "include job.fio\n",
                2 => text += &format!("{}\n", random.pick(OPTIONS).name),
                _ => text += &line(random),
            }
        }
    }
    text
}

#[test]
fn job_files_are_planned_or_refused() {
    let lab = Lab::new();
    lab.file("other.fio", "bs=8k\niodepth=4\n");
    campaign(inputs(0, 60), |number| {
        let mut random = Random::new(number);
        let mut bytes = text(&mut random).into_bytes();
        if random.below(3) == 0 {
            bytes = scrambled(bytes, &mut random);
        }
        let file = lab.file(&format!("{number}.fio"), &bytes);
        let end =
            bounded(&lab, number, env!("CARGO_BIN_EXE_iolab"), &["plan".to_owned(), file.display().to_string()], &[]);
        let _ = std::fs::remove_file(file);
        if end.is_sound() { Ok(()) } else { Err(format!("{end:?}\n{}", bytes.escape_ascii())) }
    });
}
