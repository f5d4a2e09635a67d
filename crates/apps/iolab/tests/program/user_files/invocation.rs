//! Random invocations: both modes, all engines, patterns, names and outputs.

use iolab_random::SplitMix64;

use super::tree::{FILES, OTHERS};

/// Random numbers from a seed.
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(SplitMix64::new(seed))
    }

    fn roll(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    /// True once in `many` times.
    fn once_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// What to run.
#[derive(Debug, Default)]
pub(crate) struct Invocation {
    pub(crate) as_fio: bool,
    pub(crate) words: Vec<String>,
    /// Names in the tree that may be changed.
    pub(crate) named: Vec<String>,
    /// Whether `--allow-destroy` or `--force` names them; then no warning is needed.
    pub(crate) allowed: bool,
}

const ENGINES: [&str; 20] = [
    "psync",
    "sync",
    "pvsync2",
    "vsync",
    "libaio",
    "io_uring",
    "mmap",
    "posixaio",
    "null",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "falloc",
    "ftruncate",
    "logfs",
    "psync",
    "io_uring",
];
const PATTERNS: [&str; 10] =
    ["read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim", "trimwrite", "read"];
const FORMATS: [&str; 12] = [
    "precious.txt",
    "$jobname",
    "$jobname.$jobnum.$filenum",
    "libcrypto.so.$filenum.$jobnum",
    "../outside/$jobname",
    "way/$jobname",
    "deep/$jobname.$jobnum.$filenum",
    "soft.$jobnum.$filenum",
    "dangling.$jobnum.$filenum",
    "hard.$jobnum.$filenum",
    "empty.$jobnum.$filenum",
    "new.$jobnum.$filenum",
];
const NAMES: [&str; 10] =
    ["try", "w", "big", "precious.txt", "deep/try", "soft", "hard", "dangling", "../outside/try", "disk.img.1"];
const SETTINGS: [&str; 24] = [
    "unlink=1",
    "unlink_each_loop=1",
    "loops=2",
    "overwrite=1",
    "create_on_open=1",
    "create_only=1",
    "file_append=1",
    "fallocate=none",
    "fallocate=keep",
    "fallocate=truncate",
    "fallocate=posix",
    "allow_file_create=0",
    "thread=1",
    "numjobs=2",
    "nrfiles=2",
    "end_fsync=1",
    "pre_read=1",
    "invalidate=0",
    "direct=1",
    "io_size=64k",
    "offset=4k",
    "filesize=8k",
    "create_fsync=0",
    "iodepth=4",
];

impl Invocation {
    /// Parses an invocation that was written out; if its first word is `fio`, it runs in fio mode.
    /// `NAME!` stands for a name that may be changed.
    pub(crate) fn of_words(words: &[String]) -> Invocation {
        let mut invocation = Invocation { as_fio: words[0] == "fio", ..Invocation::default() };
        for word in words.iter().skip(usize::from(words[0] == "fio")) {
            let plain = word.trim_end_matches('!');
            if plain != word {
                let name = plain.rsplit(['=', ':']).next().unwrap_or(plain);
                invocation.named.push(name.to_owned());
            }
            invocation.words.push(plain.to_owned());
        }
        invocation
    }

    pub(crate) fn draw(dice: &mut Dice) -> Invocation {
        match dice.below(12) {
            0 => making_a_file_system(dice),
            1 => writing_a_report(dice),
            2 => making_a_device(dice),
            _ => running_a_job(dice),
        }
    }

    /// Whether it names a path that leads out of the folder; then it may create files there.
    pub(crate) fn names_a_way_out(&self) -> bool {
        let leads_out = |word: &String| {
            let options = ["--directory=", "--filename=", "--mem="];
            let named = options.iter().any(|option| word.starts_with(option)) || !word.contains('=');
            named && (word.contains("way") || word.contains("dangling"))
        };
        self.words.iter().any(leads_out)
    }

    fn add(&mut self, word: impl Into<String>) {
        self.words.push(word.into());
    }
}

fn any_name(dice: &mut Dice) -> String {
    let number = dice.below(FILES.len() + OTHERS.len());
    let name = FILES.get(number).map_or_else(|| OTHERS[number - FILES.len()], |(name, _)| name);
    name.to_owned()
}

fn running_a_job(dice: &mut Dice) -> Invocation {
    let mut it = Invocation { as_fio: dice.once_in(2), ..Invocation::default() };
    if !it.as_fio {
        it.add("run");
    }
    let engine = dice.one(&ENGINES);
    let pattern = dice.one(&PATTERNS);
    it.add(format!("--name={}", dice.one(&NAMES)));
    it.add(format!("--ioengine={engine}"));
    it.add(format!("--rw={pattern}"));
    it.add(format!("--size={}", dice.one(&["4k", "16k", "64k", "8"])));
    it.add(format!("--bs={}", dice.one(&["4k", "512", "8"])));
    naming(dice, &mut it, pattern);
    for _ in 0..dice.below(4) {
        let setting = dice.one(&SETTINGS);
        it.add(format!("--{setting}"));
    }
    if engine == "logfs" {
        it.add(format!("--logfs_device={}", any_name(dice)));
        if dice.once_in(2) {
            it.add("--logfs_mkfs=1");
        }
    }
    if dice.once_in(8) {
        let kind = dice.one(&["mmap", "mmapshared"]);
        it.add(format!("--mem={kind}:{}", any_name(dice)));
    }
    outputs(dice, &mut it);
    if dice.once_in(10) {
        let name = any_name(dice);
        it.add(format!("--allow-destroy={name}"));
        it.named.push(name);
        it.allowed = true;
    }
    it
}

fn naming(dice: &mut Dice, it: &mut Invocation, pattern: &str) {
    match dice.below(6) {
        0 => it.add(format!("--filename_format={}", dice.one(&FORMATS))),
        1 => it.add(format!("--directory={}", dice.one(&[".", "deep", "way", "hollow"]))),
        2 => it.add(format!("--opendir={}", dice.one(&[".", "deep", "way", "hollow"]))),
        3 | 4 => {
            let mut names: Vec<String> = (0..1 + dice.below(2)).map(|_| any_name(dice)).collect();
            // A reader of a pipe waits for a writer.
            names.retain(|name| name != "pipe");
            if names.is_empty() {
                return;
            }
            it.add(format!("--filename={}", names.join(":")));
            // As in fio, a job that writes overwrites the file that it names exactly.
            if it.as_fio && pattern.contains(['w', 't']) {
                it.named.extend(names);
            }
        }
        _ => {}
    }
}

fn outputs(dice: &mut Dice, it: &mut Invocation) {
    let options: &[&str] = match dice.below(8) {
        0 => &["--record="],
        1 => &["--output="],
        2 => &["--write_bw_log="],
        3 => &["--write_lat_log="],
        4 => &["--output=", "--record="],
        _ => &[],
    };
    for option in options {
        it.add(format!("{option}{}", any_name(dice)));
    }
    if dice.once_in(4) {
        it.add(format!("--output-format={}", dice.one(&["json", "normal", "terse", "json+"])));
    }
    if dice.once_in(20) {
        it.add("j.fio");
    }
}

fn making_a_file_system(dice: &mut Dice) -> Invocation {
    let mut it = Invocation::default();
    let name = any_name(dice);
    match dice.below(4) {
        0 => it.words.extend(["fs", "fsck", "--repair"].map(str::to_owned)),
        1 => it.words.extend(["fs", "rm", "-r"].map(str::to_owned)),
        _ => {
            it.words.extend(["fs", "mkfs", "--size=48m"].map(str::to_owned));
            if dice.once_in(4) {
                it.add("--force");
                it.named.push(name.clone());
                it.allowed = true;
            }
        }
    }
    it.add(name);
    it
}

fn writing_a_report(dice: &mut Dice) -> Invocation {
    let mut it = Invocation::default();
    let words: Vec<String> = match dice.below(5) {
        0 => vec!["report".into(), any_name(dice), "-o".into(), any_name(dice)],
        1 => vec!["compare".into(), any_name(dice), any_name(dice), "-o".into(), any_name(dice)],
        2 => vec!["db".into(), "export".into(), "csv".into(), "-o".into(), any_name(dice)],
        3 => vec!["plan".into(), any_name(dice)],
        _ => vec!["fs".into(), "dump-log".into(), any_name(dice)],
    };
    it.words = words;
    it
}

fn making_a_device(dice: &mut Dice) -> Invocation {
    let mut it = Invocation::default();
    let media = any_name(dice);
    if dice.once_in(2) {
        it.words.extend(["device", "create", "d", "--size=1m"].map(str::to_owned));
        it.add(format!("--media=file:{media}"));
        return it;
    }
    it.as_fio = dice.once_in(2);
    if !it.as_fio {
        it.add("run");
    }
    it.words.extend(["--name=d", "--ioengine=nvme", "--rw=write", "--size=64k", "--thread=1"].map(str::to_owned));
    it.add(format!("--filename=trtype=VIRT model=ideal size=1M media=file\\:{media}"));
    it
}
