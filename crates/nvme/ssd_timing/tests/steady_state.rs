//! The example `steady_state`: the same drives give the same files, and the stored picture matches
//! the numbers stored with it.
#![allow(missing_docs, reason = "a test has no public documentation")]

#[path = "../examples/steady_state/curves.rs"]
mod curves;
#[path = "../examples/steady_state/picture.rs"]
mod picture;

use iolab_ssd_timing::Preset;
use iolab_ssd_timing::study::Overwriting;

fn small(seed: u64) -> String {
    let how = Overwriting {
        depth: 32,
        write_bytes: 4096,
        drive_writes: 3,
        points_per_drive_write: 2,
        seed,
        fill_first: false,
    };
    let rows = curves::measure(Preset::named("sata-tlc").unwrap(), 160 << 20, &[7, 28], &how).unwrap();
    assert_eq!(rows.len(), 12);
    curves::to_csv(&rows)
}

#[test]
fn the_same_seed_gives_the_same_numbers_and_the_same_picture() {
    let text = small(1);
    assert_eq!(text, small(1));
    assert_ne!(text, small(2));
    let rows = curves::of_csv(&text).unwrap();
    assert_eq!(curves::to_csv(&rows), text, "read as it was written");
    let (little, much) = rows.split_at(6);
    assert_eq!((little[0].spare_percent, much[0].spare_percent), (7, 28));
    assert!(little[5].write_amplification > much[5].write_amplification + 0.5, "{text}");
    assert_eq!(picture::draw(&rows), picture::draw(&rows));
}

#[test]
fn what_is_no_such_table_is_not_read() {
    let text = small(1);
    for broken in ["", "preset\n970pro\n", &text.replace("iops", "rate"), &text.replace("sata-tlc,7", "sata-tlc,x")] {
        assert_eq!(curves::of_csv(broken), None, "{broken}");
    }
}

#[test]
fn the_picture_that_is_kept_is_that_of_the_numbers_beside_it() {
    let csv = include_str!("../../../../docs/images/write-amplification.csv");
    let svg = include_str!("../../../../docs/images/write-amplification.svg");
    let rows = curves::of_csv(csv).unwrap();
    assert!(rows.len() > 100);
    assert!(
        picture::draw(&rows) == svg,
        "docs/images/write-amplification.svg is not what its CSV shows: \
         cargo run --release -p iolab-ssd-timing --example steady_state -- docs/images"
    );
}

/// The picture has information for readers who cannot see it or its colours.
#[test]
fn the_picture_speaks_and_does_not_rely_on_colour() {
    let svg = picture::draw(&curves::of_csv(&small(1)).unwrap());
    let count = |part: &str| svg.matches(part).count();
    assert_eq!((count("<title id=\"title\">"), count("<desc id=\"desc\">")), (1, 1));
    assert!(svg.contains("aria-labelledby=\"title desc\"") && svg.contains("prefers-color-scheme: dark"));
    assert_eq!((count("<polyline"), count(">7 % spare<"), count(">28 % spare<")), (4, 2, 2), "a label at each line");
    assert_eq!(count("stroke-dasharray: 9"), 2, "the second and third line are dashed, each in its way");
    let opened = count("<text") + count("<title") + count("<desc") + count("<style") + count("<svg");
    assert_eq!(count("</"), opened);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}
