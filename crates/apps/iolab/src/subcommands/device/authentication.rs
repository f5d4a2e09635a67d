//! `iolab device serve --dhchap-…`: the secrets of hosts, from the command line and from files.

use std::path::Path;

use iolab_bounded_read::{SECRETS, read_text};
use iolab_nvme_authentication::{DhGroup, HashFunction, HostSecrets, Secret};
use iolab_nvme_fabrics::QualifiedName;
use iolab_nvme_tcp::TargetAuthentication;

use super::arguments::AuthenticationArguments;

/// What hosts have to prove; `None` if there is no secret.
pub(super) fn authentication(arguments: &AuthenticationArguments) -> Result<Option<TargetAuthentication>, String> {
    let AuthenticationArguments { dhchap_secret, dhchap_ctrl_secret, dhchap_hosts, dhchap_hash, dhchap_dhgroup } =
        arguments;
    if dhchap_secret.is_none() && dhchap_hosts.is_none() {
        return match dhchap_hash.is_empty() && dhchap_dhgroup.is_empty() {
            true => Ok(None),
            false => {
                Err("--dhchap-hash and --dhchap-dhgroup need secrets: --dhchap-secret or --dhchap-hosts".to_owned())
            }
        };
    }
    let mut wanted = TargetAuthentication::default();
    if let Some(host) = dhchap_secret {
        let controller = dhchap_ctrl_secret.as_deref().map(|text| secret("--dhchap-ctrl-secret", text)).transpose()?;
        wanted.of_others = Some(HostSecrets { host: secret("--dhchap-secret", host)?, controller });
    }
    if let Some(path) = dhchap_hosts {
        let failed = |what: String| format!("--dhchap-hosts {}: {what}", path.display());
        let text = read_text(path, SECRETS).map_err(|error| failed(error.to_string()))?;
        for (number, line) in text.lines().enumerate() {
            let entry = host(line).map_err(|what| failed(format!("line {}: {what}", number + 1)))?;
            if let Some((name, secrets)) = entry
                && wanted.of_hosts.insert(name, secrets).is_some()
            {
                return Err(failed(format!("line {}: this host has a line before", number + 1)));
            }
        }
    }
    if !dhchap_hash.is_empty() {
        wanted.preferences.hashes = dhchap_hash.iter().filter_map(|word| HashFunction::of_word(word)).collect();
    }
    if !dhchap_dhgroup.is_empty() {
        wanted.preferences.groups = dhchap_dhgroup.iter().filter_map(|word| DhGroup::of_word(word)).collect();
    }
    Ok(Some(wanted))
}

/// Reads a secret from the text itself or from the file that it names.
fn secret(option: &str, text: &str) -> Result<Secret, String> {
    // Something that was meant as a secret must not be shown.
    if text.starts_with("DHHC-") {
        return text.parse().map_err(|error| format!("{option}: {error}"));
    }
    let inner = read_text(Path::new(text), SECRETS).map_err(|error| format!("{option} {text}: {error}"))?;
    inner.parse().map_err(|error| format!("{option} {text}: {error}"))
}

/// Parses a line of a file of hosts; `None` if it is empty or a comment.
fn host(line: &str) -> Result<Option<(QualifiedName, HostSecrets)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let parsed = |text: &str| text.parse::<Secret>().map_err(|error| error.to_string());
    let (name, own, controller) = match words.as_slice() {
        [name, own] => (name, parsed(own)?, None),
        [name, own, controller] => (name, parsed(own)?, Some(parsed(controller)?)),
        _ => return Err("write NQN SECRET, or NQN SECRET SECRET-OF-THE-DEVICE".to_owned()),
    };
    let name = QualifiedName::new(name).map_err(|error| error.to_string())?;
    Ok(Some((name, HostSecrets { host: own, controller })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> AuthenticationArguments {
        AuthenticationArguments {
            dhchap_secret: None,
            dhchap_ctrl_secret: None,
            dhchap_hosts: None,
            dhchap_hash: Vec::new(),
            dhchap_dhgroup: Vec::new(),
        }
    }

    #[test]
    fn secrets_come_from_the_command_line_and_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (1..4).map(|fill| Secret::new(&[fill; 32], None).unwrap().text()).collect();
        let path = folder.path().join("secret");
        std::fs::write(&path, format!("{}\n", texts[0])).unwrap();
        let hosts = folder.path().join("hosts");
        let lines = format!("# of the laboratory\n\nnqn.a {}\n nqn.b\t{} {}\n", texts[0], texts[1], texts[2]);
        std::fs::write(&hosts, lines).unwrap();
        let given = AuthenticationArguments {
            dhchap_secret: Some(path.display().to_string()),
            dhchap_ctrl_secret: Some(texts[1].clone()),
            dhchap_hosts: Some(hosts.clone()),
            dhchap_hash: vec!["sha512".into()],
            dhchap_dhgroup: vec!["null".into(), "ffdhe3072".into()],
        };
        let found = authentication(&given).unwrap().unwrap();
        let of = |text: &String| text.parse::<Secret>().unwrap();
        let others = HostSecrets { host: of(&texts[0]), controller: Some(of(&texts[1])) };
        assert_eq!(found.of_others, Some(others));
        assert_eq!(found.of_hosts.len(), 2);
        let second = &found.of_hosts[&QualifiedName::new("nqn.b").unwrap()];
        assert_eq!(*second, HostSecrets { host: of(&texts[1]), controller: Some(of(&texts[2])) });
        assert_eq!(found.preferences.hashes, [HashFunction::Sha512]);
        assert_eq!(found.preferences.groups, [DhGroup::Null, DhGroup::Ffdhe3072]);
        assert!(authentication(&arguments()).unwrap().is_none());
    }

    #[test]
    fn mistakes_say_where_they_are_and_show_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = folder.path().join("hosts");
        let good = Secret::new(&[1; 32], None).unwrap().text();
        let broken = good.replacen("AQEB", "AQEC", 1);
        let said = |given: AuthenticationArguments| authentication(&given).unwrap_err();
        let line = |text: String| {
            std::fs::write(&hosts, text).unwrap();
            said(AuthenticationArguments { dhchap_hosts: Some(hosts.clone()), ..arguments() })
        };
        for (text, expected) in [
            (format!("nqn.a {good}\nnqn.a {good}"), "line 2: this host has a line before"),
            (format!("nqn.a {broken}"), "line 1: the check sum"),
            ("nqn.a".to_owned(), "line 1: write NQN SECRET"),
            (format!("host {good}"), "line 1: `host` is not an NVMe qualified name"),
        ] {
            let said = line(text);
            assert!(said.contains(expected) && !said.contains("AQ"), "{said}");
        }
        let said = said(AuthenticationArguments { dhchap_secret: Some(broken), ..arguments() });
        assert!(said.contains("--dhchap-secret: the check sum") && !said.contains("AQ"), "{said}");
        let alone = AuthenticationArguments { dhchap_hash: vec!["sha256".into()], ..arguments() };
        assert!(authentication(&alone).unwrap_err().contains("need secrets"));
    }
}
