//! The options of `io_uring_cmd`: fio's, and those of the ring that it shares with `io_uring`.

use iolab_engine::OpenError;
use iolab_options::{Choice, DefaultValue, OptionEntry, Settings, SupportStatus, ValueKind};

use super::command::{dword12, opcode};
use super::namespace::GenericNamespace;
use crate::options as ring;

const fn choice(name: &'static str, summary: &'static str) -> Choice {
    Choice { name, aliases: &[], summary }
}

const fn number(name: &'static str, most: i64, default: &'static str, summary: &'static str) -> OptionEntry {
    OptionEntry {
        name,
        kind: ValueKind::Integer { min: 0, max: most },
        default: DefaultValue::Text(default),
        summary,
        accepts: &[("0", "0"), ("64", "64")],
        rejects: &["-1", "x"],
        ..OptionEntry::BLANK
    }
}

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 21] = [
    OptionEntry {
        name: "cmd_type",
        kind: ValueKind::Choice(&[choice("nvme", "NVMe commands")]),
        default: DefaultValue::Text("nvme"),
        summary: "Which driver's commands are sent",
        accepts: &[("nvme", "nvme")],
        rejects: &["scsi"],
        ..OptionEntry::BLANK
    },
    OptionEntry::switch(
        "fixedbufs",
        "Register buffers with the kernel once instead of mapping them for every command",
        "Linux 6.1. If registering fails, plain buffers are used and a note says so.",
    ),
    ring::OPTIONS[1],
    ring::OPTIONS[2],
    ring::OPTIONS[3],
    ring::OPTIONS[4],
    OptionEntry {
        name: "nonvectored",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Name buffers by their addresses instead of vectors",
        details: "0 sends NVME_URING_CMD_IO_VEC with one element, unless the buffers are registered.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    ring::OPTIONS[10],
    ring::OPTIONS[11],
    ring::OPTIONS[12],
    ring::OPTIONS[13],
    ring::OPTIONS[14],
    OptionEntry::switch("readfua", "Set Force Unit Access on reads", "Data comes from the medium, not from a cache."),
    OptionEntry::switch(
        "writefua",
        "Set Force Unit Access on writes",
        "Data is on the medium before a write completes.",
    ),
    OptionEntry {
        name: "write_mode",
        kind: ValueKind::Choice(&[
            choice("write", "Write"),
            choice("uncor", "Write Uncorrectable: later reads of the blocks fail"),
            choice("zeroes", "Write Zeroes: no data is transferred"),
            choice("verify", "Verify: the blocks are read by the device, and nothing is transferred or changed"),
        ]),
        default: DefaultValue::Text("write"),
        summary: "Which command a write becomes",
        accepts: &[("write", "write"), ("uncor", "uncor"), ("zeroes", "zeroes"), ("verify", "verify")],
        rejects: &["read"],
        ..OptionEntry::BLANK
    },
    OptionEntry::switch("deac", "Deallocate the blocks of Write Zeroes", "Only with write_mode=zeroes."),
    OptionEntry {
        name: "verify_mode",
        kind: ValueKind::Choice(&[choice("read", "Read"), choice("compare", "Compare")]),
        default: DefaultValue::Text("read"),
        summary: "Which command a read of the verification becomes",
        status: SupportStatus::Refused("reads of the verification are read commands"),
        accepts: &[("compare", "compare")],
        rejects: &["write"],
        ..OptionEntry::BLANK
    },
    number("md_per_io_size", i32::MAX as i64, "0", "Bytes of separate metadata that each command transfers at most"),
    OptionEntry {
        name: "pi_act",
        kind: ValueKind::Bool,
        default: DefaultValue::Text("1"),
        summary: "Let the device insert and strip protection information",
        details: "Of namespaces formatted with it. 0 transfers it as metadata; iolab does not compute it, so pi_chk must \
                  be empty then.",
        accepts: &[("0", "0"), ("1", "1")],
        rejects: &["2"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "pi_chk",
        kind: ValueKind::Text,
        summary: "What of the protection information the device checks",
        details: "A list of GUARD, APPTAG and REFTAG, separated by commas. Left out: nothing.",
        accepts: &[("GUARD,REFTAG", "GUARD,REFTAG")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "apptag",
        kind: ValueKind::Integer { min: 0, max: 0xffff },
        default: DefaultValue::Text("4660"),
        summary: "Application tag of the protection information",
        details: "All of its bits count (fio's apptag_mask is 65535).",
        accepts: &[("0", "0"), ("4660", "4660")],
        rejects: &["-1", "65536"],
        ..OptionEntry::BLANK
    },
];

/// The job's settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requested {
    pub(crate) ring: ring::Requested,
    /// Opcode of writes, and whether they carry data.
    pub(crate) write: (u8, bool),
    /// Dword 12 of reads and of writes, besides what protection information adds.
    pub(crate) controls: (u32, u32),
    /// Dword 12 where the namespace has protection information.
    pub(crate) protection: u32,
    pub(crate) application_tag: u32,
    pub(crate) metadata_bytes: u32,
    deallocates_without: bool,
}

fn mistake(message: String) -> OpenError {
    OpenError { message, errno: Some(libc::EINVAL) }
}

impl Requested {
    pub(crate) fn of(settings: &Settings) -> Result<Requested, OpenError> {
        let on = |name| settings.flag(name).unwrap_or(false);
        let mode = settings.choice("write_mode").unwrap_or("write");
        let fua = |name| if on(name) { dword12::FUA } else { 0 };
        let (write, write_control) = match mode {
            "uncor" => ((opcode::WRITE_UNCORRECTABLE, false), 0),
            "zeroes" => {
                ((opcode::WRITE_ZEROES, false), fua("writefua") | if on("deac") { dword12::DEALLOCATE } else { 0 })
            }
            "verify" => ((opcode::VERIFY, false), fua("writefua")),
            _ => ((opcode::WRITE, true), fua("writefua")),
        };
        let mut protection = if settings.flag("pi_act").unwrap_or(true) { dword12::PRACT } else { 0 };
        for word in settings.text("pi_chk").unwrap_or("").split(',').map(str::trim).filter(|word| !word.is_empty()) {
            protection |= match word.to_ascii_uppercase().as_str() {
                "GUARD" => dword12::CHECK_GUARD,
                "APPTAG" => dword12::CHECK_APPLICATION_TAG,
                "REFTAG" => dword12::CHECK_REFERENCE_TAG,
                _ => {
                    return Err(mistake(format!(
                        "pi_chk={word}: expected GUARD, APPTAG and REFTAG, separated by commas"
                    )));
                }
            };
        }
        let mut wanted = ring::Requested::of(settings);
        wanted.fixed_buffers = Some(on("fixedbufs"));
        Ok(Requested {
            ring: wanted,
            write,
            controls: (fua("readfua"), write_control),
            protection,
            application_tag: settings.integer("apptag").unwrap_or(0x1234) as u32,
            metadata_bytes: settings.integer("md_per_io_size").unwrap_or(0) as u32,
            deallocates_without: on("deac") && mode != "zeroes",
        })
    }

    /// Whether a namespace supports the requested settings.
    pub(crate) fn fits(&self, namespace: &GenericNamespace) -> Result<(), OpenError> {
        let format = &namespace.format;
        let refused = |what: String| Err(mistake(format!("{}: {what}", namespace.path)));
        if format.metadata_bytes == 0 || format.is_stripped(self.protection) {
            return Ok(());
        }
        if format.is_extended {
            return refused(format!(
                "its blocks have {} bytes of metadata among the data, which iolab does not transfer; format it without",
                format.metadata_bytes
            ));
        }
        if format.protection > 0 && self.protection & !dword12::PRACT != 0 && self.protection & dword12::PRACT == 0 {
            return refused(
                "pi_act=0 with pi_chk needs protection information that iolab does not compute; use pi_act=1".into(),
            );
        }
        if self.metadata_bytes < format.metadata_bytes {
            return refused(format!(
                "its blocks have {} bytes of metadata each: set md_per_io_size to that, times the blocks of an operation",
                format.metadata_bytes
            ));
        }
        Ok(())
    }

    /// Settings without effect.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = "deac=1 has no effect without write_mode=zeroes";
        if self.deallocates_without { vec![note.to_owned()] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::conformance::{ConformanceSetup, Value};

    fn of(pairs: &[(&str, Value)]) -> Result<Requested, OpenError> {
        let setup =
            pairs.iter().fold(ConformanceSetup::default(), |setup, (name, value)| setup.option(name, value.clone()));
        Requested::of(&setup.options)
    }

    #[test]
    fn options_become_opcodes_and_bits() {
        let word = |text: &str| Value::Text(text.to_owned());
        let plain = of(&[]).unwrap();
        assert_eq!((plain.write, plain.controls), ((opcode::WRITE, true), (0, 0)));
        assert_eq!((plain.protection, plain.application_tag), (dword12::PRACT, 0x1234));
        let all = of(&[
            ("readfua", Value::Flag(true)),
            ("writefua", Value::Flag(true)),
            ("write_mode", Value::Choice("zeroes".to_owned())),
            ("deac", Value::Flag(true)),
            ("pi_act", Value::Flag(false)),
            ("pi_chk", word("guard, REFTAG")),
        ]);
        let all = all.unwrap();
        assert_eq!(all.write, (opcode::WRITE_ZEROES, false));
        assert_eq!(all.controls, (dword12::FUA, dword12::FUA | dword12::DEALLOCATE));
        assert_eq!(all.protection, dword12::CHECK_GUARD | dword12::CHECK_REFERENCE_TAG);
        assert!(of(&[("pi_chk", word("CRC"))]).unwrap_err().message.contains("pi_chk=CRC"));
        assert_eq!(of(&[("deac", Value::Flag(true))]).unwrap().notes().len(), 1);
    }
}
