//! Words, sizes and scores.

use crate::{Io500Phase, PHASES, PhaseKind, PhaseResult, PhaseSizes, score, score_text};

fn named(name: &str) -> Io500Phase {
    *PHASES.iter().find(|phase| phase.name == name).unwrap()
}

fn value(words: &[String], name: &str) -> Option<String> {
    words.iter().find_map(|word| Some(word.strip_prefix(&format!("--{name}="))?.to_owned()))
}

fn number(words: &[String], name: &str) -> u64 {
    value(words, name).unwrap().parse().unwrap()
}

#[test]
fn phases_that_follow_are_as_long_as_those_that_wrote() {
    let mut sizes = PhaseSizes::new("/mnt/x", 3, 1, 300_000_000_000);
    for (name, written) in
        [("ior-easy-write", 10), ("mdtest-easy-write", 70), ("ior-hard-write", 20), ("mdtest-hard-write", 30)]
    {
        let phase = named(name);
        assert_eq!(value(&phase.words(&sizes), "runtime").as_deref(), Some("5m"));
        assert!(value(&phase.words(&sizes), "wear_out").is_some() && !phase.is_exhausted(written), "{name}");
        phase.note_written(written, &mut sizes);
    }
    named("ior-easy-read").note_written(5, &mut sizes);
    assert_eq!(number(&named("ior-easy-read").words(&sizes), "size"), 10 << 21);
    assert_eq!(number(&named("mdtest-easy-stat").words(&sizes), "size"), 70);
    assert_eq!(number(&named("mdtest-hard-delete").words(&sizes), "size"), 30 * 3901);
    assert_eq!(sizes.entries(), 4 + 3 + 1 + 3 + 3 * 70 + 3 * 30);
    let find = named("find").words(&sizes);
    assert_eq!((number(&find, "size"), number(&find, "offset_increment")), (104, 104));
    assert!(named("mdtest-easy-write").is_exhausted(1_000_000));
}

/// What IOR's own formula says: transfer s of rank r of n is at (s * n + r) * 47008.
#[test]
fn the_hard_file_is_read_to_its_end_and_not_beyond() {
    for ranks in [1u64, 2, 5] {
        let mut sizes = PhaseSizes::new("/mnt/x", ranks, 1, 300_000_000_000);
        named("ior-hard-write").note_written(7, &mut sizes);
        let words = named("ior-hard-read").words(&sizes);
        let end = 7 * ranks * 47_008;
        let [step, skip, size] = ["zonesize", "zoneskip", "size"].map(|name| number(&words, name));
        assert_eq!(step + skip, ranks * 47_008);
        assert_eq!(number(&words, "io_size"), 7 * 47_008);
        for rank in 0..ranks {
            let first = rank * number(&words, "offset_increment");
            let last = first + 6 * (step + skip) + step;
            assert!(last <= first + size && first + size <= end, "rank {rank} of {ranks}");
        }
    }
}

#[test]
fn a_rank_reads_what_another_host_wrote() {
    for (ranks, per_host, shift) in [(1, 1, 0), (4, 1, 1), (4, 2, 2), (4, 4, 1)] {
        let words = named("ior-easy-read").words(&PhaseSizes::new("/x", ranks, per_host, 300_000_000_000));
        assert_eq!(number(&words, "rank_shift"), shift, "{ranks} {per_host}");
    }
}

fn results(rate: impl Fn(&Io500Phase) -> f64) -> Vec<PhaseResult> {
    let of = |phase: &Io500Phase| PhaseResult {
        phase: *phase,
        rate: rate(phase),
        seconds: 300.0,
        most_operations: 1,
        flaws: Vec::new(),
    };
    PHASES.iter().map(of).collect()
}

#[test]
fn the_score_is_made_of_geometric_means() {
    let mut all = results(|phase| if phase.kind == PhaseKind::Bandwidth { 2.0 } else { 8.0 });
    let made = score(&all).unwrap();
    for (figure, expected) in [(made.bandwidth, 2.0), (made.metadata, 8.0), (made.total, 4.0)] {
        assert!((figure - expected).abs() < 1e-12, "{made:?}");
    }
    assert!(!score_text(&made).contains("NOT"));
    (all[0].rate, all[2].rate) = (1.0, 4.0);
    assert!((score(&all).unwrap().bandwidth - 2.0).abs() < 1e-12);
    all[3].flaws.push("it wrote for 3.0 s".to_owned());
    let text = score_text(&score(&all).unwrap());
    assert!(text.contains("NOT A VALID SCORE\n  mdtest-hard-write: it wrote"), "{text}");
    all[1].rate = 0.0;
    assert!(score(&all).unwrap().total.abs() < 1e-12);
    all.pop();
    assert_eq!(score(&all), None);
}
