//! The screen on a terminal that is only memory.

use std::collections::BTreeMap;

use iolab_histogram::Histogram;
use iolab_iostat::DataUnit;
use iolab_recording::{DeviceCounters, DeviceSample, RequestInterval};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::super::looks::Look;
use super::super::state::{Key, State};
use super::super::work::{Work, tests as works};

/// A look at `sda`, which reads much, and `sdb`, which writes a little.
fn look(second: u64, traced: bool) -> Look {
    let sample =
        |counters| DeviceSample { at_ns: second * 1_000_000_000, counters, reads_in_flight: 3, writes_in_flight: 4 };
    let sda = DeviceCounters { read_ios: 1000 * second, read_sectors: 204_800 * second, ..DeviceCounters::default() };
    let sdb = DeviceCounters { write_ios: 20 * second, write_sectors: 2048 * second, ..DeviceCounters::default() };
    let mut histogram = Histogram::new();
    histogram.add_many(150_000, 1000);
    histogram.add(7_000_000);
    let requests = RequestInterval { read_ns: histogram.to_sparse(), lost_events: 2, ..RequestInterval::default() };
    Look {
        at_ns: second * 1_000_000_000,
        devices: vec![("sda".into(), sample(sda)), ("sdb".into(), sample(sdb))],
        requests: if traced { vec![("sda".into(), requests)] } else { Vec::new() },
        ..Look::default()
    }
}

fn state(traced: bool) -> State {
    let mut state = State::new("lab".into(), DataUnit::Megabytes);
    let settings = |_: &str| BTreeMap::from([("scheduler".to_owned(), "[kyber]".to_owned())]);
    (1..5).for_each(|second| state.take(look(second, traced), settings));
    state
}

fn drawn(state: &State) -> Vec<String> {
    drawn_on(state, 150, 40)
}

fn drawn_on(state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| super::screen(frame, state)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |row| (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    (0..height).map(line).collect()
}

#[test]
fn a_small_terminal_shows_less_and_cuts_nothing_through() {
    for (width, height) in [(200, 50), (80, 24), (50, 15), (30, 8), (20, 5), (3, 2), (1, 1)] {
        let lines = drawn_on(&state(true), width, height);
        if width >= 30 {
            let (sda, text) = row_of(&lines, "sda");
            let shown = text.split_whitespace().nth(1).unwrap();
            assert_eq!(shown, "3r4w", "{width}: {lines:#?}");
            let has_reads = lines[sda - 1].contains(" r/s");
            assert_eq!(text.contains(" 1000.00 "), has_reads, "{width}: {lines:#?}");
            assert!(lines[sda - 1].contains("%util"), "{width}: {lines:#?}");
        }
    }
    let narrow = drawn_on(&state(true), 80, 24);
    assert!(narrow.iter().any(|line| line.contains("100 µs")), "{narrow:#?}");
    let nothing = drawn(&State::new("lab".into(), DataUnit::Kilobytes)).join(" ");
    assert!(nothing.contains("No device to show"), "{nothing}");
}

fn row_of<'a>(lines: &'a [String], name: &str) -> (usize, &'a String) {
    lines
        .iter()
        .enumerate()
        .find(|(_, line)| line.starts_with(name))
        .unwrap_or_else(|| panic!("no {name} in {lines:#?}"))
}

#[test]
fn the_table_and_the_course_of_the_first_device() {
    let lines = drawn(&state(false));
    assert!(lines[0].starts_with("iolab watch on lab"), "{lines:#?}");
    let (sda, text) = row_of(&lines, "sda");
    assert!(text.contains("3r4w") && text.contains("1000.00") && text.contains("100.00"), "{text}");
    assert!(row_of(&lines, "sdb").0 == sda + 1);
    let whole = lines.join("\n");
    for expected in [
        "rMB/s",
        " MB/s ━ read 100.00 ━ written 0.00 ",
        "request tracing is off",
        "Off because",
        "scheduler [kyber]",
        "q leave",
        "now",
        "-60 s",
    ] {
        assert!(whole.contains(expected), "{expected}: {lines:#?}");
    }
}

#[test]
fn traced_requests_are_a_heat_map() {
    let lines = drawn(&state(true));
    let whole = lines.join("\n");
    assert!(whole.contains("latency of each request, 6 events lost"), "{lines:#?}");
    let row =
        |label: &str| lines.iter().find(|line| line.contains(label)).unwrap_or_else(|| panic!("{label}: {lines:#?}"));
    assert!(row("100 µs ").contains("███"), "the many: {lines:#?}");
    assert!(row("  5 ms ").contains('░'), "the one that was slow: {lines:#?}");
    assert!(!row(" 20 ms ").contains('░'), "{lines:#?}");
}

#[test]
fn keys_sort_select_explain_and_leave() {
    let mut state = state(false);
    assert!(state.press(Key::Down));
    assert_eq!(state.selected.as_deref(), Some("sdb"));
    assert!(drawn(&state).join("\n").contains("━ written 1.00"));
    // By w/s, the seventh column: sdb writes.
    (0..7).for_each(|_| assert!(state.press(Key::NextColumn)));
    let lines = drawn(&state);
    assert!(row_of(&lines, "sdb").0 < row_of(&lines, "sda").0, "{lines:#?}");
    assert!(state.press(Key::Reverse));
    let lines = drawn(&state);
    assert!(row_of(&lines, "sda").0 < row_of(&lines, "sdb").0, "{lines:#?}");
    assert!(state.press(Key::Unit) && drawn(&state).join("\n").contains("rkB/s"));
    assert!(state.press(Key::Help) && drawn(&state).join("\n").contains("iolab explain COLUMN"));
    assert!(state.press(Key::Down) && !drawn(&state).join("\n").contains("iolab explain COLUMN"));
    assert_eq!(state.selected.as_deref(), Some("sdb"), "the help is scrolled, nothing else");
    assert!(state.press(Key::Up) && drawn(&state).join("\n").contains("iolab explain COLUMN"));
    // The first closes the help, the second leaves.
    assert!(state.press(Key::Leave) && !state.press(Key::Leave));
}

