//! Reads the live ranges of a cluster one by one, or the whole cluster, or as logfs plans it: the
//! decision that cleaning has to make.
//!
//! ```text
//!  cluster   ░░██░░░░██░██░░░░░     one by one: three requests at once, until the last has ended
//!            └────────────────┘     whole: one request
//!              └┘    └───┘          planned: neighbours together where the gap costs less than a request
//! ```
//!
//! The ranges have equal length, each at a random place in its equal part of the cluster. Clusters
//! are read in an order determined by the seed, all ways in turn, one cluster at a time. The only
//! data written is a file of random bytes if the target is a folder. An image must hold content,
//! because reading unwritten data does not access the medium.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iolab_clock::Clock;
use iolab_disk::{Action, BlockDevice, Buffer, DiskCompletion, DiskOptions, DiskRequest, open_disk};
use iolab_logfs::{ReadingCost, reading_plan};

use crate::BenchError;
use crate::random::Random;

/// How the live ranges of a cluster are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingWay {
    /// A request for each.
    Ranges,
    /// One request for the whole cluster.
    Whole,
    /// As [`iolab_logfs::reading_plan`] says, with the costs that logfs assumes by default.
    Planned,
}

/// What to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingOptions {
    /// Bytes of a cluster.
    pub cluster_bytes: u64,
    /// Numbers of ranges in a cluster.
    pub counts: Vec<u64>,
    /// Lengths of a range, bytes; those that do not fit into a cluster often enough are left out.
    pub lengths: Vec<u64>,
    /// Clusters read for each case, every way.
    pub samples: u32,
    /// The ways, each named once.
    pub ways: Vec<ReadingWay>,
    /// Bytes of the file that is made in a folder.
    pub file_bytes: u64,
    /// The order of the clusters follows from it.
    pub seed: u64,
}

/// A number of ranges of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingCase {
    /// Ranges in a cluster.
    pub count: u64,
    /// Bytes of each.
    pub length: u64,
    /// Median time of a cluster, ns, by way.
    pub times_ns: Vec<(ReadingWay, u64)>,
}

