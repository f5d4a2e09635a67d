//! Log files have one line per operation or window, whoever runs the job, contain nothing of the
//! ramp, and losses are reported.

use std::path::Path;

use crate::support::{Lab, TinyDisk};
use iolab_clock::Clock;

/// The columns of a log, as numbers.
fn lines(lab: &Lab, name: &str) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(lab.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.lines().map(|line| line.split(',').map(|column| column.trim().parse().unwrap()).collect()).collect()
}

fn ascending(lines: &[Vec<u64>]) -> bool {
    lines.windows(2).all(|pair| pair[0][0] <= pair[1][0])
}

#[test]
fn one_line_for_each_operation() {
    for thread in [0, 1] {
        let lab = Lab::new();
        lab.job(&format!(
            "[a]\nioengine=io_uring\niodepth=4\nrw=randrw\nsize=512k\nthread={thread}\nnumjobs=2\nlog_offset=1\n\
             write_lat_log=l\nwrite_bw_log=b\nwrite_iops_log=i\n"
        ))
        .ended(0, "");
        let recording = lab.recording();
        for (job, worker) in recording.workers.iter().enumerate() {
            for name in ["l_lat", "l_clat", "l_slat", "b_bw", "i_iops"] {
                let all = lines(&lab, &format!("{name}.{}.log", job + 1));
                assert!(ascending(&all), "{name}");
                for direction in 0..2 {
                    let of_direction = all.iter().filter(|line| line[2] == direction as u64);
                    assert_eq!(of_direction.count() as u64, worker.directions[direction].ios, "{name} {direction}");
                }
                assert!(
                    all.iter().all(|line| line.len() >= 5 && line[3] == 4096 && line[4] < 512 << 10),
                    "{:?}",
                    all[0]
                );
            }
            let latencies = lines(&lab, &format!("l_lat.{}.log", job + 1));
            let sum: u64 = latencies.iter().map(|line| line[1]).sum();
            let recorded: u128 = worker.directions.iter().map(|direction| direction.lat.sum).sum();
            assert_eq!(u128::from(sum), recorded);
        }
    }
}

#[test]
fn windows_hold_means_or_maxima_and_add_up() {
    for (more, thread) in [("", 0), ("log_max_value=1\n", 1)] {
        let lab = Lab::new();
        lab.job(&format!(
            "[a]\nioengine=null\nrw=read\nsize=1g\nruntime=550ms\ntime_based\nlog_avg_msec=100\nthread={thread}\n\
             write_lat_log=l\nwrite_bw_log=b\nwrite_iops_log=i\n{more}"
        ))
        .ended(0, "");
        let worker = lab.recording().workers.remove(0);
        let bandwidth = lines(&lab, "b_bw.1.log");
        // On a machine that stalls for a while, windows in which nothing completed have no line;
        // those that have one account for everything. Only the last may be shorter than 100 ms.
        assert!((2..=6).contains(&bandwidth.len()), "{bandwidth:?}");
        let started_ms = worker.started_ns / 1_000_000;
        let length_ms = |end_ms: u64| (end_ms - started_ms - 1) % 100 + 1;
        let kib: f64 = bandwidth.iter().map(|line| line[1] as f64 * length_ms(line[0]) as f64 / 1000.0).sum();
        let total_kib = worker.directions[0].bytes as f64 / 1024.0;
        assert!((kib / total_kib - 1.0).abs() < 0.05, "{kib} of {total_kib} KiB");
        assert_eq!(lines(&lab, "i_iops.1.log").len(), bandwidth.len());
        let latencies = lines(&lab, "l_lat.1.log");
        // A mean is less than the largest latency, unless a window has one operation. The last
        // is shorter, and may have one on a machine that stalls.
        let judged = latencies.iter().filter(|line| !more.is_empty() || length_ms(line[0]) == 100);
        let largest = judged.map(|line| line[1]).max().unwrap();
        assert_eq!(largest == worker.directions[0].lat.max, !more.is_empty(), "{latencies:?}");
    }
}

#[test]
fn times_since_the_epoch() {
    let lab = Lab::new();
    let now_ms = || Clock::monotonic().unix_ns() / 1_000_000;
    let before_ms = now_ms();
    lab.job("[a]\nioengine=psync\nrw=write\nsize=64k\nwrite_lat_log=l\nlog_unix_epoch=1\nwrite_hist_log=h\nlog_hist_msec=1000\n")
        .ended(0, "");
    let after_ms = now_ms();
    for line in lines(&lab, "l_lat.1.log").iter().chain(&lines(&lab, "h_clat_hist.1.log")) {
        assert!((before_ms..=after_ms).contains(&line[0]), "{before_ms} {line:?} {after_ms}");
    }
}

