//! The studies in `studies/`: each can be planned unchanged and in its quick form, and is named in
//! the list.

use crate::support::Lab;

fn studies() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../studies").canonicalize().unwrap()
}

#[test]
fn every_study_can_be_planned_and_is_listed() {
    let readme = std::fs::read_to_string(studies().join("README.md")).unwrap();
    let mut files: Vec<String> = std::fs::read_dir(studies())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        assert!(readme.contains(&format!("| {file} |")), "{file} is not in studies/README.md");
        let path = studies().join(&file).display().to_string();
        let lab = Lab::new();
        let printed = lab.run(["study", "plan", &path]).ended(0, "").printed();
        assert!(printed.contains(" configurations in "), "{file}: {printed}");
        let quick = lab.run(["study", "plan", "--quick", &path]).ended(0, "").printed();
        assert!(quick.contains(" configurations in "), "{file}: {quick}");
    }
}

#[test]
fn every_part_belongs_to_a_collection() {
    let collections: String = std::fs::read_dir(studies())
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    for entry in std::fs::read_dir(studies()).unwrap() {
        let folder = entry.unwrap().path();
        for part in std::fs::read_dir(&folder).into_iter().flatten() {
            let part = part.unwrap().path();
            let name = part.strip_prefix(studies()).unwrap().display().to_string();
            assert!(collections.contains(&format!("\"{name}\"")), "no collection has {name}");
        }
    }
}
