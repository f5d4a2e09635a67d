//! Study folders in which files are changed, cut, removed or replaced, passed to everything that
//! reads such folders. No study is run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::random::{Random, scrambled};
use crate::recordings::change;
use crate::support::Lab;
use crate::{bounded, campaign, inputs};

/// Runs a study of the null engine in the folder `good`.
fn study(lab: &Lab) -> Vec<PathBuf> {
    lab.file("job.fio", "[job]\nioengine=null\nsize=1m\nrw=randread\nwrite_lat_log=log\n");
    let axis = "[[axis]]\noption = \"iodepth\"\nvalues = [1, 2]\n";
    let text =
        "title = \"Good\"\njob = \"job.fio\"\nblocks = 3\nfigures = [\"iops\", \"p50\"]\nbaseline = { iodepth = 1 }\n";
    lab.file("good.toml", format!("{text}{axis}"));
    lab.run(["study", "run", "good.toml"]).ended(0, "");
    let mut files = Vec::new();
    list(&lab.path("good"), &mut files);
    files.sort();
    files.into_iter().map(|path| path.strip_prefix(lab.path("good")).unwrap().to_owned()).collect()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => list(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

/// Makes input *number*: a copy of the folder with one to three damaged files.
fn damage(lab: &Lab, files: &[PathBuf], number: u64) -> String {
    let name = format!("study-{number}");
    for file in files {
        let path = lab.path(&name).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(lab.path("good").join(file), path).unwrap();
    }
    let mut random = Random::new(number);
    for _ in 0..=random.below(3) {
        let path = lab.path(&name).join(random.pick(files));
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let _there = std::fs::remove_file(&path);
        match random.below(10) {
            0 => {}
            1 => std::fs::create_dir(&path).unwrap(),
            2 => std::os::unix::fs::symlink(random.pick(&["/dev/zero", ".", "nowhere"]), &path).unwrap(),
            3 => std::fs::write(&path, &bytes[..random.below(bytes.len() + 1)]).unwrap(),
            4 => std::fs::write(&path, scrambled(bytes, &mut random)).unwrap(),
            _ => {
                let changed = serde_json::from_slice::<Value>(&bytes).map(|mut value| {
                    (0..=random.below(3)).for_each(|_| change(&mut value, &mut random));
                    value.to_string().into_bytes()
                });
                std::fs::write(&path, changed.unwrap_or_else(|_| scrambled(bytes, &mut random))).unwrap();
            }
        }
    }
    name
}

#[test]
fn folders_of_studies_are_read_or_refused() {
    let lab = Lab::new();
    let files = study(&lab);
    assert!(files.iter().any(|file| file == Path::new("study.json")) && files.len() > 8, "{files:?}");
    let numbers = inputs(3, 8);
    campaign(numbers, |number| {
        let name = damage(&lab, &files, number);
        for words in [
            "study show",
            "study show --json",
            "report",
            "report --output-format=html",
            "compare good",
            "explain",
            "db import",
        ] {
            let words: Vec<String> = words.split(' ').chain([name.as_str()]).map(str::to_owned).collect();
            let end = bounded(&lab, number, env!("CARGO_BIN_EXE_iolab"), &words, &[]);
            if !end.is_sound() {
                return Err(format!("{words:?}: {end:?}"));
            }
        }
        std::fs::remove_dir_all(lab.path(&name)).map_err(|error| error.to_string())
    });
}
