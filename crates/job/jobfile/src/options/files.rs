//! Job options: which files or devices a job uses, how they are made, opened and removed.
//!
//! One entry per option, with the texts that test it; see [`OptionEntry`].

use iolab_options::{Category, Choice, DefaultValue, OptionEntry, SupportStatus, ValueKind};

pub(super) const TABLE: &[OptionEntry] = &[
    OptionEntry {
        name: "filename",
        category: Category::Files,
        kind: ValueKind::Text,
        summary: "Files or devices to use, separated by `:`",
        details: "Write `\\:` for a colon in a path. With several files, size is divided among them unless filesize is set. Some engines take other names here, such as the address of a controller.",
        differs: "a file that no job of iolab made is not overwritten in iolab mode; called as fio, with a warning",
        accepts: &[
            ("/tmp/a", "/tmp/a"),
            ("a:b", "a:b"),
            ("trtype=PCIe traddr=0000.06.00.0 ns=1", "trtype=PCIe traddr=0000.06.00.0 ns=1"),
        ],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "filetype",
        category: Category::Files,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &[], summary: "detected" },
            Choice { name: "file", aliases: &[], summary: "regular file" },
            Choice { name: "block", aliases: &[], summary: "block device" },
            Choice { name: "char", aliases: &[], summary: "character device" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Assume this kind of file instead of detecting it",
        status: SupportStatus::NoEffect("a file is of the kind that it is, which is detected"),
        accepts: &[("block", "block")],
        rejects: &["disk"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "lockfile",
        category: Category::Files,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &[], summary: "no locking" },
            Choice { name: "exclusive", aliases: &[], summary: "one worker at a time" },
            Choice { name: "readwrite", aliases: &[], summary: "many readers or one writer" },
        ]),
        default: DefaultValue::Text("none"),
        summary: "Lock each file during its operations",
        details: "Jobs with this option that name the same file take turns: one operation at a time, or, with \
            readwrite, several reads or one write.",
        differs: "in the order in which they ask, and per operation, however deep the queue",
        accepts: &[("none", "none"), ("exclusive", "exclusive"), ("readwrite", "readwrite")],
        rejects: &["shared"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "directory",
        category: Category::Files,
        kind: ValueKind::Text,
        summary: "Directory in front of generated and relative file names",
        details: "If there are several, separated by `:`, the clones of a job take them in turn.",
        accepts: &[("/mnt/a:/mnt/b", "/mnt/a:/mnt/b")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "filename_format",
        category: Category::Files,
        kind: ValueKind::Text,
        default: DefaultValue::Text("$jobname.$jobnum.$filenum"),
        summary: "Pattern of generated file names",
        details: "`$jobname`, `$jobnum`, `$filenum` and `$clientuid` are replaced for each worker and file. Without `$jobnum`, clones share files.",
        differs: "two jobs that share their files both write",
        accepts: &[("data.$filenum", "data.$filenum")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "unique_filename",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Put the server's address in front of the names of files in directory",
        details: "Of jobs that run on servers of a client: servers that share a directory do not share files. With `directory=/mnt/nfs`, `filename=data` is the file `/mnt/nfs/10.0.0.7.data` on the server that the client reached as 10.0.0.7. Nothing comes before names without `directory`, nor on UNIX sockets.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "opendir",
        category: Category::Files,
        kind: ValueKind::Text,
        summary: "Use all files below this directory",
        differs: "a job that only reads does not write the files it finds",
        accepts: &[("/usr/share", "/usr/share")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "nrfiles",
        aliases: &["nr_files"],
        category: Category::Files,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Derived("1, or as many as filename names"),
        summary: "Number of files of each worker",
        details: "size is divided equally among the files unless filesize is set. With filename, this many of its names are used.",
        accepts: &[("8", "8")],
        rejects: &["0", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "openfiles",
        category: Category::Files,
        kind: ValueKind::Integer { min: 1, max: u32::MAX as i64 },
        default: DefaultValue::Derived("all files"),
        summary: "Number of files in use at once",
        details: "Operations go to this many files at a time. All files stay open: the limit of open files is raised up to the hard limit (`ulimit -Hn`).",
        accepts: &[("4", "4")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "file_service_type",
        category: Category::Files,
        kind: ValueKind::FileService,
        default: DefaultValue::Text("roundrobin"),
        summary: "How the next file is chosen",
        details: "`roundrobin`, `sequential` and `random` take `:N`, the number of operations before the next file. `zipf`, `pareto` and `normal` take a parameter, as in random_distribution.",
        accepts: &[("random:8", "random:8"), ("zipf:1.2", "zipf:1.2"), ("sequential", "sequential")],
        rejects: &["alphabetic", "random:0", "zipf:1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "filesize",
        category: Category::Files,
        kind: ValueKind::SizeRange,
        summary: "Size of each file, or a range to draw sizes from",
        accepts: &[("1g", "1g"), ("4k-16k", "4k-16k"), ("16k-4k", "4k-16k")],
        rejects: &["10%", "4k-"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "size",
        category: Category::Files,
        kind: ValueKind::SizeOrPercent,
        default: DefaultValue::Derived("the whole file or device"),
        summary: "Total size of the job's files, and of one pass over them",
        details: "A percentage is of the file or device; `z` counts zones. Without size, the whole of an existing file or device is used.",
        accepts: &[("4g", "4g"), ("100%", "100%"), ("9000", "9000"), ("20z", "20z"), ("(2*1g)", "2g")],
        rejects: &["-1", "101%", "5q", "10*1k"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "io_size",
        aliases: &["io_limit"],
        category: Category::Files,
        kind: ValueKind::SizeOrPercent,
        default: DefaultValue::Derived("one pass over size"),
        summary: "Data to transfer in one pass, if not size",
        details: "If it is larger than size, the job starts over at the beginning of the range.",
        accepts: &[("64m", "64m"), ("50%", "50%")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fill_device",
        aliases: &["fill_fs"],
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Write until the device or file system is full",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "file_append",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Start after the end of existing files",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "offset",
        aliases: &["fileoffset"],
        category: Category::Files,
        kind: ValueKind::SizeOrPercent,
        default: DefaultValue::Text("0"),
        summary: "First byte of each file to use",
        details: "A percentage of the file is rounded to a whole block, or to offset_align.",
        differs: "with a percentage, too, a file is made as long as offset and size say (fio: as long as size)",
        accepts: &[("1m", "1m"), ("25%", "25%")],
        rejects: &["-4k", "200%"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "offset_align",
        category: Category::Files,
        kind: ValueKind::Size,
        default: DefaultValue::Text("0"),
        summary: "Multiple to which a percentage offset is rounded up",
        accepts: &[("4k", "4k")],
        rejects: &["4q"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "offset_increment",
        category: Category::Files,
        kind: ValueKind::SizeOrPercent,
        default: DefaultValue::Text("0"),
        summary: "Distance between the offsets of a job's clones",
        details: "Clone n starts at offset + n times this value, so clones can share a device without overlapping.",
        differs: "clones are reported in the order 0, 1, 2, … (fio: 0, then from the last to the first)",
        accepts: &[("1g", "1g"), ("5%", "5%")],
        rejects: &["x"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "number_ios",
        category: Category::Files,
        kind: ValueKind::Integer { min: 0, max: i64::MAX },
        default: DefaultValue::Text("0"),
        summary: "Maximum number of operations per pass; 0 is no limit",
        accepts: &[("1000", "1000"), ("1m", "1048576")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "num_range",
        category: Category::Files,
        kind: ValueKind::Integer { min: 1, max: 256 },
        default: DefaultValue::Text("1"),
        summary: "Number of ranges in one trim, each of a block",
        details: "For rw=trim and rw=randtrim with the engines nvme and io_uring_cmd. One operation then counts, and moves, \
                  the bytes of all its ranges. In a random pattern the ranges are scattered over the file; logs show one \
                  offset for all of them.",
        accepts: &[("8", "8")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "overwrite",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Write files completely before the job starts",
        details: "Otherwise a write job extends its files while it runs.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "invalidate",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Drop the files from the page cache before starting",
        details: "With direct=0, also whenever the job starts over on a file: on each of the loops, and on each pass of time_based. Jobs whose offsets never come to an end (norandommap, a skewed random_distribution) do not start over. Dirty pages stay; those from before the start are written back first.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fallocate",
        category: Category::Files,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &["0"], summary: "reserve nothing" },
            Choice { name: "native", aliases: &[], summary: "fallocate, where the file system has it" },
            Choice { name: "posix", aliases: &["1"], summary: "posix_fallocate" },
            Choice { name: "keep", aliases: &[], summary: "fallocate without changing the length" },
            Choice { name: "truncate", aliases: &[], summary: "set the length only" },
        ]),
        default: DefaultValue::Text("native"),
        summary: "How to allocate space when files are created",
        accepts: &[("none", "none"), ("1", "posix"), ("0", "none")],
        rejects: &["lazy"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "fadvise_hint",
        category: Category::Files,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &["0"], summary: "no advice" },
            Choice { name: "1", aliases: &[], summary: "according to the access pattern" },
            Choice { name: "random", aliases: &[], summary: "random access" },
            Choice { name: "sequential", aliases: &[], summary: "sequential access" },
            Choice { name: "noreuse", aliases: &[], summary: "data is used once" },
        ]),
        default: DefaultValue::Text("1"),
        summary: "Advice to the kernel about how each file will be accessed (fadvise)",
        accepts: &[("0", "none"), ("random", "random")],
        rejects: &["maybe"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "write_hint",
        category: Category::Files,
        kind: ValueKind::Choice(&[
            Choice { name: "none", aliases: &[], summary: "no particular lifetime" },
            Choice { name: "short", aliases: &[], summary: "short life" },
            Choice { name: "medium", aliases: &[], summary: "medium life" },
            Choice { name: "long", aliases: &[], summary: "long life" },
            Choice { name: "extreme", aliases: &[], summary: "very long lifetimetime" },
        ]),
        default: DefaultValue::Derived("the file keeps the hint it has"),
        summary: "Expected lifetime of written data",
        accepts: &[("short", "short")],
        rejects: &["eternal"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "create_serialize",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Create the files of one job after those of another",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "create_fsync",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Flush files to the device after creating them",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "create_on_open",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Create each file when it is first opened",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "create_only",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Create the files, then stop",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "allow_file_create",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Whether the job may create missing files",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "allow_mounted_write",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Whether the job may write to a mounted device",
        details: "Writing to a mounted device destroys its file system, so iolab refuses it without this option.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "pre_read",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Read the files once before starting",
        details: "This fills the page cache, so invalidate is turned off.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "unlink",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Remove the files at the end",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "unlink_each_loop",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Remove the files after each loop",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "ioscheduler",
        category: Category::Files,
        kind: ValueKind::Text,
        summary: "I/O scheduler to set for the device",
        details: "As device.scheduler: set before the run, restored after it. Needs root.",
        differs: "restored after the run",
        accepts: &[("none", "none")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "direct",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Bypass the page cache (O_DIRECT)",
        details: "Without it, you may measure RAM. With it, block sizes, offsets and buffers must be multiples of the device's sector size.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "buffered",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Derived("the opposite of direct"),
        summary: "Go through the page cache; the opposite of direct",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "atomic",
        category: Category::Files,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary: "Use writes that cannot be torn by a power failure (RWF_ATOMIC)",
        details: "Implies direct. For pvsync2, libaio and io_uring. A job is refused where kernel, device or file \
            system cannot (STATX_WRITE_ATOMIC), or where bs is not a power of two that they can.",
        accepts: &[("1", "1"), ("0", "0")],
        rejects: &["2", "yes"],
        ..OptionEntry::BLANK
    },
];
