//! The quick form of a study: the same with fewer blocks and shorter trials.

use crate::{Study, StudyError};

impl Study {
    /// The study in its quick form: fewer blocks, other settings.
    ///
    /// # Errors
    /// It has no quick form.
    pub fn quickened(mut self) -> Result<Study, StudyError> {
        let quick = self.quick.take().ok_or_else(|| {
            StudyError::meaning("this study has no quick form: add a [quick] table with blocks and settings")
        })?;
        if let Some(blocks) = quick.blocks {
            (self.blocks, self.auto_blocks) = (blocks, None);
        }
        self.settings.retain(|setting| quick.settings.iter().all(|own| own.option != setting.option));
        self.settings.extend(quick.settings);
        Ok(self)
    }
}
