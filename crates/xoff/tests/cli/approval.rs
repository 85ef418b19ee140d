//! Approvals: signed with the `ssh-keygen` of this machine, tampered with, and refused. Where there is none, tests that
//! need it are skipped by name.

use super::{code, example, json, output, stderr, stdout, xoff};
use serde_json::{Value, json as value};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};
use xoff_config::approval::Date;

const RECORDS: &str = "f.toml.approved.json";

/// A folder with a fabric file, and the keys of some people.
struct Site(tempfile::TempDir);

/// Ada may approve everything, two of Ada, Bob and Carol thresholds.
const PEOPLE: [(&str, &str); 3] =
    [("ada", "'architect', 'network'"), ("bob", "'network'"), ("carol", "'network'")];

impl Site {
    /// A site without anybody; `None`, and said, where there is no `ssh-keygen`.
    fn bare(test: &str) -> Option<Self> {
        // Without a terminal, and with a file that is not there, it only says so.
        if Command::new("ssh-keygen").args(["-l", "-f", "/nonexistent"]).output().is_err() {
            eprintln!("SKIPPED {test}: ssh-keygen is not installed");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::copy(example("leaf-spine-64.toml"), folder.path().join("f.toml")).unwrap();
        for name in ["ada", "bob", "carol", "mallory"] {
            let mut make = Command::new("ssh-keygen");
            make.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]);
            assert!(make.current_dir(folder.path()).status().unwrap().success());
        }
        Some(Self(folder))
    }

    /// A site whose `approvers.toml` names [`PEOPLE`].
    fn with_roles(test: &str) -> Option<Self> {
        let site = Self::bare(test)?;
        let mut text = "[role.architect]\nrights = ['everything']\n\
                        [role.network]\nrights = ['thresholds']\nneeded = 2\n"
            .to_owned();
        for (name, roles) in PEOPLE {
            let key = site.read(&format!("{name}.pub"));
            let key = key.trim();
            text +=
                &format!("[[principal]]\nname = '{name}'\nroles = [{roles}]\nkeys = ['{key}']\n");
        }
        site.write("approvers.toml", &text);
        Some(site)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &str) -> Output {
        let words: Vec<&str> = arguments.split(' ').collect();
        output(self.path(), &words)
    }

    /// Approves, which has to work.
    fn approve(&self, arguments: &str) -> String {
        let out = self.run(&format!("config f.toml --approve {arguments}"));
        assert_eq!(code(&out), Some(0), "{arguments}: {}", stderr(&out));
        stdout(&out).to_owned()
    }

    /// Approves, which has to be refused without a trace.
    fn refuse(&self, arguments: &str, exit: i32, why: &str) {
        let before = fs::read(self.path().join(RECORDS)).ok();
        let out = self.run(&format!("config f.toml --approve {arguments}"));
        assert_eq!(code(&out), Some(exit), "{arguments}: {}", stderr(&out));
        assert!(stderr(&out).contains(why), "{arguments}: {}", stderr(&out));
        assert_eq!(fs::read(self.path().join(RECORDS)).ok(), before, "{arguments}");
    }

    /// Appends to the fabric file.
    fn change(&self, text: &str) {
        let before = self.read("f.toml");
        self.write("f.toml", &format!("{before}\n{text}"));
    }

    fn list(&self) -> Value {
        json(&self.run("config f.toml --approvals --json"))
    }

    fn records(&self) -> Value {
        serde_json::from_str(&self.read(RECORDS)).unwrap()
    }

    fn put_records(&self, records: &Value) {
        self.write(RECORDS, &serde_json::to_string_pretty(records).unwrap());
    }
}

