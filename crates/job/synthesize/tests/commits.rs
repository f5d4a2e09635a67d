//! Traces of programs with known behaviour yield the corresponding job.

use iolab_synthesize::{JobTextRequest, ModelRequest, PlacePattern, ProgramModel, RoleRules, SyncRule, job_text};
use iolab_trace::{
    Call, End, Facts, File, Flags, Operation, Ordered, ProcessorSample, ProcessorShares, ProgramBeside, Reader, Role,
    Thread, Writer,
};

const WINDOW: usize = 64;
const COST_NS: u64 = 10_000;

struct Program {
    writer: Writer<Vec<u8>>,
    now_ns: u64,
}

impl Program {
    fn new(paths: &[(&str, u64)], threads: u32) -> Program {
        let facts = Facts {
            source: "ptrace".into(),
            command: vec!["/bin/known".into()],
            traced_call_ns: Some(COST_NS as f64),
            has_durations: true,
            ..Facts::default()
        };
        let mut writer = Writer::new(Vec::new(), &facts).unwrap();
        for (path, size) in paths {
            let role = Role::of_path(path);
            writer.file(File { path: (*path).into(), role, size_bytes: Some(*size), ..File::default() }).unwrap();
        }
        for id in 0..threads {
            writer.thread(Thread { process: 1, id, name: "x".into() }).unwrap();
        }
        Program { writer, now_ns: 0 }
    }

    /// An operation that takes `took_ns`, after `think_ns` and the cost of tracing.
    fn does(
        &mut self,
        (thread, file): (u32, u32),
        call: Call,
        place: (Option<u64>, u64),
        (think_ns, took_ns): (u64, u64),
    ) {
        self.now_ns += think_ns + COST_NS;
        let (offset, length) = place;
        let result = if call.moves_data() { length as i64 } else { 0 };
        let (time_ns, flags) = (self.now_ns, Flags::default());
        let operation = Operation { time_ns, duration_ns: took_ns, thread, call, file, offset, length, result, flags };
        self.writer.operation(&operation).unwrap();
        self.now_ns += took_ns;
    }

    fn model(self, request: &ModelRequest) -> ProgramModel {
        self.model_to(request, End::default())
    }

    fn model_to(self, request: &ModelRequest, end: End) -> ProgramModel {
        let end = End { elapsed_ns: self.now_ns, ..end };
        let bytes = self.writer.finish(end).unwrap();
        let read = || Ordered::new(Reader::new(bytes.as_slice()).unwrap(), WINDOW);
        ProgramModel::of(&mut read(), &mut read(), request).unwrap()
    }
}

fn text(model: &ProgramModel) -> String {
    job_text(model, &JobTextRequest { trace: "x.trace", directory: "/data", runtime_s: 5 })
}

/// A server: it starts, commits pages whose last one is written again, and takes occasional
/// checkpoints.
fn server() -> Program {
    let mut program = Program::new(&[("/db/pg_wal/1", 16 << 20), ("/db/base/5/1", 128 << 20)], 3);
    for page in 0..200 {
        program.does((0, 1), Call::Pread, (Some(page * 8192), 8192), (1_000, 20_000));
    }
    program.now_ns += 2_000_000_000;
    let mut page = 0_u64;
    for commit in 0..2000_u64 {
        let thread = (commit % 2) as u32;
        let fills = commit % 10 == 9;
        let length = if fills { 16_384 } else { 8192 };
        program.does((thread, 0), Call::Pwrite, (Some(page * 8192), length), (280_000, 10_000));
        program.does((thread, 0), Call::Fdatasync, (None, 0), (20_000, 2_000_000));
        page += u64::from(fills);
        if commit % 4 == 0 {
            let block = commit * 7919 % 16_000;
            program.does((2, 1), Call::Pwrite, (Some(block * 8192), 8192), (0, 20_000));
        }
    }
    program.now_ns += 3_000_000_000;
    program
}

#[test]
fn a_server_that_commits() {
    let model = server().model(&ModelRequest { commits: Some(5000), ..ModelRequest::default() });
    let log = model.leader().unwrap();
    assert_eq!((log.name.as_str(), log.jobs, log.engine), ("log", 1, "psync"));
    assert_eq!(log.pattern, PlacePattern::TailAgain(8192));
    assert_eq!(log.sync, SyncRule::After { data_only: true, writes: 1 });
    assert_eq!(log.sizes[1], [(8192, 90), (16_384, 10)]);
    let said = text(&model);
    let has = |line: &str| assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
    // Start and end are left out, and so is the cost of tracing. A quarter of the cycles has a page
    // of the table in its gap, with the cost of two more calls.
    let think = said.lines().find_map(|line| line.strip_prefix("thinktime=")).unwrap();
    let think_us: u64 = think.trim_end_matches("us").parse().unwrap();
    assert!((295..=315).contains(&think_us), "{think_us}");
    for line in [
        "[log]",
        "rw=write",
        "#iolab: rw=write:-8k",
        "bssplit=8k/90:16k/10",
        "fdatasync=1",
        "overwrite=1",
        "size=16m",
        "#iolab: commits_per_sync=2.5000",
        "[table]",
        "rw=randwrite",
        "bs=8k",
        "#iolab: rate_iops=0",
    ] {
        has(line);
    }
    let every = said.lines().find_map(|line| line.strip_prefix("#iolab: follow=log:")).unwrap();
    assert!((every.parse::<f64>().unwrap() - 4.0).abs() < 0.05, "{every}");
    assert!(!said.contains("numjobs"), "{said}");
}

