//! Turns a document into jobs: the keys, their meaning, and which of them have none here.

use super::ConfError;
use super::document::{Node, Value, read};
use super::fields::{Fields, Known, number, text, word};

/// The repeated operation of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// Reads from the begin to the end of its file, and again.
    SeqRead,
    /// Overwrites its file from the begin to the end, and again.
    SeqWrite,
    /// Reads anywhere.
    RandRead,
    /// Overwrites anywhere.
    RandWrite,
    /// Writes behind the end.
    Append,
    /// Keeps the thread busy, without a file.
    Cpu,
}

const KINDS: [(&str, JobKind); 6] = [
    ("seqread", JobKind::SeqRead),
    ("seqwrite", JobKind::SeqWrite),
    ("randread", JobKind::RandRead),
    ("randwrite", JobKind::RandWrite),
    ("append", JobKind::Append),
    ("cpu", JobKind::Cpu),
];

impl JobKind {
    /// As it is written.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Where a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shards {
    /// Everywhere.
    All,
    /// On these, each named once.
    Listed(Vec<u32>),
}

impl Shards {
    pub(super) fn has(&self, shard: u32) -> bool {
        match self {
            Shards::All => true,
            Shards::Listed(shards) => shards.contains(&shard),
        }
    }
}

/// When the next request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalPacing {
    /// When the last one has ended, and a pause has passed.
    Closed {
        /// The pause, ns.
        think_ns: u64,
        /// Periods without and with pauses alternate, each of this length, ns; 0: there is always a
        /// pause.
        think_after_ns: u64,
    },
    /// When its time has come.
    Open {
        /// How often in a second, for each worker.
        rate: u64,
        /// Distances are drawn from the exponential distribution instead of being all the same.
        poisson: bool,
        /// Requests that are sent at once.
        batch: usize,
    },
}

/// A job as it runs on each of its shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Unique.
    pub name: String,
    /// Where it is described.
    pub line: usize,
    /// What it does.
    pub kind: JobKind,
    /// Where it runs.
    pub shards: Shards,
    /// Bytes of its files on all shards together; `None`: of each.
    pub data_bytes: Option<u64>,
    /// Workers, each with one request (or batch) under way at most.
    pub parallel: usize,
    /// When they send.
    pub pace: ArrivalPacing,
    /// It ends after this many requests.
    pub limit: Option<u64>,
    /// Its weight among the jobs of a shard; `None`: requests are sent as they come.
    pub shares: Option<u32>,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// How long a request of [`JobKind::Cpu`] takes, ns.
    pub execution_ns: u64,
}

/// All jobs of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TesterConf {
    /// In the order of the file; one at least.
    pub jobs: Vec<Job>,
}

/// More shards than any machine has cores for.
const MOST_SHARDS: u64 = 1024;
const MOST_DATA_BYTES: u64 = 1 << 50;
const MOST_REQUEST_BYTES: u64 = 64 << 20;

const NO_SCHEDULER: Option<&str> =
    Some("a job is a class of its own, weighted by `shares`, and has no limit of bandwidth but `rps`");
const NO_UNLINK: &str = "all files stay open until the run ends, so removing one would free nothing";
const ONE_BUFFER: Option<&str> = Some("a request always has one buffer");

const JOB: &[Known] = &[
    ("name", None),
    ("type", None),
    ("shards", None),
    ("data_size", None),
    ("shard_info", None),
    ("options", None),
    ("extent_allocation_size_hint", Some("files get no hints; they are written before the run")),
    ("files_count", Some(NO_UNLINK)),
];

const SHARD_INFO: &[Known] = &[
    ("parallelism", None),
    ("rps", None),
    ("batch", None),
    ("limit", None),
    ("reqsize", None),
    ("think_time", None),
    ("think_after", None),
    ("execution_time", None),
    ("shares", None),
    ("class", NO_SCHEDULER),
    ("bandwidth", NO_SCHEDULER),
    ("vectorized", ONE_BUFFER),
    ("iov_count", ONE_BUFFER),
];

const OPTIONS: &[Known] = &[
    ("pause_distribution", None),
    ("sleep_type", None),
    ("dsync", Some("writes do not wait for durability; `iolab fs perf` measures with a sync at the end")),
];

impl TesterConf {
    /// Reads jobs from YAML.
    ///
    /// # Errors
    /// The first thing that is wrong, refused or unknown.
    pub fn parse(yaml: &str) -> Result<TesterConf, ConfError> {
        let nothing = || ConfError::new(1, "expected a list of jobs: `- name: …`");
        let root = read(yaml)?.ok_or_else(nothing)?;
        let Value::List(items) = &root.value else {
            let message = format!("expected a list of jobs (`- name: …`), found {}", root.value.kind());
            return Err(ConfError::new(root.line, message));
        };
        let mut jobs: Vec<Job> = Vec::new();
        for item in items {
            let job = job(item)?;
            if let Some(other) = jobs.iter().find(|other| other.name == job.name) {
                let message = format!("the job in line {} is already named {}", other.line, job.name);
                return Err(ConfError::new(job.line, message));
            }
            jobs.push(job);
        }
        if jobs.is_empty() { Err(nothing()) } else { Ok(TesterConf { jobs }) }
    }

