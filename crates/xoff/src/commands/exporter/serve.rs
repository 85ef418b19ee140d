//! The page of an exporter: printed once, or served.

use crate::clock::Stopwatch;
use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;
use xoff_exporter::http::{Access, AccessError, Server, Service, Token, tls};
use xoff_exporter::{Origin, Scraper, Unavailable};

/// How long a client may take for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the page goes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Serving")]
pub(super) struct Serving {
    /// Where to listen; other addresses than this machine's own need TLS and a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9810")]
    listen: SocketAddr,
    /// The certificate, and those that lead to its root, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A file with the bearer token that requests need
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print the page once and end, for tests and for node_exporter's textfile collector
    #[arg(long, conflicts_with_all = ["listen", "tls_cert", "token_file"])]
    once: bool,
}

pub(super) fn run(origin: Box<dyn Origin>, serving: &Serving) -> Result<Exit, Failure> {
    let clock = Stopwatch::start();
    let now = move || clock.elapsed();
    let scraper = Scraper::new(origin, &now);
    if serving.once {
        let page = scraper.page();
        if let Some(error) = page.failure {
            return Err(Failure::input(error.to_string()));
        }
        return output::stdout(&page.text).map(|()| Exit::Fine);
    }
    let wrong = |error: AccessError| Failure::input(error.to_string());
    let token = serving.token_file.as_deref().map(Token::read).transpose().map_err(wrong)?;
    let tls = match (&serving.tls_cert, &serving.tls_key) {
        (Some(certificate), Some(key)) => Some(tls(certificate, key).map_err(wrong)?),
        _ => None,
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let server = Server::listen(serving.listen, Access { token, tls }, PATIENCE)
        .map_err(|error| Failure::input(error.to_string()))?;
    let address = server.address().unwrap_or(serving.listen);
    let interrupt = Interrupt::listen();
    let trouble = Trouble::default();
    let page = || {
        let page = scraper.page();
        trouble.tell(page.failure);
        page.text
    };
    // Once before anybody asks, so that what is wrong is said when it is started.
    let series = {
        let first = scraper.page();
        trouble.tell(first.failure);
        first.series
    };
    say(Level::Note, &format!("{series} series on {scheme}://{address}/metrics; Ctrl-C ends it"));
    let stop = interrupt.flag();
    server
        .serve(Service { page: &page, now: &now, stop: &stop })
        .map_err(|error| Failure::input(format!("cannot listen on {address}: {error}")))?;
    Ok(Exit::Interrupted)
}

/// What was wrong with the last scrape: said when it changes, and not every 15 seconds.
#[derive(Debug, Default)]
struct Trouble(Mutex<Option<Unavailable>>);

impl Trouble {
    fn tell(&self, now: Option<Unavailable>) {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match (&*last, &now) {
            (last, Some(error)) if last.as_ref() != Some(error) => {
                say(Level::Warning, &error.to_string());
            }
            (Some(_), None) => say(Level::Note, "counters can be read again"),
            _ => {}
        }
        *last = now;
    }
}
