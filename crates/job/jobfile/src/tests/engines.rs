//! Options that belong to engines.

use super::{bad, good};

#[test]
fn order_within_a_section_does_not_matter() {
    for text in [
        "[a]\nhipri\nioengine=io_uring\n",
        "[a]\nioengine=uring\nhipri=1\n",
        "[global]\nhipri\n[a]\nioengine=io_uring\n",
    ] {
        let set = good(text);
        assert_eq!(set.jobs[0].engine_settings.flag("hipri"), Some(true), "{text}");
        assert!(!set.jobs[0].settings.has("hipri"), "{text}");
    }
}

#[test]
fn a_global_engine_option_goes_to_the_engines_that_have_it() {
    let set = good("[global]\nioengine=io_uring\nhipri\nnonvectored=1\n[a]\nnonvectored=0\n[b]\nioengine=null\n");
    assert_eq!(set.jobs[0].engine_settings.integer("nonvectored"), Some(0));
    assert_eq!(set.jobs[0].engine_settings.flag("hipri"), Some(true));
    assert!(set.jobs[1].engine_settings.is_empty());
}

#[test]
fn the_job_table_comes_before_the_engine() {
    let set = good("[a]\nioengine=io_uring\niodepth=4\n");
    assert_eq!(set.jobs[0].settings.integer("iodepth"), Some(4));
    assert!(set.jobs[0].engine_settings.is_empty());
}

#[test]
fn options_of_other_engines_are_refused_with_their_name() {
    let found = bad("[a]\nioengine=null\nsqthread_poll=1\n");
    assert_eq!(found[0].0, "sqthread_poll");
    assert!(found[0].2.contains("io_uring"), "{found:?}");
    let found = bad("[global]\nsqthread_poll\n[a]\nioengine=null\n[b]\n");
    assert_eq!((found.len(), found[0].0.as_str()), (1, "sqthread_poll"));
}

#[test]
fn bad_values_of_global_engine_options_are_reported_once() {
    let found = bad("[global]\nioengine=io_uring\nnonvectored=7\n[a]\n[b]\n");
    assert_eq!((found.len(), found[0].0.as_str()), (1, "7"));
}

#[test]
fn options_beside_an_unknown_engine_are_only_doubted() {
    let set = good("[a]\nioengine=external:/x.so\nspecial=1\n");
    assert_eq!(set.warnings.len(), 1);
}
