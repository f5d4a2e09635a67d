//! All kinds of models as one type, so that a device selects the model by one branch per command,
//! without a virtual call.

use crate::ideal::Ideal;
use crate::nand::Nand;
use crate::parameters::{Capacity, ModelKind, ParameterError, Parameters};
use crate::request::{CompletionTime, TimedCommand};
use crate::simple::Simple;
use crate::statistics::Statistics;
use crate::zoned::Zoned;

/// A timing model. The caller provides the time, in ns from any origin.
#[derive(Debug, Clone)]
pub enum TimingModel {
    /// See [`crate::ideal`].
    Ideal(Ideal),
    /// See [`crate::simple`].
    Simple(Simple),
    /// See [`crate::nand`].
    Nand(Box<Nand>),
    /// See [`crate::zoned`].
    Zoned(Box<Zoned>),
}

impl TimingModel {
    /// A fresh device.
    ///
    /// # Errors
    /// Invalid parameters, or a capacity that does not fit them. Models without flash have no
    /// over-provisioning: both kinds of capacity are the visible one.
    pub fn build(parameters: &Parameters, capacity: Capacity) -> Result<Self, ParameterError> {
        let (Capacity::Visible(bytes) | Capacity::Flash(bytes)) = capacity;
        Ok(match parameters.model {
            ModelKind::Ideal => Self::Ideal(Ideal::new(bytes)),
            ModelKind::Simple => Self::Simple(Simple::new(parameters, bytes)?),
            ModelKind::Nand => Self::Nand(Box::new(Nand::new(parameters, capacity)?)),
            ModelKind::Zoned => Self::Zoned(Box::new(Zoned::new(parameters, capacity)?)),
        })
    }

    /// The visible capacity.
    pub fn visible_bytes(&self) -> u64 {
        match self {
            Self::Ideal(model) => model.visible_bytes(),
            Self::Simple(model) => model.visible_bytes(),
            Self::Nand(model) => model.visible_bytes(),
            Self::Zoned(model) => model.visible_bytes(),
        }
    }

    /// When a command submitted now completes. Calls [`TimingModel::advance`] first.
    pub fn schedule(&mut self, now_ns: u64, request: &TimedCommand) -> CompletionTime {
        match self {
            Self::Ideal(model) => CompletionTime::At(model.schedule(now_ns, request)),
            Self::Simple(model) => CompletionTime::At(model.schedule(now_ns, request)),
            Self::Nand(model) => model.schedule(now_ns, request),
            Self::Zoned(model) => model.schedule(now_ns, request),
        }
    }

    /// The time of the next internal event: room in the write buffer, or collection while idle.
    /// `None` if there is none before the next command.
    pub fn next_event_ns(&self) -> Option<u64> {
        match self {
            Self::Ideal(_) | Self::Simple(_) => None,
            Self::Nand(model) => model.next_event_ns(),
            Self::Zoned(model) => model.next_event_ns(),
        }
    }

    /// Processes internal events up to `now_ns`. Calling it is optional: the next command does it
    /// too.
    pub fn advance(&mut self, now_ns: u64) {
        match self {
            Self::Ideal(_) | Self::Simple(_) => {}
            Self::Nand(model) => model.advance(now_ns),
            Self::Zoned(model) => model.advance(now_ns),
        }
    }

    /// Ends all operations, resets the counters, and lets time restart. This is for a drive that
    /// was prepared in one virtual time ([`crate::study::age`]) and is used in another.
    pub fn settle(&mut self) {
        match self {
            Self::Ideal(model) => model.settle(),
            Self::Simple(model) => model.settle(),
            Self::Nand(model) => model.settle(),
            Self::Zoned(model) => model.settle(),
        }
    }

    /// The counters so far.
    pub fn statistics(&self) -> Statistics {
        match self {
            Self::Ideal(model) => model.statistics(),
            Self::Simple(model) => model.statistics(),
            Self::Nand(model) => model.statistics(),
            Self::Zoned(model) => model.statistics(),
        }
    }
}