    /// The number of shards: as many as requested, otherwise `at_least`, and enough for every shard
    /// that a job names.
    ///
    /// # Errors
    /// A job names a nonexistent one.
    pub fn shards(&self, asked: Option<u32>, at_least: u32) -> Result<u32, ConfError> {
        let mut count = asked.unwrap_or(at_least).max(1);
        for job in &self.jobs {
            let Shards::Listed(named) = &job.shards else { continue };
            let needed = named.iter().max().map_or(0, |greatest| greatest + 1);
            if asked.is_some() && needed > count {
                let message = format!("{} names shard {}, but there are {count}, counted from 0", job.name, needed - 1);
                return Err(ConfError::new(job.line, message));
            }
            count = count.max(needed);
        }
        Ok(count)
    }
}

fn job(node: &Node) -> Result<Job, ConfError> {
    let fields = Fields::of(node, JOB, "a job")?;
    let nothing = Node { line: node.line, value: Value::Map(Vec::new()) };
    let info = Fields::of(fields.get("shard_info").unwrap_or(&nothing), SHARD_INFO, "shard_info")?;
    let options = Fields::of(fields.get("options").unwrap_or(&nothing), OPTIONS, "options")?;
    let kind = kind(fields.need("type")?)?;
    if kind == JobKind::Cpu {
        info.refuse("reqsize", "a cpu job has no requests to a file")?;
        fields.refuse("data_size", "a cpu job has no file")?;
    } else {
        info.refuse("execution_time", "only a cpu job has one")?;
    }
    // The only way to pause there is.
    let only = "busyloop (the only supported one: the thread polls the devices during pauses)";
    if let Some(node) = options.get("sleep_type").filter(|node| node.value != Value::Text("busyloop".into())) {
        return Err(ConfError::new(node.line, format!("sleep_type must be {only}")));
    }
    let name = fields.need("name")?;
    let job = Job {
        name: text(name, "name")?.to_owned(),
        line: name.line,
        kind,
        shards: shards(fields.need("shards")?)?,
        data_bytes: data_bytes(&fields)?,
        parallel: info.number("parallelism", (1, 4096))?.unwrap_or(1) as usize,
        pace: pace(&info, &options)?,
        limit: info.number("limit", (1, u64::MAX))?,
        shares: info.number("shares", (1, 100_000))?.map(|shares| shares as u32),
        request_bytes: request_bytes(&info)?,
        execution_ns: info.duration("execution_time")?.unwrap_or(1_000_000),
    };
    Ok(job)
}

fn kind(node: &Node) -> Result<JobKind, ConfError> {
    if node.value == Value::Text("unlink".into()) {
        return Err(ConfError::new(node.line, format!("unlink is not supported: {NO_UNLINK}")));
    }
    word(node, "type", &KINDS)
}

fn shards(node: &Node) -> Result<Shards, ConfError> {
    let Value::List(items) = &node.value else {
        return word(node, "shards", &[("all", ())])
            .map(|()| Shards::All)
            .map_err(|error| ConfError { message: format!("{}, or a list such as [0, 2]", error.message), ..error });
    };
    let mut named = Vec::new();
    for item in items {
        let shard = number(item, "shards", (0, MOST_SHARDS - 1))? as u32;
        if named.contains(&shard) {
            return Err(ConfError::new(item.line, format!("shards: {shard} is listed twice")));
        }
        named.push(shard);
    }
    match named.len() {
        0 => Err(ConfError::new(node.line, "shards: the list is empty, so the job would not run")),
        _ => Ok(Shards::Listed(named)),
    }
}

fn pace(info: &Fields<'_>, options: &Fields<'_>) -> Result<ArrivalPacing, ConfError> {
    let poisson = options.word("pause_distribution", &[("uniform", false), ("poisson", true)])?;
    match info.number("rps", (1, 10_000_000))? {
        None => {
            info.refuse("batch", "without rps, the next request is sent when the previous one completes")?;
            options.refuse(
                "pause_distribution",
                "without rps, the next request is sent when the previous one completes",
            )?;
            let think_ns = info.duration("think_time")?.unwrap_or(0);
            Ok(ArrivalPacing::Closed { think_ns, think_after_ns: info.duration("think_after")?.unwrap_or(0) })
        }
        Some(rate) => {
            if info.duration("think_time")?.unwrap_or(0) > 0 {
                info.refuse("think_time", "with rps, the clock sets when the next request is sent")?;
            }
            info.refuse("think_after", "with rps, the clock sets when the next request is sent")?;
            let batch = info.number("batch", (1, 256))?.unwrap_or(1) as usize;
            Ok(ArrivalPacing::Open { rate, poisson: poisson.unwrap_or(false), batch })
        }
    }
}

fn data_bytes(fields: &Fields<'_>) -> Result<Option<u64>, ConfError> {
    match (fields.bytes("data_size")?, fields.get("data_size")) {
        (Some(bytes), Some(node)) if !(1..=MOST_DATA_BYTES).contains(&bytes) => {
            Err(ConfError::new(node.line, format!("data_size: {bytes}: expected 1 byte to 1024 TB")))
        }
        (bytes, _) => Ok(bytes),
    }
}

fn request_bytes(info: &Fields<'_>) -> Result<u64, ConfError> {
    let bytes = info.bytes("reqsize")?.unwrap_or(4096);
    if bytes.is_multiple_of(512) && (512..=MOST_REQUEST_BYTES).contains(&bytes) {
        return Ok(bytes);
    }
    let line = info.get("reqsize").map_or(info.line, |node| node.line);
    Err(ConfError::new(line, format!("reqsize: {bytes}: expected a multiple of 512 up to 64MB")))
}

#[cfg(test)]
mod tests;
