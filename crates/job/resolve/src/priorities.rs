//! `cmdprio_*`: reads and writes with a priority of their own.

use iolab_jobfile::{NumberRules, parse_value};
use iolab_options::{Direction, OptionEntry, PerDirection, Value, ValueKind};
use iolab_plan::{BlockSizes, IoPriority, Pattern, PriorityPlan, PriorityShare};

use crate::blocks::Blocks;
use crate::job::Job;

/// The class of operations whose class is not given: realtime, as in fio.
const DEFAULT_CLASS: u8 = 1;

/// The priorities, if the engine can send them and the job asks for any.
pub(crate) fn resolve(job: &Job<'_>, pattern: &Pattern, blocks: &Blocks) -> Option<PriorityPlan> {
    let can = |name: &str| job.engine.options.iter().any(|entry| entry.name == name);
    if !OptionEntry::COMMAND_PRIORITIES.iter().all(|entry| can(entry.name)) {
        return None;
    }
    let percent = numbers(job, "cmdprio_percentage");
    let split = job.section.engine_settings.get("cmdprio_bssplit").map(|setting| setting.text.as_str());
    let asked = percent.iter().flatten().any(|percent| *percent > 0);
    if asked && split.is_some() {
        let reason = "cmdprio_percentage and cmdprio_bssplit exclude each other";
        job.error("cmdprio_bssplit", reason, "use one of them");
        return None;
    }
    let alone = ["cmdprio_class", "cmdprio", "cmdprio_hint"];
    if !asked && split.is_none() {
        if let Some(name) = alone.into_iter().find(|name| job.section.engine_settings.has(name)) {
            let reason = format!("{name} has no effect without cmdprio_percentage or cmdprio_bssplit");
            job.warn_always(name, reason, "add cmdprio_percentage");
        }
        return None;
    }
    let (class, level, hint) = (numbers(job, "cmdprio_class"), numbers(job, "cmdprio"), numbers(job, "cmdprio_hint"));
    let of = |direction: Direction| IoPriority {
        class: class[direction.index()].map_or(DEFAULT_CLASS, |class| class as u8),
        level: level[direction.index()].unwrap_or(0) as u8,
        hint: hint[direction.index()].unwrap_or(0) as u16,
    };
    let shares = |direction: Direction| {
        if !pattern.directions.contains(&direction) {
            return Vec::new();
        }
        let Some(split) = split else {
            let percent = percent[direction.index()].unwrap_or(0) as u32;
            let all = PriorityShare { bytes: None, percent, priority: of(direction) };
            return if percent > 0 { vec![all] } else { Vec::new() };
        };
        let text = split.split_once(',').map_or(split, |(reads, rest)| {
            if direction == Direction::Read { reads } else { rest.split(',').next().unwrap_or("") }
        });
        by_size(job, text, of(direction), &blocks.sizes[direction.index()])
    };
    Some(PriorityPlan { reads: shares(Direction::Read), writes: shares(Direction::Write) })
}

/// Numbers for reads and writes; one number counts for both.
fn numbers(job: &Job<'_>, name: &str) -> PerDirection<Option<i64>> {
    match job.section.engine_settings.get(name).map(|setting| &setting.value) {
        Some(Value::Integers([read, write, trim])) => [*read, write.or(*read), *trim],
        Some(Value::Integer(both)) => [Some(*both); 3],
        _ => [None; 3],
    }
}

/// `64k/40:1m/60`, each with its class, level and hint if given.
fn by_size(job: &Job<'_>, text: &str, given: IoPriority, sizes: &BlockSizes) -> Vec<PriorityShare> {
    let mut shares: Vec<PriorityShare> = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.trim().is_empty()) {
        match share(entry, given) {
            Ok(share) => shares.push(share),
            Err(reason) => {
                job.error(
                    "cmdprio_bssplit",
                    format!("cmdprio_bssplit `{entry}`: {reason}"),
                    "SIZE/PERCENT:… or SIZE/PERCENT/CLASS/LEVEL:…, for example 64k/40:1m/60",
                );
                return Vec::new();
            }
        }
    }
    for (index, share) in shares.iter().enumerate() {
        let alike = shares.iter().filter(|other| other.bytes == share.bytes);
        let sum: u32 = alike.map(|other| other.percent).sum();
        if sum > 100 && shares[..index].iter().all(|before| before.bytes != share.bytes) {
            let reason = format!("the percentages of blocks of {} bytes add up to {sum}", share.bytes.unwrap_or(0));
            job.error("cmdprio_bssplit", reason, "at most 100 for each size");
        }
        let occurs = share.bytes.is_some_and(|bytes| (sizes.min()..=sizes.max()).contains(&bytes));
        if !occurs {
            let reason = format!("no operation has {} bytes", share.bytes.unwrap_or(0));
            job.warn_always("cmdprio_bssplit", reason, "use sizes of bssplit or bs");
        }
    }
    shares
}

fn share(entry: &str, given: IoPriority) -> Result<PriorityShare, String> {
    let parts: Vec<&str> = entry.split('/').map(str::trim).collect();
    if !matches!(parts.len(), 2 | 4 | 5) {
        return Err("expected two, four or five parts".to_owned());
    }
    let bytes = match parse_value(&ValueKind::Size, Some(parts[0]), NumberRules::default()) {
        Ok(Value::Size(bytes)) => bytes,
        Ok(_) => return Err(format!("`{}` is not a size", parts[0])),
        Err(error) => return Err(error.reason),
    };
    let number = |text: &str, most: u32, what: &str| {
        let number = text.parse::<u32>().ok().filter(|number| *number <= most);
        number.ok_or_else(|| format!("`{text}` is not a {what} from 0 to {most}"))
    };
    let percent = number(parts[1], 100, "percentage")?;
    let mut priority = given;
    if let Some(class) = parts.get(2) {
        priority =
            IoPriority { class: number(class, 3, "class")? as u8, level: number(parts[3], 7, "level")? as u8, hint: 0 };
    }
    if let Some(hint) = parts.get(4) {
        priority.hint = number(hint, 7, "hint")? as u16;
    }
    Ok(PriorityShare { bytes: Some(bytes), percent, priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_two_four_or_five_parts() {
        let given = IoPriority { class: 1, level: 2, hint: 3 };
        let with = |class, level, hint| IoPriority { class, level, hint };
        for (entry, percent, priority) in
            [("64k/40", 40, given), ("64k/40/2/7", 40, with(2, 7, 0)), ("64k/100/3/0/7", 100, with(3, 0, 7))]
        {
            assert_eq!(share(entry, given), Ok(PriorityShare { bytes: Some(65536), percent, priority }), "{entry}");
        }
        for (entry, said) in [
            ("64k", "two, four"),
            ("64k/40/1", "two, four"),
            ("64k/101", "percentage"),
            ("x/4", "x"),
            ("4k/1/4/0", "class"),
        ] {
            assert!(share(entry, given).unwrap_err().contains(said), "{entry}");
        }
    }
}
