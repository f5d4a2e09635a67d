//! Text and records of strace, fio and blktrace, and the traces imported from them.

use std::io::Cursor;

use iolab_trace::{Call, End, File, Operation, Reader, Role};
use iolab_trace_import::{Form, ImportError, Imported, blktrace, iolog, strace};

struct Trace {
    operations: Vec<Operation>,
    files: Vec<File>,
    end: End,
}

impl Trace {
    fn read(import: impl FnOnce(&mut Vec<u8>) -> Result<Imported, ImportError>) -> Trace {
        let mut bytes = Vec::new();
        let imported = import(&mut bytes).unwrap();
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        let mut operations = Vec::new();
        while let Some(operation) = reader.next_operation().unwrap() {
            operations.push(operation);
        }
        assert_eq!((reader.end(), imported.bytes), (Some(&imported.end), bytes.len() as u64));
        Trace { operations, files: reader.files().to_vec(), end: imported.end }
    }

    fn strace(text: &str) -> Trace {
        Trace::read(|bytes| strace::import(&mut Cursor::new(text), bytes, Vec::new(), false))
    }

    fn iolog(text: &str) -> Trace {
        Trace::read(|bytes| iolog::import(&mut Cursor::new(text), bytes, Vec::new(), false))
    }

    /// Time in µs, call, path, offset, length, result, duration in µs.
    fn lines(&self) -> Vec<String> {
        let line = |operation: &Operation| {
            let path = self.files.get(operation.file as usize).map_or("-", |file| file.path.as_str());
            let offset = operation.offset.map_or("-".to_owned(), |offset| offset.to_string());
            let Operation { time_ns, call, length, result, duration_ns, .. } = operation;
            format!("{} {} {path} {offset} {length} {result} {}", time_ns / 1000, call.name(), duration_ns / 1000)
        };
        self.operations.iter().map(line).collect()
    }

    fn unseen(&self) -> Vec<(Option<u64>, &str)> {
        self.end.unseen.iter().map(|unseen| (unseen.count, unseen.what.as_str())).collect()
    }
}

#[test]
fn commits_of_a_database_as_strace_prints_them() {
    let trace = Trace::strace(
        "1234  1700000000.000100 recvfrom(9<TCP:[127.0.0.1:5432->127.0.0.1:40000]>, \"Q\\0\\0(\\\"\"..., 8192, 0, NULL, NULL) = 80 <0.000010>\n\
         1234  1700000000.000200 pwrite64(5</db/pg_wal/0001>, \"\\20\\321\\5\\0, (a)\"..., 8192, 16384) = 8192 <0.000021>\n\
         1235  1700000000.000210 pread64(7</db/base/5/1>,  <unfinished ...>\n\
         1234  1700000000.000300 fdatasync(5</db/pg_wal/0001> <unfinished ...>\n\
         1235  1700000000.000400 <... pread64 resumed>\"x\"..., 8192, 81920) = 8192 <0.000190>\n\
         1234  1700000000.002400 <... fdatasync resumed>) = 0 <0.002100>\n\
         1234  1700000000.002500 --- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER} ---\n\
         1234  1700000000.002600 +++ exited with 0 +++\n",
    );
    assert_eq!(
        trace.lines(),
        [
            "100 pwrite64 /db/pg_wal/0001 16384 8192 8192 21",
            "110 pread64 /db/base/5/1 81920 8192 8192 190",
            "200 fdatasync /db/pg_wal/0001 - 0 0 2100",
        ]
    );
    assert_eq!((trace.files[0].role, trace.files[1].role), (Role::Log, Role::Table));
    assert_eq!(trace.unseen(), []);
}

#[test]
fn without_paths_and_times_descriptors_are_followed() {
    let trace = Trace::strace(
        "openat(AT_FDCWD, \"/a, (b)\", O_RDWR|O_CREAT|O_DSYNC, 0600) = 3\n\
         write(3, \"12345\", 5)                    = 5\n\
         writev(3, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"c\\\"]\", iov_len=3}], 2) = 5\n\
         dup(3)                                   = 4\n\
         lseek(4, 100, SEEK_SET)                  = 100\n\
         read(4, \"\", 50)                        = 0\n\
         close(3)                                 = 0\n\
         read(9, 0x7ffd1, 10)                     = -1 EBADF (Bad file descriptor)\n\
         mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 4, 0) = 0x7f0000000000\n\
         what is this\n\
         exit_group(0)                            = ?\n",
    );
    assert_eq!(
        trace.lines(),
        [
            "0 open /a, (b) - 0 0 0",
            "0 write /a, (b) 0 5 5 0",
            "0 writev /a, (b) 5 5 5 0",
            "0 lseek /a, (b) 100 0 0 0",
            "0 read /a, (b) 100 50 0 0",
            "0 close /a, (b) - 0 0 0",
            "0 read descriptor 9 of 0 - 10 -9 0",
        ]
    );
    assert!(trace.operations[1].flags.words().contains(&"dsync"));
    let unseen = trace.unseen();
    assert!(unseen.iter().any(|(_, what)| what.contains("no durations")), "{unseen:?}");
    assert!(
        unseen
            .iter()
            .any(|(count, what)| *count == Some(1) && what.contains("lines not understood, the first is number 10"))
    );
}

