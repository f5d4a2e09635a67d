//! No engine's name outside its crate and the list of engines. Facts about an engine are in its own
//! description (`Capabilities`), so that a list of names elsewhere cannot omit a new engine.
//!
//! Only the districts that use engines are checked. Tests and examples may name them.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{line_of, without_test_modules};

/// Where a name would refer to an engine; elsewhere the same words mean other things.
const DISTRICTS: [&str; 7] = ["contract", "machine", "lab", "job", "run", "report", "apps"];

/// The list of engines.
const REGISTRY: &str = "crates/apps/engine_catalogue/src/lib.rs";

/// How the text of a job names an engine.
const OPTION: &str = "ioengine=";

/// A file, a word in it (`*` for all), and why it is allowed there.
type Exception = (&'static str, &'static str, &'static str);

const EXCEPTIONS: &[Exception] = &[
    ("crates/contract/aggregate/src/below.rs", "*", "names of block devices of the kernel"),
    (
        "crates/contract/plan/src/engines_by_name.rs",
        "*",
        "reads plans that were made before engines said what they are",
    ),
    ("crates/apps/iolab/src/subcommands/device/arguments.rs", "null", "the option --null of `device serve`"),
    ("crates/apps/iolab/src/subcommands/device/serve.rs", "null", "the medium that keeps nothing"),
    ("crates/contract/plan/src/describe/target_lines.rs", "sync", "the option sync"),
    ("crates/contract/plan/src/verify.rs", "null", "a value of the option verify"),
    ("crates/contract/trace/src/call.rs", "*", "names of system calls"),
    ("crates/contract/trace/src/operation.rs", "sync", "the word for O_SYNC"),
    ("crates/job/jobfile/src/options/engine.rs", "*", "the option ioengine: its default and its examples"),
    ("crates/job/jobfile/src/options/durability.rs", "sync", "the option sync"),
    ("crates/job/jobfile/src/options/process.rs", "sync", "an example of a program to run"),
    ("crates/job/jobfile/src/options/verify.rs", "null", "a value of the option verify"),
    ("crates/job/jobfile/src/values/checked.rs", "mmap", "a value of the option iomem"),
    ("crates/job/synthesize/src/computing.rs", "cpuio", "the option ioengine for what a program computed"),
    ("crates/job/synthesize/src/job_text.rs", "sync", "the option sync"),
    ("crates/job/synthesize/src/section.rs", "*", "the option ioengine for the calls that a program used"),
    ("crates/job/trace_import/src/iolog.rs", "sync", "an action of fio's iolog"),
    ("crates/contract/recording/src/noted.rs", "sync", "an action of fio's iolog"),
    ("crates/job/trace_import/src/strace/calls.rs", "*", "names of system calls"),
    ("crates/job/resolve/src/buffers.rs", "mmap", "a value of the option iomem"),
    ("crates/job/resolve/src/files.rs", "sync", "a value of the option sync"),
    ("crates/machine/observe/src/network/remote_mounts.rs", "nfs", "a type of file system"),
    ("crates/report/findings/src/limits.rs", "io_uring", "advice: a queue where an engine has none"),
    ("crates/report/findings/src/table.rs", "*", "advice to users, in sentences"),
    ("crates/report/report/src/json.rs", "sync", "a key of fio's JSON"),
    ("crates/report/report/src/normal/job.rs", "sync", "a line of fio's report"),
    (
        "crates/lab/bench_runner/src/target.rs",
        "*",
        "files are measured with the best of these that works, NVMe devices with the one that takes them",
    ),
    ("crates/lab/demo/src/lib.rs", "*", "the demonstration compares these engines"),
    ("crates/lab/io500/src/phase.rs", "*", "the jobs of the phases, as words of a command line"),
    ("crates/apps/iolab/src/run_options/help.rs", "io_uring", "an example of a command line"),
    ("crates/apps/iolab/src/subcommands/device.rs", "nvme", "tells the user how to use the device that it serves"),
    ("crates/apps/iolab/src/subcommands/kv/check.rs", "kv", "the subcommand, not the engine"),
    ("crates/lab/kv_bench/src/flags.rs", "sync", "a flag of db_bench"),
    ("crates/lab/kv_bench/src/settings.rs", "sync", "a flag of db_bench"),
    ("crates/lab/kv_bench/src/recording.rs", "kv", "its plan is that of jobs of this engine"),
    ("crates/lab/doctor/src/machine.rs", "libaio", "tells the user what a limit of the kernel means"),
    ("crates/apps/iolab/src/subcommands/replay.rs", "*", "the plainest engines that can do what a trace did"),
    ("crates/job/jobfile/src/options/replay.rs", "sync", "a kind of operation to leave out"),
    ("crates/job/resolve/src/replay.rs", "sync", "a kind of operation to leave out"),
    ("crates/apps/iolab/src/subcommands/perf.rs", "*", "the options of spdk_nvme_perf choose among these engines"),
    ("crates/lab/fs_commands/src/io_tester.rs", "logfs", "the file system, not the engine"),
    ("crates/lab/fs_commands/src/perf_text.rs", "logfs", "the file system, not the engine"),
    ("crates/apps/iolab/src/subcommands/fs/umount.rs", "logfs", "the file system, not the engine"),
];

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    check_with(repository, EXCEPTIONS)
}

