//! The crates, as their own Cargo.toml files describe them.
//!
//! ```toml
//! [package]
//! description = "what it is, in one line"
//!
//! [package.metadata.iolab]        # each key is optional
//! pure = true                     # turns values into values: no I/O, no clock, no environment
//! also-uses = ["nvme"]            # districts beyond those that its own district may use
//! unsafe = "what safe Rust cannot do here"             # the whole crate is an unsafe island
//! unsafe-files = { "src/a.rs" = "the same, of one file" }
//! ```

use toml::Value;

use crate::repository::Repository;

/// One crate below `crates/`.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// `crates/DISTRICT/NAME`.
    pub(crate) folder: String,
    pub(crate) description: String,
    pub(crate) pure: bool,
    pub(crate) also_uses: Vec<String>,
    /// Where unsafe code may be, as a path below the root, and what safe Rust cannot do there.
    pub(crate) islands: Vec<(String, String)>,
    /// Everything it depends on, outside packages too.
    pub(crate) uses: Vec<String>,
}

impl Package {
    /// The district it stands in.
    pub(crate) fn district(&self) -> &str {
        self.folder.split('/').nth(1).unwrap_or_default()
    }

    /// The name of its folder.
    pub(crate) fn short_name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or_default()
    }

    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// All packages below `crates/`, by folder.
pub(crate) fn packages(repository: &Repository) -> Result<Vec<Package>, String> {
    let manifests = repository.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("/Cargo.toml")?;
        folder.starts_with("crates/").then_some((folder, &file.text))
    });
    manifests.map(|(folder, text)| read(folder, text).map_err(|what| format!("{folder}/Cargo.toml: {what}"))).collect()
}

fn read(folder: &str, text: &str) -> Result<Package, String> {
    let manifest: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let package = manifest.get("package").and_then(Value::as_table).ok_or("no [package]")?;
    let text_of = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut read = Package {
        name: text_of("name"),
        folder: folder.to_owned(),
        description: text_of("description"),
        pure: false,
        also_uses: Vec::new(),
        islands: Vec::new(),
        uses: Vec::new(),
    };
    for section in ["dependencies", "build-dependencies"] {
        let table = manifest.get(section).and_then(Value::as_table);
        read.uses.extend(table.into_iter().flat_map(toml::Table::keys).cloned());
    }
    let metadata = package.get("metadata").and_then(|metadata| metadata.get("iolab")).and_then(Value::as_table);
    for (key, value) in metadata.into_iter().flatten() {
        match (key.as_str(), value) {
            ("pure", Value::Boolean(pure)) => read.pure = *pure,
            ("also-uses", Value::Array(districts)) => {
                read.also_uses.extend(districts.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            ("unsafe", Value::String(why)) => read.islands.push((folder.to_owned(), why.clone())),
            ("unsafe-files", Value::Table(files)) => {
                for (file, why) in files {
                    let why = why.as_str().ok_or_else(|| format!("unsafe-files: {file} has no reason"))?;
                    read.islands.push((format!("{folder}/{file}"), why.to_owned()));
                }
            }
            _ => return Err(format!("[package.metadata.iolab] has no `{key}` of this type")),
        }
    }
    Ok(read)
}
