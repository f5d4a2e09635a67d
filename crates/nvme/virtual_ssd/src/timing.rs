//! Where the device asks the timing model: commands in, times out.
//!
//! Guarantees: the ideal model costs a comparison and takes no lock; the others are asked under one
//! lock of the drive, because the time of a command depends on all that came before. Deliberately
//! not here: any time of any flash.

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
    /// A model for a drive of `bytes` that has been through `age`. Ageing is in virtual time: it
    /// takes as long as it takes to compute, and the model is idle afterwards.
    pub(crate) fn build(parameters: &Parameters, bytes: u64, age: study::Age) -> Result<Timing, ParameterError> {
        if parameters.model == ModelKind::Ideal {
            return Ok(Timing::Ideal);
        }
        let mut model = TimingModel::build(parameters, Capacity::Visible(bytes))?;
        study::age(&mut model, age);
        Ok(Timing::Model { model: Box::new(Mutex::new(model)), parameters: Box::new(parameters.clone()), bytes })
    }

    /// Whether nothing takes time.
    pub(crate) fn is_ideal(&self) -> bool {
        matches!(self, Timing::Ideal)
    }

    /// When `request`, which has arrived now, completes.
    #[inline(always)]
    pub(crate) fn schedule(&self, now_ns: u64, request: &TimedCommand) -> CompletionTime {
        match self {
            Timing::Ideal => CompletionTime::At(now_ns),
            Timing::Model { model, .. } => ask(model, now_ns, request),
        }
    }

    /// Erases all flash: the drive is fresh, as it was made, and its counters begin anew. What is
    /// under way still ends when it was said to.
    pub(crate) fn erase(&self) {
        let Timing::Model { model, parameters, bytes } = self else { return };
        // What was built once can be built again.
        if let Ok(fresh) = TimingModel::build(parameters, Capacity::Visible(*bytes)) {
            *model.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
    }

    /// What the model has counted; `None` for the ideal one, which counts nothing.
    pub(crate) fn statistics(&self) -> Option<Statistics> {
        match self {
            Timing::Ideal => None,
            Timing::Model { model, .. } => Some(model.lock().unwrap_or_else(PoisonError::into_inner).statistics()),
        }
    }
}

/// Apart, so that the ideal drive's commands do not pay for the size of this call.
#[inline(never)]
fn ask(model: &Mutex<TimingModel>, now_ns: u64, request: &TimedCommand) -> CompletionTime {
    // A model is whole between two requests, so that a thread that panicked with the lock left
    // nothing half done.
    model.lock().unwrap_or_else(PoisonError::into_inner).schedule(now_ns, request)
}

/// The preset that stands for a model which is named without one.
pub(crate) fn preset_of(model: &str) -> Option<&'static str> {
    match model {
        "ideal" => Some("ideal"),
        "simple" => Some("optane"),
        "nand" => Some("970pro"),
        "zoned" => Some("zn540"),
        _ => None,
    }
}

/// No time at all.
pub(crate) fn no_time() -> Parameters {
    Preset::named("ideal").map(Preset::parameters).unwrap_or_default()
}
