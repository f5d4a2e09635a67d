//! Options of SPDK's perf that iolab does not need or does not have. They are parsed so that
//! command lines written for that tool run, or are refused with a reason instead of as unknown.

/// Each is hidden in `--help`.
#[derive(Debug, clap::Args)]
pub(crate) struct SpdkWords {
    /// Size of an SGL element
    #[arg(short = 'O', long, hide = true)]
    io_unit_size: Option<String>,
    /// Queue pairs that are opened and not used
    #[arg(short = 'U', long, hide = true)]
    num_unused_qpairs: Option<String>,
    /// Alignment of buffers
    #[arg(short = 'A', long, hide = true)]
    buffer_alignment: Option<u64>,
    /// Memory for hugepages
    #[arg(long, hide = true)]
    hugemem_size: Option<String>,
    /// One segment of memory
    #[arg(short = 'g', long, hide = true)]
    mem_single_seg: bool,
    /// No hugepages
    #[arg(long, hide = true)]
    no_huge: bool,
    /// Several processes with one memory
    #[arg(short = 'i', long, hide = true)]
    shmem_grp_id: Option<String>,
    /// Protection information
    #[arg(short = 'e', long, hide = true)]
    metadata: Option<String>,
    /// The bus addresses that may be used
    #[arg(short = 'b', long, hide = true)]
    allowed_pci_addr: Vec<String>,
    /// VMD
    #[arg(short = 'V', long, hide = true)]
    enable_vmd: bool,
    /// No submission queue in the controller's memory
    #[arg(short = 'D', long, hide = true)]
    disable_sq_cmb: bool,
    /// Kind of socket
    #[arg(short = 'S', long, hide = true)]
    default_sock_impl: Option<String>,
    /// Zero copy
    #[arg(short = 'z', long, hide = true)]
    disable_zcopy: Option<String>,
    /// Zero copy
    #[arg(short = 'Z', long, hide = true)]
    enable_zcopy: Option<String>,
    /// Keep alive timer
    #[arg(short = 'k', long, hide = true)]
    keepalive: Option<String>,
    /// Latencies that an SSD of Intel keeps
    #[arg(short = 'l', long, hide = true)]
    enable_ssd_latency_tracking: bool,
    /// Load of processors while it runs
    #[arg(short = 'm', long, hide = true)]
    cpu_usage: bool,
    /// Statistics of transports
    #[arg(long, hide = true)]
    transport_stats: bool,
    /// Log flags
    #[arg(short = 'T', long, hide = true)]
    logflag: Vec<String>,
    /// Trace flags
    #[arg(short = 'y', long, hide = true)]
    trace: Option<String>,
    /// No shutdown notification
    #[arg(short = 'N', long, hide = true)]
    no_shst_notification: bool,
    /// How bus addresses are chosen
    #[arg(long, hide = true)]
    iova_mode: Option<String>,
    /// Devices of the same node only
    #[arg(long, hide = true)]
    enforce_numa: bool,
    /// Token of a virtual function
    #[arg(long, hide = true)]
    vfio_vf_token: Option<String>,
    /// Words for DPDK
    #[arg(long, hide = true)]
    env_context: Option<String>,
    /// Keys of TLS
    #[arg(long, hide = true)]
    psk_path: Option<String>,
    /// Service type of RDMA
    #[arg(long, hide = true)]
    tos: Option<String>,
}

/// Buffers are aligned to pages.
const PAGE_BYTES: u64 = 4096;

impl SpdkWords {
    /// Why the command cannot be run: the first option that would change what is measured.
    pub(crate) fn refusal(&self) -> Option<String> {
        let alignment = self.buffer_alignment.filter(|bytes| *bytes > PAGE_BYTES || !bytes.is_power_of_two());
        let reasons = [
            (self.io_unit_size.is_some(), "-O: data is one piece of memory, so there are no elements to size; omit it"),
            (alignment.is_some(), "-A: buffers begin at pages, so an alignment is a power of two up to 4096"),
            (self.shmem_grp_id.is_some(), "-i: several processes cannot share a controller; use -c with several cores"),
            (self.metadata.is_some(), "-e: protection information is not made or checked; omit it"),
            (
                !self.allowed_pci_addr.is_empty(),
                "-b: only devices named by -r are opened: -r 'trtype:PCIe traddr:0000:06:00.0'",
            ),
            (self.enable_vmd, "-V: devices behind VMD are not found; turn VMD off in the firmware's set-up"),
            (
                self.default_sock_impl.is_some() || self.psk_path.is_some(),
                "-S and --psk-path: there is one kind of socket, without TLS; omit them",
            ),
            (self.keepalive.is_some(), "-k: the keep alive timer is fixed; omit it"),
            (
                self.enable_ssd_latency_tracking,
                "-l: a drive's own latency log is not read; -L prints the latencies seen here",
            ),
            (self.tos.is_some(), "--tos: the type of service of RDMA connections is the adapter's; omit it"),
            (self.vfio_vf_token.is_some(), "--vfio-vf-token: virtual functions with a token cannot be opened"),
        ];
        reasons.into_iter().find(|(given, _)| *given).map(|(_, reason)| reason.to_owned())
    }

    /// The given options that have no effect, each with the reason.
    pub(crate) fn without_effect(&self) -> Vec<&'static str> {
        let memory = self.hugemem_size.is_some() || self.mem_single_seg || self.no_huge || self.iova_mode.is_some();
        let reasons = [
            (memory, "memory comes from the kernel as needed: options for hugepages and addresses have no effect"),
            (self.num_unused_qpairs.is_some(), "-U has no effect: queue pairs are opened when they are used"),
            (self.disable_sq_cmb, "-D has no effect: queues never lie in the controller's memory"),
            (
                self.disable_zcopy.is_some() || self.enable_zcopy.is_some(),
                "-z and -Z have no effect: the kernel copies what goes through sockets",
            ),
            (
                self.cpu_usage || self.transport_stats,
                "-m and --transport-stats have no effect: --json and the recording have the processor's time",
            ),
            (
                !self.logflag.is_empty() || self.trace.is_some() || self.env_context.is_some(),
                "-T, -y and --env-context have no effect: they are for SPDK's libraries",
            ),
            (self.no_shst_notification, "-N has no effect: controllers are always shut down in order"),
            (self.enforce_numa, "--enforce-numa has no effect: use -c with cores of the device's node"),
        ];
        reasons.into_iter().filter(|(given, _)| *given).map(|(_, reason)| reason).collect()
    }
}
