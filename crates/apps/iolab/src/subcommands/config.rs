//! `iolab config`: the user's defaults.

use std::path::PathBuf;

use clap::Args;
use iolab_archive::{database, recordings};
use iolab_configuration::{SETTINGS, SettingInfo, UserSetting};
use iolab_text::{Alignment, aligned};

use crate::exit::ExitFailure;
use crate::output;

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct ConfigArguments {
    /// Print a configuration file with every setting as a comment
    #[arg(long)]
    template: bool,
}

pub(crate) fn main(arguments: &ConfigArguments) -> Result<u8, ExitFailure> {
    output::print(&if arguments.template { template() } else { shown() })?;
    Ok(0)
}

fn template() -> String {
    let mut text = "# iolab's defaults. Environment variables and options of commands have precedence.\n".to_owned();
    for SettingInfo { name, variable, about, example, .. } in SETTINGS {
        let variable = variable.map(|variable| format!(" ({variable})")).unwrap_or_default();
        text += &format!("\n# {about}{variable}\n# {name} = {example}\n");
    }
    text
}

fn shown() -> String {
    let file = match iolab_configuration::path() {
        Some(path) if path.exists() => path.display().to_string(),
        Some(path) => format!("{} (does not exist: `iolab config --template` prints one)", path.display()),
        None => "none".to_owned(),
    };
    let mut lines = vec![["setting", "value", "from"].map(str::to_owned).to_vec()];
    for info in SETTINGS {
        lines.push(match (info.setting, iolab_configuration::value(info.setting)) {
            // A list.
            (UserSetting::AllowDestroy, Some((_, origin))) => {
                let paths = iolab_configuration::allow_destroy();
                let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                vec![info.name.to_owned(), paths.join(", "), origin.to_string()]
            }
            (_, Some((value, origin))) => {
                vec![info.name.to_owned(), value.to_string_lossy().into_owned(), origin.to_string()]
            }
            (setting, None) => vec![info.name.to_owned(), by_default(setting), "default".to_owned()],
        });
    }
    format!("file: {file}\n\n{}", aligned(&lines, |_| Alignment::Left))
}

/// What counts where the user has set nothing.
fn by_default(setting: UserSetting) -> String {
    let path = |path: Option<PathBuf>| path.map_or("none".to_owned(), |path| path.display().to_string());
    match setting {
        UserSetting::Recordings => path(recordings::folder().ok()),
        UserSetting::Database => path(database::path().ok().flatten()),
        UserSetting::State => path(iolab_pipeline::state_folder()),
        UserSetting::Devices => {
            path(iolab_device_catalogue::Catalogue::of_user().ok().map(|own| own.folder().to_owned()))
        }
        UserSetting::Rocksdb => "the system's".to_owned(),
        UserSetting::Color => "auto".to_owned(),
        UserSetting::AllowDestroy => "nothing".to_owned(),
    }
}
