//! Keeping a panic within the worker in which it happens.
//!
//! Optimised programs abort on panics, which makes them smaller and sooner built. There, the panic
//! hook ends the worker, because nothing can be caught.

#[cfg(any(panic = "abort", test))]
use std::cell::RefCell;

/// Does `work` on the calling thread and returns its value. If it panics, the message is printed,
/// and `answer` gets the message and makes the value. Where panics abort, `answer` is called before
/// anything is released, and then the thread waits for the end of the program.
pub(crate) fn contained<T>(answer: impl FnOnce(String) -> T + 'static, work: impl FnOnce() -> T) -> T {
    #[cfg(not(panic = "abort"))]
    return std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|panic| answer(message(&*panic)));
    #[cfg(panic = "abort")]
    answered_by_hook(answer, work)
}

/// What the panic hook calls on the thread that panics.
#[cfg(any(panic = "abort", test))]
type Answer = Box<dyn FnOnce(String)>;

#[cfg(any(panic = "abort", test))]
thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
}

/// [`contained`] without catching. No hook can be set or taken any more while an answer waits.
#[cfg(any(panic = "abort", test))]
fn answered_by_hook<T>(answer: impl FnOnce(String) -> T + 'static, work: impl FnOnce() -> T) -> T {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            print(panic);
            let answer = ANSWER.try_with(|answer| answer.try_borrow_mut().ok().and_then(|mut answer| answer.take()));
            if let Ok(Some(answer)) = answer {
                answer(message(panic.payload()));
                loop {
                    std::thread::park();
                }
            }
        }));
    });
    ANSWER.set(Some(Box::new(|message| drop(answer(message)))));
    let value = work();
    ANSWER.set(None);
    value
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::mpsc::channel;

    #[test]
    fn a_panic_is_answered_with_its_message() {
        assert_eq!(contained(|message| message, || panic!("on operation {}", 3)), "on operation 3");
        assert_eq!(contained(|message| message, || "done".to_owned()), "done");
    }

    /// Runs itself in another process, because a test program cannot end while its hook waits. That
    /// process ends with status 23 if all is well, with 24 if anything unwinds.
    #[test]
    fn the_hook_answers_before_anything_unwinds() {
        const INSIDE: &str = "IOLAB_TEST_OF_THE_HOOK";
        if std::env::var_os(INSIDE).is_some() {
            with_the_hook();
        }
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "--nocapture", "containment::tests::the_hook_answers_before_anything_unwinds"]);
        let ended = program.env(INSIDE, "1").output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(23), "{errors}");
        assert!(errors.contains("on operation 3"), "{errors}");
    }

    fn with_the_hook() -> ! {
        struct Unwound;
        impl Drop for Unwound {
            fn drop(&mut self) {
                iolab_process::exit_now(24)
            }
        }
        let (sender, receiver) = channel();
        std::thread::spawn(|| {
            answered_by_hook(
                move |message| sender.send(message).unwrap(),
                || {
                    let _unwound = Unwound;
                    panic!("on operation {}", 3)
                },
            );
        });
        assert_eq!(receiver.recv().unwrap(), "on operation 3");
        let other = std::thread::spawn(|| (answered_by_hook(|_| 0, || 7), ANSWER.take().is_none()));
        assert_eq!(other.join().unwrap(), (7, true), "another thread works on and has no answer afterwards");
        iolab_process::exit_now(23)
    }
}
