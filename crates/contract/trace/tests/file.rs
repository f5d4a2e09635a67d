//! The file of a trace: written data is read back, cut and damaged files are read as far as they
//! are good, and a realistic mix of calls takes few bytes.

use iolab_trace::{
    Call, End, Facts, File, Flags, NO_FILE, Operation, Ordered, ReadError, Reader, Role, Thread, Writer,
};
use proptest::prelude::*;

fn facts() -> Facts {
    Facts { source: "test".into(), command: vec!["a".into()], has_durations: true, ..Facts::default() }
}

fn operation(time_ns: u64, call: Call, offset: Option<u64>, length: u64) -> Operation {
    let result = if call.moves_data() { length as i64 } else { 0 };
    Operation { time_ns, duration_ns: 900, thread: 0, call, file: 0, offset, length, result, flags: Flags::default() }
}

/// A trace with two files and two threads.
fn written(operations: &[Operation]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &facts()).unwrap();
    for path in ["/a/pg_wal/1", "/a/base/5/1"] {
        writer.file(File { path: path.into(), role: Role::of_path(path), ..File::default() }).unwrap();
    }
    for id in [7, 8] {
        writer.thread(Thread { process: 7, id, name: "x".into() }).unwrap();
    }
    operations.iter().for_each(|operation| writer.operation(operation).unwrap());
    writer.finish(End { elapsed_ns: 5, ..End::default() }).unwrap()
}

fn read(bytes: &[u8]) -> (Vec<Operation>, Reader<&[u8]>) {
    let mut reader = Reader::new(bytes).unwrap();
    let mut operations = Vec::new();
    while let Some(operation) = reader.next_operation().unwrap() {
        operations.push(operation);
    }
    (operations, reader)
}

/// Commits of a database: the page of the log again and again, a sync, a page of a table now and
/// then.
fn commits(count: u64) -> Vec<Operation> {
    let mut operations = Vec::new();
    let mut time_ns = 1_000;
    let mut state = 1_u64;
    for number in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let noise = state >> 40;
        let log = number / 9 * 8192;
        operations.push(Operation {
            duration_ns: 9_000 + noise % 8_000,
            ..operation(time_ns, Call::Pwrite, Some(log), 8192)
        });
        time_ns += 30_000 + noise % 9_000;
        operations.push(Operation {
            duration_ns: 2_000_000 + noise % 900_000,
            ..operation(time_ns, Call::Fdatasync, None, 0)
        });
        time_ns += 2_200_000 + noise % 900_000;
        if number % 4 == 0 {
            let page = noise % 100_000 * 8192;
            operations.push(Operation { file: 1, thread: 1, ..operation(time_ns, Call::Pread, Some(page), 8192) });
        }
    }
    operations
}

#[test]
fn what_is_written_is_read() {
    let odd = [
        Operation { result: -5, flags: Flags::DIRECT.and(Flags::DATA_SYNC), ..operation(9, Call::Write, Some(3), 10) },
        Operation { thread: 1, file: 1, result: 4, ..operation(7, Call::Read, None, 10) },
        Operation { file: NO_FILE, ..operation(7, Call::Sync, None, 0) },
        operation(1 << 58, Call::Pread, Some((1 << 58) + 1), 1 << 58),
        operation(0, Call::Pread, Some(0), 0),
    ];
    let all: Vec<Operation> = odd.into_iter().chain(commits(40_000)).collect();
    let bytes = written(&all);
    let (found, reader) = read(&bytes);
    assert_eq!(found, all);
    assert_eq!(reader.files()[0].role, Role::Log);
    assert_eq!((reader.threads()[1].id, reader.facts(), reader.damage()), (8, &facts(), None));
    assert_eq!(reader.end().map(|end| (end.operations, end.elapsed_ns)), Some((all.len() as u64, 5)));
}

#[test]
fn numbers_beyond_the_bounds_are_brought_within() {
    let huge =
        Operation { length: u64::MAX, result: i64::MIN, ..operation(u64::MAX, Call::CopyRead, Some(u64::MAX), 0) };
    let bytes = written(&[huge]);
    let (found, reader) = read(&bytes);
    assert_eq!((found[0].length, found[0].offset, reader.damage()), ((1 << 59) - 1, None, None));
    assert_eq!(found[0].result, -((1 << 59) - 1));
}

/// The budget is ten bytes an operation. That of a real program is checked where one is traced.
#[test]
fn commits_take_few_bytes() {
    let operations = commits(20_000);
    let bytes = written(&operations).len() as f64 / operations.len() as f64;
    assert!(bytes < 8.5, "{bytes}");
}

