//! Every source file is a module of its crate. A file that no `mod` names looks like code but is
//! never compiled.

use crate::finding::Finding;
use crate::repository::{Repository, TextFile};

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    let sources = repository.rust_files().filter(|file| file.path.contains("/src/") && !is_root(&file.path));
    sources.filter(|file| !is_named(repository, file)).map(finding).collect()
}

fn finding(file: &TextFile) -> Finding {
    Finding::new(&file.path, 0, "no `mod` names this file, so nothing compiles it: name it or remove it")
}

fn is_root(path: &str) -> bool {
    path.ends_with("/lib.rs") || path.ends_with("/main.rs") || path.contains("/src/bin/")
}

/// Whether the file that can name this one does.
fn is_named(repository: &Repository, file: &TextFile) -> bool {
    let module = file.path.strip_suffix("/mod.rs").or_else(|| file.path.strip_suffix(".rs")).unwrap_or(&file.path);
    let Some((folder, name)) = module.rsplit_once('/') else { return false };
    let parents = ["lib.rs", "main.rs", "mod.rs"].map(|parent| format!("{folder}/{parent}"));
    let parents = parents.into_iter().chain([format!("{folder}.rs")]);
    let wanted = format!("mod {name};");
    let by_name = |text: &str| text.lines().any(|line| line.ends_with(&wanted));
    // A file that several programs include names its modules by path.
    let path = format!("#[path = \"{name}.rs\"]");
    let by_path = |other: &TextFile| {
        other.path.rsplit_once('/').is_some_and(|(beside, _)| beside == folder)
            && other.text.lines().any(|line| line == path)
    };
    parents.filter_map(|parent| repository.text(&parent)).any(by_name) || repository.rust_files().any(by_path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let (_folder, tree) = repository(files);
        check(&tree).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn canary() {
        let root = ("crates/a/src/lib.rs", "mod one;\npub(crate) mod two;\n");
        let files = [root, ("crates/a/src/one.rs", "mod deep;\n"), ("crates/a/src/two/mod.rs", "")];
        assert_eq!(orphans(&files), [] as [&str; 0]);
        let deep = [files.as_slice(), &[("crates/a/src/one/deep.rs", ""), ("crates/a/src/one/lost.rs", "")]].concat();
        assert_eq!(orphans(&deep), ["crates/a/src/one/lost.rs"]);
        let by_path = ("crates/a/src/one.rs", "#[path = \"beside.rs\"]\nmod beside;\n");
        let included = [("crates/a/src/lib.rs", "mod one;\n"), by_path, ("crates/a/src/beside.rs", "")];
        assert_eq!(orphans(&included), [] as [&str; 0]);
        let program = [("crates/a/src/bin/b.rs", ""), ("crates/a/src/main.rs", "")];
        assert_eq!(orphans(&program), [] as [&str; 0]);
    }
}
