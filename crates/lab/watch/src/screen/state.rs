//! The state of the full screen: the current devices, the history of each, the selection and the
//! sort order.

use std::collections::{BTreeMap, VecDeque};

use iolab_iostat::{DataUnit, DeviceActivity, DeviceColumn, EXTENDED};
use iolab_order::Arrange;
use iolab_recording::RequestInterval;

use super::super::looks::Look;
use super::super::more;
use super::work::Work;

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Leave,
    Help,
    Down,
    Up,
    NextColumn,
    LastColumn,
    Reverse,
    Unit,
    Pause,
    Other,
}

/// No terminal is wider.
const LONGEST: usize = 512;

/// One interval of a device.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(super) activity: DeviceActivity,
    pub(super) requests: Option<RequestInterval>,
}

/// One device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Device {
    pub(super) name: String,
    pub(super) in_flight: (u64, u64),
    /// The latest at the end.
    pub(crate) course: VecDeque<Point>,
    pub(super) settings: BTreeMap<String, String>,
}

impl Device {
    /// The latest figure of the column with this name.
    pub(crate) fn value_of(&self, name: &str) -> f64 {
        EXTENDED.iter().find(|column| column.name == name).map_or(0.0, |column| self.value(column, DataUnit::Kilobytes))
    }

    pub(super) fn value(&self, column: &DeviceColumn, unit: DataUnit) -> f64 {
        self.course.back().map_or(0.0, |point| (column.value)(&point.activity, unit))
    }
}

/// Everything on the screen.
#[derive(Debug)]
pub(crate) struct State {
    pub(super) hostname: String,
    pub(super) unit: DataUnit,
    pub(super) help: bool,
    /// The first line of the help that is shown.
    pub(super) help_line: u16,
    pub(super) paused: bool,
    /// By which of the shown columns; `None`: by name.
    pub(super) sorted_by: Option<usize>,
    pub(super) reversed: bool,
    pub(super) selected: Option<String>,
    pub(crate) devices: Vec<Device>,
    /// What a run does, if one is shown.
    pub(crate) work: Option<Work>,
    /// Why requests are not traced; `None` when they are.
    pub(crate) untraced: Option<String>,
    /// The machine, in a line.
    pub(super) machine: String,
    last: Option<Look>,
    /// What is shown is of the time since boot.
    since_boot: bool,
    /// Which device is selected is the user's choice from now on.
    is_settled: bool,
}

impl State {
    pub(crate) fn new(hostname: String, unit: DataUnit) -> State {
        State {
            hostname,
            unit,
            help: false,
            help_line: 0,
            paused: false,
            sorted_by: None,
            reversed: false,
            selected: None,
            devices: Vec::new(),
            work: None,
            untraced: None,
            machine: String::new(),
            last: None,
            since_boot: false,
            is_settled: false,
        }
    }

    /// Takes counters that only the next sample is compared with: those from before a run say
    /// nothing about it.
    pub(crate) fn begin(&mut self, look: Look) {
        self.last = Some(look);
        self.since_boot = false;
    }

