//! Verification of written data: `verify` and related options.

use std::path::Path;

use iolab_jobfile::{DiagnosticSeverity, pattern_bytes};
use iolab_options::{Direction, Reach};
use iolab_plan::{
    BlockSizes, FilePlan, VerifyBacklog, VerifyKind, VerifyPattern, VerifyPlan, VerifyPolicy, VerifyTrim, WorkerPlan,
    WorkloadPlan,
};

use crate::findings::Findings;
use crate::job::Job;
use crate::readings;
use crate::request::Mode;
use crate::seeds::{Purpose, derive_for_all};

/// Largest number of writes between two checks: each is remembered until it is checked.
const MOST_BACKLOG: i64 = 1 << 24;

/// Resolves verification; `None` for a job without.
pub(crate) fn resolve(job: &Job<'_>, workload: &WorkloadPlan, files: &[FilePlan]) -> Option<VerifyPlan> {
    let word = job.word("verify");
    let kind = VerifyKind::ALL.iter().copied().find(|kind| kind.name() == word);
    // All options are read, so that contradictions are reported even if nothing is verified.
    let asked = Asked {
        interval_bytes: job.given("verify_interval", readings::bytes).filter(|bytes| *bytes > 0),
        header_offset_bytes: job.given("verify_offset", readings::bytes).unwrap_or(0),
        pattern: pattern(job),
        backlog: backlog(job),
        trim: trim(job),
    };
    let plan = VerifyPlan {
        kind: kind.unwrap_or(VerifyKind::Null),
        after: job.on("do_verify"),
        only: job.given("verify_only", readings::flag).unwrap_or(false),
        fatal: job.on("verify_fatal"),
        dump: job.on("verify_dump"),
        dump_folder: job.request.overrides.aux_path.clone(),
        state_save: job.on("verify_state_save"),
        state_load: job.on("verify_state_load"),
        state_file: job.text("verify_state_file").map(|path| path.to_string()),
        policy: policy(job),
        interval_bytes: 0,
        header_offset_bytes: asked.header_offset_bytes,
        partial: false,
        pattern: None,
        pattern_interval_bytes: job.bytes("verify_pattern_interval"),
        backlog: asked.backlog,
        threads: job.count("verify_async"),
        thread_cpus: job.given("verify_async_cpus", readings::cpus),
        checks_seed: job.on("verify_header_seed"),
        checks_sequence: job.on("verify_write_sequence"),
        trim: asked.trim,
        seed: derive_for_all(job, Purpose::Verify),
    };
    if plan.thread_cpus.is_some() && plan.threads == 0 {
        job.warn_always("verify_async_cpus", "verify_async_cpus has no effect without verify_async", "");
    }
    let kind = kind?;
    judge_state(job, &plan, files);
    if !can_be_verified(job, kind, workload) {
        return None;
    }
    let (interval_bytes, partial) = interval(job, kind, &asked, workload, files)?;
    let has_pattern = matches!(kind, VerifyKind::Pattern | VerifyKind::PatternHdr);
    if has_pattern && asked.pattern.is_none() {
        job.error("verify", format!("verify={word} needs a pattern"), "add verify_pattern, for example 0xdeadbeef");
    }
    if let Some(every) = Some(plan.pattern_interval_bytes).filter(|every| *every > 0 && has_pattern)
        && !interval_bytes.is_multiple_of(every)
        && !every.is_multiple_of(interval_bytes)
    {
        let reason = format!("verify_pattern_interval={every} and the interval of {interval_bytes} bytes do not fit");
        job.error("verify_pattern_interval", reason, "choose one that divides the block size");
    }
    if job.integer("dedupe_percentage") > 0 && kind != VerifyKind::Null {
        let reason = "no two blocks are equal that are verified: dedupe_percentage has no effect";
        job.warn_always("dedupe_percentage", reason, "verify in a job of its own");
    }
    let pattern = asked.pattern.filter(|_| has_pattern);
    Some(VerifyPlan { interval_bytes, partial, pattern, kind, ..plan })
}

