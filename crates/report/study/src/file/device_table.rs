//! The `[device]` table of a study file.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::axes::{AxisTable, axis};
use super::{Scalar, placed, settings};
use crate::{Axis, DeviceForm, StudyError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeviceTable {
    question: Option<String>,
    #[serde(default)]
    settings: BTreeMap<String, Scalar>,
    #[serde(default)]
    axis: Vec<Spanned<AxisTable>>,
}

impl DeviceTable {
    /// The form, as far as it can be judged without a device.
    pub(super) fn read(&self, text: &str) -> Result<DeviceForm, StudyError> {
        let axes: Result<Vec<Axis>, StudyError> =
            self.axis.iter().map(|table| placed(text, table, axis(table.get_ref()))).collect();
        Ok(DeviceForm { question: self.question.clone(), settings: settings(&self.settings), axes: axes? })
    }
}
