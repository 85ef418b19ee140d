//! [`Failure`]: why there are no values, in words that name the device and what to do.

use super::access::Address;
use std::error::Error;
use std::time::Duration;
use tonic::{Code, Status};

/// Longest text of a device or library in an error.
const LONGEST: usize = 200;

/// Why there is no stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nothing answers, or not in a language that is understood.
    Connect(String),
    /// The certificate is not believed, or the device speaks no TLS.
    Tls(String),
    /// The device does not let the client in.
    Login(String, &'static str),
    /// The device ended the stream, or refused it.
    Refused(String),
    /// The device ended the stream and said nothing.
    Ended,
    /// Nothing came for so long.
    Silent(Duration),
    /// Not everything has been sent once.
    NotSynced,
    /// It is not known whose paths the device has.
    Dialect,
}

impl Failure {
    /// Why a connection was not made.
    pub(super) fn connect(error: &tonic::transport::Error) -> Self {
        let cause = root(error);
        let tls = ["certificate", "tls", "handshake", "invalidcontenttype", "corrupt message"];
        let lower = cause.to_ascii_lowercase();
        match tls.iter().any(|word| lower.contains(word)) {
            true => Failure::Tls(cause),
            false => Failure::Connect(cause),
        }
    }

    /// Why a call failed.
    pub(super) fn call(status: &Status, cure: &'static str) -> Self {
        let message = match status.message() {
            "" => status.code().description().to_owned(),
            message => message.to_owned(),
        };
        match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Failure::Login(cut(&message), cure),
            // What the connection died of is below what the library says of it.
            _ if status.source().is_some() => Failure::Connect(root(status)),
            _ => Failure::Refused(cut(&message)),
        }
    }

    /// The sentence.
    pub(super) fn text(&self, address: &Address) -> String {
        match self {
            Failure::Connect(cause) => format!(
                "cannot reach gNMI at {address}: {cause}; is it the address, is gNMI running there, and is it with TLS (--ca) or \
                 without (--insecure)?"
            ),
            Failure::Tls(cause) => format!(
                "no TLS with {address}: {cause}; --ca has to be what signed its certificate and --tls-name the name in it; a \
                 device without TLS needs --insecure"
            ),
            Failure::Login(cause, cure) => {
                format!("{address} does not let xoff in: {cause}; {cure}")
            }
            Failure::Refused(cause) => format!("{address} refused or ended the stream: {cause}"),
            Failure::Ended => format!("{address} ended the stream"),
            Failure::Silent(time) => {
                format!("{address} sent nothing for {} s; the stream is made again", time.as_secs())
            }
            Failure::NotSynced => format!(
                "{address} has not sent all of its values yet (no sync_response); a slow device may need a longer --sample"
            ),
            Failure::Dialect => format!(
                "{address} lists neither models of SONiC nor of OpenConfig; say which it has with --dialect"
            ),
        }
    }
}

/// What an error is about in the end. Libraries wrap it in words that say nothing.
fn root(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    cut(&last.to_string())
}

/// A text of somebody else, on one line and not too long.
fn cut(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(LONGEST).map(plain).collect()
}
