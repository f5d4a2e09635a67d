//! Tests of restored state, and of files that are refused.

use super::*;

const NEW: Origin = Origin { device: 1, inode: 2, is_new: true };
const KEPT: Origin = Origin { is_new: false, ..NEW };

fn config(text: &str) -> Config {
    Config::parse(text).unwrap()
}

#[test]
fn what_is_stored_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.state");
    let config = config("size=16M namespaces=3 zone=1M");
    let (state, restored) = StateFile::open(&path, &config, KEPT).unwrap();
    assert!(!restored);
    state.namespace(2).store(3, 0xff_ffff_ffff);
    state.zones(0).store(15, 7);
    state.zones(2).store(0, 0);
    state.flush().unwrap();
    drop(state);
    let (state, restored) = StateFile::open(&path, &config, KEPT).unwrap();
    assert!(restored);
    assert_eq!(state.namespace(2).load(3).unwrap(), 0xff_ffff_ffff);
    assert_eq!(state.zones(0).load(15).unwrap(), 7);
    assert_eq!(state.zones(2).load(0).unwrap(), 0);
    assert!(state.zones(1).load(3).is_err(), "never stored");
    drop(state);
    let (_, restored) = StateFile::open(&path, &config, NEW).unwrap();
    assert!(!restored, "new data have no state");
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["disk.state"], "nothing unfinished is left");
}

#[test]
fn what_was_made_for_a_drive_is_known_by_device_and_inode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.state");
    let config = config("size=16M");
    assert_eq!(data_made_for(&path), None, "there is no state");
    drop(StateFile::open(&path, &config, KEPT).unwrap());
    assert_eq!(data_made_for(&path), None, "the data were there before");
    drop(StateFile::open(&path, &config, NEW).unwrap());
    assert_eq!(data_made_for(&path), Some((1, 2)));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[ORIGIN_AT + 8] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(data_made_for(&path), None, "damaged");
}

#[test]
fn links_and_pipes_are_not_followed_and_a_file_cut_off_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let (path, precious) = (folder.path().join("disk.state"), folder.path().join("precious"));
    let config = config("size=16M zone=1M");
    std::fs::write(&precious, "years of work").unwrap();
    for number in 0..2 {
        let unfinished = folder.path().join(format!("disk.state.new-{}-{number}", std::process::id()));
        std::os::unix::fs::symlink(&precious, unfinished).unwrap();
    }
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    assert!(StateFile::open(&path, &config, NEW).is_err());
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    assert!(StateFile::open(&path, &config, KEPT).is_err());
    std::fs::remove_file(&path).unwrap();
    let (state, _) = StateFile::open(&path, &config, NEW).unwrap();
    assert_eq!(std::fs::read(&precious).unwrap(), b"years of work");
    OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    state.zones(0).store(3, 1);
    assert!(state.flush().unwrap_err().to_string().contains("cut off"));
    assert!(state.zones(0).load(3).is_err());
}

#[test]
fn foreign_torn_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.state");
    let plain = config("size=16M zone=1M");
    let refusal = |config: &Config, is_new| match StateFile::open(&path, config, Origin { is_new, ..NEW }) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    };
    let (state, _) = StateFile::open(&path, &plain, KEPT).unwrap();
    for zone in 0..16 {
        state.zones(0).store(zone, 1);
    }
    drop(state);
    let good = std::fs::read(&path).unwrap();
    assert!(refusal(&config("size=16M"), false).contains("no zones"));
    assert!(refusal(&config("size=16M zone=2M"), false).contains("zones of 1048576 bytes"));

    std::fs::write(&path, &good[..good.len() - 8]).unwrap();
    assert!(refusal(&plain, false).contains("does not match its header"));
    let mut other = good.clone();
    other[8] = 9;
    std::fs::write(&path, &other).unwrap();
    assert!(refusal(&plain, false).contains("header is damaged"));
    for foreign in [&b"years of work, and much longer than any header would have to be"[..], b"", b"IOLAB"] {
        std::fs::write(&path, foreign).unwrap();
        for new in [false, true] {
            let said = refusal(&plain, new);
            assert!(said.contains("not a state file of a virtual SSD") && said.contains("disk.state"), "{said}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), foreign, "it is left as it is");
    }
    // Tests a torn cell, and a cell that was moved to another place.
    let at = CELLS_AT + NAMESPACE_CELLS * 8;
    let mut torn = good.clone();
    torn[at..at + 4].fill(0);
    let mut moved = good.clone();
    moved.copy_within(at + 8..at + 16, at);
    for broken in [torn, moved] {
        std::fs::write(&path, &broken).unwrap();
        let (state, _) = StateFile::open(&path, &plain, KEPT).unwrap();
        assert!(state.zones(0).load(0).unwrap_err().to_string().contains("checksum"));
        assert_eq!(state.zones(0).load(1).unwrap(), 1);
    }
}
