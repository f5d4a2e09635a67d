//! The words that a run's main thread and its workers share, under a model checker (loom): every
//! order in which the two can act on them, and every value that a weakly ordered processor may show
//! them.
//!
//! The source is compiled here again, over loom's atomics and a sleep without a time limit. The
//! canary compiles it over atomics that order nothing.
#![allow(clippy::duplicate_mod, reason = "the source is compiled twice: over loom, and as the canary")]

mod modelled;
mod sound;
mod unordered;

use iolab_recording::State;
use loom::sync::Arc;
use sound::control::{Control, GATE_RUN, GATE_SET_UP, Order};

/// Runs `main` as the main thread and `worker` beside it.
fn model(main: impl Fn(&Control) + Sync + Send + 'static, worker: fn(&Control)) {
    loom::model(move || {
        let control = Arc::new(Control::new(1).unwrap());
        let shared = control.clone();
        let thread = loom::thread::spawn(move || worker(&shared));
        main(&control);
        thread.join().unwrap();
    });
}

#[test]
fn a_worker_passes_its_gates_and_knows_the_origin() {
    let open_both = |control: &Control| {
        control.open_gate(0, GATE_SET_UP);
        control.set_origin(7);
        control.open_gate(0, GATE_RUN);
    };
    model(open_both, |control| {
        assert_eq!(control.worker_control(0).wait_for_gate(GATE_SET_UP), Order::None);
        assert_eq!(control.worker_control(0).wait_for_gate(GATE_RUN), Order::None);
        assert_eq!(control.worker_control(0).origin_ns(), 7);
    });
}

#[test]
fn an_order_wakes_a_worker_at_its_gate() {
    model(
        |control| control.order(0, Order::Finish),
        |control| {
            assert_eq!(control.worker_control(0).wait_for_gate(GATE_SET_UP), Order::Finish);
        },
    );
}

#[test]
fn an_order_is_not_lost_by_a_gate_that_opens() {
    let order_and_open = |control: &Control| {
        control.order(0, Order::Interrupt);
        control.open_gate(0, GATE_SET_UP);
    };
    model(order_and_open, |control| {
        assert_eq!(control.worker_control(0).wait_for_gate(GATE_RUN), Order::Interrupt);
    });
}

#[test]
fn the_end_of_a_worker_wakes_the_main_thread() {
    let wait = |control: &Control| {
        loop {
            let seen = control.rings();
            if control.state(0) == State::Done {
                break;
            }
            control.wait_for_change(seen, 1);
        }
    };
    model(wait, |control| {
        control.worker_control(0).set_state(State::Ready);
        control.worker_control(0).set_state(State::Done);
    });
}

/// Whether half-published progress can ever be seen.
macro_rules! progress_is_whole {
    ($control:ty) => {{
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let control = Arc::new(<$control>::new(1).unwrap());
            let shared = control.clone();
            let worker = loom::thread::spawn(move || shared.worker_control(0).publish(&[1; 3], &[1; 3], 1));
            let (ios, bytes, measured_ns) = control.progress(0);
            assert!([ios, bytes] == [[measured_ns; 3]; 2], "half published");
            worker.join().unwrap();
        });
    }};
}

#[test]
fn progress_is_seen_whole() {
    progress_is_whole!(crate::sound::control::Control);
}

/// The canary.
#[test]
#[should_panic = "half published"]
fn a_sequence_lock_without_order_is_found_out() {
    progress_is_whole!(crate::unordered::control::Control);
}
