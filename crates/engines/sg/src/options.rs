//! The engine's own options.

use iolab_engine::OpenError;
use iolab_options::{Choice, DefaultValue, OptionEntry, Settings, SupportStatus, ValueKind};

use crate::command::{self, FUA, Opcode};

const fn bit(name: &'static str, summary: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind: ValueKind::Bool,
        default: DefaultValue::Text("0"),
        summary,
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    }
}

const fn mode(name: &'static str, aliases: &'static [&'static str], summary: &'static str) -> Choice {
    Choice { name, aliases, summary }
}

/// The options of `sg`.
pub(crate) const SG_OPTIONS: &[OptionEntry] = &[
    bit("readfua", "Set FUA (force unit access) in reads"),
    bit("writefua", "Set FUA (force unit access) in writes"),
    OptionEntry {
        name: "sg_write_mode",
        kind: ValueKind::Choice(&[
            mode("write", &[], "WRITE"),
            mode("write_and_verify", &["verify"], "WRITE AND VERIFY: the device reads back what it has written"),
            mode("write_same", &["same"], "WRITE SAME: the device repeats the first block"),
            mode("write_same_ndob", &[], "WRITE SAME(16) without data: the device writes zeroes"),
            mode("verify_bytchk_00", &[], "VERIFY of the medium, without data"),
            mode("verify_bytchk_01", &[], "VERIFY against the data"),
            mode("verify_bytchk_11", &[], "VERIFY against the first block of the data, repeated"),
        ]),
        default: DefaultValue::Text("write"),
        summary: "Command that writes become",
        details: "With write_stream, which needs stream_id, such a job is refused: iolab opens no streams of SCSI drives.",
        accepts: &[("write", "write"), ("verify", "write_and_verify"), ("same", "write_same")],
        rejects: &["write_stream", "1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "stream_id",
        kind: ValueKind::Integer { min: 0, max: 65_535 },
        default: DefaultValue::Text("0"),
        summary: "Stream of WRITE STREAM commands",
        status: SupportStatus::Refused("iolab opens no streams of SCSI drives"),
        accepts: &[("0", "0"), ("7", "7")],
        rejects: &["-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        status: SupportStatus::NoEffect("the kernel's sg driver does not know the flag, and ignores it"),
        ..OptionEntry::switch("hipri", "Poll for completions", "")
    },
];

/// The command of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteCommand {
    pub(crate) opcode: Opcode,
    pub(crate) flags: u8,
    pub(crate) data: WrittenData,
}

/// The data that a write carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenData {
    All,
    FirstBlock,
    Nothing,
}

/// What the options say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) read_flags: u8,
    pub(crate) write: WriteCommand,
}

impl Asked {
    pub(crate) fn of(settings: &Settings) -> Result<Asked, OpenError> {
        let fua = |name: &str| if settings.flag(name).unwrap_or(false) { FUA } else { 0 };
        let mode = settings.choice("sg_write_mode").unwrap_or("write");
        let (opcode, flags, data) = match mode {
            "write" => (command::WRITE, fua("writefua"), WrittenData::All),
            "write_and_verify" => (command::WRITE_AND_VERIFY, 0, WrittenData::All),
            "write_same" => (command::WRITE_SAME, 0, WrittenData::FirstBlock),
            "write_same_ndob" => (command::WRITE_SAME_WITHOUT_DATA, 1, WrittenData::Nothing),
            "verify_bytchk_00" => (command::VERIFY, 0, WrittenData::Nothing),
            "verify_bytchk_01" => (command::VERIFY, 2, WrittenData::All),
            "verify_bytchk_11" => (command::VERIFY, 6, WrittenData::FirstBlock),
            other => {
                let message = format!("sg_write_mode={other} is not a command that writes can become");
                return Err(OpenError { message, errno: Some(libc::EINVAL) });
            }
        };
        Ok(Asked { read_flags: fua("readfua"), write: WriteCommand { opcode, flags, data } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::conformance::{ConformanceSetup, Value};

    #[test]
    fn every_mode_has_its_command() {
        let ValueKind::Choice(modes) = SG_OPTIONS[2].kind else { panic!("a choice") };
        for mode in modes {
            let setup = ConformanceSetup::default()
                .option("sg_write_mode", Value::Choice(mode.name.to_owned()))
                .option("writefua", Value::Flag(true))
                .option("readfua", Value::Flag(true));
            let asked = Asked::of(&setup.options).unwrap();
            assert_eq!(asked.read_flags, FUA);
            assert_eq!(asked.write.flags & FUA != 0, mode.name == "write", "{}", mode.name);
        }
    }
}