fn check_with(repository: &Repository, exceptions: &[Exception]) -> Vec<Finding> {
    let names = engines(repository);
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for file in repository.rust_files().filter(|file| is_looked_at(&file.path)) {
        for (name, line) in named(file, &names) {
            let place = exceptions.iter().position(|(path, word, _)| *path == file.path && ["*", name].contains(word));
            match place {
                Some(place) => drop(used.insert(place)),
                None => findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("names the engine {name}: ask for a capability of its description, or list the exception with its reason"),
                )),
            }
        }
    }
    let unused = exceptions.iter().enumerate().filter(|(place, _)| !used.contains(place));
    findings.extend(unused.map(|(_, (path, word, _))| {
        Finding::new(
            path,
            0,
            format!("an exception allows the engine name {word} here, and it is not there: remove the exception"),
        )
    }));
    findings
}

/// The names that descriptions in the crates of engines begin with.
fn engines(repository: &Repository) -> BTreeSet<String> {
    let sources = repository.rust_files().filter(|file| file.path.starts_with("crates/engines/"));
    let described = sources.flat_map(|file| file.text.split("EngineDescription {").skip(1));
    let name = |text: &str| Some(text.trim_start().strip_prefix("name: \"")?.split('"').next()?.to_owned());
    described.filter_map(name).filter(|name| !name.is_empty()).collect()
}

fn is_looked_at(path: &str) -> bool {
    let Some((district, rest)) = path.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
        return false;
    };
    let file = rest.rsplit('/').next().unwrap_or(rest);
    let is_test = rest.contains("/tests/") || file.starts_with("test") || !rest.contains("/src/");
    DISTRICTS.contains(&district) && !is_test && path != REGISTRY
}

/// Names and lines: a literal that is a name, or that says `ioengine=` before one.
fn named<'n>(file: &TextFile, names: &'n BTreeSet<String>) -> Vec<(&'n str, usize)> {
    let masked = file.masked();
    let code = without_test_modules(masked);
    let lines = file.text.lines().zip(masked.lines().zip(code.lines())).enumerate();
    let is_read = |(_, (line, (masked, code))): &(usize, (&str, (&str, &str)))| {
        line.contains(OPTION) && masked.trim() == code.trim() && !line.trim_start().starts_with("//")
    };
    let telling: Vec<(usize, &str)> = lines.filter(is_read).map(|(number, (line, _))| (number + 1, line)).collect();
    let mut found = Vec::new();
    for name in names {
        let literal = format!("\"{name}\"");
        let literals = file.text.match_indices(&literal).map(|(at, _)| at);
        let literals = literals.filter(|at| code.as_bytes()[*at] == b'"').map(|at| line_of(&file.text, at));
        let told = telling.iter().filter(|(_, line)| tells(line, name)).map(|(number, _)| *number);
        let mut lines: Vec<usize> = literals.chain(told).collect();
        lines.dedup();
        found.extend(lines.into_iter().map(|line| (name.as_str(), line)));
    }
    found
}

fn tells(line: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    line.split(OPTION).skip(1).filter_map(|rest| rest.strip_prefix(name)).any(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    const ENGINE: (&str, &str) = (
        "crates/engines/tape/src/lib.rs",
        "const D: EngineDescription = EngineDescription {\n    name: \"tape\",\n};\n",
    );

    fn lines(files: &[(&str, &str)], exceptions: &[Exception]) -> Vec<(String, usize)> {
        let (_folder, tree) = repository(&[&[ENGINE], files].concat());
        check_with(&tree, exceptions).into_iter().map(|finding| (finding.path, finding.line)).collect()
    }

    #[test]
    fn canary() {
        let path = "crates/report/findings/src/facts.rs";
        let text = "//! On \"tape\".\nconst SLOW: [&str; 1] = [\"tape\"];\n// ioengine=tape\nconst A: &str = \"try ioengine=tape\";\n\
                    const B: &str = \"ioengine=tapes, tape\";\n#[cfg(test)]\nmod tests {\n    const C: &str = \"tape\";\n}\n";
        let wrong = [(path, text)];
        assert_eq!(lines(&wrong, &[]), [(path.to_owned(), 2), (path.to_owned(), 4)]);
        assert_eq!(lines(&wrong, &[(path, "tape", "a reason")]), []);
        assert_eq!(lines(&[], &[(path, "*", "for nothing")]), [(path.to_owned(), 0)]);
        let allowed = [
            (REGISTRY, "f(\"tape\")"),
            ("crates/run/runner/tests/a.rs", "f(\"tape\")"),
            ("crates/base/clock/src/lib.rs", "f(\"tape\")"),
        ];
        assert_eq!(lines(&allowed, &[]), []);
    }
}