#[test]
fn a_signed_approval_holds() {
    let Some(site) = Site::with_roles("a_signed_approval_holds") else { return };
    let said = site.approve("--key ada --role architect");
    assert!(said.starts_with("ada as architect approved intent "), "{said}");
    assert!(said.contains(", signed; recorded in f.toml.approved.json"), "{said}");
    let listed = site.run("config f.toml --approvals");
    assert_eq!(code(&listed), Some(0), "{}", stderr(&listed));
    assert!(stdout(&listed).contains("changes everything; in force"), "{}", stdout(&listed));
    assert!(stdout(&listed).contains("the fabric file is the approved one"));
    let list = site.list();
    assert_eq!(list["records"][0]["signature"], "signed");
    assert_eq!(list["records"][0]["standing"], "in-force");
    assert_eq!((&list["in_force"], &list["same_file"]), (&value!(1), &value!(true)));
    site.change("# a comment\n");
    let changed = site.run("config f.toml --approvals");
    assert_eq!(code(&changed), Some(1));
    assert!(stdout(&changed).contains("the fabric file is not the approved one"));
    let leftovers = fs::read_dir(site.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let leftovers = leftovers.filter(|name| name.to_string_lossy().contains("partial")).count();
    assert_eq!(leftovers, 0);
}

/// What is forged, how, and what is said of it.
type Forgery = (&'static str, fn(&mut Vec<Value>), &'static str);

#[test]
fn every_field_is_signed_and_every_place_is_chained() {
    let Some(site) = Site::with_roles("every_field_is_signed_and_every_place_is_chained") else {
        return;
    };
    for round in 0..3 {
        site.change(&format!("# round {round}\n"));
        site.approve("ada --key ada --role architect");
    }
    let whole = site.records();
    let signature = "its signature is not of it";
    let place = "it does not follow the record before it";
    let forgeries: [Forgery; 16] = [
        ("who", |all| all[2]["who"] = value!("bob"), signature),
        ("when", |all| all[2]["when"] = value!("2026-01-01T00:00:00Z"), signature),
        ("role", |all| all[2]["role"] = value!("network"), signature),
        ("no role", |all| drop(all[2].as_object_mut().unwrap().remove("role")), signature),
        ("fabric", |all| all[2]["fabric"] = value!("[fabric]\n"), "its hash is not that of"),
        ("balancing", |all| all[2]["balancing"] = value!("flowlet"), "its hash is not that of"),
        ("intent", |all| all[2]["intent"] = all[1]["intent"].clone(), "its hash is not that of"),
        (
            "another fabric with its own hash",
            |all| {
                all[2]["fabric"] = all[1]["fabric"].clone();
                all[2]["intent"] = all[1]["intent"].clone();
            },
            signature,
        ),
        ("previous", |all| all[2]["previous"] = all[1]["previous"].clone(), place),
        (
            "no previous",
            |all| drop(all[2].as_object_mut().unwrap().remove("previous")),
            "it does not say which record it follows",
        ),
        ("signature", |all| all[2]["signature"] = all[1]["signature"].clone(), signature),
        ("garbage", |all| all[2]["signature"] = value!("garbage"), signature),
        ("order", |all| all.swap(0, 1), place),
        ("first removed", |all| drop(all.remove(0)), place),
        ("middle removed", |all| drop(all.remove(1)), place),
        ("name of an earlier one", |all| all[0]["who"] = value!("bob"), place),
    ];
    site.run("config f.toml --out d");
    for (what, forge, why) in forgeries {
        let mut records = whole.as_array().unwrap().clone();
        forge(&mut records);
        site.put_records(&Value::Array(records));
        for command in ["config f.toml --approvals", "audit d --fabric f.toml"] {
            let out = site.run(command);
            assert_eq!(code(&out), Some(2), "{what}: {}", stdout(&out));
            assert!(stderr(&out).contains("`f.toml.approved.json` is refused: record "), "{what}");
            assert!(stderr(&out).contains(why), "{what}: {}", stderr(&out));
            assert!(!stdout(&out).contains("approved by"), "{what}: {}", stdout(&out));
        }
        site.refuse("ada --key ada --role architect", 2, "restore it as it was");
        assert_eq!(site.list()["in_force"], Value::Null, "{what}");
    }
    site.put_records(&whole);
    assert_eq!(code(&site.run("audit d --fabric f.toml")), Some(0));
    // A file that ends earlier is whole, but approves another fabric file.
    let mut shorter = whole.as_array().unwrap().clone();
    shorter.pop();
    site.put_records(&Value::Array(shorter));
    let out = site.run("audit d --fabric f.toml");
    assert_eq!(code(&out), Some(1), "{}", stderr(&out));
    assert!(stderr(&out).contains("the fabric file is not the approved one"));
    site.write(RECORDS, "[{\"who\": 1}]");
    assert_eq!(code(&site.run("config f.toml --approvals")), Some(2));
}

#[test]
fn keys_and_roles_decide_who_approves() {
    let Some(site) = Site::with_roles("keys_and_roles_decide_who_approves") else { return };
    site.refuse("Ada", 2, "sign the approval with --key");
    site.refuse("--key mallory", 1, "does not say whose key `mallory` is");
    site.refuse("mallory --key mallory", 1, "nobody named `mallory` may approve");
    site.refuse("ada --key mallory --role architect", 1, "is not allowed for this name");
    site.refuse("ada --key bob --role architect", 1, "is not allowed for this name");
    site.refuse("--key ada", 2, "name the one that approves with --role: architect, network");
    site.refuse("--key bob --role architect", 1, "does not have the role `architect`");
    site.refuse("--key bob", 1, "a first approval is of everything");
    site.refuse("--key missing", 2, "no public key");
    site.approve("--key ada --role architect");
    site.change("[links]\nlength = '12m'\n");
    site.refuse("--key bob", 1, "its role has no right to approve changes of topology");
    site.approve("--key ada --role architect");
    let wrong = ["--approvers x.toml --out d", "--approve A --approvals", "--role x --approvals"];
    for arguments in wrong {
        assert_eq!(code(&site.run(&format!("config f.toml {arguments}"))), Some(2), "{arguments}");
    }
    let mistaken = site.read("approvers.toml").replace("'thresholds'", "'treshold'");
    site.write("approvers.toml", &mistaken);
    let out = site.run("config f.toml --approvals");
    assert_eq!(code(&out), Some(2));
    assert!(stderr(&out).contains("approvers.toml:4"), "{}", stderr(&out));
    assert!(stderr(&out).contains("did you mean `thresholds`?"), "{}", stderr(&out));
}

/// Records that were valid under other rules, as somebody with access to the file may bring in.
#[test]
fn a_record_that_slipped_in_does_not_count() {
    let Some(site) = Site::with_roles("a_record_that_slipped_in_does_not_count") else { return };
    site.approve("--key ada --role architect");
    let rules = site.read("approvers.toml");
    site.change("[links]\nlength = '12m'\n");
    site.write("approvers.toml", &rules.replace("'thresholds'", "'topology'"));
    site.approve("--key bob");
    site.write("approvers.toml", &rules.replace("needed = 2", "needed = 1"));
    let listed = site.run("config f.toml --approvals");
    assert_eq!(code(&listed), Some(1), "{}", stdout(&listed));
    let why = "does not count: its role has no right to approve changes of topology";
    assert!(stdout(&listed).contains(why), "{}", stdout(&listed));
    site.run("config f.toml --out d");
    let audit = site.run("audit d --fabric f.toml");
    assert_eq!(code(&audit), Some(1));
    assert!(stderr(&audit).contains("record 2 (bob, "), "{}", stderr(&audit));
    assert!(stdout(&audit).contains("approved by ada at "), "{}", stdout(&audit));
    // Somebody who is no longer there.
    let without_ada = rules.replace(site.read("ada.pub").trim(), site.read("mallory.pub").trim());
    site.write("approvers.toml", &without_ada);
    let listed = site.run("config f.toml --approvals");
    assert_eq!(code(&listed), Some(1));
    assert!(stdout(&listed).contains("which is not allowed for this name"), "{}", stdout(&listed));
    assert!(stdout(&listed).contains("no approval is in force"), "{}", stdout(&listed));
}

#[test]
fn two_of_a_role_have_to_approve() {
    let Some(site) = Site::with_roles("two_of_a_role_have_to_approve") else { return };
    site.approve("--key ada --role architect");
    site.change("[ecn]\nkmin = '200KB'\nkmax = '800KB'\n");
    let said = site.approve("--key bob");
    assert!(said.contains("1 of 2 approvals, 1 more is needed"), "{said}");
    let said = site.approve("--key bob");
    assert!(said.contains("1 of 2 approvals"), "one person is one person: {said}");
    let list = site.list();
    assert_eq!((&list["in_force"], &list["same_file"]), (&value!(1), &value!(false)));
    assert_eq!(list["records"][1]["changes"], value!(["thresholds"]));
    assert_eq!(list["records"][2]["standing"], "pending");
    site.approve("--key carol");
    let list = site.list();
    assert_eq!((&list["in_force"], &list["same_file"]), (&value!(4), &value!(true)));
    assert_eq!(list["approved_by"], value!(["bob", "carol"]));
    site.run("config f.toml --out d");
    let audit = json(&site.run("audit d --fabric f.toml --json"));
    assert_eq!(audit["approval"]["approved_by"], value!(["bob", "carol"]));
    assert_eq!(audit["approval"]["signature"], "signed");
}

#[test]
fn a_file_of_allowed_signers_will_do() {
    let Some(site) = Site::bare("a_file_of_allowed_signers_will_do") else { return };
    let line = |name: &str, key: &str| format!("{name} {}", site.read(&format!("{key}.pub")));
    site.write("f.toml.approvers", &format!("# who\n{}", line("ada@example.com", "ada")));
    let said = site.approve("--key ada");
    assert!(said.starts_with("ada@example.com approved intent "), "{said}");
    site.refuse("--key bob", 1, "does not say whose key `bob` is");
    site.refuse("bob --key bob", 1, "is not allowed for this name");
    site.refuse("--key ada --role network", 2, "has no roles");
    assert_eq!(code(&site.run("config f.toml --approvals")), Some(0));
    site.write("others", &line("bob", "bob"));
    let listed = site.run("config f.toml --approvals --approvers others");
    assert_eq!(code(&listed), Some(1), "{}", stdout(&listed));
    assert!(
        stdout(&listed).contains("signed, by a key that is not allowed"),
        "{}",
        stdout(&listed)
    );
    // A key that was valid when it signed, and one that was not any more.
    let ada = site.read("ada.pub");
    site.write("others", &format!("ada@example.com valid-before=\"20250101\" {ada}"));
    assert_eq!(code(&site.run("config f.toml --approvals --approvers others")), Some(1));
    site.write("others", &format!("ada@example.com valid-after=\"20250101\" {ada}"));
    assert_eq!(code(&site.run("config f.toml --approvals --approvers others")), Some(0));
    site.write("approvers.toml", "");
    let both = site.run("config f.toml --approvals");
    assert_eq!(code(&both), Some(2));
    assert!(stderr(&both).contains("both say who may approve"), "{}", stderr(&both));
    let missing = site.run("config f.toml --approvals --approvers missing");
    assert_eq!(code(&missing), Some(2), "a file that is named has to be there");
}

#[test]
fn unsigned_approvals_are_called_so_and_count_only_where_nobody_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site(folder);
    fs::copy(example("leaf-spine-64.toml"), site.path().join("f.toml")).unwrap();
    assert!(site.approve("Ada").contains(", unsigned; recorded in"));
    // As it was written before there were signatures.
    let mut records = site.records();
    let keys: Vec<&String> = records[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["balancing", "fabric", "intent", "when", "who"]);
    assert!(site.approve("Grace").contains("unsigned"));
    site.run("config f.toml --out d");
    let listed = site.run("config f.toml --approvals");
    assert_eq!(code(&listed), Some(0));
    assert_eq!(stdout(&listed).matches(")  unsigned\n").count(), 2, "{}", stdout(&listed));
    let audit = site.run("audit d --fabric f.toml");
    assert_eq!(code(&audit), Some(0), "{}", stderr(&audit));
    assert!(stdout(&audit).contains(", unsigned)"), "{}", stdout(&audit));
    let audit = site.run("audit d --fabric f.toml --sarif");
    assert!(stderr(&audit).contains("is unsigned"), "{}", stderr(&audit));
    assert_eq!(
        json(&site.run("audit d --fabric f.toml --json"))["approval"]["signature"],
        "unsigned"
    );
    let dated = |records: &mut Value, when: &str| {
        records[0]["when"] = value!(when);
        site.put_records(records);
        site.run("audit d --fabric f.toml")
    };
    let future = dated(&mut records, "2999-01-01T00:00:00Z");
    assert_eq!(code(&future), Some(1));
    assert!(stderr(&future).contains("it is dated in the future"), "{}", stderr(&future));
    site.write("f.toml.approvers", "");
    let audit = dated(&mut records, "2026-01-01T00:00:00Z");
    assert_eq!(code(&audit), Some(1));
    assert!(stderr(&audit).contains("does not count: it is unsigned"), "{}", stderr(&audit));
    fs::remove_file(site.path().join(RECORDS)).unwrap();
    let audit = site.run("audit d --fabric f.toml");
    assert_eq!(code(&audit), Some(1), "somebody has to approve, and nobody did");
    assert!(stderr(&audit).contains("no approval of the fabric file is in force"));
}

