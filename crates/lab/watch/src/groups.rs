//! Sums of devices under a name: `-g NAME DEVICE…`, repeatable, and `-H` for the sums only.

use iolab_iostat::DeviceActivity;

/// One sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Kernel names; empty: all watched devices.
    pub(crate) members: Vec<String>,
}

/// All sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) list: Vec<Group>,
    pub(crate) only_groups: bool,
}

/// The subject of a line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Of {
    /// A device, by its kernel name.
    Device(String),
    /// A group, by its name.
    Group(String),
}

impl Groups {
    /// The lines of a table: devices of no group, then each group's devices and their sum.
    /// `unused` devices have no line, but belong to a group of everything.
    pub(crate) fn lines(
        &self,
        devices: Vec<(&str, DeviceActivity)>,
        unused: usize,
        elapsed_ns: u64,
    ) -> Vec<(Of, DeviceActivity)> {
        let line = |(name, activity): &(&str, DeviceActivity)| (Of::Device((*name).to_owned()), *activity);
        let is_member = |name: &str| self.list.iter().any(|group| group.has(name));
        let mut lines: Vec<_> = devices.iter().filter(|(name, _)| !is_member(name)).map(line).collect();
        for group in &self.list {
            let members: Vec<&(&str, DeviceActivity)> = devices.iter().filter(|(name, _)| group.has(name)).collect();
            lines.extend(members.iter().map(|member| line(member)));
            let mut activities: Vec<DeviceActivity> = members.iter().map(|(_, activity)| *activity).collect();
            if group.members.is_empty() {
                activities.extend(std::iter::repeat_n(DeviceActivity::of_group(&[], elapsed_ns), unused));
            }
            lines.push((Of::Group(group.name.clone()), DeviceActivity::of_group(&activities, elapsed_ns)));
        }
        if self.only_groups {
            lines.retain(|(of, _)| matches!(of, Of::Group(_)));
        }
        lines
    }
}

impl Group {
    fn has(&self, device: &str) -> bool {
        self.members.is_empty() || self.members.iter().any(|member| member == device)
    }
}

#[cfg(test)]
mod tests {
    use iolab_recording::{DeviceCounters, DeviceSample};

    use super::*;

    fn activity(read_ios: u64) -> DeviceActivity {
        let counters = DeviceCounters { read_ios, ..DeviceCounters::default() };
        DeviceActivity::since_boot(&DeviceSample { at_ns: 1, counters, ..DeviceSample::default() })
    }

    #[test]
    fn devices_come_before_their_sum() {
        let group = |name: &str, members: &[&str]| Group {
            name: name.to_owned(),
            members: members.iter().map(|name| (*name).to_owned()).collect(),
        };
        let devices = vec![("a", activity(1)), ("b", activity(2)), ("c", activity(4))];
        let told = |groups: &Groups| -> Vec<String> {
            let lines = groups.lines(devices.clone(), 2, 1);
            lines
                .iter()
                .map(|(of, activity)| format!("{of:?} {} of {}", activity.gained.read_ios, activity.devices))
                .collect()
        };
        let mut groups = Groups { list: vec![group("g", &["b", "c"])], only_groups: false };
        assert_eq!(
            told(&groups),
            [r#"Device("a") 1 of 1"#, r#"Device("b") 2 of 1"#, r#"Device("c") 4 of 1"#, r#"Group("g") 6 of 2"#]
        );
        groups.list.push(group("all", &[]));
        groups.only_groups = true;
        assert_eq!(told(&groups), [r#"Group("g") 6 of 2"#, r#"Group("all") 7 of 5"#]);
        assert_eq!(told(&Groups::default()).len(), 3);
    }
}
