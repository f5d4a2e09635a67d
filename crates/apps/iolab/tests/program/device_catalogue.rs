//! `iolab device`: devices are created, examined and removed; messages about mistakes say what
//! would be right.

use crate::support::Lab;

#[test]
fn a_device_is_created_listed_described_and_destroyed() {
    let lab = Lab::new();
    let none = lab.run(["device", "list"]).ended(0, "");
    assert!(none.printed().contains("no virtual devices"), "{none:?}");

    let made = lab.run(["device", "create", "fast", "--preset", "970pro", "--size", "1G", "lba=4096", "channels=4"]);
    let made = made.ended(0, "").printed();
    for said in ["device fast: nand, 1g, blocks of 4096 bytes", "device serve fast", "traddr=fast"] {
        assert!(made.contains(said), "{said}: {made}");
    }
    lab.run(["device", "create", "two", "--model", "ideal", "--size=64M", "namespaces=2"]).ended(0, "");
    lab.run(["device", "create", "fast"]).ended(2, "device fast already exists");

    let list = lab.run(["device", "list"]).ended(0, "").printed();
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    assert!(lines[0].starts_with("fast ") && lines[0].contains("not served"), "{list}");
    assert!(lines[1].starts_with("two ") && lines[1].contains("2 namespaces of 64m"), "{list}");
    let nvme = lab.run(["nvme", "list"]).ended(0, "").printed();
    assert!(nvme.lines().any(|line| line.starts_with("fast ") && line.contains("virtual")), "{nvme}");

    let info = lab.run(["device", "info", "fast"]).ended(0, "").printed();
    let value = |key: &str| -> String {
        let line = info.lines().find(|line| line.split_whitespace().next() == Some(key));
        line.unwrap_or_else(|| panic!("no {key} in {info}")).split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!((value("size"), value("lba"), value("channels")), ("1073741824".into(), "4096".into(), "4".into()));
    assert_eq!((value("model"), value("state:")), ("nand".into(), "not".into()));

    let gone = lab.run(["device", "destroy", "fast"]).ended(0, "").printed();
    assert_eq!(gone, "device fast was removed\n");
    lab.run(["device", "info", "fast"]).ended(2, "no device is called fast");
    lab.run(["device", "destroy", "fast"]).ended(2, "there are: two");
}

#[test]
fn mistakes_are_named_and_corrected() {
    let lab = Lab::new();
    lab.run(["device", "create", "smart", "--size", "64M"]).ended(0, "");
    for (words, said) in [
        ("create x siez=1G", "did you mean `size`?"),
        ("create x --preset 971pro", "did you mean `970pro`?"),
        ("create x --model nadn", "nand"),
        ("create x chanels=4", "did you mean `channels`?"),
        ("create x --fault meda-error", "did you mean `media-error`?"),
        ("create x --fault media-error:lbaa=3", "did you mean `lba`?"),
        ("create x --size 0", "size:"),
        ("create x --media disk", "media:"),
        ("create x nonsense", "`nonsense` is not KEY=VALUE"),
        ("create ../x", "is not a valid device name"),
        ("info smrat", "did you mean smart?"),
        ("serve smrat", "did you mean smart?"),
        ("destroy smrat", "did you mean smart?"),
        ("stats smrat", "did you mean smart?"),
        ("stats smart", "device smart is not running"),
        ("lsit", "list"),
    ] {
        let done = lab.run(["device"].into_iter().chain(words.split(' '))).ended(2, said);
        assert_eq!(done.printed(), "", "{words}");
        assert!(done.errors().ends_with('\n'), "{words}: {:?}", done.errors());
    }
    assert_eq!(lab.run(["device", "list"]).printed().lines().count(), 1, "none of them made a device");
}

#[test]
fn every_parameter_is_listed_and_is_taken_as_info_prints_it() {
    let lab = Lab::new();
    let table = lab.run(["device", "parameters"]).ended(0, "").printed();
    for name in ["size", "media", "zone", "fault", "channels", "read_delay", "victim"] {
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {table}");
    }
    let fault = "media-error:op=read,lba=5-9";
    lab.run(["device", "create", "z", "--preset", "zn540", "--size", "8G", "--fault", fault]).ended(0, "");
    let described = lab.run(["device", "info", "z"]).ended(0, "").printed();
    let parameters: Vec<String> = described
        .lines()
        .skip_while(|line| *line != "Every parameter:")
        .skip(1)
        .map(|line| {
            let mut words = line.split_whitespace();
            format!("{}={}", words.next().unwrap(), words.next().unwrap_or_default())
        })
        .collect();
    assert!(parameters.len() > 20 && parameters.contains(&format!("fault={fault}")), "{described}");
    let words = ["device", "create", "copy"].map(str::to_owned).into_iter().chain(parameters);
    lab.run(words).ended(0, "");
    let copy = lab.run(["device", "info", "copy"]).ended(0, "").printed();
    let values = |text: &str| text.split_once("Every parameter:").unwrap().1.to_owned();
    assert_eq!(values(&copy), values(&described));
}
