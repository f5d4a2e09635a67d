//! The interface by which an activity informs the user.

/// The user who watches. Several threads may use it.
pub trait Console: Sync {
    /// A message, a line or several. It may be lost.
    fn note(&self, text: &str);

    /// Text of several lines, shown as it is.
    fn show(&self, text: &str);

    /// A step of a long activity begins. A terminal shows it in place of the previous step, and
    /// keeps the last one.
    fn step(&self, text: &str, is_last: bool);

    /// The current state, on a line that the next one replaces; an empty text clears it. If lines
    /// cannot be replaced, nothing is shown.
    fn status(&self, text: &str);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Console for Silent {
    fn note(&self, _text: &str) {}

    fn show(&self, _text: &str) {}

    fn step(&self, _text: &str, _is_last: bool) {}

    fn status(&self, _text: &str) {}
}
