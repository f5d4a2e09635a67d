//! The rules in one table: what each checks, the consequence, what to change.

use crate::facts::Facts;
use crate::rules::{
    RuleMatch, arithmetic, cache, client_cache, damage, ending, host, layers, network, processor, queue, requests,
    samples, schedule, steadiness, stripes,
};

/// One rule.
pub struct Rule {
    /// Its name, as findings carry it.
    pub name: &'static str,
    /// What it checks, in a sentence.
    pub looks_at: &'static str,
    /// The consequence for the figures.
    pub consequence: &'static str,
    /// What to change.
    pub advice: &'static str,
    pub(crate) find: fn(&Facts<'_>) -> Vec<RuleMatch>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "rule {}", self.name)
    }
}

/// All rules. Findings of the same severity are in this order.
pub const RULES: &[Rule] = &[
    Rule {
        name: "interrupted",
        looks_at: "Whether the run finished.",
        consequence: "The run was interrupted: its results cover only the part that ran.",
        advice: "Run it again. A study continues where it stopped: iolab study resume.",
        find: ending::interrupted,
    },
    Rule {
        name: "damaged-data",
        looks_at: "Blocks that were read back by jobs with verify, compared with what they had to be.",
        consequence: "Data was lost or changed between the program and the medium, or the file was not written by this job.",
        advice: "Keep the blocks with verify_dump=1. Look at the kernel's log; try another cable, slot, driver or file system.",
        find: damage::damaged,
    },
    Rule {
        name: "page-cache",
        looks_at: "Bytes that jobs without direct=1 read and wrote, compared with what the block device under their files did.",
        consequence: "Most of this I/O came from the page cache: you measured RAM.",
        advice: "Set direct=1. To measure buffered I/O, use files much larger than RAM, and end_fsync=1 for writes.",
        find: cache::page_cache,
    },
    Rule {
        name: "unwritten-blocks",
        looks_at: "Bytes read with direct=1, compared with what the block device read.",
        consequence: "The file has holes or blocks that were never written. The file system returned zeros without reading the device.",
        advice: "Fill the file before reading it: delete it so that the job creates and fills it, or write it once from start to end.",
        find: cache::unwritten_blocks,
    },
    Rule {
        name: "device-bytes",
        looks_at: "Bytes written with direct=1, compared with what the block device wrote.",
        consequence: "The device wrote less than the job did: a layer in between compressed, merged or cached the data.",
        advice: "Check the layers in between (compression, a cache, a file system without direct I/O), or test the device itself.",
        find: cache::device_bytes,
    },
    Rule {
        name: "cache-beneath",
        looks_at: "Bytes of a device that is built on others (loop, dm, md), compared with the bytes of the devices below it.",
        consequence: "A cache or holes below the device answered: you did not measure the disk.",
        advice: "For a loop device, use losetup --direct-io=on and a file that is fully written. Otherwise test the disk below.",
        find: cache::cache_beneath,
    },
    Rule {
        name: "client-cache",
        looks_at: "Bytes that jobs read from and wrote to storage behind a network, compared with what their connections or mounts carried, and the times of operations, compared with a round trip.",
        consequence: "A cache of this client answered most of these operations: you did not measure the storage.",
        advice: "Switch the cache off: rbd_cache=0, direct=1 for mounts, actimeo=0 for attributes of NFS. Objects and images with holes are read without data, too: write them first.",
        find: client_cache::client_cache,
    },
    Rule {
        name: "fits-in-memory",
        looks_at: "Sizes of files read without direct=1, when there is no block device whose counters could be checked.",
        consequence: "Some or all of these reads may have come from RAM; the recording cannot tell.",
        advice: "Set direct=1, or use files much larger than RAM.",
        find: cache::fits_in_memory,
    },
    Rule {
        name: "array-not-whole",
        looks_at: "Whether software RAIDs below the files have all their disks and are at rest.",
        consequence: "The array read from fewer disks, or worked for itself, so it was not as fast as when it is whole.",
        advice: "Wait until `cat /proc/mdstat` shows no recovery, resync or check, and replace missing disks.",
        find: layers::array_not_whole,
    },
    Rule {
        name: "loop-page-cache",
        looks_at: "Whether loop devices below jobs with direct I/O use the page cache.",
        consequence: "Data went through the page cache of the file below the loop device, although the jobs bypass it.",
        advice: "Make the loop device with losetup --direct-io=on, or run: losetup --direct-io=on /dev/loopN.",
        find: layers::loop_through_cache,
    },
    Rule {
        name: "copied-writes",
        looks_at: "Bytes that layers, or servers on this machine, wrote, compared with what was asked of them.",
        consequence: "Each byte was written more than once below: copies, parity, a log or a journal.",
        advice: "Compare with the number of copies that you expect. The devices below can do that much more than these results show.",
        find: stripes::copied_writes,
    },
    Rule {
        name: "read-modify-write",
        looks_at: "Bytes that the devices below a layer read while the layer was only asked to write.",
        consequence: "The layer read old data before it could write, because the writes did not cover its units.",
        advice: "Write whole stripes: set bs and blockalign to optimal_io_size (iolab doctor FILE shows it), or use copies (RAID 1, RAID 10) for small writes.",
        find: stripes::read_modify_write,
    },
    Rule {
        name: "stripe-misaligned",
        looks_at: "Sizes and offsets of direct I/O, compared with the chunks of striped devices.",
        consequence: "Operations cross from one disk to the next where they need not, so they become more requests than necessary.",
        advice: "Use blocks that divide the chunk or are multiples of it (minimum_io_size), and offsets, partitions and volumes that begin at a chunk.",
        find: stripes::stripe_misaligned,
    },
    Rule {
        name: "server-cache",
        looks_at: "Bytes that servers on this machine read from storage, compared with what jobs read from them.",
        consequence: "The server answered from its memory: this is the speed of the server and of the network, not of its disks.",
        advice: "Use much more data than the server has memory, or drop its cache before the run. If that memory is the storage, nothing is wrong.",
        find: client_cache::server_cache,
    },
    Rule {
        name: "uncounted",
        looks_at: "Whether the block devices count their requests.",
        consequence: "The devices did not count their requests, so these results cannot be checked against them.",
        advice: "Set device.iostats=1, or run: echo 1 > /sys/block/NAME/queue/iostats.",
        find: requests::uncounted,
    },
    Rule {
        name: "littles-law",
        looks_at: "IOPS times mean latency, which gives the operations in flight, compared with the queue depth.",
        consequence: "IOPS and latency contradict each other; do not trust either.",
        advice: "Run again with clocksource=clock_gettime. If this finding stays, it is a bug in iolab: please report it.",
        find: arithmetic::littles_law,
    },
    Rule {
        name: "bandwidth",
        looks_at: "Bytes moved, compared with operations times block size.",
        consequence: "Bandwidth and IOPS contradict each other; do not trust either.",
        advice: "Look for short transfers and errors in the report. If there are none, this is a bug in iolab: please report it.",
        find: arithmetic::bandwidth,
    },
    Rule {
        name: "host-busy",
        looks_at: "CPU time of the whole machine compared with that of the jobs, idle time, and how long tasks waited for a CPU.",
        consequence: "Other programs competed for the CPUs: latencies are higher and rates lower than on an idle machine.",
        advice: "Stop the other programs (`top` lists them), or reserve CPUs for the jobs (cpus_allowed).",
        find: host::host_busy,
    },
    Rule {
        name: "steal",
        looks_at: "CPU time that the hypervisor gave to other virtual machines.",
        consequence: "The hypervisor paused this VM. The pauses appear as latency that the device did not cause.",
        advice: "Run again at a quieter time or on a dedicated machine. Compare settings in a study, which interleaves them.",
        find: host::steal,
    },
    Rule {
        name: "cpu-quota",
        looks_at: "CPU time that quotas of the run's control group and its parents took away (cpu.stat).",
        consequence: "The CPU quota stopped the run again and again. The stops appear as latency that the device did not cause.",
        advice: "Raise or remove the quota (cpu.max, docker run --cpus, systemd's CPUQuota=), or run outside the container.",
        find: host::cpu_quota,
    },
    Rule {
        name: "thermal",
        looks_at: "How often CPUs slowed down because they were too hot (thermal_throttle).",
        consequence: "The CPUs slowed down during the run, so another run may give different results.",
        advice: "Improve the cooling, or let the machine cool down between runs. A lower, fixed CPU frequency makes runs comparable.",
        find: host::thermal,
    },
    Rule {
        name: "network-limit",
        looks_at: "Bytes on the network interfaces compared with their speed, data that waits in the sockets of the run, and round trips compared with the time of an operation.",
        consequence: "The network was the limit: the storage behind it can do more than these results show.",
        advice: "Raise iodepth or the number of connections if round trips are the limit; otherwise use a faster link, or measure at the server.",
        find: network::network_limit,
    },
    Rule {
        name: "network-losses",
        looks_at: "Segments of the run's TCP connections that were sent again or arrived out of order.",
        consequence: "The network lost or reordered data. Each loss delays everything behind it by a round trip or far more.",
        advice: "Look for errors, drops and full queues on the way: ip -s link, ethtool -S, tc -s qdisc.",
        find: network::network_losses,
    },
    Rule {
        name: "server-window",
        looks_at: "The time in which the server's receive window was closed (TCP_INFO).",
        consequence: "The server took data more slowly than it was sent: the server was the limit, not the network.",
        advice: "Nothing is wrong if the storage is to be measured; data also waited in buffers of both ends, so latencies contain that wait.",
        find: network::server_window,
    },
    Rule {
        name: "reconnected",
        looks_at: "Connections that ended and were made anew during the run.",
        consequence: "Connections were replaced while jobs ran; operations meanwhile waited for new ones.",
        advice: "Look into the logs of the server and of what lies between. Servers that close idle connections do so by a time-out.",
        find: network::reconnected,
    },
    Rule {
        name: "other-traffic",
        looks_at: "Bytes that the block device moved in addition to those of the jobs, when all jobs use direct I/O.",
        consequence: "Other programs used the device during the run, so it can do more than these results show.",
        advice: "Stop the other programs (`iotop` lists them), or use a device that nothing else uses.",
        find: host::other_traffic,
    },
    Rule {
        name: "synchronous-engine",
        looks_at: "The requested iodepth, compared with what the engine supports.",
        consequence: "The engine did one operation at a time: these are results for iodepth=1.",
        advice: "Use ioengine=io_uring or libaio to keep several operations in flight, or use numjobs; otherwise remove iodepth.",
        find: queue::synchronous_engine,
    },
    Rule {
        name: "depth-not-reached",
        looks_at: "Operations in flight on average (IOPS times latency), compared with the requested iodepth.",
        consequence: "The queue was never as full as requested: these are results for a smaller iodepth.",
        advice: "Spread the load over more jobs (numjobs). For buffered files, set direct=1. With ioengine=nvme, remove queue_size.",
        find: queue::depth_not_reached,
    },
    Rule {
        name: "submission-blocks",
        looks_at: "The time an asynchronous engine spends submitting operations.",
        consequence: "The kernel finishes each operation before the submission returns, so iodepth has no effect.",
        advice: "For files, set direct=1. For devices that use the caller's CPU (RAM disks), use numjobs instead of iodepth.",
        find: queue::submission_blocks,
    },
    Rule {
        name: "tool-bound",
        looks_at: "The cost of iolab's own loop, measured before the run, compared with the time per operation.",
        consequence: "iolab's own work takes a large part of each operation: the device can do more than these results show.",
        advice: "Spread the load over more jobs (numjobs), use larger blocks, or take fewer time stamps (gtod_reduce=1).",
        find: processor::tool_bound,
    },
    Rule {
        name: "cpu-bound",
        looks_at: "CPU time of the workers compared with their run time, when they do not poll.",
        consequence: "The CPU is the limit, not the device.",
        advice: "Spread the load over more jobs (numjobs) on free CPUs, or use larger blocks.",
        find: processor::cpu_bound,
    },
    Rule {
        name: "shared-core",
        looks_at: "CPUs that workers running at the same time are bound to.",
        consequence: "Several workers shared one CPU, so each waited while another ran; their latencies include that wait.",
        advice: "Give each worker its own CPU: list as many CPUs as jobs in cpus_allowed, and set cpus_allowed_policy=split.",
        find: processor::shared_core,
    },
    Rule {
        name: "more-workers-than-cpus",
        looks_at: "The number of workers running at the same time and their CPU time, compared with the number of CPUs.",
        consequence: "There were more workers than CPUs, so workers waited for a CPU as well as for the device.",
        advice: "Use fewer jobs, each with a larger iodepth.",
        find: processor::more_workers_than_cpus,
    },
    Rule {
        name: "rate-not-reached",
        looks_at: "The requested rate, compared with the rate that was sent.",
        consequence: "The run did not reach the requested rate. Response times grow as long as the run lasts and describe the backlog.",
        advice: "Request a lower rate. If the device can do more, raise iodepth or numjobs.",
        find: schedule::rate_not_reached,
    },
    Rule {
        name: "generator-late",
        looks_at: "The part of response time in which the device was ready but iolab sent the operation late.",
        consequence: "iolab sent operations late: part of the response time is iolab's, not the device's.",
        advice: "Keep a CPU free for the job (cpus_allowed), or compare lat instead of response.",
        find: schedule::generator_late,
    },
    Rule {
        name: "clock",
        looks_at: "The clock that time stamps come from, and what a stamp costs.",
        consequence: "Reading the clock takes a noticeable part of each operation.",
        advice: "Use a machine with an invariant TSC, or take fewer time stamps (gtod_reduce=1).",
        find: schedule::clock,
    },
    Rule {
        name: "cliff",
        looks_at: "The rate over time: a drop from which it did not recover.",
        consequence: "The average mixes a fast phase and a slow one. Longer runs will show mostly the slow one.",
        advice: "Run longer, with a ramp_time that ends after the drop. For steady-state results, precondition the device.",
        find: steadiness::cliff,
    },
    Rule {
        name: "drift",
        looks_at: "The rate over time: its trend, and its first third compared with its last.",
        consequence: "The rate was still changing: a longer run gives different results.",
        advice: "Run longer, or set a ramp_time that excludes the start.",
        find: steadiness::drift,
    },
    Rule {
        name: "too-short",
        looks_at: "The length of the measured part.",
        consequence: "The run was too short: start-up and shutdown make up most of the result.",
        advice: "Set time_based and a runtime of at least a few seconds.",
        find: samples::too_short,
    },
    Rule {
        name: "too-few-samples",
        looks_at: "How many samples lie beyond each printed percentile (at least ten are needed).",
        consequence: "Too few samples for these percentiles: another run would give different ones.",
        advice: "Run longer, or print only the lower percentiles (percentile_list).",
        find: samples::too_few_samples,
    },
    Rule {
        name: "requests-split",
        looks_at: "Requests of the block device, compared with the operations of jobs with direct I/O.",
        consequence: "The kernel split operations: the device received requests smaller than the block size.",
        advice: "Use blocks of at most max_sectors_kb, or raise it (device.max_sectors_kb). If max_segments is the limit, use huge pages (mem=mmaphuge). Fragmented files are split, too.",
        find: requests::split,
    },
    Rule {
        name: "requests-merged",
        looks_at: "Requests that the kernel merged before they reached the device.",
        consequence: "The kernel merged operations: the device received fewer, larger requests than the block size suggests.",
        advice: "Set device.nomerges=2 to send requests unmerged, or use random offsets.",
        find: requests::merged,
    },
    Rule {
        name: "volatile-cache",
        looks_at: "The device's write cache, and whether the job flushes it.",
        consequence: "The device may have confirmed writes before they were durable.",
        advice: "If durability matters, set fdatasync=1, sync=dsync or end_fsync=1.",
        find: requests::volatile_cache,
    },
    Rule {
        name: "no-device",
        looks_at: "Whether a block device was found below the files of direct I/O.",
        consequence: "There are no device counters to check whether the I/O reached a device.",
        advice: "Use a block device, or a file system on one. Overlays, network file systems and tmpfs have no device of their own.",
        find: cache::no_device,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::between::BETWEEN_RUNS;
    use crate::many_hosts::BETWEEN_HOSTS;
    use crate::reference::all_words;

    #[test]
    fn names_are_unique_and_every_text_is_a_sentence() {
        let mut names: Vec<&str> = all_words().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len() + BETWEEN_RUNS.len() + BETWEEN_HOSTS.len());
        for rule in all_words() {
            for text in [rule.looks_at, rule.consequence, rule.advice] {
                assert!(text.ends_with('.'), "{}: {text}", rule.name);
            }
        }
    }
}
