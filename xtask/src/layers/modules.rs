//! The modules of one crate: the file of each, its definitions and imports, and the file that a
//! path leads to.
//!
//! It reads tokens and does not expand macros: an item made by a macro is unknown, and a path to it
//! leads nowhere.

use std::collections::BTreeMap;

use super::tokens::{Import, Token, closing, imports, tokens};
use crate::repository::{Repository, TextFile};
use crate::rust_text::{line_of, without_test_items};

/// How many re-exports a path may lead through.
const REEXPORTS: usize = 12;

/// One use of an item of another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) from: String,
    pub(super) to: String,
    /// Line in `from`.
    pub(super) line: usize,
}

#[derive(Debug, Default)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Its items, and whether they are traits.
    items: BTreeMap<String, bool>,
    imports: Vec<Import>,
    /// Paths in its code, with their places; single words, too.
    paths: Vec<(Vec<String>, usize)>,
}

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

/// All modules of a crate, tests left out.
#[derive(Debug, Default)]
pub(super) struct Modules {
    all: Vec<Module>,
    texts: BTreeMap<String, String>,
}

impl Modules {
    /// The crate with its sources in `folder` (`crates/base/text/src`).
    pub(super) fn read(repository: &Repository, folder: &str) -> Modules {
        let mut modules = Modules::default();
        let roots = ["lib.rs", "main.rs"].map(|root| format!("{folder}/{root}"));
        let root = roots.iter().find_map(|path| repository.rust_files().find(|file| file.path == *path));
        if let Some(root) = root {
            modules.add(repository, root, folder, None);
        }
        modules
    }

    /// Adds the module of a file, whose children are files of `folder`, and those below it.
    fn add(&mut self, repository: &Repository, file: &TextFile, folder: &str, parent: Option<usize>) -> usize {
        let text = without_test_items(file.masked());
        let module = self.all.len();
        self.all.push(Module { file: file.path.clone(), parent, ..Module::default() });
        let named = self.read_tokens(module, &tokens(&text));
        self.texts.insert(file.path.clone(), text);
        for (parent, name) in named {
            let below = format!("{folder}/{name}");
            let paths = [format!("{below}.rs"), format!("{below}/mod.rs")];
            if let Some(file) = repository.rust_files().find(|file| paths.contains(&file.path)) {
                let child = self.add(repository, file, &below, Some(parent));
                self.all[parent].children.insert(name, child);
            }
        }
        module
    }

