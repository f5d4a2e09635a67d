//! Fills and checks blocks of 4 KiB with crc32c, for `cargo xtask cost`, which counts the
//! instructions of both.
//!
//! `cost ops=N [what=fill|both]`
#![allow(clippy::print_stdout, reason = "a program's output")]

use std::hint::black_box;

use iolab_plan::{BufferContent, BufferMemory, BufferPlan, VerifyKind, VerifyPlan};
use iolab_verify::{Interval, Recipe, WantedContent};

const BLOCK: usize = 4096;

fn main() {
    let word = |name: &str| std::env::args().find_map(|word| word.strip_prefix(name).map(str::to_owned));
    let ops = word("ops=").and_then(|text| text.parse().ok()).unwrap_or(1000_u64);
    let checks = word("what=").is_none_or(|what| what == "both");
    let plan = VerifyPlan {
        kind: VerifyKind::Crc32c,
        after: true,
        only: false,
        fatal: false,
        dump: false,
        dump_folder: None,
        interval_bytes: BLOCK as u64,
        header_offset_bytes: 0,
        partial: false,
        pattern: None,
        pattern_interval_bytes: 0,
        backlog: None,
        threads: 0,
        thread_cpus: None,
        checks_seed: true,
        checks_sequence: true,
        trim: None,
        seed: 1,
    };
    let buffers = BufferPlan {
        slot_bytes: BLOCK as u64,
        offset_bytes: 0,
        memory: BufferMemory::Anonymous,
        content: BufferContent::Random,
        refill: false,
        scramble: false,
        compress_percent: None,
        compress_chunk_bytes: 0,
        dedupe_percent: 0,
        dedupe_working_set_percent: None,
    };
    let recipe = Recipe::new(&plan, &buffers, 0, 1);
    let mut block = vec![0; BLOCK];
    let mut right = 0_u64;
    for number in 0..ops {
        let at = Interval { file: 0, offset: number * BLOCK as u64 };
        recipe.fill(at, 1, number, number, black_box(&mut block));
        if checks {
            right += u64::from(recipe.check(at, WantedContent::Generation(1), black_box(&block)).is_ok());
        }
    }
    println!("{right}");
}
