//! How random choices are spread: over offsets (`random_distribution`) and over files
//! (`file_service_type`).

use iolab_options::{Distribution, PerDirection};
use iolab_plan::{FileService, FileServiceKind};

use crate::job::Job;
use crate::readings;

/// Default exponents and powers of `file_service_type`, as in fio.
const DEFAULT_ZIPF: f64 = 1.1;
const DEFAULT_PARETO: f64 = 0.2;
const DEFAULT_GAUSS: f64 = 0.0;

/// The distribution of offsets, uniform by default.
pub(crate) fn offsets(job: &Job<'_>, random: bool) -> PerDirection<Distribution> {
    if job.has("random_distribution") && !random {
        job.warn(
            "random_distribution",
            "random_distribution has no effect in a sequential pattern",
            "for example rw=randread",
        );
    }
    let mut each = job.distributions("random_distribution");
    let asked = job.on("random_sequence_stride");
    let mut found = false;
    for distribution in &mut each {
        if let Distribution::Sequence { strides, .. } = distribution {
            *strides = asked;
            found = true;
        }
    }
    if asked && !found {
        let reason = "random_sequence_stride has no effect without random_distribution=sequence";
        job.warn_always("random_sequence_stride", reason, "for example random_distribution=sequence:0,2,1");
    }
    each
}

/// How the next file is chosen, and how many are in use at once.
pub(crate) fn files(job: &Job<'_>, files: usize) -> FileService {
    let (word, suffix) = job.word_and_suffix("file_service_type");
    let number = suffix.as_deref().and_then(|text| text.trim().parse::<f64>().ok());
    let kind = match word.as_str() {
        "sequential" => FileServiceKind::Sequential,
        "random" => FileServiceKind::Random,
        "zipf" => FileServiceKind::Zipf(number.unwrap_or(DEFAULT_ZIPF)),
        "pareto" => FileServiceKind::Pareto(number.unwrap_or(DEFAULT_PARETO)),
        "normal" | "gauss" => FileServiceKind::Gauss(number.unwrap_or(DEFAULT_GAUSS)),
        _ => FileServiceKind::RoundRobin,
    };
    let skewed = matches!(kind, FileServiceKind::Zipf(_) | FileServiceKind::Pareto(_) | FileServiceKind::Gauss(_));
    let every = if skewed { 1 } else { number.map_or(1, |number| (number as u32).max(1)) };
    let files = u32::try_from(files).unwrap_or(u32::MAX).max(1);
    let open_files =
        job.given("openfiles", readings::count).filter(|open| *open > 0).map_or(files, |open| open.min(files));
    FileService { kind, every, open_files }
}