    /// Reads the content of a module, and returns its child modules in other files.
    fn read_tokens(&mut self, module: usize, tokens: &[Token<'_>]) -> Vec<(usize, String)> {
        let (mut files, mut at, mut depth) = (Vec::new(), 0, 0_usize);
        while at < tokens.len() {
            let word = |ahead: usize| tokens.get(at + ahead).map_or("", |token| token.text);
            at += match word(0) {
                "use"
                    if tokens
                        .get(at + 1)
                        .is_some_and(|next| next.is_name() || next.text == "::" || next.text == "{") =>
                {
                    let (found, end) = imports(tokens, at);
                    self.all[module].imports.extend(found);
                    end - at
                }
                "mod" if depth == 0 && word(2) == ";" => {
                    files.push((module, word(1).to_owned()));
                    3
                }
                "mod" if depth == 0 && word(2) == "{" => {
                    let end = closing(tokens, at + 2);
                    let inner = self.all.len();
                    let file = self.all[module].file.clone();
                    self.all.push(Module { file, parent: Some(module), ..Module::default() });
                    self.all[module].children.insert(word(1).to_owned(), inner);
                    // Files of inline modules are not used here.
                    self.read_tokens(inner, &tokens[at + 3..end.saturating_sub(1).max(at + 3)]);
                    end - at
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "union" | "const" | "static"
                    if depth == 0 && tokens.get(at + 1).is_some_and(Token::is_name) =>
                {
                    self.all[module].items.insert(word(1).to_owned(), word(0) == "trait");
                    if matches!(word(1), "fn" | "unsafe" | "extern" | "async" | "mut") { 1 } else { 2 }
                }
                "macro_rules" if word(1) == "!" => {
                    self.all[module].items.insert(word(2).to_owned(), false);
                    3
                }
                "{" | "(" | "[" => {
                    depth += 1;
                    1
                }
                "}" | ")" | "]" => {
                    depth = depth.saturating_sub(1);
                    1
                }
                "." | "fn" if tokens.get(at + 1).is_some_and(Token::is_name) => 2, // a method or field
                _ => self.read_path(module, &tokens[at..]),
            };
        }
        files
    }

    /// Notes the path that `tokens` begin with, and returns how many they are.
    fn read_path(&mut self, module: usize, tokens: &[Token<'_>]) -> usize {
        if !tokens[0].is_name() {
            return 1;
        }
        let mut path = vec![tokens[0].text.to_owned()];
        let mut length = 1;
        while tokens.get(length).is_some_and(|token| token.text == "::")
            && tokens.get(length + 1).is_some_and(Token::is_name)
        {
            path.push(tokens[length + 1].text.to_owned());
            length += 2;
        }
        self.all[module].paths.push((path, tokens[0].at));
        length
    }

    /// Every use of an item of another file, once for each pair of files: its first line.
    pub(super) fn uses(&self) -> Vec<Use> {
        let mut first: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (number, module) in self.all.iter().enumerate() {
            let imported = module.imports.iter().filter(|import| self.is_used_here(number, import));
            let imported = imported.map(|import| (&import.path, import.at));
            let written = module.paths.iter().map(|(path, at)| (path, *at));
            for (path, at) in imported.chain(written) {
                let Some(Target::Item(owner)) = self.resolve(number, path, REEXPORTS) else { continue };
                let (from, to) = (module.file.clone(), self.all[owner].file.clone());
                if from != to {
                    let line = line_of(&self.texts[&from], at);
                    first.entry((from, to)).and_modify(|known| *known = line.min(*known)).or_insert(line);
                }
            }
        }
        first.into_iter().map(|((from, to), line)| Use { from, to, line }).collect()
    }

    /// Whether the module's own code uses what it imports. A re-export, and a name that only child
    /// modules take from here, do not count. A trait may be used without being named.
    fn is_used_here(&self, number: usize, import: &Import) -> bool {
        let module = &self.all[number];
        let Some(name) = &import.name else { return false };
        let is_trait = || match self.resolve(number, &import.path, REEXPORTS) {
            Some(Target::Item(owner)) => self.all[owner].items.get(import.path.last().unwrap_or(name)) == Some(&true),
            _ => false,
        };
        module.paths.iter().any(|(path, _)| path[0] == *name) || (!import.is_public && is_trait())
    }

    /// Where a path leads that is written in a module.
    fn resolve(&self, module: usize, path: &[String], reexports: usize) -> Option<Target> {
        let (mut here, mut rest) = (module, path);
        let mut is_anchored = false;
        while let Some((first, after)) = rest.split_first() {
            here = match first.as_str() {
                "crate" => 0,
                "self" => here,
                "super" => self.all[here].parent?,
                _ => break,
            };
            (rest, is_anchored) = (after, true);
        }
        if !is_anchored && rest.len() == 1 && self.all[module].items.contains_key(&rest[0]) {
            return Some(Target::Item(module));
        }
        let mut target = Target::Module(here);
        for name in rest {
            match target {
                Target::Module(inside) => target = self.member(inside, name, reexports)?,
                Target::Item(_) => break,
            }
        }
        Some(target)
    }

    /// What a name means inside of a module.
    fn member(&self, module: usize, name: &str, reexports: usize) -> Option<Target> {
        let inside = &self.all[module];
        if let Some(child) = inside.children.get(name) {
            return Some(Target::Module(*child));
        }
        if inside.items.contains_key(name) {
            return Some(Target::Item(module));
        }
        let reexports = reexports.checked_sub(1)?;
        let named = inside.imports.iter().find(|import| import.name.as_deref() == Some(name));
        if let Some(import) = named {
            return self.imported(module, &import.path, reexports);
        }
        inside.imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
            match self.imported(module, &import.path, reexports)? {
                Target::Module(from) => self.member(from, name, reexports),
                Target::Item(_) => None,
            }
        })
    }

    /// Where the path of an import leads. A first segment that the module does not have is a crate.
    fn imported(&self, module: usize, path: &[String], reexports: usize) -> Option<Target> {
        let first = path.first()?;
        let inside = &self.all[module];
        let is_here = matches!(first.as_str(), "crate" | "self" | "super")
            || inside.children.contains_key(first)
            || inside.items.contains_key(first)
            || inside.imports.iter().any(|import| import.name.as_ref() == Some(first) && import.path != path);
        if is_here { self.resolve(module, path, reexports) } else { None }
    }
}