    pub(super) fn columns() -> impl Iterator<Item = &'static DeviceColumn> {
        EXTENDED.iter()
    }

    /// Adds a sample. The first one shows the time since boot, and becomes no point of a history
    /// when the next one comes.
    pub(crate) fn take(&mut self, look: Look, settings: impl Fn(&str) -> BTreeMap<String, String>) {
        if self.paused {
            // Samples during a pause are merged into one long interval.
            return;
        }
        let courses: Vec<Device> = std::mem::take(&mut self.devices);
        for ((name, activity), (_, sample)) in look.activities(self.last.as_ref()).zip(&look.devices) {
            let known = courses.iter().find(|device| device.name == name).cloned();
            let mut device = known.unwrap_or_else(|| Device {
                name: name.to_owned(),
                settings: settings(name),
                ..Device::default()
            });
            device.in_flight = (sample.reads_in_flight, sample.writes_in_flight);
            let requests =
                look.requests.iter().find(|(traced, _)| traced == name).map(|(_, requests)| requests.clone());
            if self.since_boot {
                device.course.clear();
            }
            device.course.push_back(Point { activity, requests });
            if device.course.len() > LONGEST {
                device.course.pop_front();
            }
            self.devices.push(device);
        }
        if let Some(host) = &look.host {
            self.machine = more::host_text(self.last.as_ref().and_then(|last| last.host.as_ref()), host);
        }
        self.since_boot = self.last.is_none();
        if self.since_boot {
            self.machine += "  (since boot)";
        }
        self.last = Some(look);
        self.select_busiest();
        self.sort();
    }

    /// Handles a key; false: leave.
    pub(crate) fn press(&mut self, key: Key) -> bool {
        let columns = State::columns().count();
        match key {
            Key::Leave if self.help => self.help = false,
            Key::Leave => return false,
            Key::Help => (self.help, self.help_line) = (!self.help, 0),
            // It has no more lines than columns, each on at most a few.
            Key::Down if self.help => self.help_line = self.help_line.saturating_add(1).min(columns as u16),
            Key::Up if self.help => self.help_line = self.help_line.saturating_sub(1),
            Key::Down => self.select(1),
            Key::Up => self.select(-1),
            // Around through the columns and the name.
            Key::NextColumn => {
                self.sorted_by = self.sorted_by.map_or(Some(0), |at| Some(at + 1)).filter(|at| *at < columns)
            }
            Key::LastColumn => self.sorted_by = self.sorted_by.map_or(Some(columns - 1), |at| at.checked_sub(1)),
            Key::Reverse => self.reversed = !self.reversed,
            Key::Unit if self.unit == DataUnit::Kilobytes => self.unit = DataUnit::Megabytes,
            Key::Unit => self.unit = DataUnit::Kilobytes,
            Key::Pause => self.paused = !self.paused,
            Key::Other => {}
        }
        self.sort();
        true
    }

    /// Where the selection is.
    pub(super) fn place(&self) -> usize {
        let selected = self.selected.as_deref();
        self.devices.iter().position(|device| Some(device.name.as_str()) == selected).unwrap_or(0)
    }

    /// Selects the most active device: since boot, and then in the first interval with any
    /// activity. After that the selection stays.
    fn select_busiest(&mut self) {
        if self.is_settled {
            return;
        }
        let did = |device: &Device| ["%util", "rkB/s", "wkB/s", "r/s", "w/s"].map(|name| device.value_of(name));
        // Devices that do not count how long they are busy have their bytes.
        let busiest = self.devices.iter().max_by(|one, other| {
            let [one, other] = [did(one), did(other)];
            one[0].total_cmp(&other[0]).then((one[1] + one[2]).total_cmp(&(other[1] + other[2])))
        });
        let Some(busiest) = busiest.filter(|device| did(device).iter().any(|figure| *figure > 0.0)) else { return };
        self.selected = Some(busiest.name.clone());
        self.is_settled = !self.since_boot;
    }

    fn select(&mut self, by: isize) {
        self.is_settled = true;
        let place = self.place().saturating_add_signed(by).min(self.devices.len().saturating_sub(1));
        self.selected = self.devices.get(place).map(|device| device.name.clone());
    }

    /// Names ascend, figures descend, unless reversed.
    fn sort(&mut self) {
        if self.selected.is_none() {
            self.selected = self.devices.first().map(|device| device.name.clone());
        }
        let column = self.sorted_by.and_then(|at| State::columns().nth(at));
        let unit = self.unit;
        self.devices.arrange_by(|a, b| match column {
            Some(column) => b.value(column, unit).total_cmp(&a.value(column, unit)).then_with(|| a.name.cmp(&b.name)),
            None => a.name.cmp(&b.name),
        });
        if self.reversed {
            self.devices.reverse();
        }
    }
}