#[test]
fn histograms_count_every_operation() {
    let lab = Lab::new();
    lab.job("[a]\nioengine=null\nrw=randrw\nsize=1g\nruntime=350ms\ntime_based\nwrite_hist_log=h\nlog_hist_msec=100\nlog_hist_coarseness=3\n")
        .ended(0, "");
    let worker = lab.recording().workers.remove(0);
    let all = lines(&lab, "h_clat_hist.1.log");
    for direction in 0..2 {
        let of_direction = all.iter().filter(|line| line[1] == direction as u64);
        let counted: u64 = of_direction.map(|line| line[3..].iter().sum::<u64>()).sum();
        assert_eq!(counted, worker.directions[direction].ios);
    }
    assert!(ascending(&all) && all.len() >= 6);
}

#[test]
fn the_ramp_is_not_logged() {
    let lab = Lab::new();
    lab.job(
        "[a]\nioengine=null\nrw=read\nsize=1g\nramp_time=300ms\nruntime=200ms\ntime_based\nrate_iops=1000\nwrite_lat_log=l\n\
         write_hist_log=h\nlog_hist_msec=50\n",
    )
    .ended(0, "");
    let worker = lab.recording().workers.remove(0);
    let all = lines(&lab, "l_lat.1.log");
    assert_eq!(all.len() as u64, worker.directions[0].ios);
    assert!(all[0][0] >= 300, "{:?}", all[0]);
    assert!(worker.histogram_log.iter().all(|line| line.time_ns >= 300_000_000));
}

#[test]
fn jobs_share_a_log_when_they_are_told_to() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("logs")).unwrap();
    lab.job("[a]\nioengine=null\nsize=64k\nnumjobs=3\nper_job_logs=0\nwrite_lat_log=logs/l\n").ended(0, "");
    assert_eq!(lines(&lab, "logs/l_lat.log").len(), 48);
    assert!(!Path::new(&lab.path("logs/l_lat.1.log")).exists());
    // A second run begins anew.
    lab.job("[a]\nioengine=null\nsize=64k\nnumjobs=3\nper_job_logs=0\nwrite_lat_log=logs/l\n").ended(0, "");
    assert_eq!(lines(&lab, "logs/l_lat.log").len(), 48);
}

#[test]
fn all_logs_of_an_operation_tell_of_the_same() {
    let lab = Lab::new();
    lab.job(
        "[a]\nioengine=io_uring\niodepth=8\nrw=randrw\nbsrange=1k-8k\nsize=4m\nlog_offset=1\nlog_issue_time=1\nwrite_lat_log=l\n\
         write_bw_log=b\nwrite_iops_log=i\n",
    )
    .ended(0, "");
    let [lat, clat, slat, bandwidth, iops] =
        ["l_lat", "l_clat", "l_slat", "b_bw", "i_iops"].map(|name| lines(&lab, &format!("{name}.1.log")));
    assert!(lat.len() > 500);
    for (index, lat) in lat.iter().enumerate() {
        let (clat, slat) = (&clat[index], &slat[index]);
        assert_eq!(clat[1] + slat[1], lat[1]);
        assert_eq!(bandwidth[index][1], lat[3] * 1_000_000 / lat[1].max(1));
        assert_eq!(iops[index][1], 1);
        // Time, value, direction, bytes, offset, priority, issue time: value and issue time differ
        // between the logs.
        for other in [clat, slat, &bandwidth[index], &iops[index]] {
            assert_eq!((other[0], &other[2..6]), (lat[0], &lat[2..6]));
        }
        assert_eq!((clat[6], lat[6]), (slat[6], 0));
        assert_eq!((clat[6] + lat[1]) / 1_000_000, lat[0]);
    }
}

#[test]
fn entries_that_find_no_room_are_counted_and_the_run_goes_on() {
    let lab = Lab::new();
    let Some(disk) = TinyDisk::mount(512) else { return };
    for thread in [0, 1] {
        lab.file("job.fio", format!("[a]\nioengine=null\nsize=1g\nthread={thread}\nwrite_lat_log=l\n"));
        let done = lab
            .run_with(["run", "job.fio", "--output-format=json", "--record=it.iolab"], &[("TMPDIR", disk.path("."))]);
        done.ended(1, "log entries were lost while spooling: No space left on device");
        let worker = lab.recording().workers.remove(0);
        assert_eq!(worker.directions[0].ios, 1 << 18);
        let note = worker.notes.iter().find(|note| note.contains("lost")).unwrap();
        let lost: u64 = note.split(' ').next().unwrap().parse().unwrap();
        let kept: usize =
            ["lat", "clat", "slat"].iter().map(|kind| lines(&lab, &format!("l_{kind}.1.log")).len()).sum();
        assert_eq!(kept as u64 + lost, 3 << 18);
        assert!(kept > 5000, "{kept}");
    }
}

#[test]
fn the_sum_of_all_jobs() {
    let lab = Lab::new();
    lab.file("job.fio", "[a]\nioengine=null\nrw=read\nsize=1g\nruntime=300ms\ntime_based\nnumjobs=2\n");
    lab.run(["run", "job.fio", "--bandwidth-log", "--output-format=terse"]).ended(0, "");
    assert!(!lines(&lab, "agg-read_bw.log").is_empty());
}
