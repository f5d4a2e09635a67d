//! The README opens with the two commands that a newcomer needs, and they are the ones that CI
//! runs.

use crate::finding::Finding;
use crate::repository::Repository;

/// The first two commands of the README, in this order.
const OPENING: [&str; 2] = ["cargo run --release -- demo", "cargo test --workspace"];

pub(crate) fn check(repository: &Repository) -> Result<Vec<Finding>, String> {
    let text = repository.text("README.md").ok_or("README.md is missing")?;
    let commands = commands(text);
    let opens = commands.iter().map(String::as_str).take(OPENING.len()).eq(OPENING);
    Ok(if opens {
        Vec::new()
    } else {
        vec![Finding::new("README.md", 0, format!("the first commands must be {OPENING:?}, not {commands:?}"))]
    })
}

/// The demo command, without `cargo`.
pub(crate) fn demo_arguments() -> impl Iterator<Item = &'static str> {
    OPENING[0].split(' ').skip(1)
}

/// Lines of the `sh` blocks, without prompts and comments.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = matches!(line, "```sh" | "```console" | "```bash");
        } else if inside {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            let command = line.split(" #").next().unwrap_or_default().trim();
            if !command.is_empty() && !command.starts_with('#') {
                found.push(command.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    #[test]
    fn the_readme_opens_with_its_commands() {
        assert_eq!(check(&Repository::here().unwrap()).unwrap(), []);
    }

    #[test]
    fn canary() {
        let (_folder, tree) = repository(&[("README.md", "# x\n```sh\ncargo test --workspace\n```\n")]);
        assert_eq!(check(&tree).unwrap().len(), 1);
    }

    #[test]
    fn commands_are_read_from_shell_blocks_only() {
        let text = "```sh\n$ one --a  # why\n# two\n```\n```text\nthree\n```\n```console\nfour\n```\n";
        assert_eq!(commands(text), ["one --a", "four"]);
    }
}
