//! Who may read the page: anybody on this machine, and elsewhere who has the token, over TLS.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};
use subtle::ConstantTimeEq;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A token that can be guessed is none.
const SHORTEST: usize = 16;
/// Longest file of a token.
const LONGEST: u64 = 4_096;

/// What cannot be served as asked.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Others could read it.
    #[error(
        "{0} can be reached from other machines, so it needs --tls-cert, --tls-key and --token-file; or listen on 127.0.0.1 and \
         let a proxy do it"
    )]
    Open(SocketAddr),
    /// A file cannot be read.
    #[error("cannot read `{0}`: {1}")]
    File(PathBuf, io::Error),
    /// A token is too short.
    #[error(
        "the token in `{0}` has {1} bytes, of which {SHORTEST} are the least; make one with `openssl rand -hex 32`"
    )]
    Token(PathBuf, usize),
    /// A token is no text.
    #[error(
        "the token in `{0}` is not one line of printable ASCII; make one with `openssl rand -hex 32`"
    )]
    TokenText(PathBuf),
    /// A certificate or key is none.
    #[error("`{0}` has no {1} in PEM: {2}")]
    Pem(PathBuf, &'static str, String),
    /// Certificate and key do not fit.
    #[error("the certificate and its key cannot be used: {0}")]
    Tls(rustls::Error),
}

/// A bearer token.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// The token in a file, of one line.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let file = |error| AccessError::File(path.to_owned(), error);
        let length = fs::metadata(path).map_err(file)?.len();
        if length > LONGEST {
            return Err(AccessError::TokenText(path.to_owned()));
        }
        let bytes = fs::read(path).map_err(file)?;
        let text = String::from_utf8(bytes).unwrap_or_else(|_| "\0".into());
        let text = text.trim_end_matches(['\n', '\r']);
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AccessError::TokenText(path.to_owned()));
        }
        if text.len() < SHORTEST {
            return Err(AccessError::Token(path.to_owned(), text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether a header of a request has it. How long that takes says nothing of the token but its length.
    pub(super) fn admits(&self, header: Option<&[u8]>) -> bool {
        let Some((scheme, token)) = header.and_then(|header| header.split_at_checked(7)) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.ct_eq(self.0.as_bytes()))
    }
}

/// What protects the page.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The bearer token that requests need.
    pub token: Option<Token>,
    /// TLS.
    pub tls: Option<Arc<ServerConfig>>,
}

impl Access {
    /// Refuses an address that is not this machine's own, unless token and TLS protect it.
    pub fn check(&self, address: SocketAddr) -> Result<(), AccessError> {
        let protected = self.token.is_some() && self.tls.is_some();
        if address.ip().is_loopback() || protected {
            Ok(())
        } else {
            Err(AccessError::Open(address))
        }
    }
}

/// TLS with a certificate (and those that lead to its root) and its key, both in PEM.
pub fn tls(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, AccessError> {
    let read = |path: &Path| fs::read(path).map_err(|error| AccessError::File(path.into(), error));
    let pem = |path: &Path, what, error: String| AccessError::Pem(path.into(), what, error);
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
    let chain = chain.map_err(|error| pem(certificate, "certificate", error.to_string()))?;
    if chain.is_empty() {
        return Err(pem(certificate, "certificate", "none is in it".into()));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| pem(key, "private key", error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(AccessError::Tls)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(AccessError::Tls)?;
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_compared_whole() {
        let token = Token("0123456789abcdef".into());
        assert!(token.admits(Some(b"Bearer 0123456789abcdef")));
        assert!(token.admits(Some(b"bearer 0123456789abcdef")));
        for wrong in [
            &b""[..],
            b"Bearer ",
            b"Bearer 0123456789abcde",
            b"Bearer 0123456789abcdefg",
            b"Bearer 0123456789abcdeF",
            b"Basic 0123456789abcdef",
            b"0123456789abcdef",
        ] {
            assert!(!token.admits(Some(wrong)), "{wrong:?}");
        }
        assert!(!token.admits(None));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn tokens_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(Token::read(&path).unwrap_err().to_string().contains("cannot read"));
        for (bytes, message) in [
            (&b"short\n"[..], "has 5 bytes"),
            (b"", "has 0 bytes"),
            (b"two lines of it\nand another", "one line"),
            (b"\xff\xfe0123456789abcdef", "one line"),
            (&[b'a'; 5_000], "one line"),
        ] {
            fs::write(&path, bytes).unwrap();
            let error = Token::read(&path).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains("openssl"), "{error}");
        }
        fs::write(&path, "0123456789abcdef\n").unwrap();
        assert!(Token::read(&path).unwrap().admits(Some(b"Bearer 0123456789abcdef")));
    }

    #[test]
    fn only_this_machine_reads_without_protection() {
        let open = Access::default();
        for address in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert!(open.check(address.parse().unwrap()).is_ok());
        }
        let half = Access { token: Some(Token("0123456789abcdef".into())), tls: None };
        for address in ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "[::ffff:127.0.0.1]:1"] {
            for access in [&open, &half] {
                let error = access.check(address.parse().unwrap()).unwrap_err().to_string();
                assert!(error.contains("--tls-cert, --tls-key and --token-file"), "{error}");
            }
        }
    }
}
