//! Secrets in what devices answer: passwords, keys and communities are masked, everything else stays as it is.
//!
//! A statement is masked from the word that announces its secret to the end of its line: what follows a secret
//! (a role, an encryption type) is nothing that an audit reads. Too much is masked rather than too little, but no statement
//! that [`crate::System`](crate::system::System)s write.

/// What stands in the place of a secret.
pub(super) const MASK: &str = "<redacted>";

/// Words behind which a secret stands. Words that end with `-` and one of them count, too.
const ANNOUNCE: [&str; 16] = [
    "password",
    "passwd",
    "passphrase",
    "passkey",
    "secret",
    "community",
    "communities",
    "key",
    "keys",
    "key-string",
    "psk",
    "ascii-text",
    "hashed-password",
    "ssh-rsa",
    "ssh-ed25519",
    "token",
];

/// Words that end like those and announce nothing: they say what is hashed, or name things.
const HARMLESS: [&str; 8] = [
    "hash-key",
    "enhanced-hash-key",
    "bgp-community",
    "send-community",
    "no-community",
    "set-community",
    "match-community",
    "ext-community",
];

/// Tables of SONiC whose keys are secrets.
const TABLES: [&str; 2] = ["\"SNMP_COMMUNITY\"", "\"SNMP_USER\""];

/// A text with its secrets masked, and how many lines that changed.
pub fn redact(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let (mut masked, mut block, mut table) = (0, false, None::<usize>);
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        let end = &line[body.len()..];
        if body.contains("-----BEGIN ") && body.contains("PRIVATE KEY") {
            block = true;
        }
        let new = if block {
            block = !body.contains("-----END ");
            MASK.to_owned()
        } else if let Some(depth) = &mut table {
            let new = if *depth == 1 { first_string(body) } else { statement(body) };
            let (opened, closed) = (body.matches('{').count(), body.matches('}').count());
            *depth = (*depth + opened).saturating_sub(closed);
            if *depth == 0 {
                table = None;
            }
            new
        } else {
            if TABLES.iter().any(|name| body.contains(name)) {
                let (opened, closed) = (body.matches('{').count(), body.matches('}').count());
                // A whole configuration on one line begins before the table.
                table = (opened > closed).then_some(1);
            }
            statement(body)
        };
        masked += usize::from(new != body);
        out += &new;
        out += end;
    }
    (out, masked)
}

/// A line without its secrets.
fn statement(body: &str) -> String {
    if json_like(body) {
        return json(body);
    }
    let lower = body.to_ascii_lowercase();
    let snmp = lower.contains("snmp");
    let mut at = 0;
    for word in lower.split_inclusive(is_gap) {
        let bare = word.trim_end_matches(is_gap);
        at += word.len();
        let announced = announces(bare) || (snmp && (bare == "auth" || bare == "priv"));
        let hash = crypt(bare);
        if announced || hash {
            let from = if hash { at - word.len() } else { at };
            return mask(body, from);
        }
    }
    body.to_owned()
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || "\"'=:,;{}[]".contains(c)
}

fn announces(word: &str) -> bool {
    let word = word.trim_end_matches("-sha256").trim_end_matches("-md5");
    if HARMLESS.contains(&word) {
        return false;
    }
    ANNOUNCE.iter().any(|known| {
        word.strip_suffix(known).is_some_and(|head| head.is_empty() || head.ends_with(['-', '_']))
    })
}

/// `$6$salt$hash`, as `crypt` and Junos write secrets.
fn crypt(word: &str) -> bool {
    let rest = word.strip_prefix('$').and_then(|rest| rest.split_once('$'));
    rest.is_some_and(|(kind, hash)| {
        kind.len() <= 4 && kind.bytes().all(|b| b.is_ascii_alphanumeric()) && hash.len() >= 4
    })
}

/// The line up to a place, and the mask for what follows; braces and the end of the statement stay.
fn mask(body: &str, from: usize) -> String {
    let (head, rest) = body.split_at(from);
    if rest.trim_matches(is_gap).is_empty() {
        return body.to_owned();
    }
    let tail = rest.trim_end();
    let kept = tail.len() - tail.trim_end_matches(['{', '}', ';', ' ', ',']).len();
    let gap = rest.len() - rest.trim_start().len();
    let tail = &tail[tail.len() - kept..];
    let space =
        if head.ends_with(char::is_whitespace) || gap > 0 || head.ends_with(['"', '\'', '=']) {
            ""
        } else {
            " "
        };
    let space = if gap > 0 { &rest[..gap] } else { space };
    let tail = if tail.starts_with(['{', '}']) { format!(" {tail}") } else { tail.to_owned() };
    format!("{head}{space}{MASK}{tail}")
}