#[test]
fn drift_changes_the_exit_code() {
    let site = Site(tempfile::tempdir().unwrap());
    fs::copy(example("leaf-spine-64.toml"), site.path().join("f.toml")).unwrap();
    site.approve("Ada");
    site.run("config f.toml --system eos --out d");
    let exit = || code(&site.run("audit d --fabric f.toml"));
    assert_eq!(exit(), Some(0));
    // A setting that no rule minds, so that the audit itself has nothing to say.
    let leaf = site.read("d/leaf0.cfg");
    site.write("d/leaf0.cfg", &leaf.replacen("mtu 9214", "mtu 9216", 1));
    let audit = site.run("audit d --fabric f.toml");
    assert!(stdout(&audit).contains(": 0 errors"), "{}", stdout(&audit));
    assert!(stdout(&audit).contains("leaf0 drifted in 1 settings"), "{}", stdout(&audit));
    assert_eq!(code(&audit), Some(1));
    assert!(stderr(&audit).contains("1 device drifted from what was approved"));
    for form in ["--json", "--sarif"] {
        assert_eq!(code(&site.run(&format!("audit d --fabric f.toml {form}"))), Some(1), "{form}");
    }
    site.write("d/leaf0.cfg", &leaf);
    assert_eq!(exit(), Some(0));
    let other = site.run("audit d --fabric f.toml --balancing per-packet");
    assert_eq!(code(&other), Some(1), "flows are spread in another way than was approved");
    site.change("# a word\n");
    assert_eq!(exit(), Some(1), "the fabric file is not the approved one");
}

