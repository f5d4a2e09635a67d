//! Engines of fio that iolab does not have, and why: a job file that names one is told so, instead
//! of that the name is unknown.

/// Names that share a reason, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsentEngines {
    /// As fio has them.
    pub names: &'static [&'static str],
    /// Why they are absent, and what there is instead.
    pub why: &'static str,
}

/// All of them.
pub const ABSENT_ENGINES: &[AbsentEngines] = &[
    AbsentEngines {
        names: &["dev-dax", "libpmem", "mtd", "pmemblk"],
        why: "for kinds of memory that hardly a machine has",
    },
    AbsentEngines {
        names: &["librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server"],
        why: "for persistent memory of other hosts, and no longer developed",
    },
    AbsentEngines {
        names: &["dfs", "ime_aio", "ime_psync", "ime_psyncv", "libhdfs"],
        why: "remote systems by their own C libraries; mount them",
    },
    AbsentEngines { names: &["e4defrag"], why: "defragments ext4, which is no measurement" },
    AbsentEngines {
        names: &["external", "cpp_null"],
        why: "engines are built in; fio's have the layout of its own structures",
    },
    AbsentEngines {
        names: &["rdma"],
        why: "attach the device to the kernel, or use `nvme` with trtype=RDMA, which reaches a target's namespaces",
    },
    AbsentEngines {
        names: &["libblkio", "libcufile", "libhipfile", "libzbc", "xnvme"],
        why: "need C libraries; `nvme`, `io_uring_cmd` and `sg` reach the same drives",
    },
    AbsentEngines { names: &["netsplice"], why: "`net` sends the same data without splice(2)" },
    AbsentEngines { names: &["page_fault"], why: "no data moves; `mmap` reads and writes mapped files" },
];

/// Why an engine is absent; `None` if fio has none of this name, either.
pub(crate) fn why_absent(name: &str) -> Option<&'static str> {
    ABSENT_ENGINES.iter().find(|absent| absent.names.contains(&name)).map(|absent| absent.why)
}
