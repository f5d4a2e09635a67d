//! Points of an axis that a machine may not have, such as a file system or a kind of device.
//!
//! A point says by a command what it needs. Whether that is there is asked outside of this crate;
//! here the study goes on without the points that are not.

use crate::{Point, Study, StudyError};

impl Study {
    /// Leaves out the points whose needs are not met. The study says what is missing.
    ///
    /// # Errors
    /// An axis has no point left.
    pub fn without_unmet(mut self, is_met: impl Fn(&str) -> bool) -> Result<Study, StudyError> {
        let is_here = |point: &Point| point.needs.is_empty() || is_met(&point.needs);
        for axis in &mut self.axes {
            let (here, missing): (Vec<Point>, Vec<Point>) = axis.points.drain(..).partition(is_here);
            axis.points = here;
            for Point { name, needs, .. } in &missing {
                self.left_out.push(format!("{} '{name}' is left out, because this fails here: {needs}", axis.name));
                let names_it = |axis_name: &str, point: &str| axis_name == axis.name && point == name;
                self.excluded.retain(|row| !row.iter().any(|(axis_name, point)| names_it(axis_name, point)));
                if self.baseline.as_ref().is_some_and(|(axis_name, point)| names_it(axis_name, point)) {
                    self.baseline = None;
                }
            }
            if axis.points.is_empty() {
                let names: Vec<&str> = missing.iter().map(|point| point.name.as_str()).collect();
                let message = format!("this machine has no point of axis '{}': {}", axis.name, names.join(", "));
                return Err(StudyError::meaning(message));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::{design, read};

    const STUDY: &str = r#"
        title = "t"
        job_text = "[a]"
        baseline = { layer = "md" }
        [[axis]]
        name = "layer"
        point = [
            { name = "file", set = { filename = "a" } },
            { name = "md", set = { filename = "b" }, needs = "have md" },
            { name = "loop", set = { filename = "c" }, needs = "have loop" },
        ]
        [[axis]]
        option = "bs"
        values = ["4k", "8k"]
        [[exclude]]
        layer = "md"
        bs = "4k"
        [[exclude]]
        layer = "loop"
        bs = "8k"
    "#;

    #[test]
    fn a_point_that_is_not_to_be_had_is_left_out_and_told() {
        let study = read(STUDY).unwrap();
        let whole = study.clone().without_unmet(|_| true).unwrap();
        assert_eq!(whole, study);
        let less = study.clone().without_unmet(|needs| needs != "have md").unwrap();
        assert_eq!(less.axes[0].points.len(), 2);
        assert_eq!((less.excluded.len(), less.baseline.clone()), (1, None));
        let designed = design(&less).unwrap();
        assert_eq!(designed.configurations.len(), 3);
        let told = "layer 'md' is left out, because this fails here: have md";
        assert_eq!(designed.warnings.first().map(String::as_str), Some(told));
    }

    #[test]
    fn an_axis_without_points_is_an_error() {
        let mut study = read(STUDY).unwrap();
        study.axes[0].points.remove(0);
        let said = study.without_unmet(|_| false).unwrap_err().to_string();
        assert!(said.contains("no point of axis 'layer': md, loop"), "{said}");
    }
}
