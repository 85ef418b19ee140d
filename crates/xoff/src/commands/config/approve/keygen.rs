//! `ssh-keygen -Y`: signing approvals and checking signatures.
//!
//! The program is run directly, without a shell, and ended when it takes too long. What it reads from
//! standard input and writes to standard output are files without a name; files that it has to open
//! by name are in a folder of this user only, which goes away with [`Desk`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use xoff_config::approval::{Approval, Check, Date, NAMESPACE, PublicKey};

/// Names another program than the `ssh-keygen` of the path.
const PROGRAM: &str = "XOFF_SSH_KEYGEN";
/// Overrides both limits of time, in seconds.
const LIMIT: &str = "XOFF_SSH_KEYGEN_SECONDS";
/// Signing may wait for a passphrase, or for a finger on a key.
const SIGNING: u64 = 120;
/// Everything else waits for nobody.
const CHECKING: u64 = 20;
/// More output is not that of `ssh-keygen`.
const MOST_OUTPUT: u64 = 64 << 10;
/// How `ssh-keygen` ends if a signature does not hold.
const NOT_VERIFIED: i32 = 255;
const POLL: Duration = Duration::from_millis(1);

/// Why `ssh-keygen` gave no answer.
#[derive(Debug, Clone)]
pub(super) struct Trouble(String);

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self(format!("no temporary file could be used: {error}"))
    }
}

/// What `ssh-keygen` answered.
struct Answer {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Answer {
    /// The answer as trouble.
    fn trouble(&self) -> Trouble {
        let said = self.stderr.lines().next().unwrap_or_default();
        let colon = if said.is_empty() { "" } else { ": " };
        Trouble(format!("{} ended with {}{colon}{said}", program().display(), self.status))
    }
}

fn program() -> OsString {
    let named = std::env::var_os(PROGRAM).filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "ssh-keygen".into())
}

/// Runs `ssh-keygen` with these arguments, what it reads, and how long it may take. `aloud`, what it
/// says on standard error is for the user: it asks for passphrases and touches there.
fn run(arguments: &[&OsStr], input: &[u8], seconds: u64, aloud: bool) -> Result<Answer, Trouble> {
    let limit = match std::env::var(LIMIT) {
        Err(_) => seconds,
        Ok(text) => text
            .parse()
            .map_err(|_| Trouble(format!("{LIMIT} is no number of seconds: `{text}`")))?,
    };
    let mut stdin = tempfile::tempfile()?;
    stdin.write_all(input)?;
    stdin.rewind()?;
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new(program());
    command.args(arguments).stdin(stdin).stdout(stdout.try_clone()?);
    command.stderr(if aloud { Stdio::inherit() } else { stderr.try_clone()?.into() });
    let child = command.spawn().map_err(|error| {
        let program = program();
        let program = program.display();
        Trouble(match error.kind() {
            io::ErrorKind::NotFound => format!("{program} is not installed"),
            _ => format!("{program} cannot be run: {error}"),
        })
    })?;
    let status = wait(child, limit)?;
    Ok(Answer { status, stdout: text(&mut stdout)?, stderr: text(&mut stderr)? })
}

/// Waits for a program, and ends it after so many seconds.
#[allow(
    clippy::disallowed_methods,
    reason = "a program that hangs is ended; no result depends on it"
)]
fn wait(mut child: Child, seconds: u64) -> Result<ExitStatus, Trouble> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if started.elapsed() < Duration::from_secs(seconds) => {
                std::thread::sleep(POLL);
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                let program = program();
                let program = program.display();
                return Err(Trouble(format!(
                    "{program} did not answer within {seconds} s; {LIMIT} sets another limit"
                )));
            }
            Err(error) => return Err(Trouble(format!("cannot wait for ssh-keygen: {error}"))),
        }
    }
}

fn text(file: &mut File) -> Result<String, Trouble> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Signs a record with the key in a file, or with the one of an agent whose public key is there.
pub(super) fn sign(key: &Path, record: &Approval) -> Result<String, Trouble> {
    let arguments: [&OsStr; 6] = [
        "-Y".as_ref(),
        "sign".as_ref(),
        "-f".as_ref(),
        key.as_os_str(),
        "-n".as_ref(),
        NAMESPACE.as_ref(),
    ];
    let answer = run(&arguments, &record.signed_bytes(), SIGNING, true)?;
    if !answer.status.success() {
        return Err(answer.trouble());
    }
    if !answer.stdout.starts_with("-----BEGIN SSH SIGNATURE-----") {
        return Err(Trouble(format!("{} printed no signature", program().display())));
    }
    Ok(answer.stdout)
}