/// A server that ran for four fifths of the time in which it could have, and its clients, kept part
/// of four processors busy; other programs kept a whole one.
fn beside_others(program_percent: u64) -> String {
    let second = 1_000_000_000_u64;
    let sample = |at: u64| {
        let busy_ns = at * second * (program_percent + 100) / 100;
        let shares = ProcessorShares {
            program_ns: at * second * (program_percent - 40) / 100,
            clients_ns: at * second * 40 / 100,
            ran_ns: 8 * at,
            waited_ns: 2 * at,
            ..ProcessorShares::default()
        };
        let (time_ns, idle_ns) = (at * second, 4 * at * second - busy_ns);
        ProcessorSample { time_ns, busy_ns, idle_ns, switches: 10_000 * at, shares: Some(shares) }
    };
    let program = server();
    let last = program.now_ns / second + 1;
    let beside = vec![ProgramBeside { name: "cc".into(), used_ns: last * second }];
    let end = End { processors: (0..=last).map(sample).collect(), beside, ..End::default() };
    text(&program.model_to(&ModelRequest::default(), end))
}

#[test]
fn a_server_beside_other_programs() {
    let said = beside_others(160);
    let number = |before: &str| -> u64 {
        let line =
            said.lines().find_map(|line| line.strip_prefix(before)).unwrap_or_else(|| panic!("{before}: {said}"));
        line.trim_end_matches("us").parse().unwrap()
    };
    let (spin_us, work_us) = (number("#iolab: thinktime_spin="), number("#iolab: thinktime_work="));
    // It waited for a fifth of the time, for others in 1.0 of 2.6 cases.
    assert!(work_us.abs_diff(spin_us * 12 / 13) <= 1, "{work_us} of {spin_us}");
    assert_eq!(number("#iolab: cpu_busy="), 40);
    let told = "# Of 4 processors, 1.20 worked for the program, 0.40 for its clients, 0.00 for the kernel, 0.00 for the \
                tracer, 1.00 for others.";
    for line in ["#iolab: cpu_busy_by=run", told] {
        assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
    }
    assert!(said.contains("# NOT TO BE RELIED ON: other programs (cc) used 1.00 of 4 processors"), "{said}");
    // Commits one after the other cannot use more than one processor, in pauses and calls.
    let serial = beside_others(90);
    assert!(!serial.contains("cpuio") && serial.contains(", and its calls may have used the rest.\n"), "{serial}");
    let alone = text(&server().model(&ModelRequest::default()));
    assert!(!alone.contains("thinktime_work") && !alone.contains("RELIED") && !alone.contains("cpuio"), "{alone}");
}

#[test]
fn threads_side_by_side_and_places_again() {
    let mut program = Program::new(&[("/db/base/5/1", 64 << 20), ("/x/own", 4096)], 4);
    let rules = RoleRules::parse("[[role]]\npath = \"/x/*\"\nrole = \"log\"\n").unwrap();
    for turn in 0..4000_u64 {
        let begin_ns = program.now_ns;
        for thread in 0..3 {
            program.now_ns = begin_ns + u64::from(thread) * 1000;
            let block = (turn * 3 + u64::from(thread)) * 7919 % 8192;
            program.does((thread, 0), Call::Pread, (Some(block * 8192), 8192), (0, 100_000));
        }
        if turn % 2 == 0 {
            program.does((3, 1), Call::Write, (Some(turn / 16 * 4096), 4096), (0, 5_000));
        }
    }
    let model = program.model(&ModelRequest { rules, ..ModelRequest::default() });
    let said = text(&model);
    for line in [
        "[table_read]",
        "numjobs=3",
        "rw=randread",
        "norandommap",
        "[log]",
        "#iolab: rewrite=8",
        "ioengine=sync",
        "fallocate=none",
    ] {
        assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
    }
    assert!(model.leader().is_none(), "nothing is synced");
}

/// `cp` asks to copy as much as possible, and once more to detect the end of the file.
#[test]
fn a_copy_has_the_sizes_that_were_moved() {
    const FILE_BYTES: u64 = 3_000_000;
    let mut program = Program::new(&[("/from/1", FILE_BYTES), ("/from/2", FILE_BYTES), ("/to/1", 0), ("/to/2", 0)], 1);
    for file in 0..2 {
        for moved in [FILE_BYTES, 0] {
            program.now_ns += COST_NS;
            for (call, file) in [(Call::CopyRead, file), (Call::CopyWrite, file + 2)] {
                let offset = Some(FILE_BYTES - moved);
                let (time_ns, flags) = (program.now_ns, Flags::default());
                let (length, result) = (1 << 58, moved as i64);
                let duration_ns = 1_000_000;
                let one = Operation { time_ns, duration_ns, thread: 0, call, file, offset, length, result, flags };
                program.writer.operation(&one).unwrap();
            }
            program.now_ns += 1_000_000;
        }
    }
    let said = text(&program.model(&ModelRequest::default()));
    assert!(said.contains(" s (all of it).") && said.contains("# each file in one go\n"), "{said}");
    for line in ["[other_read]", "rw=read", "[other_write]", "rw=write", "size=5860k", "file_service_type=sequential"] {
        assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
    }
    assert_eq!(said.lines().filter(|line| *line == "bs=3000000").count(), 2, "{said}");
}

#[test]
fn a_trace_without_storage_is_refused() {
    let mut program = Program::new(&[("/a", 0)], 1);
    program.does((0, 0), Call::Open, (None, 0), (0, 1));
    let bytes = program.writer.finish(End::default()).unwrap();
    let read = || Ordered::new(Reader::new(bytes.as_slice()).unwrap(), WINDOW);
    let error = ProgramModel::of(&mut read(), &mut read(), &ModelRequest::default()).unwrap_err();
    assert!(error.to_string().contains("no reads and writes"), "{error}");
}