fn policy(job: &Job<'_>) -> VerifyPolicy {
    match job.word("verify_policy").as_str() {
        "fsynced" => VerifyPolicy::Fsynced,
        "durable" => VerifyPolicy::Durable,
        _ => VerifyPolicy::Completed,
    }
}

fn judge_state(job: &Job<'_>, plan: &VerifyPlan, files: &[FilePlan]) {
    if plan.state_file.is_some() && !plan.state_load {
        job.warn_always("verify_state_file", "verify_state_file has no effect without verify_state_load", "");
    }
    if plan.state_file.is_some() && files.len() > 1 {
        let reason = format!("verify_state_file is of one file, and the job has {}", files.len());
        job.error("verify_state_file", reason, "give each file a job of its own");
    }
    if !plan.policy.is_completed() && !plan.state_load && !plan.state_save {
        let reason = "verify_policy has no effect without verify_state_save or verify_state_load";
        job.warn_always("verify_policy", reason, "add verify_state_save=1");
    }
}

/// The options before they are judged.
struct Asked {
    interval_bytes: Option<u64>,
    header_offset_bytes: u64,
    pattern: Option<VerifyPattern>,
    backlog: Option<VerifyBacklog>,
    trim: Option<VerifyTrim>,
}

fn can_be_verified(job: &Job<'_>, kind: VerifyKind, workload: &WorkloadPlan) -> bool {
    let can = job.engine.capabilities;
    if !can.moves_data {
        job.error(
            "verify",
            format!("engine {} moves no data that could be verified", job.engine.name),
            "remove verify",
        );
        return false;
    }
    if matches!(can.reach, Reach::Nothing | Reach::Network) && kind != VerifyKind::Null {
        let reason = format!("engine {} keeps no data, so nothing is verified", job.engine.name);
        job.refuse_unless_fio("verify", reason, "use verify=null, or an engine that keeps what is written");
        return false;
    }
    if can.reach == Reach::Names {
        let reason = format!("engine {} works on names: its reads need not return what was written", job.engine.name);
        job.error("verify", reason, "remove verify");
        return false;
    }
    if workload.unaligned_sizes {
        let reason = "blocks of any length share no interval that could be verified (bs_unaligned)";
        job.error("verify", reason, "remove bs_unaligned");
        return false;
    }
    true
}

/// The common divisor of all block sizes, alignments and jumps: the distance at which one header
/// may follow another. Also whether a file ends within one.
fn interval(
    job: &Job<'_>,
    kind: VerifyKind,
    asked: &Asked,
    workload: &WorkloadPlan,
    files: &[FilePlan],
) -> Option<(u64, bool)> {
    let common = common_divisor(workload, files);
    let interval_bytes = match asked.interval_bytes {
        Some(wanted) if common.is_multiple_of(wanted) => wanted,
        // As in fio: no longer than the smallest block.
        Some(wanted) if wanted.is_multiple_of(common) => common,
        Some(wanted) => {
            let reason = format!("verify_interval={wanted} does not divide all block sizes and alignments ({common})");
            job.error("verify_interval", reason, "for example 512, or leave it out");
            return None;
        }
        None => common,
    };
    let needed = asked.header_offset_bytes.saturating_add(kind.header_bytes());
    if interval_bytes < needed {
        let reason = format!(
            "a header of verify={} needs {needed} bytes, but the blocks share intervals of {interval_bytes} bytes only",
            kind.name()
        );
        job.error("verify", reason, "use larger blocks, or sizes with a larger common divisor");
        return None;
    }
    let partial = files.iter().any(|file| !file.length_bytes.is_multiple_of(interval_bytes));
    Some((interval_bytes, partial))
}

