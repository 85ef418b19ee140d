//! The command line of `ssh`: arguments one by one, never a text for a shell on our side.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use xoff_config::inventory::Target;

/// What holds for all devices.
#[derive(Debug, Clone)]
pub(super) struct Ssh {
    /// The program.
    pub(super) program: PathBuf,
    /// Take host keys that are not known yet.
    pub(super) accept_new: bool,
    /// Options that are passed on.
    pub(super) options: Vec<String>,
    /// The time that a device has.
    pub(super) timeout: Duration,
}

/// A connection that takes longer than this to open will not.
const CONNECT: Duration = Duration::from_secs(10);

impl Ssh {
    /// The arguments that ask a device a command. Of an option that is there twice, ssh takes the first.
    pub(super) fn arguments(&self, target: &Target, command: &str) -> Vec<OsString> {
        let mut all: Vec<OsString> = vec!["-T".into()];
        let mut option = |text: &str| all.extend([OsString::from("-o"), OsString::from(text)]);
        // Nobody is there to answer a question.
        option("BatchMode=yes");
        if self.accept_new {
            option("StrictHostKeyChecking=accept-new");
        }
        self.options.iter().for_each(|text| option(text));
        let connect = CONNECT.min(self.timeout).as_secs().max(1);
        option(&format!("ConnectTimeout={connect}"));
        // A connection that others may share would outlive us.
        option("ControlMaster=no");
        if let Some(identity) = &target.identity {
            option("IdentitiesOnly=yes");
            all.extend(["-i".into(), identity.into()]);
        }
        if let Some(port) = target.port {
            all.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(user) = &target.user {
            all.extend(["-l".into(), user.into()]);
        }
        if let Some(jump) = &target.jump {
            all.extend(["-J".into(), jump.into()]);
        }
        all.extend(["--".into(), OsString::from(&target.address), command.into()]);
        all
    }

    /// What asks a device a command.
    pub(super) fn command(&self, target: &Target, command: &str) -> Command {
        let mut ssh = Command::new(&self.program);
        ssh.args(self.arguments(target, command));
        ssh
    }

    /// The same as a line that can be pasted into a shell.
    pub(super) fn line(&self, target: &Target, command: &str) -> String {
        let mut words = vec![quoted(self.program.as_os_str())];
        words.extend(self.arguments(target, command).iter().map(|word| quoted(word)));
        words.join(" ")
    }

    /// What a user types to reach a device by hand.
    pub(super) fn by_hand(&self, target: &Target) -> String {
        let port = target.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        let jump = target.jump.as_ref().map(|jump| format!("-J {jump} ")).unwrap_or_default();
        let user = target.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("ssh {port}{jump}{user}{}", target.address)
    }
}

/// The argument of `--ssh-option`.
pub(super) fn option(text: &str) -> Result<String, String> {
    let wrong = || "give an option of ssh like HostKeyAlgorithms=+ssh-rsa".to_owned();
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !plain || value.is_empty() || text.contains(['\n', '\0']) {
        return Err(wrong());
    }
    if key.eq_ignore_ascii_case("BatchMode") {
        return Err("nobody is there to answer ssh's questions: BatchMode stays on".to_owned());
    }
    Ok(text.to_owned())
}

/// A word as a shell reads it.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_config::SystemId;

    #[test]
    fn arguments_are_a_vector() {
        let ssh = Ssh {
            program: "ssh".into(),
            accept_new: true,
            options: vec!["HostKeyAlgorithms=+ssh-rsa".to_owned()],
            timeout: Duration::from_secs(5),
        };
        let target = Target {
            name: "leaf0".to_owned(),
            address: "10.0.0.1".to_owned(),
            system: SystemId::Eos,
            user: Some("ops".to_owned()),
            port: Some(2222),
            jump: Some("bastion".to_owned()),
            identity: Some("~/.ssh/k y".to_owned()),
            line: 1,
        };
        assert_eq!(
            ssh.line(&target, "show version | no-more"),
            "ssh -T -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o \
             HostKeyAlgorithms=+ssh-rsa -o ConnectTimeout=5 -o ControlMaster=no -o \
             IdentitiesOnly=yes -i '~/.ssh/k y' -p 2222 -l ops -J bastion -- 10.0.0.1 \
             'show version | no-more'"
        );
        assert_eq!(ssh.by_hand(&target), "ssh -p 2222 -J bastion ops@10.0.0.1");
        let strict = Ssh { accept_new: false, options: Vec::new(), ..ssh };
        assert!(!strict.line(&target, "x").contains("StrictHostKeyChecking"));
    }

    #[test]
    fn options_have_a_key_and_a_value() {
        assert!(option("HostKeyAlgorithms=+ssh-rsa").is_ok());
        for wrong in ["", "x", "=y", "-v=1", "a b=c", "x=", "batchmode=no"] {
            assert!(option(wrong).is_err(), "{wrong}");
        }
    }
}
