//! Reading the live ranges of a cluster one by one against reading the whole cluster: what cleaning has to decide.
//!
//! ```text
//!  cluster   ░░██░░░░██░░░░██░░     one by one: three requests at once, until the last has ended
//!            └────────────────┘     whole: one request
//! ```
//!
//! The ranges are of one length and evenly spread. Clusters are read in an order that the seed gives, both ways in turn, one cluster at a time. Nothing is
//! written but a file of random bytes where the target is a folder: an image has to hold content, because what was never written is read without
//! asking any medium.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iolab_block::{Action, BlockDevice, Buffer, Completion, Opening, Request, open_disk};
use iolab_clock::Clock;

use crate::BenchError;
use crate::random::Random;

/// What to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadingOptions {
    /// Bytes of a cluster.
    pub cluster_bytes: u64,
    /// Numbers of ranges in a cluster.
    pub counts: Vec<u64>,
    /// Lengths of a range, bytes; those that do not fit so often into a cluster are left out.
    pub lengths: Vec<u64>,
    /// Clusters read for each case, both ways.
    pub samples: u32,
    /// Bytes of the file that is made in a folder.
    pub file_bytes: u64,
    /// The order of the clusters follows from it.
    pub seed: u64,
}

/// So many ranges of such a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingCase {
    /// Ranges in a cluster.
    pub count: u64,
    /// Bytes of each.
    pub length: u64,
    /// Median time of a cluster, all ranges one by one, ns.
    pub ranges_ns: u64,
    /// Median time of a whole cluster, ns.
    pub whole_ns: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingResult {
    /// By number, then by length.
    pub cases: Vec<ReadingCase>,
    /// What one more request costs, in bytes that could be read in the same time: from the straight line nearest to all cases. Nothing when the
    /// times do not grow with requests and bytes.
    pub request_bytes: Option<f64>,
}

/// Tries every case on a file, a device, or a file that is made in a folder and removed again.
///
/// # Errors
/// What opening or reading says; [`BenchError::Unfit`] when there are not enough clusters.
pub fn read_clusters(path: &Path, options: &ReadingOptions) -> Result<ReadingResult, BenchError> {
    let scratch = if path.is_dir() { Some(Scratch::make(path, options)?) } else { None };
    let path = scratch.as_ref().map_or(path, |scratch| &scratch.0);
    let opening = Opening { read_only: true, ..Opening::default() };
    let (device, _) = open_disk(path, &opening).map_err(failed(path, "opening it"))?;
    let clusters = device.geometry().size_bytes / options.cluster_bytes.max(1);
    if clusters < 2 {
        return Err(BenchError::Unfit(format!(
            "{}: not even two clusters of {} bytes",
            path.display(),
            options.cluster_bytes
        )));
    }
    let mut reader = Reader { device, clock: Clock::monotonic(), done: Vec::new(), path: path.to_owned() };
    let mut random = Random::new(options.seed);
    let mut cases = Vec::new();
    for &count in &options.counts {
        for &length in options.lengths.iter().filter(|length| count * **length <= options.cluster_bytes && count > 0) {
            cases.push(case(&mut reader, options, (count, length), (&mut random, clusters))?);
        }
    }
    let request_bytes = request_bytes(&cases);
    Ok(ReadingResult { cases, request_bytes })
}

fn case(
    reader: &mut Reader,
    options: &ReadingOptions,
    (count, length): (u64, u64),
    (random, clusters): (&mut Random, u64),
) -> Result<ReadingCase, BenchError> {
    let unit = u64::from(reader.device.geometry().block_bytes);
    let (mut ranges, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..options.samples {
        let mut start = || random.below(clusters) * options.cluster_bytes;
        let distance = options.cluster_bytes / count / unit * unit;
        let at = start();
        let wanted: Vec<(u64, u64)> =
            (0..count).map(|number| (at + number * distance, length.next_multiple_of(unit))).collect();
        ranges.push(reader.read(&wanted)?);
        whole.push(reader.read(&[(start(), options.cluster_bytes)])?);
    }
    ranges.sort_unstable();
    whole.sort_unstable();
    let median = |times: &[u64]| times.get(times.len() / 2).copied().unwrap_or(0);
    Ok(ReadingCase { count, length, ranges_ns: median(&ranges), whole_ns: median(&whole) })
}

/// One request's cost over one byte's: the plane `time = count · request + bytes · byte` nearest to the cases (least squares).
fn request_bytes(cases: &[ReadingCase]) -> Option<f64> {
    let (mut nn, mut nb, mut bb, mut nt, mut bt) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for case in cases {
        let (count, bytes, time) =
            (case.count as f64, (case.count * case.length) as f64 / 4096.0, case.ranges_ns as f64);
        nn += count * count;
        nb += count * bytes;
        bb += bytes * bytes;
        nt += count * time;
        bt += bytes * time;
    }
    let determinant = nn * bb - nb * nb;
    let (request, byte) = ((nt * bb - bt * nb) / determinant, (bt * nn - nt * nb) / determinant / 4096.0);
    (determinant > 0.0 && request > 0.0 && byte > 0.0).then(|| request / byte)
}

struct Reader {
    device: Box<dyn BlockDevice>,
    clock: Clock,
    done: Vec<Completion>,
    path: PathBuf,
}

impl Reader {
    /// All ranges at once; says how long it took until the last was there.
    fn read(&mut self, wanted: &[(u64, u64)]) -> Result<u64, BenchError> {
        let mut requests: Vec<Request> = wanted
            .iter()
            .zip(0..)
            .map(|(&(at, length), tag)| Request {
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
        let making = failed(&path, "making a file to read");
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
            ReadingCase { count, length, ranges_ns, whole_ns: 1 }
        };
        let cases: Vec<ReadingCase> =
            [1, 4, 16].into_iter().flat_map(|count| [4096, 16384, 65536].map(|length| case(count, length))).collect();
        let found = request_bytes(&cases).unwrap();
        assert!((19_900.0..20_100.0).contains(&found), "{found}");
        assert_eq!(request_bytes(&[]), None);
    }

    #[test]
    fn every_case_that_fits_is_tried_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let options = ReadingOptions {
            cluster_bytes: 64 << 10,
            counts: vec![1, 4, 16],
            lengths: vec![4096, 16384],
            samples: 3,
            file_bytes: 1 << 20,
            seed: 1,
        };
        let found = read_clusters(folder.path(), &options).unwrap();
        let tried: Vec<(u64, u64)> = found.cases.iter().map(|case| (case.count, case.length)).collect();
        assert_eq!(tried, [(1, 4096), (1, 16384), (4, 4096), (4, 16384), (16, 4096)]);
        assert!(found.cases.iter().all(|case| case.ranges_ns > 0 && case.whole_ns > 0));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let short = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(read_clusters(short.path(), &options), Err(BenchError::Unfit(_))));
    }
}
