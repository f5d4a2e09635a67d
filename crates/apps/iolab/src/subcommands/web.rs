//! `iolab web`: serves pages about runs. Without the feature `web`, it says how to build it.

use std::path::PathBuf;

use clap::Args;

#[cfg(not(feature = "web"))]
use crate::exit::ExitFailure;

/// What is served, and to whom.
#[derive(Debug, Args)]
pub(crate) struct WebArguments {
    /// Address and port; other addresses than this machine's own need the token for reading, too
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<std::net::SocketAddr>,
    /// Another name that browsers may use for this machine; may be repeated
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Require the token also for reading
    #[arg(long)]
    private: bool,
    /// Show the runs of this folder, too, while they go on: a study's trials, or where
    /// `iolab watch --record` writes; may be repeated
    #[arg(long, value_name = "FOLDER")]
    also: Vec<PathBuf>,
    /// Show only the run of this partial recording, and end with it
    #[arg(long, value_name = "FILE", hide = true)]
    follow: Option<PathBuf>,
    /// Show only the trials of a study in this folder, one after the other, until standard input
    /// ends
    #[arg(long, value_name = "FOLDER", hide = true)]
    trials: Option<PathBuf>,
}

#[cfg(not(feature = "web"))]
pub(crate) fn main(_: &WebArguments) -> Result<u8, ExitFailure> {
    Err(ExitFailure::mistake("iolab: this build has no pages: build it with `cargo build --release --features web`"))
}

#[cfg(feature = "web")]
pub(crate) use serving::main;

#[cfg(feature = "web")]
mod serving {
    use std::fs::File;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
    use std::path::Path;
    use std::sync::atomic::Ordering;

    use anyhow::Context;
    use iolab_archive::recordings;
    use iolab_archive::{database, running};
    use iolab_process::INTERRUPTS;
    use iolab_web::{Followed, WebEngine, WebSettings, new_token, serve};

    use super::WebArguments;
    use crate::exit::ExitFailure;
    use crate::output;

    const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8765);

    pub(crate) fn main(arguments: &WebArguments) -> Result<u8, ExitFailure> {
        let listener = listen(arguments)?;
        let address = listener.local_addr().context("asking for the address")?;
        let token = new_token().context("making a token")?;
        let shown = shown_host(arguments, address);
        let settings = settings(arguments, address, token.clone())?;
        iolab_process::count_signals();
        let line = format!("http://{shown}/?token={token}");
        if let Some(path) = &arguments.follow {
            return follow(path, listener, settings, &line);
        }
        if arguments.trials.is_some() {
            let _ = iolab_process::set_nice(10);
            eprintln!("iolab: live page: {line}");
            serve(listener, settings, crate::follower::has_parent_ended).context("serving")?;
            return Ok(0);
        }
        output::print(&format!("{line}\n"))?;
        let reading = if settings.is_private {
            "reads or changes anything"
        } else {
            "changes anything; whoever reaches the address may read"
        };
        eprintln!("iolab: serving until Ctrl-C; only who has the token {reading}");
        serve(listener, settings, || INTERRUPTS.load(Ordering::Relaxed) > 0).context("serving")?;
        Ok(0)
    }

    /// The usual port may be taken: any other is as good, unless the user named it.
    fn listen(arguments: &WebArguments) -> Result<TcpListener, ExitFailure> {
        let usual = || TcpListener::bind(USUAL).or_else(|_| TcpListener::bind(SocketAddr::new(USUAL.ip(), 0)));
        let bound = match arguments.listen {
            Some(address) => TcpListener::bind(address),
            None => usual(),
        };
        let address = arguments.listen.unwrap_or(USUAL);
        bound.map_err(|error| {
            ExitFailure::mistake(format!("iolab: --listen={address}: {error}: name another port, or 0 for any"))
        })
    }

    /// The name that the printed address has.
    fn shown_host(arguments: &WebArguments, address: SocketAddr) -> String {
        match arguments.host_name.first() {
            Some(name) => format!("{name}:{}", address.port()),
            None => address.to_string(),
        }
    }

    fn settings(arguments: &WebArguments, address: SocketAddr, token: String) -> Result<WebSettings, ExitFailure> {
        let port = address.port();
        let own = ["127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
        let hosts = own.into_iter().chain(arguments.host_name.iter().cloned()).map(|name| format!("{name}:{port}"));
        let mut hosts: Vec<String> = hosts.chain([address.to_string()]).collect();
        if port == 80 {
            // Browsers leave this one out.
            hosts.extend(hosts.clone().iter().filter_map(|host| Some(host.strip_suffix(":80")?.to_owned())));
        }
        let recordings = recordings::folder()?;
        iolab_outputs::make_private_folder(&recordings)?;
        let program = std::env::current_exe().context("looking for the program itself")?;
        let engine = |description: &&'static iolab_engine::EngineDescription| WebEngine {
            name: description.name,
            summary: description.summary,
            options: description.options,
        };
        let follows = arguments.follow.clone().map(Followed::Run);
        let follows = follows.or_else(|| arguments.trials.clone().map(Followed::Trials));
        Ok(WebSettings {
            token,
            hosts,
            is_private: arguments.private || !address.ip().is_loopback(),
            recordings,
            also: arguments.also.clone(),
            database: database::path()?,
            program: follows.is_none().then_some(program),
            follows,
            engines: iolab_engine_catalogue::descriptions().iter().map(engine).collect(),
            version: env!("CARGO_PKG_VERSION"),
        })
    }

    /// Serves the page of one run until it ends.
    fn follow(path: &Path, listener: TcpListener, settings: WebSettings, line: &str) -> Result<u8, ExitFailure> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        if let Ok(loaded) = recordings::load(path) {
            running::stay_away_from(&loaded.recording.plan);
        }
        eprintln!("iolab: live page: {line}");
        serve(listener, settings, || !running::is_running(&file)).context("serving")?;
        Ok(0)
    }
}
