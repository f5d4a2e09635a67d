//! The user's configuration: what counts before what, what it changes, and its mistakes.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::{Done, Lab};

/// A configuration file, and how to run a command with it.
struct Configured {
    lab: Lab,
    variable: [(&'static str, PathBuf); 1],
}

impl Configured {
    fn new(text: &str) -> Configured {
        let lab = Lab::new();
        lab.file("config.toml", text);
        std::fs::set_permissions(lab.path("config.toml"), PermissionsExt::from_mode(0o600)).unwrap();
        let variable = [("IOLAB_CONFIG", lab.path("config.toml"))];
        Configured { lab, variable }
    }

    fn run(&self, command: &str) -> Done {
        self.lab.run_with(command.split(' '), &self.variable)
    }
}

const JOB: &str = "run --name=it --ioengine=psync --rw=write --bs=4k --size=64k --calibrate=0";

#[test]
fn values_come_from_variables_then_the_file_then_the_default() {
    let configured = Configured::new("# mine\ndatabase = \"none\"\nrecordings = \"/nowhere\"\n");
    let shown = configured.run("config").ended(0, "").printed();
    let line = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {shown}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let file = configured.lab.path("config.toml");
    assert_eq!(line("file:")[1], file.to_str().unwrap());
    assert_eq!(line("database"), ["database", "none", &format!("{}:2", file.display())]);
    let recordings = configured.lab.path("recordings");
    assert_eq!(line("recordings"), ["recordings", recordings.to_str().unwrap(), "IOLAB_RECORDINGS"]);
    assert_eq!(line("color"), ["color", "auto", "default"]);
    let off = format!("{}:2", file.display());
    assert_eq!(configured.run("db path").ended(0, "").printed(), format!("none ({off})\n"));
    configured.run("db list").ended(2, &format!("{off} turns the database off"));
    let told = configured.lab.run(["config"]).ended(0, "").printed();
    assert!(told.starts_with("file: none\n"), "{told}");
}

#[test]
fn the_template_is_a_configuration() {
    let lab = Lab::new();
    let template = lab.run(["config", "--template"]).ended(0, "").printed();
    let settings: String = template
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(settings.lines().count(), 7, "{template}");
    Configured::new(&settings).run("config").ended(0, "");
}

#[test]
fn a_mistake_in_it_stops_every_command_with_its_place() {
    let configured = Configured::new("color = \"never\"\nrecording = \"/nowhere\"\n");
    let said = "config.toml:2: unknown setting 'recording'; did you mean 'recordings'?";
    configured.run("engines").ended(2, said);
    configured.run(JOB).ended(2, said);
    configured.lab.run(["engines"]).ended(0, "");
}

#[test]
fn what_may_always_be_overwritten_is_no_other_file() {
    let configured = Configured::new("");
    for name in ["mine", "other"] {
        configured.lab.file(name, name.repeat(20_000));
    }
    let text = format!("allow_destroy = [\"{}\"]\n", configured.lab.path("mine").display());
    std::fs::write(configured.lab.path("config.toml"), text).unwrap();
    let written = |name: &str| format!("{JOB} --filename={}", configured.lab.path(name).display());
    configured.run(&written("other")).ended(3, "refused");
    configured.run(&written("mine")).ended(0, "");
    configured.lab.run(written("other").split(' ')).ended(3, "refused");
}
