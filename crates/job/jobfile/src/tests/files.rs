//! The grammar of job files: sections, globals, comments, includes, several files.

use super::{good, parse_texts};
use crate::JobSet;

fn depths(set: &JobSet) -> Vec<Option<i64>> {
    set.jobs.iter().map(|job| job.settings.integer("iodepth")).collect()
}

#[test]
fn globals_hold_for_the_jobs_below_them() {
    let set = good("[a]\n[global]\niodepth=2\n[b]\n[globalmore]\niodepth=3\nbs=8k\n[c]\niodepth=4\n[d]\n");
    assert_eq!(depths(&set), [None, Some(2), Some(4), Some(3)]);
    assert_eq!(set.global.integer("iodepth"), Some(3));
    assert_eq!(set.jobs[2].own.iter().count(), 1);
}

#[test]
fn comments_blanks_and_line_ends_do_not_matter() {
    let set = good(
        "\u{feff}; first\r\n  # second\r\n[global]\r\n  iodepth = 7 ; here too\r\n\r\n[a b]\r\nrw=read # all\r\n\tthread\r\n",
    );
    assert_eq!(depths(&set), [Some(7)]);
    assert_eq!(set.jobs[0].name, "a b");
    assert_eq!(set.jobs[0].settings.flag("thread"), Some(true));
    assert_eq!(set.jobs[0].settings.get("iodepth").map(|setting| setting.text.as_str()), Some("7"));
}

#[test]
fn the_last_of_equal_options_wins() {
    let set = good("[a]\niodepth=2\nblocksize=8k\niodepth=3\nbs=16k\n");
    assert_eq!(depths(&set), [Some(3)]);
    assert_eq!(set.jobs[0].settings.sizes("bs"), Some([Some(16384); 3]));
}

#[test]
fn each_file_begins_anew_and_is_marked() {
    let set = parse_texts(&["[global]\niodepth=2\n[a]\n[b]\n", "[c]\n[d]\n", "", "[global]\niodepth=5\n[e]\n"]);
    let set = set.unwrap_or_default();
    assert_eq!(depths(&set), [Some(2), Some(2), None, None, Some(5)]);
    let begins: Vec<bool> = set.jobs.iter().map(|job| job.begins_file).collect();
    assert_eq!(begins, [false, false, true, false, true]);
    assert_eq!(set.jobs[4].source, 3);
    assert_eq!(set.sources.len(), 4);
}

#[test]
fn includes_stand_for_their_lines() {
    let set = good("[global]\ninclude nested.inc\n[a]\niodepth=9\n");
    assert_eq!(depths(&set), [Some(9)]);
    assert_eq!(set.jobs[0].settings.sizes("bs"), Some([Some(8192); 3]));
    assert_eq!(set.jobs[0].settings.flag("direct"), Some(true));
    let place = set.jobs[0].settings.get("bs").map(|setting| (setting.source, setting.span));
    assert_eq!(place, Some((2, (0, 5))));
    assert_eq!(set.sources[2].0, "common.inc");
}

#[test]
fn kb_base_holds_for_its_whole_section() {
    let set = good("[global]\nbs=4k\n[a]\nsize=1k\nkb_base=1000\nbs=1ki\n[b]\nsize=1k\n");
    assert_eq!(set.jobs[0].settings.sizes("bs"), Some([Some(1024); 3]));
    let sizes: Vec<_> = set.jobs.iter().map(|job| job.settings.size_spec("size")).collect();
    let bytes = |bytes| Some(iolab_options::SizeSpec::Bytes(bytes));
    assert_eq!(sizes, [bytes(1000), bytes(1024)]);
}

#[test]
fn variables_keywords_and_arithmetic() {
    let set = good(
        "[a]\nsize=${SIZE}\nio_size=10*1000*$mb_memory\nnumjobs=$ncpus\nbs=2*$pagesize,$pagesize\nruntime=(2*3s)\nfilename_format=$jobname.$filenum\ndescription=x${UNSET}y\n",
    );
    let job = &set.jobs[0].settings;
    let bytes = |bytes| Some(iolab_options::SizeSpec::Bytes(bytes));
    assert_eq!(job.size_spec("size"), bytes(10 << 30));
    assert_eq!(job.size_spec("io_size"), bytes(10_000_000));
    assert_eq!(job.integer("numjobs"), Some(4));
    assert_eq!(job.sizes("bs"), Some([Some(8192), Some(4096), Some(4096)]));
    assert_eq!(job.time_ns("runtime"), Some(6_000_000_000));
    assert_eq!(job.text("filename_format"), Some("$jobname.$filenum"));
    assert_eq!(job.text("description"), Some("xy"));
    assert_eq!(job.get("size").map(|setting| setting.text.as_str()), Some("10g"));
}

#[test]
fn spans_cover_the_option_and_the_header() {
    let text = "[first]\nrw = randread\n";
    let set = good(text);
    let (begin, end) = set.jobs[0].settings.get("rw").map(|setting| setting.span).unwrap_or_default();
    assert_eq!(&text[begin..end], "rw = randread");
    let (begin, end) = set.jobs[0].span;
    assert_eq!(&text[begin..end], "[first]");
}

#[test]
fn a_comment_without_a_blank_is_pointed_out() {
    let set = good("[a]\nexec_prerun=sync;sleep 1\nrw=read ; fine\n");
    assert_eq!(set.jobs[0].settings.text("exec_prerun"), Some("sync"));
    assert_eq!(set.warnings.len(), 1);
    let (begin, end) = set.warnings[0].span;
    assert_eq!(&set.sources[0].1[begin..end], ";sleep 1");
}

#[test]
fn comments_may_hold_any_bytes() {
    let files = [crate::Input { name: "x".to_owned(), bytes: b"; caf\xe9\n[a]\niodepth=2 # \xff\n".to_vec() }];
    let request = crate::ParseRequest { files: &files, ..crate::ParseRequest::default() };
    let set = crate::parse(&request, &crate::test_surroundings::Fixed).unwrap_or_default();
    assert_eq!(depths(&set), [Some(2)]);
}