impl ReadingCase {
    /// Median time of a cluster that was read in this way, ns.
    pub fn time_ns(&self, wanted: ReadingWay) -> Option<u64> {
        self.times_ns.iter().find(|(way, _)| *way == wanted).map(|(_, ns)| *ns)
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingResult {
    /// By number, then by length.
    pub cases: Vec<ReadingCase>,
    /// The cost of one more request, in bytes that could be read in the same time: from the linear
    /// fit of all cases. `None` if the times do not grow with requests and bytes.
    pub request_bytes: Option<f64>,
    /// The same as the times of a request and of its bytes, for cleaning.
    pub cost: Option<ReadingCost>,
}

/// Tries every case on a file, a device, or a file that is made in a folder and removed again.
///
/// # Errors
/// What opening or reading says; [`BenchError::Unfit`] when there are not enough clusters.
pub fn read_clusters(path: &Path, options: &ReadingOptions) -> Result<ReadingResult, BenchError> {
    let scratch = if path.is_dir() { Some(Scratch::make(path, options)?) } else { None };
    let path = scratch.as_ref().map_or(path, |scratch| &scratch.0);
    let opening = DiskOptions { read_only: true, ..DiskOptions::default() };
    let (device, _) = open_disk(path, &opening).map_err(failed(path, "opening it"))?;
    let clusters = device.geometry().size_bytes / options.cluster_bytes.max(1);
    if clusters < 2 {
        return Err(BenchError::Unfit(format!(
            "{}: too small for two clusters of {} bytes",
            path.display(),
            options.cluster_bytes
        )));
    }
    let mut reader = Reader { device, clock: Clock::monotonic(), done: Vec::new(), path: path.to_owned() };
    let mut random = Random::new(options.seed);
    let mut cases = Vec::new();
    for &count in &options.counts {
        for &length in options.lengths.iter().filter(|length| count * **length <= options.cluster_bytes && count > 0) {
            cases.push(case(&mut reader, options, count, length, &mut random)?);
        }
    }
    let costs = costs(&cases);
    let cost = |(request, byte): (f64, f64)| ReadingCost {
        request_ns: request.round() as u64,
        kib_ns: ((byte * 1024.0).round() as u64).max(1),
    };
    Ok(ReadingResult { cases, request_bytes: costs.map(|(request, byte)| request / byte), cost: costs.map(cost) })
}

fn case(
    reader: &mut Reader,
    options: &ReadingOptions,
    count: u64,
    length: u64,
    random: &mut Random,
) -> Result<ReadingCase, BenchError> {
    let geometry = reader.device.geometry();
    let unit = u64::from(geometry.block_bytes);
    let clusters = geometry.size_bytes / options.cluster_bytes;
    let mut times: Vec<(ReadingWay, Vec<u64>)> = options.ways.iter().map(|way| (*way, Vec::new())).collect();
    let part = options.cluster_bytes / count / unit * unit;
    let length_in_units = length.next_multiple_of(unit);
    for _ in 0..options.samples {
        let mut place = |number: u64| {
            let at = number * part + random.within((0, part.saturating_sub(length_in_units)), unit);
            (at as u32, (at + length) as u32)
        };
        let wanted: Vec<(u32, u32)> = (0..count).map(&mut place).collect();
        for (way, times) in &mut times {
            let begin = random.below(clusters) * options.cluster_bytes;
            let planned = plan(*way, &wanted, unit as u32, options.cluster_bytes as u32);
            let requests = planned.into_iter().map(|(from, to)| (begin + u64::from(from), u64::from(to - from)));
            times.push(reader.read(&requests.collect::<Vec<_>>())?);
        }
    }
    let median = |mut times: Vec<u64>| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or(0)
    };
    let times_ns = times.into_iter().map(|(way, times)| (way, median(times))).collect();
    Ok(ReadingCase { count, length, times_ns })
}

/// The ranges to read so that all wanted ranges are covered, from and to.
fn plan(way: ReadingWay, wanted: &[(u32, u32)], unit: u32, cluster: u32) -> Vec<(u32, u32)> {
    match way {
        ReadingWay::Ranges => wanted.iter().map(|(from, to)| (*from, to.next_multiple_of(unit))).collect(),
        ReadingWay::Whole => vec![(0, cluster)],
        ReadingWay::Planned => reading_plan(wanted, unit, ReadingCost::default().request_bytes()),
    }
}

/// What a request takes and what a byte takes, ns: the plane
/// `time = count · request + bytes · byte` nearest to the cases (least squares).
fn costs(cases: &[ReadingCase]) -> Option<(f64, f64)> {
    let (mut nn, mut nb, mut bb, mut nt, mut bt) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (case, time) in cases.iter().filter_map(|case| Some((case, case.time_ns(ReadingWay::Ranges)? as f64))) {
        let (count, bytes) = (case.count as f64, (case.count * case.length) as f64 / 4096.0);
        nn += count * count;
        nb += count * bytes;
        bb += bytes * bytes;
        nt += count * time;
        bt += bytes * time;
    }
    let determinant = nn * bb - nb * nb;
    let (request, byte) = ((nt * bb - bt * nb) / determinant, (bt * nn - nt * nb) / determinant / 4096.0);
    (determinant > 0.0 && request > 0.0 && byte > 0.0).then_some((request, byte))
}

struct Reader {
    device: Box<dyn BlockDevice>,
    clock: Clock,
    done: Vec<DiskCompletion>,
    path: PathBuf,
}

impl Reader {
    /// Reads all ranges at once. Returns the time until the last one completed.
    fn read(&mut self, wanted: &[(u64, u64)]) -> Result<u64, BenchError> {
        let mut requests: Vec<DiskRequest> = wanted
            .iter()
            .zip(0..)
            .map(|(&(at, length), tag)| DiskRequest {
                tag,
                action: Action::Read { at, buffer: Buffer::zeroed(length as usize) },
            })
            .collect();
        // The last first, because they are taken from the end.
        requests.reverse();
        let begun = self.clock.now_ns();
        let mut left = wanted.len();
        while left > 0 {
            while let Some(request) = requests.pop() {
                if let Err(refused) = self.device.submit(request) {
                    requests.push(refused);
                    break;
                }
            }
            self.device.reap(true, &mut self.done);
            for completion in self.done.drain(..) {
                left -= 1;
                completion.result.map_err(|error| failed(&self.path, "reading it")(io::Error::other(error)))?;
            }
        }
        Ok(self.clock.now_ns() - begun)
    }
}

fn failed(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> BenchError + use<> {
    let path = path.to_owned();
    move |source| BenchError::Folder { path: path.clone(), doing, source }
}

/// A file of random bytes that is removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn make(folder: &Path, options: &ReadingOptions) -> Result<Scratch, BenchError> {
        let path = folder.join(format!("iolab-cluster-reading.{}", std::process::id()));
        let making = failed(&path, "creating a file to read");
        let mut file = File::create_new(&path).map_err(&making)?;
        let scratch = Scratch(path);
        let mut random = Random::new(options.seed);
        let mut piece = vec![0; 1 << 20];
        let mut left = options.file_bytes;
        while left > 0 {
            random.fill(&mut piece);
            let length = left.min(piece.len() as u64);
            file.write_all(&piece[..length as usize]).map_err(&making)?;
            left -= length;
        }
        file.sync_all().map_err(&making)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed is no reason to lose a result.
        let _left = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_request_is_found_again() {
        let case = |count: u64, length: u64| {
            let ranges_ns = count * 5_000 + count * length / 4;
            ReadingCase { count, length, times_ns: vec![(ReadingWay::Whole, 1), (ReadingWay::Ranges, ranges_ns)] }
        };
        let cases: Vec<ReadingCase> =
            [1, 4, 16].into_iter().flat_map(|count| [4096, 16384, 65536].map(|length| case(count, length))).collect();
        let (request, byte) = costs(&cases).unwrap();
        assert!((4_990.0..5_010.0).contains(&request) && (0.24..0.26).contains(&byte), "{request}, {byte}");
        assert_eq!(costs(&[]), None);
    }

    #[test]
    fn each_way_covers_what_is_wanted() {
        let wanted = [(512, 4096), (12288, 20480), (262_144, 266_240)];
        let plan = |way, wanted: &[(u32, u32)]| plan(way, wanted, 4096, 1 << 20);
        assert_eq!(plan(ReadingWay::Ranges, &wanted[1..]), &wanted[1..]);
        assert_eq!(plan(ReadingWay::Whole, &wanted), [(0, 1 << 20)]);
        assert_eq!(plan(ReadingWay::Planned, &wanted), [(0, 20480), (262_144, 266_240)]);
    }

    #[test]
    fn every_case_that_fits_is_tried_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let options = ReadingOptions {
            cluster_bytes: 64 << 10,
            counts: vec![1, 4, 16],
            lengths: vec![4096, 16384],
            samples: 3,
            ways: vec![ReadingWay::Ranges, ReadingWay::Planned],
            file_bytes: 1 << 20,
            seed: 1,
        };
        let found = read_clusters(folder.path(), &options).unwrap();
        let tried: Vec<(u64, u64)> = found.cases.iter().map(|case| (case.count, case.length)).collect();
        assert_eq!(tried, [(1, 4096), (1, 16384), (4, 4096), (4, 16384), (16, 4096)]);
        for case in &found.cases {
            let times = [ReadingWay::Ranges, ReadingWay::Planned, ReadingWay::Whole].map(|way| case.time_ns(way));
            assert!(times[0] > Some(0) && times[1] > Some(0) && times[2].is_none(), "{times:?}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let short = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(read_clusters(short.path(), &options), Err(BenchError::Unfit(_))));
    }
}