fn json_like(body: &str) -> bool {
    let start = body.trim_start();
    start.starts_with(['"', '{']) && body.contains("\":")
}

/// JSON: the value of every key that announces a secret, however many stand on a line.
fn json(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    let mut secret = false;
    while let Some(open) = rest.find('"') {
        let inner = &rest[open + 1..];
        let Some(close) = end_of_string(inner) else { break };
        let (text, behind) = (&inner[..close], &inner[close + 1..]);
        out += &rest[..=open];
        let is_key = behind.trim_start().starts_with(':');
        if is_key {
            let announced = announces(&text.to_ascii_lowercase());
            secret = announced && behind.trim_start()[1..].trim_start().starts_with('"');
            out += text;
        } else if secret || crypt(text) {
            out += MASK;
            secret = false;
        } else {
            out += text;
        }
        out.push('"');
        rest = behind;
    }
    out + rest
}

fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some(at),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// A line of JSON whose first string is itself the secret.
fn first_string(body: &str) -> String {
    let Some(open) = body.find('"') else { return body.to_owned() };
    let Some(close) = end_of_string(&body[open + 1..]) else { return body.to_owned() };
    format!("{}{MASK}{}", &body[..=open], &body[open + 1 + close..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_statements_stay() {
        for (line, expected) in [
            (
                "username admin privilege 15 role network-admin secret sha512 $6$abc$defghijk",
                "username admin privilege 15 role network-admin secret <redacted>",
            ),
            ("snmp-server community s3cret ro", "snmp-server community <redacted>"),
            (
                "   neighbor 10.0.0.1 password 7 0822455D0A16",
                "   neighbor 10.0.0.1 password <redacted>",
            ),
            ("tacacs-server key 7 \"fewhg\"", "tacacs-server key <redacted>"),
            (
                "snmp-server user admin network-admin auth md5 0x1234 priv 0x1234 localizedkey",
                "snmp-server user admin network-admin auth <redacted>",
            ),
            (
                "set system root-authentication encrypted-password \"$6$abc$defghijk\"",
                "set system root-authentication encrypted-password <redacted>",
            ),
            ("set snmp community public authorization read-only", "set snmp community <redacted>"),
            ("    community public {", "    community <redacted> {"),
            ("    authentication-key \"$9$abcdefg\";", "    authentication-key <redacted>;"),
            (
                "nv set system aaa user cumulus hashed-password '$6$abc$defghijk'",
                "nv set system aaa user cumulus hashed-password <redacted>",
            ),
            ("            \"passkey\": \"hush\",", "            \"passkey\": \"<redacted>\","),
            (
                "{\"RADIUS\": {\"global\": {\"passkey\": \"hush\", \"auth_type\": \"pap\"}}}",
                "{\"RADIUS\": {\"global\": {\"passkey\": \"<redacted>\", \"auth_type\": \"pap\"}}}",
            ),
            ("ip ospf message-digest-key 1 md5 7 hush", "ip ospf message-digest-key <redacted>"),
        ] {
            assert_eq!(redact(line), (expected.to_owned(), 1), "{line}");
        }
        for line in [
            "set forwarding-options enhanced-hash-key ecmp-dlb flowlet inactivity-interval 256",
            "service password-encryption",
            "interface Ethernet1/1",
            "   neighbor 10.0.0.1 send-community extended",
            "\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3,4\"}}",
        ] {
            assert_eq!(redact(line), (line.to_owned(), 0), "{line}");
        }
    }

    #[test]
    fn names_of_communities_and_keys_over_several_lines_are_masked() {
        let text = "{\n  \"SNMP_COMMUNITY\": {\n    \"hush\": {\n      \"TYPE\": \"RO\"\n    },\n    \"quiet\": {}\n  },\n  \
                    \"PORT\": {\n    \"Ethernet0\": {}\n  }\n}\n";
        let (out, masked) = redact(text);
        assert!(!out.contains("hush") && !out.contains("quiet"), "{out}");
        assert!(out.contains("\"TYPE\": \"RO\"") && out.contains("\"Ethernet0\""), "{out}");
        assert_eq!(masked, 2);
        let pem = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb\n";
        assert_eq!(redact(pem).0, format!("a\n{MASK}\n{MASK}\n{MASK}\nb\n"));
    }

    #[test]
    fn whatever_the_text_lines_stay() {
        for text in
            ["", "\n\n", "\"", "key", "password", "{\"key\":", "\"SNMP_COMMUNITY\": {", "é key ü"]
        {
            assert_eq!(redact(text).0.lines().count(), text.lines().count(), "{text:?}");
        }
    }
}
