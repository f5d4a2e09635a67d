//! The job files of the studies that this project reproduces.

use iolab_options::{BlockSplit, SplitShare, Value};

use super::good;

#[test]
fn four_interfaces_on_a_virtual_disk() {
    let set = good(
        "[global]\nioengine=spdk\nthreads=1\nrw=randrw\nfilename=trtype=PCIe traddr=0001.10.00.0 ns=1\nblocksize=4kb\n\
         size=4G\ntime_based=1\nramp_time=0\nrunning=\n[test]\nnumjobs=1\n"
            .replace(
                "running=\n",
                "runtime=10\nrefill_buffers=1\nnorandommap=1\ngroup_reporting=1\ndirect=1\nverify=0\n",
            )
            .as_str(),
    );
    let job = &set.jobs[0].settings;
    assert_eq!(job.text("filename"), Some("trtype=PCIe traddr=0001.10.00.0 ns=1"));
    assert_eq!(job.flag("thread"), Some(true));
    assert_eq!(job.sizes("bs"), Some([Some(4096); 3]));
    assert_eq!(
        job.get("size").map(|setting| &setting.value),
        Some(&Value::SizeSpec(iolab_options::SizeSpec::Bytes(4 << 30)))
    );
    assert_eq!(job.time_ns("runtime"), Some(10_000_000_000));
    assert_eq!(job.choice("verify"), Some("none"));
    assert_eq!(set.jobs[0].own.iter().count(), 1);
}

#[test]
fn a_polled_driver_on_a_fast_disk() {
    let set = good(
        "[global]\nioengine=spdk\nthread=1\ngroup_reporting=1\ndirect=1\nverify=0\ntime_based=1\nramp_time=0\n\
         runtime=1800\niodepth=128\nrw=randread\nbs=4k\nmem_size_mb=512\n\n[remote]\n\
         filename=trtype=RDMA adrfam=IPv4 traddr=192.168.100.8 trsvcid=4420 ns=1\nnumjobs=1\n",
    );
    assert_eq!(set.jobs[0].settings.integer("iodepth"), Some(128));
    assert_eq!(set.jobs[0].engine_settings.text("mem_size_mb"), Some("512"));
}

#[test]
fn a_block_device_under_a_file_system() {
    let set = good(
        "[global]\nioengine=libaio\ninvalidate=1\nramp_time=5\nruntime=180\ntime_based\ndirect=1\ngroup_reporting=1\n\
         per_job_logs=0\nbs=8k\nreadwrite=randrw\nsize=40g\niodepth=8\nend_fsync=1\nnumjobs=4\n[ext4]\ndirectory=/mnt\n",
    );
    let job = &set.jobs[0].settings;
    assert_eq!(job.pattern("rw"), Some(("randrw", None, 0)));
    assert_eq!(job.flag("time_based"), Some(true));

    let traced = good(
        "[global]\nrw=randread\nsize=9000\nbs=4090\n[sync]\nioengine=sync\n[psync]\nstonewall\nioengine=psync\n\
         [libaio]\nstonewall\nioengine=libaio\n",
    );
    let stonewalls: Vec<bool> = traced.jobs.iter().map(|job| job.settings.has("stonewall")).collect();
    assert_eq!(stonewalls, [false, true, true]);
}

#[test]
fn a_practical_with_mixes_of_block_sizes() {
    let set = good(
        "[global]\nruntime=60\nnumjobs=1\nrwmixwrite=30\nblocksize=16k\nfilesize=1G\nrw=randrw\ndirect=0\n\
         [split]\nrw=write\nbssplit=4k/30:16k/60:64k/10\n",
    );
    let share = |bytes, percent| BlockSplit { bytes, share: SplitShare::Percent(percent) };
    let expected = vec![share(4096, 30), share(16384, 60), share(65536, 10)];
    assert_eq!(set.jobs[0].settings.splits("bssplit").and_then(|each| each[1].as_ref()), Some(&expected));
    assert_eq!(set.jobs[0].settings.size_ranges("filesize"), Some([Some((1 << 30, 1 << 30)); 3]));
}
