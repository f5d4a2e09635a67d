//! States are read as they were kept, and other files are refused.

use super::*;
use std::sync::atomic::Ordering;

fn about(path: &str, seed: Option<u64>, durable: bool) -> About {
    About {
        path: path.into(),
        interval_bytes: 512,
        start_bytes: 1024,
        end_bytes: 2500,
        seed,
        runs: vec![1, 2],
        durable,
        options: vec!["verify=crc32c".to_owned(), "ioengine=nvme".to_owned()],
    }
}

#[test]
fn a_state_is_read_as_it_was_kept_and_nothing_else_is_taken_for_one() {
    let folder = std::env::temp_dir().join(format!("iolab-verify-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, verified) = (folder.join("state"), "data\nwith a line");
    for (seed, durable) in [(None, false), (Some(7), false), (Some(7), true)] {
        let about = about(verified, seed, durable);
        let words = if durable { 6 } else { 3 };
        let (region, draft) = create(&path, &about, words).unwrap();
        draft.publish().unwrap();
        assert_eq!(region.len(), HEAD_WORDS + words);
        region[HEAD_WORDS + 1].store(0x8003, Ordering::Relaxed);
        if durable {
            region[HEAD_WORDS + 4].store(3, Ordering::Relaxed);
        }
        let kept = load(&path, Some(Path::new(verified)), 512, 0, durable).unwrap();
        assert_eq!((&kept.about, &kept.words[..]), (&about, &[0, 0x8003, 0][..]));
        assert_eq!(kept.durable, if durable { vec![0, 3, 0] } else { vec![] });
        let bounds: Vec<(u64, u64, CrashBound)> = kept.bounds().collect();
        assert_eq!((bounds[0], bounds[2].1), ((1024, 512, CrashBound::Unknown), 452));
        assert_eq!(matches!(bounds[1].2, CrashBound::MustNotBeOlder { oldest: 3, newest: 4, .. }), durable);
    }
    let open =
        |verified: &str, interval, start, durable| load(&path, Some(Path::new(verified)), interval, start, durable);
    assert!(open(verified, 512, 0, true).is_ok());
    for (other, interval_bytes, start_bytes) in [("data", 512, 0), (verified, 1024, 0), (verified, 512, 8)] {
        assert!(open(other, interval_bytes, start_bytes, false).is_err(), "{other} {start_bytes}");
    }
    assert!(load(&path, None, 512, 0, false).is_ok());
    let plain = about(verified, None, false);
    // A run that is killed before its state is complete leaves the older one.
    drop(create(&path, &plain, 9).unwrap());
    assert_eq!(open(verified, 512, 0, true).unwrap().words.len(), 3);
    create(&path, &plain, 9).unwrap().1.publish().unwrap();
    assert_eq!(open(verified, 512, 0, false).unwrap().words.len(), 9);
    assert!(open(verified, 512, 0, true).unwrap_err().to_string().contains("verify_policy=durable"));
    for foreign in [&b""[..], b"somebody's own", &MAGIC.as_bytes()[1..]] {
        std::fs::write(&path, foreign).unwrap();
        assert!(create(&path, &plain, 1).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), foreign);
        assert!(open(verified, 512, 0, false).is_err());
    }
    std::fs::write(&path, MAGIC).unwrap();
    assert!(open(verified, 512, 0, false).is_err(), "cut off");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_of_one_name_have_states_of_their_own() {
    let mut taken = BTreeSet::new();
    let names = ["a/f", "b/f", "g"].map(|path| free_name(Path::new(path), &mut taken));
    assert_eq!(names, ["local-f-verify.state", "local-f.2-verify.state", "local-g-verify.state"]);
}