/// The public key of a file with a private or a public key: of the file itself, of the one beside it
/// that ends in `.pub`, or as `ssh-keygen` tells it.
pub(super) fn public_key(key: &Path) -> Result<PublicKey, String> {
    let mut beside = key.as_os_str().to_owned();
    beside.push(".pub");
    let read = |path: &Path| -> Option<PublicKey> {
        let mut text = String::new();
        File::open(path).ok()?.take(MOST_OUTPUT).read_to_string(&mut text).ok()?;
        PublicKey::parse(text.trim_end()).ok()
    };
    if let Some(found) = read(key).or_else(|| read(Path::new(&beside))) {
        return Ok(found);
    }
    let arguments: [&OsStr; 3] = ["-y".as_ref(), "-f".as_ref(), key.as_os_str()];
    let answer = run(&arguments, &[], SIGNING, true).map_err(|trouble| trouble.to_string())?;
    if !answer.status.success() {
        return Err(answer.trouble().to_string());
    }
    PublicKey::parse(answer.stdout.trim_end())
}

/// Where signatures are checked: a folder for the files that `ssh-keygen` opens, and what it told
/// once that it cannot be asked.
pub(super) struct Desk<'a> {
    folder: Result<tempfile::TempDir, Trouble>,
    /// Who may sign with which keys; without, any key will do.
    allowed: Option<&'a str>,
    /// Why it is not asked any more.
    closed: Option<Trouble>,
}

impl<'a> Desk<'a> {
    /// A place to check signatures, against a file of allowed signers if there is one.
    pub(super) fn open(allowed: Option<&'a str>) -> Self {
        let folder = tempfile::Builder::new().prefix("xoff-").tempdir();
        let folder = folder.and_then(|folder| {
            fs::write(folder.path().join("signers"), allowed.unwrap_or_default())?;
            Ok(folder)
        });
        Self { folder: folder.map_err(Trouble::from), allowed, closed: None }
    }

    /// Checks the signature of a record; one without a signature is not looked at.
    pub(super) fn check(&mut self, record: &Approval) -> Check {
        let Some(signature) = &record.signature else { return Check::Good };
        if let Some(trouble) = &self.closed {
            return Check::NotChecked(trouble.to_string());
        }
        self.ask(record, signature).unwrap_or_else(|trouble| {
            let why = trouble.to_string();
            self.closed = Some(trouble);
            Check::NotChecked(why)
        })
    }

    fn ask(&self, record: &Approval, signature: &str) -> Result<Check, Trouble> {
        let folder = self.folder.as_ref().map_err(Trouble::clone)?;
        let (signers, file) = (folder.path().join("signers"), folder.path().join("signature"));
        fs::write(&file, signature)?;
        let bytes = record.signed_bytes();
        let of: [&OsStr; 4] = ["-n".as_ref(), NAMESPACE.as_ref(), "-s".as_ref(), file.as_os_str()];
        if let Some(allowed) = self.allowed {
            // No argument can hold a zero byte, and nobody's name has one.
            let name = if record.who.contains('\0') { "" } else { record.who.as_str() };
            let time = valid_at(allowed, record);
            let mut arguments: Vec<&OsStr> = vec!["-Y".as_ref(), "verify".as_ref()];
            arguments.extend(["-f".as_ref(), signers.as_os_str(), "-I".as_ref(), name.as_ref()]);
            arguments.extend(of);
            arguments.extend(time.as_ref().map(AsRef::<OsStr>::as_ref));
            let answer = run(&arguments, &bytes, CHECKING, false)?;
            match answer.status.code() {
                Some(0) => return Ok(Check::Good),
                Some(NOT_VERIFIED) => {}
                _ => return Err(answer.trouble()),
            }
        }
        let mut arguments: Vec<&OsStr> = vec!["-Y".as_ref(), "check-novalidate".as_ref()];
        arguments.extend(of);
        let answer = run(&arguments, &bytes, CHECKING, false)?;
        match answer.status.code() {
            Some(0) if self.allowed.is_none() => Ok(Check::Good),
            Some(0) => Ok(Check::NotAllowed(key_in(&answer.stdout))),
            Some(NOT_VERIFIED) => Ok(Check::Forged),
            _ => Err(answer.trouble()),
        }
    }
}

/// Keys that are valid for a time must have been so when the record was signed. Versions that do not
/// know such times do not know the option either.
fn valid_at(allowed: &str, record: &Approval) -> Option<String> {
    let date: Date = record.when.parse().ok().filter(|_| allowed.contains("valid-"))?;
    let digits: String = date.to_string().chars().filter(char::is_ascii_digit).collect();
    Some(format!("-Overify-time={digits}Z"))
}

/// The key that `Good "xoff-approval" signature with ED25519 key SHA256:…` names.
fn key_in(answer: &str) -> String {
    let named = answer.lines().next().and_then(|line| line.split_once(" with "));
    named.map_or_else(|| "another key".to_owned(), |(_, key)| format!("the {}", key.trim()))
}
