//! The form of a study in which every trial is a run on several hosts: the same job, one rank for
//! each name in the list, one recording of all.

use crate::{JobSource, PreconditionKind, Study, StudyError, StudyHosts};

impl Study {
    /// The study with its trials on these hosts.
    ///
    /// # Errors
    /// It does something that has no meaning on several hosts.
    pub fn on_hosts(mut self, hosts: StudyHosts) -> Result<Study, StudyError> {
        let refused = |what: &str| Err(StudyError::meaning(format!("a study on several hosts (--hosts) {what}")));
        if let JobSource::Command(_) = self.job {
            return refused("runs a job on them: its `command` runs here; write a job instead");
        }
        if self.served.is_some() {
            return refused("cannot use a device of this machine: leave out --device");
        }
        let derived = |kind| matches!(kind, PreconditionKind::Fill | PreconditionKind::Snia);
        if self.precondition.as_ref().is_some_and(|how| derived(how.kind)) {
            return refused(
                "cannot find out which of their devices and files are shared, so it cannot fill each once: \
                 write a job that prepares them, and name it with precondition = \"FILE.fio\"",
            );
        }
        self.hosts = Some(hosts);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::study_hosts::hosts;

    #[test]
    fn what_has_no_meaning_there_is_refused() {
        let text = |more: &str| format!("title = \"t\"\n{more}\n");
        for (more, said) in [
            (
                "command = \"true\"\n[[value]]\nname = \"it\"\nat = \"it\"\nbetter = \"higher\"",
                Some("write a job instead"),
            ),
            ("job = \"x\"\nprecondition = \"fill\"", Some("fill each once")),
            ("job = \"x\"\nprecondition = \"snia\"", Some("fill each once")),
            ("job = \"x\"\nprecondition = \"y.fio\"", None),
            ("job = \"x\"", None),
        ] {
            let study = crate::read(&text(more)).unwrap_or_else(|error| panic!("{more}: {error}"));
            let on_hosts = study.on_hosts(hosts(&["a", "b"]));
            match said {
                None => assert!(on_hosts.expect(more).hosts.is_some()),
                Some(said) => assert!(on_hosts.expect_err(more).to_string().contains(said), "{more}"),
            }
        }
    }
}
