//! Messages between cores under a model checker (loom): every order in which a sending core, and a
//! receiving one that goes to sleep, can act, and every value that a weakly ordered processor may
//! show them.
//!
//! The sources of the messages and of the executor's ready list are compiled here again, with
//! loom's channel, atomics and threads. In the canary a fence does nothing.

mod sync;

#[path = "../../src/domains/messages.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is modelled, and nobody is outside of a test")]
mod messages;
#[path = "../../../../base/executor/src/ready.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
mod ready;

use std::task::{Context, Poll, Waker};

use iolab_executor::Driver;
use iolab_logfs::Error;
use messages::{Message, MessageReceiver};
use ready::{Queue, Ready, Token};
use sync::{model, model_without_fences};

/// A device without requests.
#[derive(Debug, Clone)]
struct Disk;

impl Disk {
    fn under_way(&self) -> usize {
        0
    }

    fn turn(&self, _wait: bool) {}
}

/// The number of the task that receives.
const READER: usize = 7;

/// A core that reads `messages` messages as `Executor::run` would: it polls the reader while that
/// is ready; otherwise it lets the driver run, which sleeps.
fn read(receiver: &MessageReceiver<()>, messages: usize) -> Vec<u64> {
    let ready = std::sync::Arc::<Ready>::default();
    let mut queue = Queue::new(&ready);
    let token = Token::new(READER, &ready);
    let waker = Waker::from(std::sync::Arc::clone(&token));
    waker.wake_by_ref();
    let (mut driver, mut batch, mut seen) = (receiver.driver(&Disk), Vec::new(), Vec::new());
    loop {
        queue.take(&mut batch);
        for _ in batch.drain(..) {
            token.seen();
            while let Poll::Ready(message) = receiver.next(&Context::from_waker(&waker)) {
                let Message::Answer { token, .. } = message else { panic!("only answers are sent") };
                seen.push(token);
            }
        }
        if seen.len() == messages {
            return seen;
        }
        driver.turn(queue.is_empty());
    }
}

/// `cores` other cores send a message each. A lost message leaves the reader asleep.
fn messages_from(cores: u64) {
    let (sender, receiver) = MessageReceiver::<()>::new();
    let posting: Vec<_> = (0..cores)
        .map(|token| {
            let sender = sender.clone();
            loom::thread::spawn(move || {
                sender.send(Message::Answer { token, answer: Box::new(()) }).unwrap();
                sync::thread::has_posted();
            })
        })
        .collect();
    let mut seen = read(&receiver, cores as usize);
    seen.sort_unstable();
    assert_eq!(seen, (0..cores).collect::<Vec<u64>>());
    for posting in posting {
        posting.join().unwrap();
    }
}

#[test]
fn no_message_is_lost() {
    model(1, messages_from);
    model(2, messages_from);
}

/// The canary.
#[test]
#[should_panic = "a message is lost"]
fn mail_without_fences_is_found_out() {
    model_without_fences(1, messages_from);
}