/// A look at two disks and an optical drive that nobody uses; the busy one is not the first.
#[test]
fn the_screen_begins_on_the_busiest_device() {
    let look = |second: u64, busy: u64| {
        let idle = DeviceSample { at_ns: second * 1_000_000_000, ..DeviceSample::default() };
        let counters = |ms| DeviceCounters {
            read_ios: 10 * second,
            read_sectors: 800 * second,
            io_ticks_ms: ms,
            ..DeviceCounters::default()
        };
        let disk = |ms| DeviceSample { counters: counters(ms), ..idle };
        Look {
            at_ns: second * 1_000_000_000,
            devices: vec![("fd0".into(), idle), ("vda".into(), disk(900 * second)), ("vdb".into(), disk(busy))],
            ..Look::default()
        }
    };
    let mut state = State::new("lab".into(), DataUnit::Kilobytes);
    // Since boot, vda was used most; now it is vdb.
    state.take(look(10, 100), |_| BTreeMap::new());
    assert_eq!(state.selected.as_deref(), Some("vda"));
    state.take(look(11, 100 + 1000), |_| BTreeMap::new());
    assert_eq!(state.selected.as_deref(), Some("vdb"));
    // A device selected by the user stays selected.
    state.take(look(12, 100 + 1000), |_| BTreeMap::new());
    assert_eq!(state.selected.as_deref(), Some("vdb"));
    assert!(state.press(Key::Up));
    assert_eq!(state.selected.as_deref(), Some("vda"));
    state.take(look(13, 100 + 2000), |_| BTreeMap::new());
    assert_eq!(state.selected.as_deref(), Some("vda"));
}

/// Larger terminals show more, with axes and legends, and nothing but the margin stays empty.
#[test]
fn a_large_terminal_shows_more_charts() {
    for (width, height, charts) in [(80, 24, 1), (120, 40, 3), (200, 60, 4)] {
        let whole = drawn_on(&state(true), width, height).join("\n");
        let names = [" MB/s ━ read", " IOPS ━ read", " queue ━ aqu-sz", " % busy ━ %util"];
        let shown = names.iter().filter(|name| whole.contains(*name)).count();
        assert!(shown >= charts, "{width}x{height}: {shown} charts: {whole}");
        for word in ["now", "requests: ", "latency of each request"] {
            assert!(whole.contains(word), "{word} at {width}x{height}: {whole}");
        }
    }
    let tall = drawn_on(&state(true), 200, 60).join("\n");
    assert!(tall.contains("1.5 ms ") && tall.contains("700 µs "), "finer rows: {tall}");
}

#[test]
fn columns_go_round_and_pauses_hold() {
    let mut state = state(false);
    assert!(state.press(Key::LastColumn));
    assert_eq!(state.sorted_by, Some(State::columns().count() - 1));
    assert!(state.press(Key::NextColumn));
    assert_eq!(state.sorted_by, None);
    assert!(state.press(Key::Pause));
    state.take(look(9, false), |_| BTreeMap::new());
    assert_eq!(state.devices[0].course.len(), 3);
    assert!(drawn(&state)[0].contains("PAUSED"));
}

#[test]
fn any_size_of_terminal_will_do() {
    for (width, height) in [(1, 1), (5, 3), (20, 6), (80, 24), (300, 100)] {
        for traced in [false, true] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            let mut state = state(traced);
            terminal.draw(|frame| super::screen(frame, &state)).unwrap();
            state.press(Key::Help);
            terminal.draw(|frame| super::screen(frame, &state)).unwrap();
        }
    }
    let nothing = State::new("lab".into(), DataUnit::Kilobytes);
    assert!(drawn(&nothing)[0].contains("lab"));
}

#[test]
fn a_run_has_its_jobs_above_the_devices_and_their_charts_on_the_left() {
    let mut state = state(false);
    let mut work = Work::new(&works::plan(), true);
    work.standing = "3.0 s, 30 %".to_owned();
    (0..4).for_each(|second| work.interval(0, &works::interval(second, 1000 + second)));
    state.work = Some(work);
    let lines = drawn(&state);
    let whole = lines.join("\n");
    assert!(lines[0].starts_with("iolab run on lab  3.0 s, 30 %"), "{lines:#?}");
    let (job, text) = row_of(&lines, "a  ");
    assert!(
        text.contains("read") && text.contains("1002.0") && text.contains("4.10") && text.contains("4006"),
        "{text}"
    );
    assert!(row_of(&lines, "sda").0 > job, "{lines:#?}");
    let charts = lines.iter().find(|line| line.contains("IOPS ━ read 1002.00 ━ write 0.00")).expect("the job's chart");
    assert!(charts.starts_with('┌'), "on the left: {charts}");
    assert!(whole.contains(" MB/s ━ read 100.00") && whole.contains("Ctrl-C end the run"), "{lines:#?}");
    state.devices.clear();
    let alone = drawn(&state).join("\n");
    assert!(alone.contains("IOPS ━ read 1002.00") && !alone.contains("No device to show"), "{alone}");
    for (width, height) in [(200, 50), (80, 24), (50, 15), (30, 8), (20, 5), (3, 2), (1, 1)] {
        assert_eq!(drawn_on(&state, width, height).len(), usize::from(height));
    }
}
