//! The random load on disks that are not simulated: a file through io_uring, and a virtual SSD
//! behind the user-space NVMe driver.

use iolab_disk::{BlockDevice, Caching, DiskOptions, Geometry, LaneDisk, open_disk};
use iolab_engine::{Engine, LaneRequest, SlotPool, TargetFile};
use iolab_engine_nvme::{Nvme, NvmeLane};
use iolab_executor::ReadyOrder;
use iolab_logfs::Repair;
use iolab_memory::Backing;
use iolab_options::Settings;

use crate::rig::load::{perform, step};
use crate::rig::model::{Model, difference, snapshot};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, small_memory};

const SIZE: u64 = 90 * CLUSTER as u64;

/// Random steps with remounts in between, each time on the disk that `open` returns.
fn load(mut open: impl FnMut() -> Box<dyn BlockDevice>) {
    let mut random = Random(5);
    let mut model = Model::new();
    Bench::new(open(), ReadyOrder::Fair).mkfs();
    for round in 0..4 {
        let mut bench = Bench::new(open(), ReadyOrder::Fair);
        let fs = bench.try_open(small_memory()).unwrap_or_else(|error| panic!("round {round}: {error}")).0;
        let found = bench.run(snapshot(&fs));
        assert_eq!(difference(&found, &model.snapshot()), None, "round {round}, after opening");
        for _ in 0..250 {
            let step = step(&mut random, &model, 60_000);
            // No space is an answer like others, and the model expects it.
            let _answer = bench.run(perform(&fs, &mut model, &step));
        }
        bench.run(fs.close()).unwrap();
        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound(), "round {round}: {report:?}");
    }
}

#[test]
fn a_file_by_io_uring_or_plain_calls() {
    for depth in [1, 64] {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(SIZE).unwrap();
        let opening =
            DiskOptions { depth, caching: Caching::PageCache, block_bytes: Some(BLOCK), ..DiskOptions::default() };
        load(|| open_disk(file.path(), &opening).unwrap().0);
    }
}

/// A lane on a drive inside this process, which keeps its blocks in a file between openings.
fn drive(file: &std::path::Path) -> LaneDisk<NvmeLane> {
    let name = format!("trtype=VIRT model=ideal media=file:{} size={SIZE} lba={BLOCK}", file.display());
    let files = [TargetFile { path: name.into(), fd: -1, size_bytes: SIZE, is_block_device: true }];
    let pool = SlotPool::new(8, 32 << 10, 0, &Backing::Memfd).unwrap();
    let options = Settings::default();
    let open = |buffers| {
        Nvme::open(&LaneRequest {
            files: &files,
            depth: 8,
            buffers,
            options: &options,
            direct: true,
            seed: 1,
            worker: 0,
        })
    };
    let geometry = Geometry { size_bytes: SIZE, block_bytes: BLOCK };
    LaneDisk::new(pool, geometry, open).unwrap_or_else(|error| panic!("{}", error.message))
}

#[test]
fn a_virtual_ssd_behind_the_nvme_driver() {
    // The drive keeps its state in a second file beside the one of its data.
    let folder = tempfile::tempdir().unwrap();
    load(|| Box::new(drive(&folder.path().join("data"))));
}
