//! Fills and checks blocks of 4 KiB with crc32c, for `cargo xtask cost`, which counts the
//! instructions of both.
//!
//! `cost ops=N [what=fill|both]`
#![allow(clippy::print_stdout, reason = "a program's output")]

use std::hint::black_box;

use iolab_plan::{BufferContent, BufferPlan, VerifyKind, VerifyPlan};
use iolab_verify::{Interval, Recipe, WantedContent};

const BLOCK: usize = 4096;

fn main() {
    let word = |name: &str| std::env::args().find_map(|word| word.strip_prefix(name).map(str::to_owned));
    let ops = word("ops=").and_then(|text| text.parse().ok()).unwrap_or(1000_u64);
    let checks = word("what=").is_none_or(|what| what == "both");
    let plan = VerifyPlan { seed: 1, ..VerifyPlan::new(VerifyKind::Crc32c, BLOCK as u64) };
    let buffers = BufferPlan::new(BLOCK as u64, BufferContent::Random);
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
