//! Keeping a panic within the worker in which it happens.
//!
//! The panic is answered by the panic hook, before anything unwinds: published programs abort on
//! panics, which makes them a fifth smaller.

use std::any::Any;
use std::cell::RefCell;
use std::convert::Infallible;
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Once;

/// What to do when the thread panics: it gets the message and does not return.
type Answer = Box<dyn FnOnce(String) -> Infallible>;

thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
}

/// Does `work` on the calling thread. If it panics, the message is printed, and `answer` gets the
/// message. Since `answer` does not return, nothing that `work` held is released: locks that were
/// taken stay taken.
pub(crate) fn contained<T>(answer: impl FnOnce(String) -> Infallible + 'static, work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            print(panic);
            let answer = ANSWER.try_with(|answer| answer.try_borrow_mut().ok().and_then(|mut answer| answer.take()));
            if let Ok(Some(answer)) = answer {
                match answer(message(panic.payload())) {}
            }
        }));
    });
    ANSWER.set(Some(Box::new(answer)));
    let value = work();
    ANSWER.set(None);
    value
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_panic_is_answered_on_its_thread_and_goes_no_further() {
        let (sender, receiver) = mpsc::channel();
        let unharmed = sender.clone();
        std::thread::spawn(move || {
            let answer = move |message| {
                sender.send(message).unwrap();
                loop {
                    std::thread::park();
                }
            };
            contained(answer, || panic!("on the {}rd operation", 3));
        });
        assert_eq!(receiver.recv().unwrap(), "on the 3rd operation");
        // Another thread has its own answer, and none after its work.
        let other = std::thread::spawn(move || {
            let value = contained(
                move |message| {
                    unharmed.send(message).unwrap();
                    loop {
                        std::thread::park()
                    }
                },
                || 7,
            );
            (value, ANSWER.take().is_none())
        });
        assert_eq!(other.join().unwrap(), (7, true));
        assert!(receiver.try_recv().is_err(), "work that does not panic is not answered");
    }
}
