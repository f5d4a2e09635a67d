//! Values that stay text but are checked: small languages of individual options.

use iolab_options::Value;

use super::numbers::{bytes, float, integer};
use super::words::unknown_word;
use super::{NumberRules, Piece, ValueError};
use iolab_text::errno_by_name;

fn accept(whole: Piece<'_>) -> Result<Value, ValueError> {
    Ok(Value::Text(whole.text.to_owned()))
}

/// `wait_before,write,wait_after:N`.
pub(super) fn sync_file_range(whole: Piece<'_>, rules: NumberRules) -> Result<Value, ValueError> {
    let Some((flags, every)) = whole.split_once(':') else {
        return Err(whole.refuse_with("the number of writes is missing", format!("as in `{}:8`", whole.text)));
    };
    for flag in flags.split(',') {
        if !["wait_before", "write", "wait_after"].contains(&flag.text) {
            return Err(unknown_word(flag, ["wait_before", "write", "wait_after"].into_iter()));
        }
    }
    integer(every, (1, i64::from(u32::MAX)), rules)?;
    accept(whole)
}

/// `roundrobin[:N]`, `sequential[:N]`, `random[:N]`, `zipf[:theta]`, `pareto[:power]`,
/// `normal[:deviation]`.
pub(super) fn file_service(whole: Piece<'_>, rules: NumberRules) -> Result<Value, ValueError> {
    let (word, number) = match whole.split_once(':') {
        Some((word, number)) => (word, Some(number)),
        None => (whole, None),
    };
    match (word.text, number) {
        ("random" | "roundrobin" | "sequential", Some(number)) => {
            integer(number, (1, i64::from(u32::MAX)), rules)?;
        }
        ("zipf", Some(number)) => {
            if float(number, (0.0, 1000.0))? == 1.0 {
                return Err(number.refuse("theta must differ from 1"));
            }
        }
        ("pareto", Some(number)) => {
            float(number, (0.0, 1.0))?;
        }
        ("normal" | "gauss", Some(number)) => {
            float(number, (0.0, 100.0))?;
        }
        ("random" | "roundrobin" | "sequential" | "zipf" | "pareto" | "normal" | "gauss", None) => {}
        _ => {
            let known = ["random", "roundrobin", "sequential", "zipf", "pareto", "normal", "gauss"];
            return Err(unknown_word(word, known.into_iter()));
        }
    }
    accept(whole)
}

/// `iops:0.3%` and similar; a limit of bandwidth without `%` is in bytes per second.
pub(super) fn steady_state(whole: Piece<'_>, rules: NumberRules) -> Result<Value, ValueError> {
    let known = ["iops", "iops_slope", "bw", "bw_slope"];
    let Some((word, limit)) = whole.split_once(':') else {
        return Err(whole.refuse_with("the limit is missing", "as in `iops:0.3%`"));
    };
    if !known.contains(&word.text) {
        return Err(unknown_word(word, known.into_iter()));
    }
    if word.text.starts_with("bw") && !limit.text.ends_with('%') {
        return Ok(Value::Text(format!("{}:{}", word.text, bytes(limit, rules)?)));
    }
    let digits = limit.text.strip_suffix('%').unwrap_or(limit.text);
    float(limit.sub(0, digits.len()), (0.0, f64::MAX))?;
    accept(whole)
}

/// `EAGAIN:ENOSPC,122,…`: errors of reads, writes and verification.
pub(super) fn error_numbers(whole: Piece<'_>) -> Result<Value, ValueError> {
    let lists = whole.split(',');
    if let Some(extra) = lists.get(3) {
        return Err(extra.refuse("there are only three lists: read,write,verify"));
    }
    for error in lists.into_iter().filter(|list| !list.is_empty()).flat_map(|list| list.split(':')) {
        let number = error.text.parse::<u16>().is_ok_and(|number| (1..4096).contains(&number));
        if !number && errno_by_name(error.text).is_none() {
            let reason = format!("`{}` is neither the name nor the number of an error", error.text);
            return Err(error.refuse_with(reason, "as in `EIO` or `5`"));
        }
    }
    accept(whole)
}

/// `default`, `local`, `prefer:N`, `bind:LIST`, `interleave:LIST`.
pub(super) fn numa_memory(whole: Piece<'_>) -> Result<Value, ValueError> {
    let (mode, nodes) = match whole.split_once(':') {
        Some((mode, nodes)) => (mode, Some(nodes)),
        None => (whole, None),
    };
    match (mode.text, nodes) {
        ("default" | "local", None) => {}
        ("default" | "local", Some(nodes)) => return Err(nodes.refuse("this policy takes no nodes")),
        ("prefer", Some(nodes)) => {
            if super::cpus::list(nodes)?.len() != 1 {
                return Err(nodes.refuse("this policy takes exactly one node"));
            }
        }
        ("bind" | "interleave", Some(nodes)) => {
            super::cpus::list(nodes)?;
        }
        ("prefer" | "bind" | "interleave", None) => {
            return Err(mode.refuse_with("the nodes are missing", format!("as in `{}:0`", mode.text)));
        }
        _ => return Err(unknown_word(mode, ["default", "prefer", "bind", "interleave", "local"].into_iter())),
    }
    accept(whole)
}

/// `malloc`, `shm`, `shmhuge`, or `mmap`, `mmapshared`, `mmaphuge` with an optional `:PATH`.
pub(super) fn buffer_memory(whole: Piece<'_>) -> Result<Value, ValueError> {
    let (word, path) = match whole.text.find(':') {
        Some(colon) => (whole.sub(0, colon), Some(whole.sub(colon + 1, whole.text.len()))),
        None => (whole, None),
    };
    match (word.text, path) {
        ("malloc" | "shm" | "shmhuge" | "mmap" | "mmaphuge" | "mmapshared", None) => {}
        ("mmap" | "mmapshared" | "mmaphuge", Some(path)) if !path.is_empty() => {}
        ("mmap" | "mmaphuge" | "mmapshared", Some(_)) => return Err(whole.refuse("the path after `:` is missing")),
        ("cudamalloc", _) => {
            return Err(whole.refuse("cudamalloc is memory of a graphics processor, which no engine here reaches"));
        }
        ("malloc" | "shm" | "shmhuge", Some(path)) => return Err(path.refuse("this kind of memory takes no path")),
        _ => {
            return Err(unknown_word(word, ["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge"].into_iter()));
        }
    }
    accept(whole)
}