#[test]
fn other_forms_of_time_and_of_calls() {
    let trace = Trace::strace(
        "[pid 11] 23:59:59.999999 clone(child_stack=NULL, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD) = 12 <0.000010>\n\
         [pid 11] 23:59:59.999999 open(\"/x\", O_RDONLY) = 3 <0.000005>\n\
         [pid 12] 00:00:00.000009 copy_file_range(3, [0] => [4096], 4</y>, NULL, 4096, 0) = 4096 <0.000004>\n\
         [pid 12] 00:00:00.000019 sendfile(4</y>, 3</x>, NULL, 10) = 10 <0.000001>\n\
         [pid 12] 00:00:00.000029 io_submit(0x7f1, 1, [{aio_data=0, aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3, aio_buf=0x5, aio_nbytes=512, aio_offset=1024}]) = 1 <0.000002>\n\
         [pid 12] 00:00:00.000039 io_uring_enter(5<anon_inode:[io_uring]>, 3, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 3 <0.000002>\n",
    );
    assert_eq!(
        trace.lines(),
        [
            "0 open /x - 0 0 5",
            "10 copy_file_range (source) /x 0 4096 4096 4",
            "10 copy_file_range (target) /y - 4096 4096 4",
            "20 sendfile (source) /x 0 10 10 1",
            "20 sendfile (target) /y - 10 10 1",
            "30 io_submit read /x 1024 512 512 2",
        ]
    );
    assert!(trace.unseen().contains(&(Some(3), "entries of io_uring, which strace does not show")));
    let relative = Trace::strace("     0.000000 sync() = 0 <0.000001>\n     0.000250 sync() = 0 <0.000001>\n");
    assert_eq!(relative.lines(), ["0 sync - - 0 0 1", "250 sync - - 0 0 1"]);
}

const IOLOG3: &str = "fio version 3 iolog\n20 f 1 add\n103 f 1 open\n106 f 1 read 0 4096\n369 f 1 write 45056 4096\n370 f 1 sync 0 0\n371 f 1 trim 0 512\n380 f 1 close\n";

#[test]
fn both_versions_of_the_iolog() {
    let three = Trace::iolog(IOLOG3);
    let expected = [
        "103 open f 1 - 0 0 0",
        "106 read of a job f 1 0 4096 4096 0",
        "369 write of a job f 1 45056 4096 4096 0",
        "370 fsync f 1 - 0 0 0",
        "371 trim of a job f 1 0 512 512 0",
        "380 close f 1 - 0 0 0",
    ];
    assert_eq!(three.lines(), expected);
    let two = Trace::iolog(
        "fio version 2 iolog\n/d add\n/d open\n/d write 0 8192\n/d wait 500 0\n/d datasync 0 0\nbroken\n/d write x 1\n/d read\n/d close\n",
    );
    assert_eq!(
        two.lines(),
        ["0 open /d - 0 0 0", "0 write of a job /d 0 8192 8192 0", "500 fdatasync /d - 0 0 0", "500 close /d - 0 0 0"]
    );
    assert_eq!(two.unseen(), [(Some(3), "lines not understood, the first is number 7")]);
    for text in ["", "fio version 1 iolog\n", "x"] {
        let refused = iolog::import(&mut Cursor::new(text), Vec::new(), Vec::new(), false);
        assert!(matches!(refused, Err(ImportError::Unknown { .. })), "{text}");
    }
}

/// An exported trace is imported again as the same transfers and syncs.
#[test]
fn an_iolog_of_a_trace_is_read_again() {
    let mut bytes = Vec::new();
    iolog::import(&mut Cursor::new(IOLOG3), &mut bytes, Vec::new(), false).unwrap();
    for version in [iolog::Version::Two, iolog::Version::Three] {
        let mut text = Vec::new();
        let exported = iolog::export(&mut Reader::new(bytes.as_slice()).unwrap(), version, &mut text).unwrap();
        assert_eq!((exported.lines, exported.left_out), (4, 0));
        let again = Trace::iolog(&String::from_utf8(text).unwrap());
        let transfers: Vec<String> =
            again.lines().into_iter().filter(|line| !line.contains("open") && !line.contains("close")).collect();
        assert_eq!(
            transfers,
            [
                "106 read of a job f 1 0 4096 4096 0",
                "369 write of a job f 1 45056 4096 4096 0",
                "370 fsync f 1 - 0 0 0",
                "371 trim of a job f 1 0 512 512 0"
            ]
        );
    }
}

