//! Why a device could not be collected, in plain words, and what helps.

use super::process::{End, Outcome};
use super::ssh::Ssh;
use crate::output::printable;
use xoff_config::inventory::Target;

/// What went wrong, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) message: String,
    pub(super) cure: String,
}

impl Cause {
    pub(super) fn new(message: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { message: message.into(), cure: cure.into() }
    }
}

/// What ssh ends with when it could not reach a device, or was not let in.
const SSH_FAILED: i32 = 255;

/// Why an attempt failed before the device saw the command.
pub(super) fn of_connection(ssh: &Ssh, target: &Target, outcome: &Outcome) -> Option<Cause> {
    let seconds = ssh.timeout.as_secs_f64();
    Some(match &outcome.end {
        End::Code(SSH_FAILED) => of_ssh(ssh, target, &String::from_utf8_lossy(&outcome.stderr)),
        End::Code(_) => return None,
        End::Signal(signal) => Cause::new(format!("ssh was ended by signal {signal}"), "try again"),
        End::TimedOut => Cause::new(
            format!("timed out after {seconds} s"),
            format!(
                "see whether `{}` answers, or give more time with --timeout",
                ssh.by_hand(target)
            ),
        ),
        End::TooMuch => Cause::new(
            "answered with more than is taken",
            "see what it prints by hand; no configuration is that long",
        ),
        End::Interrupted => Cause::new("interrupted", "run the command again"),
        End::Failed(error) => Cause::new(
            format!("ssh cannot be run: {error}"),
            "name the program with --ssh, or lower --parallel",
        ),
    })
}

/// What a complaint of ssh contains, what that means, and what helps: `HAND` is how the device is reached by hand.
const COMPLAINTS: [(&str, &str, &str); 16] = [
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not the one that is known",
        "if the device was replaced, forget the old key with `ssh-keygen -R ADDRESS` and connect once with `HAND`",
    ),
    (
        "Host key verification failed",
        "its host key is not known",
        "connect once with `HAND` and compare the fingerprint, or take keys of new devices with --accept-new",
    ),
    (
        "UNPROTECTED PRIVATE KEY FILE",
        "the private key can be read by others, so ssh does not use it",
        "chmod 600 the file of the key",
    ),
    (
        "Too many authentication failures",
        "refused all keys: the agent offers too many",
        "say which key it takes with `identity` in the inventory",
    ),
    (
        "Permission denied",
        "refused the key",
        "put the public key on the device (`ssh-copy-id`, or its configuration), or say another `user` or \
         `identity` in the inventory; `HAND` shows more with -v",
    ),
    (
        "Could not resolve hostname",
        "its name is not known",
        "give its `address` in the inventory, or a name that resolves here",
    ),
    (
        "Connection refused",
        "unreachable: no SSH server listens there",
        "check `address` and `port` in the inventory, and that SSH is on",
    ),
    (
        "No route to host",
        "unreachable: no route to it",
        "check `address`, or go through a `jump` host",
    ),
    (
        "Network is unreachable",
        "unreachable: no route to its network",
        "check `address`, or go through a `jump` host",
    ),
    (
        "timed out",
        "unreachable: it does not answer",
        "check `address`, or go through a `jump` host",
    ),
    (
        "no matching host key type",
        "offers only old kinds of host keys",
        "allow them: --ssh-option HostKeyAlgorithms=+ssh-rsa",
    ),
    (
        "no matching key exchange",
        "knows only old key exchanges",
        "allow them: --ssh-option KexAlgorithms=+diffie-hellman-group14-sha1",
    ),
    (
        "no matching cipher",
        "knows only old ciphers",
        "allow them: --ssh-option Ciphers=+aes128-cbc",
    ),
    (
        "kex_exchange_identification",
        "closed the connection at once",
        "it may allow few sessions at a time: lower --parallel, or check its access list",
    ),
    (
        "Connection closed",
        "closed the connection",
        "it may allow few sessions at a time: lower --parallel, or check its access list",
    ),
    (
        "Connection reset",
        "closed the connection",
        "it may allow few sessions at a time: lower --parallel, or check its access list",
    ),
];

fn of_ssh(ssh: &Ssh, target: &Target, complaint: &str) -> Cause {
    let hand = ssh.by_hand(target);
    let known = COMPLAINTS.iter().find(|(words, ..)| complaint.contains(words));
    if let Some((words, message, cure)) = known {
        let cure = cure.replace("HAND", &hand).replace("ADDRESS", &known_as(target));
        let message = match *words {
            // `Permission denied (publickey,password)` says what would have been taken.
            "Permission denied" if !complaint.contains("publickey") => {
                "takes no keys, and xoff gives no passwords".to_owned()
            }
            "Permission denied" => match &target.user {
                Some(user) => format!("{message} of {user}"),
                None => (*message).to_owned(),
            },
            _ => (*message).to_owned(),
        };
        return Cause::new(message, cure);
    }
    let last = last_line(complaint).unwrap_or("without a word").to_owned();
    Cause::new(format!("ssh failed: {last}"), format!("see what `{hand}` says"))
}