fn common_divisor(workload: &WorkloadPlan, files: &[FilePlan]) -> u64 {
    let mut common = 0;
    let mut also = |bytes: u64| common = divisor(common, bytes);
    for direction in Direction::ALL {
        if !workload.pattern.directions.contains(&direction) && !workload.sizes_by_randomness {
            continue;
        }
        match &workload.block_sizes[direction.index()] {
            BlockSizes::Fixed(bytes) => also(*bytes),
            BlockSizes::Range { min, .. } => also(*min),
            BlockSizes::Split(parts) => parts.iter().for_each(|(bytes, _)| also(*bytes)),
        }
        if workload.pattern.random {
            also(workload.align_bytes[direction.index()]);
        }
    }
    also(workload.pattern.skip_bytes.unsigned_abs());
    if let Some(stride) = &workload.stride {
        [stride.range_bytes, stride.zone_bytes, stride.skip_bytes].into_iter().for_each(&mut also);
    }
    if let Some(zones) = &workload.zones {
        also(zones.zone_bytes);
    }
    // Going backwards begins at the end of the file.
    if workload.pattern.skip_bytes < 0 {
        files.iter().for_each(|file| also(file.length_bytes));
    }
    common.max(1)
}

/// Greatest common divisor; of 0 and a number, the number.
fn divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { divisor(other, one % other) }
}

fn backlog(job: &Job<'_>) -> Option<VerifyBacklog> {
    let batch = job.given("verify_backlog_batch", readings::integer).filter(|batch| *batch > 0);
    let writes = job.given("verify_backlog", readings::integer).filter(|writes| *writes > 0);
    let Some(writes) = writes else {
        if batch.is_some() {
            job.warn_always("verify_backlog_batch", "verify_backlog_batch has no effect without verify_backlog", "");
        }
        return None;
    };
    let batch = batch.unwrap_or(writes);
    if writes > MOST_BACKLOG {
        let reason = format!("verify_backlog={writes}: each write would be remembered until it is verified");
        job.error("verify_backlog", reason, &format!("at most {MOST_BACKLOG}"));
    }
    Some(VerifyBacklog { writes: writes as u64, batch: batch as u64 })
}

fn trim(job: &Job<'_>) -> Option<VerifyTrim> {
    let percent = job.count("trim_percentage");
    let writes = job.given("trim_backlog", readings::integer).filter(|writes| *writes > 0);
    let batch = job.given("trim_backlog_batch", readings::integer).filter(|batch| *batch > 0);
    let zeroes = job.on("trim_verify_zero");
    let Some(writes) = writes.filter(|_| percent > 0) else {
        for (name, set) in [("trim_percentage", percent > 0), ("trim_backlog_batch", batch.is_some())] {
            if set {
                let reason = format!("{name} has no effect without trim_backlog: nothing is discarded");
                job.warn_always(name, reason, "add trim_backlog and trim_percentage");
            }
        }
        return None;
    };
    if writes > MOST_BACKLOG {
        job.error("trim_backlog", format!("trim_backlog={writes} is too large"), &format!("at most {MOST_BACKLOG}"));
    }
    if !job.engine.capabilities.trims {
        let reason = format!("engine {} cannot trim what trim_percentage asks for", job.engine.name);
        job.error("trim_percentage", reason, "use an engine that trims (see `iolab engines`)");
    }
    Some(VerifyTrim { percent, writes: writes as u64, batch: batch.unwrap_or(writes) as u64, zeroes })
}

/// `verify_pattern`: byte sequences with `%o` between them.
fn pattern(job: &Job<'_>) -> Option<VerifyPattern> {
    let text = job.text("verify_pattern")?;
    let mut pattern = VerifyPattern::default();
    for (number, piece) in outside_quotes(&text).into_iter().enumerate() {
        if number > 0 {
            pattern.offsets_at.push(pattern.bytes.len() as u32);
            pattern.bytes.extend([0; 8]);
        }
        if piece.is_empty() {
            continue;
        }
        match pattern_bytes(piece, &mut |name, most| job.request.machine.content(Path::new(name), most)) {
            Ok(bytes) => pattern.bytes.extend(bytes),
            Err(error) => {
                let advice = error.suggestion.unwrap_or_default();
                job.error("verify_pattern", format!("verify_pattern `{piece}`: {}", error.reason), &advice);
                return None;
            }
        }
    }
    Some(pattern)
}

