//! The translation of an operation of a trace: transfers, trims and syncs of files and block
//! devices, or nothing, with the reason.
//!
//! A write that was durable when it returned (`O_DSYNC`, `RWF_DSYNC`) becomes a write and an
//! `fdatasync`. An operation longer than a slot becomes several.

use iolab_engine::OpKind;
use iolab_plan::ReplayRules;
use iolab_trace::{Call, Effect, File, Flags, NO_FILE, Operation};

/// An operation of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: OpKind,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// Why an operation of a trace is not replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeftOut {
    Calls,
    Elsewhere,
    Failed,
    Nowhere,
    Everywhere,
    Asked,
}

impl LeftOut {
    pub(crate) const ALL: [LeftOut; 6] =
        [LeftOut::Calls, LeftOut::Elsewhere, LeftOut::Failed, LeftOut::Nowhere, LeftOut::Everywhere, LeftOut::Asked];

    /// A sentence about how many there are.
    pub(crate) fn text(self) -> &'static str {
        match self {
            LeftOut::Calls => {
                "calls that move no data and sync nothing (open, close, lseek, ftruncate, fallocate, mmap)"
            }
            LeftOut::Elsewhere => "operations on pipes, sockets, terminals and files of the kernel",
            LeftOut::Failed => "operations that failed or moved nothing",
            LeftOut::Nowhere => "transfers whose place in the file is not known",
            LeftOut::Everywhere => "sync and syncfs: they concern the whole machine or file system",
            LeftOut::Asked => "operations of kinds that are to be left out",
        }
    }
}

/// Translates an operation; each part goes to `each` in order.
pub(crate) fn parts(
    operation: &Operation,
    files: &[File],
    rules: &ReplayRules,
    mut each: impl FnMut(Part),
) -> Result<(), LeftOut> {
    let kind = kind_of(operation.call)?;
    if operation.file == NO_FILE {
        return Err(LeftOut::Everywhere);
    }
    let file = files.get(operation.file as usize).ok_or(LeftOut::Elsewhere)?;
    if !file.kind.is_storage() {
        return Err(LeftOut::Elsewhere);
    }
    if rules.skip[(kind as usize).min(3)] {
        return Err(LeftOut::Asked);
    }
    if operation.has_failed() {
        return Err(LeftOut::Failed);
    }
    match kind {
        OpKind::Sync | OpKind::DataSync => each(Part { kind, offset: 0, length: 0 }),
        OpKind::SyncFileRange => {
            // A length that fits no operation is expressed as "to the end".
            let length = u32::try_from(operation.length).unwrap_or(0);
            each(Part { kind, offset: placed(operation.offset.unwrap_or(0), rules), length });
        }
        OpKind::Read | OpKind::Write | OpKind::Trim => {
            let bytes = operation.bytes();
            if bytes == 0 {
                return Err(LeftOut::Failed);
            }
            let offset = placed(operation.offset.ok_or(LeftOut::Nowhere)?, rules);
            let mut done = 0;
            while done < bytes {
                let length = (bytes - done).min(u64::from(rules.longest_bytes.max(1)));
                each(Part { kind, offset: offset + done, length: length as u32 });
                done += length;
            }
            let durable = operation.flags.has(Flags::DATA_SYNC) || operation.flags.has(Flags::FILE_SYNC);
            if kind == OpKind::Write && durable && !rules.skip[3] {
                each(Part { kind: OpKind::DataSync, offset: 0, length: 0 });
            }
        }
    }
    Ok(())
}

fn kind_of(call: Call) -> Result<OpKind, LeftOut> {
    Ok(match (call, call.effect()) {
        (Call::Sync | Call::Syncfs, _) => return Err(LeftOut::Everywhere),
        (Call::SyncFileRange | Call::UringSyncFileRange, _) => OpKind::SyncFileRange,
        (Call::Fsync | Call::AioFsync | Call::UringFsync, _) => OpKind::Sync,
        (_, Effect::Sync) => OpKind::DataSync,
        (_, Effect::Read) => OpKind::Read,
        (_, Effect::Write) => OpKind::Write,
        (_, Effect::Discard) => OpKind::Trim,
        (_, Effect::Other) => return Err(LeftOut::Calls),
    })
}

fn placed(offset: u64, rules: &ReplayRules) -> u64 {
    let offset = offset / u64::from(rules.divide_offsets.max(1));
    if rules.align_bytes > 1 { offset - offset % rules.align_bytes } else { offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_trace::FileKind;

    fn operation(call: Call, offset: Option<u64>, result: i64) -> Operation {
        let length = result.max(0) as u64;
        let (time_ns, duration_ns, thread, file, flags) = (0, 0, 0, 0, Flags::default());
        Operation { time_ns, duration_ns, thread, call, file, offset, length, result, flags }
    }

    fn translated(operation: &Operation, rules: &ReplayRules) -> Result<Vec<(OpKind, u64, u32)>, LeftOut> {
        let files =
            [File { kind: FileKind::Regular, ..File::default() }, File { kind: FileKind::Pipe, ..File::default() }];
        let mut found = Vec::new();
        parts(operation, &files, rules, |part| found.push((part.kind, part.offset, part.length)))?;
        Ok(found)
    }

    #[test]
    fn operations_become_parts_or_are_left_out() {
        let plain = ReplayRules::default();
        let read = operation(Call::Pread, Some(8192), 4096);
        for (operation, expected) in [
            (read, Ok(vec![(OpKind::Read, 8192, 4096)])),
            (operation(Call::UringFdatasync, None, 0), Ok(vec![(OpKind::DataSync, 0, 0)])),
            (operation(Call::Fsync, None, 0), Ok(vec![(OpKind::Sync, 0, 0)])),
            (operation(Call::Write, None, 10), Err(LeftOut::Nowhere)),
            (operation(Call::Pread, Some(0), 0), Err(LeftOut::Failed)),
            (operation(Call::Pread, Some(0), -5), Err(LeftOut::Failed)),
            (operation(Call::Close, None, 0), Err(LeftOut::Calls)),
            (Operation { file: 1, ..read }, Err(LeftOut::Elsewhere)),
            (Operation { file: NO_FILE, ..operation(Call::Sync, None, 0) }, Err(LeftOut::Everywhere)),
            (
                Operation { flags: Flags::DATA_SYNC, ..operation(Call::Pwrite, Some(0), 512) },
                Ok(vec![(OpKind::Write, 0, 512), (OpKind::DataSync, 0, 0)]),
            ),
        ] {
            assert_eq!(translated(&operation, &plain), expected, "{operation:?}");
        }
    }

    #[test]
    fn rules_change_places_and_lengths() {
        let read = operation(Call::Pread, Some(10_000), 5000);
        let rules = ReplayRules { divide_offsets: 2, align_bytes: 512, longest_bytes: 4096, ..ReplayRules::default() };
        assert_eq!(translated(&read, &rules), Ok(vec![(OpKind::Read, 4608, 4096), (OpKind::Read, 8704, 904)]));
        let rules = ReplayRules { skip: [true, false, false, false], ..rules };
        assert_eq!(translated(&read, &rules), Err(LeftOut::Asked));
    }
}
