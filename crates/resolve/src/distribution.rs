//! How random choices are spread: over offsets (`random_distribution`) and over files (`file_service_type`).

use iolab_options::{Distribution, PerDirection};
use iolab_plan::{FileService, FileServiceKind};

use crate::job::Job;

/// Exponents and powers of `file_service_type` when none is given, as in fio.
const DEFAULT_ZIPF: f64 = 1.1;
const DEFAULT_PARETO: f64 = 0.2;
const DEFAULT_GAUSS: f64 = 0.0;

/// The distribution of offsets, uniform unless told.
pub(crate) fn offsets(job: &Job<'_>, random: bool) -> PerDirection<Distribution> {
    let given = job.distributions("random_distribution");
    if given.is_some() && !random {
        job.warn(
            "random_distribution",
            "random_distribution has no effect in a sequential pattern",
            "for example rw=randread",
        );
    }
    given.unwrap_or([Distribution::Uniform, Distribution::Uniform, Distribution::Uniform])
}

/// How the next file is chosen, and how many are in use at once.
pub(crate) fn files(job: &Job<'_>, files: usize) -> FileService {
    let (word, suffix) = job.word_and_suffix("file_service_type").unwrap_or(("roundrobin".into(), None));
    let number = suffix.as_deref().and_then(|text| text.trim().parse::<f64>().ok());
    if suffix.is_some() && number.is_none_or(|number| number < 0.0) {
        let reason = format!("file_service_type={word}:{} does not end in a number", suffix.unwrap_or_default());
        job.error("file_service_type", reason, "for example random:8 or zipf:1.2");
    }
    let kind = match word.as_str() {
        "sequential" => FileServiceKind::Sequential,
        "random" => FileServiceKind::Random,
        "zipf" => FileServiceKind::Zipf(number.unwrap_or(DEFAULT_ZIPF)),
        "pareto" => FileServiceKind::Pareto(number.unwrap_or(DEFAULT_PARETO)),
        "normal" | "gauss" => FileServiceKind::Gauss(number.unwrap_or(DEFAULT_GAUSS)),
        _ => FileServiceKind::RoundRobin,
    };
    check_shape(job, kind);
    let skewed = matches!(kind, FileServiceKind::Zipf(_) | FileServiceKind::Pareto(_) | FileServiceKind::Gauss(_));
    let every = if skewed { 1 } else { number.map_or(1, |number| (number as u32).max(1)) };
    let files = u32::try_from(files).unwrap_or(u32::MAX).max(1);
    let open_files = job.count("openfiles").filter(|open| *open > 0).map_or(files, |open| open.min(files));
    FileService { kind, every, open_files }
}

fn check_shape(job: &Job<'_>, kind: FileServiceKind) {
    let wrong = match kind {
        FileServiceKind::Zipf(theta) if theta <= 0.0 || theta == 1.0 => {
            "the exponent of zipf must be above 0 and other than 1"
        }
        FileServiceKind::Pareto(h) if h <= 0.0 || h >= 1.0 => "the power of pareto must lie between 0 and 1",
        FileServiceKind::Gauss(deviation) if deviation > 100.0 => "the deviation of gauss must not exceed 100 percent",
        _ => return,
    };
    job.error("file_service_type", wrong, "");
}
