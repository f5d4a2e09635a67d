//! The interface between the device and the timing model: it takes commands and returns completion
//! times.
//!
//! Guarantees: the ideal model costs a comparison and takes no lock. The other models are called
//! under one lock of the drive, because the time of a command depends on all earlier commands. The
//! timing of flash is not part of this module.

use std::sync::{Mutex, PoisonError};

use iolab_ssd_timing::{
    Capacity, CompletionTime, ModelKind, ParameterError, Parameters, Preset, Statistics, TimedCommand, TimingModel,
    study,
};

/// The model of a subsystem.
#[derive(Debug)]
pub(crate) enum Timing {
    Ideal,
    Model { model: Box<Mutex<TimingModel>>, parameters: Box<Parameters>, bytes: u64 },
}

impl Timing {
    /// Creates a model for a drive of `bytes` with the given age. Ageing runs in virtual time: it
    /// takes only the time to compute it, and the model is idle afterwards.
    pub(crate) fn build(parameters: &Parameters, bytes: u64, age: study::Age) -> Result<Timing, ParameterError> {
        if parameters.model == ModelKind::Ideal {
            return Ok(Timing::Ideal);
        }
        let mut model = TimingModel::build(parameters, Capacity::Visible(bytes))?;
        study::age(&mut model, age);
        Ok(Timing::Model { model: Box::new(Mutex::new(model)), parameters: Box::new(parameters.clone()), bytes })
    }

    /// Whether no operation takes time.
    pub(crate) fn is_ideal(&self) -> bool {
        matches!(self, Timing::Ideal)
    }

    /// When `request`, which arrives now, completes.
    #[inline(always)]
    pub(crate) fn schedule(&self, now_ns: u64, request: &TimedCommand) -> CompletionTime {
        match self {
            Timing::Ideal => CompletionTime::At(now_ns),
            Timing::Model { model, .. } => ask(model, now_ns, request),
        }
    }

    /// Erases all flash: the drive is as good as new, and its counters restart at zero. Operations
    /// in progress still end at the time that was returned for them.
    pub(crate) fn erase(&self) {
        let Timing::Model { model, parameters, bytes } = self else { return };
        // A model that could be built once can be built again.
        if let Ok(fresh) = TimingModel::build(parameters, Capacity::Visible(*bytes)) {
            *model.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
    }

    /// The counters of the model; `None` for the ideal model, which has none.
    pub(crate) fn statistics(&self) -> Option<Statistics> {
        match self {
            Timing::Ideal => None,
            Timing::Model { model, .. } => Some(model.lock().unwrap_or_else(PoisonError::into_inner).statistics()),
        }
    }
}

/// A separate function, so that commands of the ideal drive do not pay for the size of this call.
#[inline(never)]
fn ask(model: &Mutex<TimingModel>, now_ns: u64, request: &TimedCommand) -> CompletionTime {
    // A model is consistent between two requests, even if a thread panicked while it held the lock.
    model.lock().unwrap_or_else(PoisonError::into_inner).schedule(now_ns, request)
}

/// The preset used for a model that is named without one.
pub(crate) fn preset_of(model: &str) -> Option<&'static str> {
    match model {
        "ideal" => Some("ideal"),
        "simple" => Some("optane"),
        "nand" => Some("970pro"),
        "zoned" => Some("zn540"),
        _ => None,
    }
}

/// The parameters of a model that takes no time.
pub(crate) fn no_time() -> Parameters {
    Preset::named("ideal").map(Preset::parameters).unwrap_or_default()
}
