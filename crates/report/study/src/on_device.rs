//! The form of a study in which all configurations use one device.

use crate::{Axis, ServedDevice, Study, StudyError};

impl Study {
    /// Converts the study to its form on a device.
    ///
    /// # Errors
    /// It has no such form, or one that does not match its axes.
    pub fn on_device(mut self, device: ServedDevice) -> Result<Study, StudyError> {
        let mut form = self.device_form.take().ok_or_else(|| {
            StudyError::meaning("this study has no form for a device: add a [device] table with settings and axes")
        })?;
        device.fill_in(&mut form.settings);
        for axis in form.axes {
            let Some(own) = self.axes.iter_mut().find(|own| own.name == axis.name) else {
                return Err(StudyError::meaning(format!("device: the study has no axis '{}'", axis.name)));
            };
            *own = Axis { given: own.given || axis.given, ..axis };
            own.points.iter_mut().for_each(|point| device.fill_in(&mut point.settings));
        }
        self.settings.retain(|setting| form.settings.iter().all(|own| own.option != setting.option));
        self.settings.extend(form.settings);
        if let Some(question) = form.question {
            self.question = question;
        }
        self.served = Some(device);
        Ok(self)
    }
}