fn record(time_ns: u64, sector: u64, bytes: u32, (what, kinds): (u16, u16), more: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(time_ns.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(what.to_le_bytes());
    record.extend(kinds.to_le_bytes());
    for word in [77_u32, 8 << 20 | 1, 0] {
        record.extend(word.to_le_bytes());
    }
    record.extend(0_u16.to_le_bytes());
    record.extend((more.len() as u16).to_le_bytes());
    record.extend(more);
    record
}

#[test]
fn requests_of_blktrace_are_merged_and_paired() {
    const QUEUE: u16 = 1;
    let one = [
        record(900, 0, 0, (0, 1 << 10), b"postgres\0"),
        record(1_000, 8, 4096, (QUEUE, 2), b""),
        record(1_000, 8, 4096, (7, 2), b""),
        record(9_000, 16, 8192, (7, 1), b"remap"),
        record(9_500, 99, 512, (7, 1), b""),
    ];
    let two = [record(5_000, 8, 4096, (8, 2), b""), record(19_000, 16, 8192, (8, 1), b""), vec![1, 2, 3]];
    assert_eq!(Form::of(&one[0]), Form::Blktrace);
    let inputs = vec![Cursor::new(one.concat()), Cursor::new(two.concat())];
    let trace = Trace::read(|bytes| blktrace::import(inputs, bytes, Vec::new(), false));
    assert_eq!(
        trace.lines(),
        ["0 block write /dev/block/8:1 4096 4096 4096 4", "8 block read /dev/block/8:1 8192 8192 8192 10"]
    );
    assert_eq!(
        trace.unseen(),
        [
            (Some(1), "files that are cut off or damaged: their rest is missing"),
            (Some(1), "requests without a completion record")
        ]
    );
    let nothing = blktrace::import(
        vec![Cursor::new(b"nothing of the kind, and more than forty-eight bytes of it")],
        Vec::new(),
        Vec::new(),
        false,
    );
    assert!(matches!(nothing, Err(ImportError::Unknown { .. })));
}

#[test]
fn long_lines_and_bytes_that_are_no_text() {
    let mut text = b"write(1, \"".to_vec();
    text.extend(vec![b'x'; 3 << 20]);
    text.extend(b"\", 5) = 5\nfsync(\xff\xfe) = 0\nsync() = 0\n");
    let trace = Trace::read(|bytes| strace::import(&mut Cursor::new(&text), bytes, Vec::new(), false));
    assert_eq!(trace.operations.iter().map(|operation| operation.call).collect::<Vec<_>>(), [Call::Sync]);
    assert!(trace.unseen().iter().any(|(_, what)| what.contains("not understood, the first is number 1")));
}

/// A trace from bytes, as often as it is asked for.
fn to_merge(bytes: &[u8], percent: f64, passes: u64) -> blktrace::TraceToMerge<'_> {
    let open = || Ok(Box::new(Cursor::new(bytes.to_vec())) as Box<dyn std::io::Read>);
    blktrace::TraceToMerge { open: Box::new(open), percent, passes }
}

#[test]
fn traces_of_blktrace_are_merged_stretched_and_repeated() {
    // Queued, issued and completed; a plug (10) is left out.
    let one = [
        record(0, 8, 4096, (1, 2), b""),
        record(1_000, 8, 4096, (7, 2), b""),
        record(1_500, 0, 0, (10, 0), b""),
        record(4_000, 8, 4096, (8, 2), b""),
    ];
    let two = [record(3_000, 64, 512, (7, 1), b""), record(7_000, 64, 512, (8, 1), b"")];
    let (one, two) = (one.concat(), two.concat());
    let mut merged = Vec::new();
    let count = blktrace::merge(vec![to_merge(&one, 50.0, 2), to_merge(&two, 100.0, 1)], &mut merged).unwrap();
    assert_eq!((count, merged.len()), (8, 8 * 48));
    let trace = Trace::read(|bytes| blktrace::import(vec![Cursor::new(&merged)], bytes, Vec::new(), false));
    // The second pass begins where the first has ended, at 4 µs, which is halved.
    let found: Vec<_> = trace.operations.iter().map(|one| (one.time_ns, one.duration_ns, one.length)).collect();
    assert_eq!(found, [(500, 1_500, 4096), (2_500, 1_500, 4096), (3_000, 4_000, 512)]);
    assert!(trace.unseen().is_empty());
    let cut = &two[..two.len() - 1];
    assert!(blktrace::merge(vec![to_merge(cut, 100.0, 1)], Vec::new()).is_err());
    assert!(
        blktrace::merge(vec![to_merge(b"no trace, and longer than forty-eight bytes of it", 100.0, 1)], Vec::new())
            .is_err()
    );
}

#[test]
fn what_was_only_queued_is_replayed_without_durations() {
    let queued = [record(0, 8, 4096, (1, 2), b""), record(2_000, 16, 512, (1, 1), b"")].concat();
    let trace = Trace::read(|bytes| blktrace::import(vec![Cursor::new(&queued)], bytes, Vec::new(), false));
    assert_eq!(
        trace.lines(),
        ["0 block write /dev/block/8:1 4096 4096 4096 0", "2 block read /dev/block/8:1 8192 512 512 0"]
    );
}