/// Writes a program; by a shell, so that this process never has it open when it is run.
fn program(site: &Site, script: &str) -> std::path::PathBuf {
    let path = site.path().join("keygen");
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > keygen && chmod 755 keygen";
    let mut shell = Command::new("sh");
    shell.args(["-c", write, "sh", script]).current_dir(site.path());
    assert!(shell.status().unwrap().success());
    path
}

#[test]
fn without_ssh_keygen_nothing_is_taken_for_checked() {
    let Some(site) = Site::with_roles("without_ssh_keygen_nothing_is_taken_for_checked") else {
        return;
    };
    site.approve("--key ada --role architect");
    site.run("config f.toml --out d");
    let run = |keygen: &Path, arguments: &str| {
        let mut command = xoff(site.path());
        command.env("XOFF_SSH_KEYGEN", keygen).env("XOFF_SSH_KEYGEN_SECONDS", "1");
        command.env("TMPDIR", site.path().join("tmp"));
        command.args(arguments.split(' ')).output().unwrap()
    };
    fs::create_dir(site.path().join("tmp")).unwrap();
    let missing = site.path().join("missing");
    let hanging = program(&site, "exec sleep 60");
    let cases = [(missing.as_path(), "is not installed"), (&hanging, "did not answer within 1 s")];
    for (keygen, why) in cases {
        for command in ["config f.toml --approvals", "audit d --fabric f.toml"] {
            let out = run(keygen, command);
            assert_eq!(code(&out), Some(1), "{why}: {}", stderr(&out));
            let all = format!("{}{}", stdout(&out), stderr(&out));
            assert!(all.contains(why) && all.contains("not checked: "), "{all}");
        }
        let audit = run(keygen, "audit d --fabric f.toml");
        assert!(stderr(&audit).contains("signatures were not checked: "), "{}", stderr(&audit));
        let before = site.read(RECORDS);
        let out = run(keygen, "config f.toml --approve --key ada --role architect");
        assert_ne!(code(&out), Some(0), "{why}");
        assert!(stderr(&out).contains(why), "{}", stderr(&out));
        assert_eq!(site.read(RECORDS), before);
    }
    // One that does not know `-Y` says nothing about signatures.
    let old = program(&site, "echo unknown option -- Y >&2; exit 1");
    let out = run(&old, "config f.toml --approvals");
    assert_eq!(code(&out), Some(1), "{}", stderr(&out));
    assert!(stdout(&out).contains("unknown option -- Y"), "{}", stdout(&out));
    // One that signs anything is not believed.
    let liar = program(&site, "echo -----BEGIN SSH SIGNATURE-----; exec ssh-keygen \"$@\"");
    let out = run(&liar, "config f.toml --approve --key ada --role architect");
    assert_ne!(code(&out), Some(0), "{}", stdout(&out));
    let left = fs::read_dir(site.path().join("tmp")).unwrap().count();
    assert_eq!(left, 0, "temporary files are removed");
    // Where nobody is named, nobody asks for signatures: it is said, and no more.
    fs::remove_file(site.path().join("approvers.toml")).unwrap();
    let out = run(&missing, "audit d --fabric f.toml");
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    assert!(stdout(&out).contains("signed, not checked"), "{}", stdout(&out));
    assert!(stderr(&out).contains("signatures were not checked"), "{}", stderr(&out));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a clock that is behind is one that is not this one")]
fn a_clock_that_is_behind_approves_nothing() {
    let site = Site(tempfile::tempdir().unwrap());
    fs::copy(example("leaf-spine-64.toml"), site.path().join("f.toml")).unwrap();
    site.approve("Ada");
    // A few minutes ahead, as clocks are: it counts, but what comes after it has to be later.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut records = site.records();
    records[0]["when"] = value!(Date::from_unix(now + 200).to_string());
    site.put_records(&records);
    assert_eq!(code(&site.run("config f.toml --approvals")), Some(0));
    site.refuse("Grace", 1, "it is dated before an earlier approval");
}
