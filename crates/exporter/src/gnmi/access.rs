//! Where a device listens, and how the client says who it is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fs, io};
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};

/// Longest file of a password or token, and of a certificate or key.
const LONGEST: u64 = 16_384;
const LONGEST_PEM: u64 = 1 << 20;

/// What cannot be used to reach a device.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A file cannot be read.
    #[error("cannot read `{0}`: {1}")]
    File(PathBuf, io::Error),
    /// A file is too long to be what it should be.
    #[error("`{0}` has {1} bytes, which is too long for {2}")]
    Long(PathBuf, u64, &'static str),
    /// A secret is no text that can be sent.
    #[error("{0} is not one line of printable ASCII, which is all that gNMI can send")]
    Secret(String),
    /// A certificate or key is none.
    #[error("`{0}` has no {1} in PEM")]
    Pem(PathBuf, &'static str),
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// The host's name or number.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not HOST:PORT, like leaf0:8080");
        let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
        let port = port.parse().map_err(|_| form())?;
        let host = match host.strip_prefix('[') {
            Some(number) => number.strip_suffix(']').filter(|number| number.contains(':')),
            None => Some(host).filter(|host| !host.contains(':')),
        };
        let host = host.filter(|host| !host.is_empty()).ok_or_else(form)?;
        let name = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
        if !host.chars().all(name) {
            return Err(form());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// A password or token, which nothing prints.
#[derive(Clone)]
pub struct Secret(MetadataValue<Ascii>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// From text; `from` says in errors where it is from.
    pub fn new(text: &str, from: &str) -> Result<Self, AccessError> {
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let value = MetadataValue::try_from(text).ok();
        let value = value.filter(|_| printable && !text.is_empty());
        let mut value = value.ok_or_else(|| AccessError::Secret(from.to_owned()))?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// The one line of a file.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let text = String::from_utf8(file(path, LONGEST, "a password or token")?);
        let text = text.unwrap_or_default();
        Self::new(text.trim_end_matches(['\n', '\r']), &format!("what is in `{}`", path.display()))
    }
}

/// Who the client is.
#[derive(Debug, Clone)]
pub enum Login {
    /// Nobody, or whose certificate it has.
    Nobody,
    /// A user, as gNMI's specification has it: in the metadata of every call.
    User(Secret, Secret),
    /// Who has this token.
    Token(Secret),
}

impl Login {
    /// Puts it into a call.
    pub(super) fn sign(&self, metadata: &mut MetadataMap) {
        match self {
            Login::Nobody => {}
            Login::User(name, password) => {
                metadata.insert("username", name.0.clone());
                metadata.insert("password", password.0.clone());
            }
            Login::Token(token) => {
                // As others have it, and as SONiC does.
                let bearer = format!("Bearer {}", token.0.to_str().unwrap_or_default());
                if let Ok(mut bearer) = MetadataValue::try_from(bearer) {
                    bearer.set_sensitive(true);
                    metadata.insert("authorization", bearer);
                }
                metadata.insert("access_token", token.0.clone());
            }
        }
    }

    /// What to look at when it is refused.
    pub(super) const fn cure(&self) -> &'static str {
        match self {
            Login::Nobody => "say who you are with --username and --password-file",
            Login::User(..) => "check --username and its password",
            Login::Token(_) => "check --device-token-file",
        }
    }
}

/// Whether what is sent can be read on the way.
#[derive(Debug, Clone)]
pub enum Security {
    /// It can.
    Plain,
    /// It cannot.
    Tls(Tls),
}

/// What TLS needs.
#[derive(Clone)]
pub struct Tls {
    /// The certificates that sign devices', in PEM.
    pub(super) ca: Vec<u8>,
    /// The name in the device's certificate, if it is not that of the address.
    pub(super) name: Option<String>,
    /// The client's own certificate and its key, in PEM.
    pub(super) own: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads certificates.
    pub fn read(
        ca: &Path,
        name: Option<String>,
        own: Option<(&Path, &Path)>,
    ) -> Result<Self, AccessError> {
        let certificate = |path| pem(path, "CERTIFICATE", "certificate");
        let ca = certificate(ca)?;
        let own = match own {
            Some((own, key)) => Some((certificate(own)?, pem(key, "PRIVATE KEY", "private key")?)),
            None => None,
        };
        Ok(Self { ca, name, own })
    }
}

/// A file in PEM with at least one of what it shall have.
fn pem(path: &Path, mark: &str, what: &'static str) -> Result<Vec<u8>, AccessError> {
    let bytes = file(path, LONGEST_PEM, what)?;
    let text = String::from_utf8_lossy(&bytes);
    let begins = |line: &str| line.starts_with("-----BEGIN ") && line.contains(mark);
    match text.lines().any(begins) {
        true => Ok(bytes),
        false => Err(AccessError::Pem(path.to_owned(), what)),
    }
}

fn file(path: &Path, longest: u64, what: &'static str) -> Result<Vec<u8>, AccessError> {
    let error = |error| AccessError::File(path.to_owned(), error);
    let length = fs::metadata(path).map_err(error)?.len();
    if length > longest {
        return Err(AccessError::Long(path.to_owned(), length, what));
    }
    fs::read(path).map_err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        for good in ["leaf0:8080", "10.0.0.1:6030", "[::1]:50051", "a.b-c_d:1"] {
            assert_eq!(read(good).as_deref(), Ok(good));
        }
        assert_eq!("[::1]:1".parse::<Address>().unwrap().host(), "::1");
        for bad in
            ["", "leaf0", ":8080", "leaf0:x", "leaf0:70000", "::1:1", "[a]:1", "a/b:1", "a b:1"]
        {
            assert!(read(bad).unwrap_err().contains("HOST:PORT"), "{bad}");
        }
    }

    #[test]
    fn secrets_are_one_line_and_not_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        fs::write(&path, "p w~1\n").unwrap();
        let secret = Secret::read(&path).unwrap();
        assert_eq!(secret.0.to_str().unwrap(), "p w~1");
        assert_eq!(format!("{:?}", Login::Token(secret)), "Token(Secret(..))");
        for bad in ["", "\n", "a\nb", "pässword"] {
            fs::write(&path, bad).unwrap();
            let error = Secret::read(&path).unwrap_err().to_string();
            assert!(error.contains("one line of printable ASCII"), "{bad:?}: {error}");
        }
        fs::write(&path, "x".repeat(20_000)).unwrap();
        assert!(Secret::read(&path).unwrap_err().to_string().contains("too long"));
        let error = Tls::read(&path, None, None).unwrap_err().to_string();
        assert!(error.contains("no certificate in PEM"), "{error}");
    }
}