#[test]
fn a_file_that_is_cut_off_is_good_up_to_the_cut() {
    let all = commits(600);
    let bytes = written(&all);
    let mut last = 0;
    for cut in (0..bytes.len()).step_by(7) {
        let mut reader = match Reader::new(&bytes[..cut]) {
            Ok(reader) => reader,
            Err(error) => {
                assert!(cut < 200, "{cut}: {error}");
                continue;
            }
        };
        let mut count = 0;
        while let Some(operation) = reader.next_operation().unwrap() {
            assert_eq!(operation, all[count]);
            count += 1;
        }
        assert!(count >= last && reader.end().is_none());
        assert!(reader.damage().is_some_and(|damage| damage.at_byte <= cut as u64));
        last = count;
    }
    assert!(last > all.len() / 2, "blocks before the cut are read: {last}");
}

#[test]
fn damage_is_found_wherever_it_is() {
    let all = commits(300);
    let bytes = written(&all);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let Ok(mut reader) = Reader::new(damaged.as_slice()) else { continue };
        let mut count = 0;
        while let Some(operation) = reader.next_operation().unwrap() {
            assert_eq!(operation, all[count], "byte {at}");
            count += 1;
        }
        // A frame that is passed over because its kind became unknown has a wrong checksum, too.
        assert!(reader.damage().is_some(), "byte {at}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    assert!(matches!(Reader::new(&b""[..]), Err(ReadError::NoTrace)));
    assert!(matches!(Reader::new(&b"iolab trace 2\n"[..]), Err(ReadError::NoTrace)));
    assert!(matches!(Reader::new(&b"iolab trace 1\n"[..]), Err(ReadError::NoFacts(_))));
    // A frame that promises four gigabytes.
    let mut huge = b"iolab trace 1\n".to_vec();
    huge.extend([0xff; 9]);
    assert!(matches!(Reader::new(huge.as_slice()), Err(ReadError::NoFacts(_))));
}

#[test]
fn order_of_beginning() {
    // A sync that took long ended behind what began after it.
    let mut all: Vec<Operation> = (1..100).map(|time| operation(time * 10, Call::Pwrite, Some(0), 1)).collect();
    all.insert(50, operation(15, Call::Fsync, None, 0));
    let bytes = written(&all);
    for (window, late) in [(64, 0), (3, 1)] {
        let mut ordered = Ordered::new(Reader::new(bytes.as_slice()).unwrap(), window);
        let mut times = Vec::new();
        while let Some(operation) = ordered.next_operation().unwrap() {
            times.push(operation.time_ns);
        }
        assert_eq!((times.len(), ordered.late()), (all.len(), late));
        assert_eq!(times.is_sorted(), late == 0);
    }
}

#[test]
fn anonymous_traces_have_no_names() {
    let secret = Facts { command: vec!["--password=hunter2".into()], ..facts() };
    let mut writer = Writer::anonymous(Vec::new(), &secret).unwrap();
    for path in ["/customers/acme/pg_wal/1", "/customers/acme/base/1"] {
        writer.file(File { path: path.into(), role: Role::of_path(path), ..File::default() }).unwrap();
    }
    writer.thread(Thread { process: 1, id: 1, name: "acme".into() }).unwrap();
    let bytes = writer.finish(End::default()).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(!["acme", "customers", "hunter2", "pg_wal"].iter().any(|word| text.contains(word)), "{text}");
    let (_, reader) = read(&bytes);
    let paths: Vec<&str> = reader.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["/1/2/3/4", "/1/2/5/4"]);
    assert!(reader.facts().anonymous && reader.files()[0].role == Role::Log);
}

/// Every form of file that was ever written is read.
#[test]
fn corpus() {
    for bytes in [include_bytes!("corpus/1-commits.trace").as_slice(), include_bytes!("corpus/2-commits.trace")] {
        let (found, reader) = read(bytes);
        assert_eq!(found, commits(50));
        assert!(reader.end().is_some() && reader.damage().is_none());
    }
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let bound = 0..(1_u64 << 59);
    let flags = prop_oneof![Just(0), any::<u32>()];
    let numbers = (bound.clone(), 0..1_000_000_u64, 0..2_u32, 0..Call::ALL.len(), prop_oneof![0..2_u32, Just(NO_FILE)]);
    let more = (proptest::option::of(bound.clone()), bound, -(1_i64 << 58)..(1_i64 << 58), flags);
    (numbers, more).prop_map(|((time_ns, duration_ns, thread, call, file), (offset, length, result, flags))| {
        Operation {
            time_ns,
            duration_ns,
            thread,
            call: Call::ALL[call],
            file,
            offset,
            length,
            result,
            flags: Flags(flags),
        }
    })
}

proptest! {
    #[test]
    fn any_operations_survive(operations in proptest::collection::vec(any_operation(), 0..200)) {
        let bytes = written(&operations);
        let (found, reader) = read(&bytes);
        prop_assert_eq!(found, operations);
        prop_assert!(reader.damage().is_none());
    }
}
