//! [`PublicKey`]: a line like those in `id_ed25519.pub`.

use std::fmt;

/// A public key as OpenSSH writes it: its kind and its bytes in base64.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey {
    /// The kind of key, like `ssh-ed25519`.
    kind: String,
    /// The key, decoded: two texts of the same key are the same key.
    bytes: Vec<u8>,
    text: String,
}

impl PublicKey {
    /// Reads `ssh-ed25519 AAAA… comment`; says what is wrong with anything else. What is wrong is
    /// never repeated, since it might be a private key.
    pub fn parse(line: &str) -> Result<Self, String> {
        if line.contains("PRIVATE KEY") {
            return Err("this is a private key; take the line of the file that ends in .pub".into());
        }
        let hint = "like `ssh-ed25519 AAAA…`, the line of a file that ends in .pub";
        let mut words = line.split_ascii_whitespace();
        let (Some(kind), Some(text)) = (words.next(), words.next()) else {
            return Err(format!("a public key is its kind and its text, {hint}"));
        };
        if line.contains(['\n', '\r']) {
            return Err("a public key is one line; each key is an entry of its own".into());
        }
        if kind.contains("-cert-") {
            return Err("this is a certificate; give the key it is of".into());
        }
        let bytes = decode(text).ok_or_else(|| format!("this is no public key; it is {hint}"))?;
        // The bytes start with the kind again: four bytes of length, then its name.
        let named = bytes.split_at_checked(4).and_then(|(length, rest)| {
            let length = u32::from_be_bytes(length.try_into().ok()?);
            rest.split_at_checked(usize::try_from(length).ok()?)
        });
        match named {
            Some((name, rest)) if name == kind.as_bytes() && !rest.is_empty() => {
                Ok(Self { kind: kind.to_owned(), bytes, text: text.to_owned() })
            }
            _ => Err(format!("this is no public key of the kind it names; it is {hint}")),
        }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.text)
    }
}

/// Base64 (RFC 4648, section 4), complete with its padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // Bits that are left over must be zero, or the same bytes would have several texts.
    (bits == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ED25519: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDc2sbTz7sjBd5wL69UqXPXgZ7XzzwgzuWS5Owj8ye2b";

    #[test]
    fn a_key_is_its_bytes() {
        let key = PublicKey::parse(&format!("{ED25519} ada@desk")).unwrap();
        assert_eq!(key.to_string(), ED25519);
        assert_eq!(PublicKey::parse(&format!("  {ED25519}  other")).unwrap(), key);
        assert_eq!(decode("TWFu").as_deref(), Some(&b"Man"[..]));
        assert_eq!(decode("TWE=").as_deref(), Some(&b"Ma"[..]));
        assert_eq!(decode("TQ==").as_deref(), Some(&b"M"[..]));
        for wrong in ["TQ=", "TR==", "T===", "====", "TW=u", "TWF", "TW u"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        let refused = |line: &str| PublicKey::parse(line).unwrap_err();
        assert!(refused("-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0").contains("a private key"));
        assert!(!refused("-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0").contains("c2Vj"));
        assert!(refused("ssh-ed25519").contains(".pub"));
        assert!(refused("").contains(".pub"));
        assert!(refused(&ED25519.replacen("ssh-ed25519", "ssh-rsa", 1)).contains("kind"));
        assert!(refused(&format!("{ED25519}\n* {ED25519}")).contains("one line"));
        let certificate = ED25519.replacen("ed25519", "ed25519-cert-v01@openssh.com", 1);
        assert!(refused(&certificate).contains("certificate"));
        let cut = ED25519.split_at(ED25519.len() - 48).0;
        assert!(PublicKey::parse(cut).is_err(), "{cut}");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "(ssh-ed25519 |ssh-rsa )?[A-Za-z0-9+/=é \\n]{0,80}") {
            let _ = PublicKey::parse(&line);
        }
    }
}