/// The parts between each `%o` outside quotes.
fn outside_quotes(text: &str) -> Vec<&str> {
    let (mut pieces, mut from, mut quoted) = (Vec::new(), 0, None);
    for (at, letter) in text.char_indices() {
        quoted = match quoted {
            None if letter == '"' || letter == '\'' => Some(letter),
            Some(quote) if quote == letter => None,
            still => still,
        };
        if quoted.is_none() && text[at..].starts_with("%o") {
            pieces.push(&text[from..at]);
            from = at + 2;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

/// A file that one job recreates (`unlink_each_loop`) while other jobs use it.
fn made_anew_under_others(own: &WorkerPlan, workers: &[WorkerPlan]) -> Option<String> {
    let others = workers.iter().filter(|other| other.stage == own.stage && other.number != own.number);
    let mut replaced = others.filter(|other| other.layout.unlink_each_loop || own.layout.unlink_each_loop);
    replaced.find_map(|other| {
        let same = |mine: &&FilePlan| other.files.iter().any(|theirs| theirs.path == mine.path);
        own.files.iter().find(same).map(|file| file.path.display().to_string())
    })
}

/// Refuses jobs that change data while others verify it, if they cannot agree on the expected
/// content.
pub(crate) fn check_neighbours(workers: &[WorkerPlan], mode: Mode, findings: &Findings) {
    for own in workers {
        let Some(verify) = own.verify.as_ref().filter(|verify| verify.kind != VerifyKind::Null) else { continue };
        if let Some(file) = made_anew_under_others(own, workers) {
            let reason = format!("job {} verifies {file}, which is made anew while others work on it", own.job);
            let advice = "remove unlink_each_loop, or give each job files of its own";
            findings.add(DiagnosticSeverity::Error, (0, (0, 0)), reason, advice);
            return;
        }
        for other in workers.iter().filter(|other| other.stage == own.stage && other.section != own.section) {
            let changes = other.workload.pattern.directions.iter().any(|direction| *direction != Direction::Read);
            let reads_alone = own.workload.pattern.directions == [Direction::Read];
            if !changes || reads_alone {
                continue;
            }
            let agree = |mine: &FilePlan, theirs: &FilePlan| {
                other.verify.as_ref().is_some_and(|other| {
                    other.interval_bytes == verify.interval_bytes
                        && mine.start_bytes % verify.interval_bytes == theirs.start_bytes % verify.interval_bytes
                })
            };
            let overlap = own.files.iter().find(|mine| {
                other.files.iter().any(|theirs| {
                    mine.path == theirs.path
                        && mine.start_bytes < theirs.start_bytes + theirs.length_bytes
                        && theirs.start_bytes < mine.start_bytes + mine.length_bytes
                        && !agree(mine, theirs)
                })
            });
            if let Some(file) = overlap {
                let reason = format!(
                    "job {} changes {} while job {} verifies it, without verify or with other intervals",
                    other.job,
                    file.path.display(),
                    own.job
                );
                let severity = if mode == Mode::Fio { DiagnosticSeverity::Warning } else { DiagnosticSeverity::Error };
                let advice = "give both the same verify and block sizes, or separate them by stonewall";
                findings.add(severity, (0, (0, 0)), reason, advice);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_found_outside_quotes_only() {
        for (text, pieces) in [
            ("0xff", &["0xff"][..]),
            ("%o", &["", ""]),
            ("0xff%o\"a%o\"-12", &["0xff", "\"a%o\"-12"]),
            ("%o%o1", &["", "", "1"]),
            ("'%o'%o\"'%o\"", &["'%o'", "\"'%o\""]),
        ] {
            assert_eq!(outside_quotes(text), pieces, "{text}");
        }
        assert_eq!([divisor(0, 12), divisor(12, 0), divisor(12, 18), divisor(4096, 512)], [12, 12, 6, 512]);
    }
}