/// The name under which ssh keeps a host key.
fn known_as(target: &Target) -> String {
    match target.port {
        Some(port) if port != 22 => format!("'[{}]:{port}'", target.address),
        _ => target.address.clone(),
    }
}

/// Why an answer is none, if it is none: the device did not know or allow the command.
pub(super) fn of_answer(command: &str, outcome: &Outcome, text: &str) -> Option<Cause> {
    let cure =
        "log in as a user who may read the configuration, and check `system` in the inventory";
    let said = |line: &str| printable(&line.chars().take(120).collect::<String>());
    match outcome.end {
        End::Code(0) if text.trim().is_empty() => {
            Some(Cause::new(format!("answered nothing to `{command}`"), cure))
        }
        End::Code(0) => {
            let line = refusal(text)?;
            Some(Cause::new(format!("does not answer `{command}`: {}", said(line)), cure))
        }
        End::Code(code) => {
            let complaint = String::from_utf8_lossy(&outcome.stderr);
            let line = last_line(&complaint).or_else(|| last_line(text)).unwrap_or("");
            let line = said(line);
            let colon = if line.is_empty() { "" } else { ": " };
            Some(Cause::new(format!("`{command}` ended with code {code}{colon}{line}"), cure))
        }
        _ => None,
    }
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}

/// The line of a short answer by which a command line refuses a command; a long answer is one.
fn refusal(text: &str) -> Option<&str> {
    const WORDS: [&str; 10] = [
        "invalid input",
        "invalid command",
        "syntax error",
        "unknown command",
        "command not found",
        "unrecognized command",
        "not authorized",
        "authorization failed",
        "permission denied",
        "incomplete command",
    ];
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines().count() > 6 {
        return None;
    }
    lines().find(|line| {
        let lower = line.to_ascii_lowercase();
        lower.starts_with("% ") || WORDS.iter().any(|words| lower.contains(words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use xoff_config::SystemId;

    fn cause(stderr: &str, code: i32) -> Option<Cause> {
        let ssh = Ssh {
            program: "ssh".into(),
            accept_new: false,
            options: Vec::new(),
            timeout: Duration::from_secs(60),
        };
        let target = Target {
            name: "leaf0".to_owned(),
            address: "10.0.0.1".to_owned(),
            system: SystemId::Eos,
            user: Some("ops".to_owned()),
            port: Some(2222),
            jump: None,
            identity: None,
            line: 1,
        };
        let outcome = Outcome {
            end: End::Code(code),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
        };
        of_connection(&ssh, &target, &outcome)
    }

    #[test]
    fn complaints_of_ssh_in_plain_words() {
        for (stderr, message, cure) in [
            (
                "ops@10.0.0.1: Permission denied (publickey,password).",
                "refused the key of ops",
                "ssh-copy-id",
            ),
            ("ops@10.0.0.1: Permission denied (password).", "takes no keys", "public key"),
            (
                "No ED25519 host key is known for 10.0.0.1 and you have requested strict checking.\nHost key verification failed.",
                "its host key is not known",
                "`ssh -p 2222 ops@10.0.0.1`",
            ),
            (
                "@  WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!  @\nHost key verification failed.",
                "its host key is not the one that is known",
                "ssh-keygen -R '[10.0.0.1]:2222'",
            ),
            (
                "ssh: connect to host 10.0.0.1 port 2222: Connection refused",
                "unreachable: no SSH",
                "port",
            ),
            (
                "ssh: Could not resolve hostname leaf0: Name or service not known",
                "its name is not known",
                "address",
            ),
            (
                "Unable to negotiate: no matching host key type found. Their offer: ssh-rsa",
                "old kinds",
                "+ssh-rsa",
            ),
            ("something new\n", "ssh failed: something new", "ssh -p 2222"),
            ("", "ssh failed: without a word", "ssh -p 2222"),
        ] {
            let found = cause(stderr, 255).unwrap();
            assert!(found.message.contains(message), "{found:?}");
            assert!(found.cure.contains(cure), "{found:?}");
        }
        assert_eq!(cause("Permission denied", 1), None, "the device's own code");
    }

    #[test]
    fn answers_that_are_none() {
        let answer = |code, stdout: &str, stderr: &str| {
            let (out, err) = (stdout.as_bytes().to_vec(), stderr.as_bytes().to_vec());
            let outcome = Outcome { end: End::Code(code), stdout: out, stderr: err };
            of_answer("show x", &outcome, stdout).map(|cause| cause.message)
        };
        assert_eq!(answer(0, "hostname leaf0\n", ""), None);
        assert_eq!(answer(0, " \n", "").unwrap(), "answered nothing to `show x`");
        let refused = answer(0, "% Invalid input (privileged mode required)\n", "").unwrap();
        assert!(refused.ends_with("% Invalid input (privileged mode required)"), "{refused}");
        assert_eq!(
            answer(1, "", "sh: show: not found\n").unwrap(),
            "`show x` ended with code 1: sh: show: not found"
        );
        let long = "! syntax error\n".repeat(9);
        assert_eq!(answer(0, &long, ""), None);
    }
}
