//! Checks whether the configurations of a study used the same storage.

use iolab_aggregate::ReachedStorage;
use iolab_findings::{Reached, by_target, different_targets};
use iolab_order::Arrange;
use iolab_recording::Finding;

use crate::{Design, JobSetting, Study, Trial};

/// Options that select the storage, or describe it, and do not affect the load otherwise.
const NAMES_STORAGE: [&str; 5] = ["filename", "directory", "filename_format", "opendir", "description"];

/// Most names listed; further ones are counted.
const MOST_NAMED: usize = 3;

/// The finding, if they did not. A study that varies its storage by other options says so, and
/// compares what it says.
pub(crate) fn different_storage(design: &Design, trials: &[Trial], study: &Study) -> Option<Finding> {
    if study.varies_storage {
        return None;
    }
    let served = study.served.as_ref();
    let of = |configuration: usize| -> Reached {
        let own = trials.iter().filter(|trial| trial.configuration == configuration && trial.flaw.is_none());
        let shows_device =
            served.is_some_and(|device| works_on(&design.configurations[configuration].settings, &device.file));
        match served.filter(|_| shows_device) {
            // The file is the device: what is below it is the server, and no other storage.
            Some(device) => own.map(|_| vec![ReachedStorage::Driven(device.driven.clone())]).collect(),
            None => own.map(|trial| trial.reached.clone()).collect(),
        }
    };
    let reached: Vec<Reached> = (0..design.configurations.len()).map(of).collect();
    let groups = by_target(&reached);
    if groups.len() < 2 {
        return None;
    }
    let named: Vec<(String, &Reached)> =
        groups.iter().map(|group| (name(design, &groups, group), &reached[group[0]])).collect();
    Some(different_targets(&named, changes_more(design, &groups)))
}

/// Whether a configuration uses only this file; the last of several settings counts.
fn works_on(settings: &[JobSetting], file: &str) -> bool {
    settings.iter().rev().find(|setting| setting.option == "filename").is_some_and(|setting| setting.value == file)
}

/// The points of the axis that determines the storage, otherwise the configurations.
fn name(design: &Design, groups: &[Vec<usize>], group: &[usize]) -> String {
    let points = |group: &[usize], axis: usize| {
        let mut points: Vec<&str> = Vec::new();
        for configuration in group {
            let point = design.configurations[*configuration].points[axis].as_str();
            if !points.contains(&point) {
                points.push(point);
            }
        }
        points
    };
    let decides = |axis: &usize| {
        let all: Vec<Vec<&str>> = groups.iter().map(|group| points(group, *axis)).collect();
        let is_shared = |point: &&str| all.iter().filter(|points| points.contains(point)).count() > 1;
        !all.iter().flatten().any(is_shared)
    };
    if let Some(axis) = (0..design.axes.len()).find(decides) {
        return format!("{}={}", design.axes[axis], points(group, axis).join(", "));
    }
    match group.len() {
        count if count > MOST_NAMED => format!("{count} configurations"),
        _ => group.iter().map(|one| design.label(*one)).collect::<Vec<_>>().join("; "),
    }
}

/// Whether the most similar configurations of different groups differ in more than the location of
/// their files.
fn changes_more(design: &Design, groups: &[Vec<usize>]) -> bool {
    let differences = |one: usize, other: usize| {
        let [one, other] = [one, other].map(|number| design.configurations[number].settings.as_slice());
        different_options(one, other)
    };
    let pairs = groups.iter().enumerate().flat_map(|(number, group)| {
        let others = groups[number + 1..].iter().flatten();
        others.flat_map(move |other| group.iter().map(move |one| (*one, *other)))
    });
    let nearest = pairs.map(|(one, other)| differences(one, other)).min_by_key(Vec::len);
    nearest.is_none_or(|options| options.iter().any(|option| !NAMES_STORAGE.contains(&option.as_str())))
}

fn different_options(one: &[JobSetting], other: &[JobSetting]) -> Vec<String> {
    // The last of several settings counts, as in a job file.
    let value = |of: &[JobSetting], option: &str| {
        of.iter().rev().find(|setting| setting.option == option).map(|setting| setting.value.clone())
    };
    let mut options: Vec<&String> = one.iter().chain(other).map(|setting| &setting.option).collect();
    options.arrange();
    options.dedup();
    options.into_iter().filter(|option| value(one, option) != value(other, option)).cloned().collect()
}
