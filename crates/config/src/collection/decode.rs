//! From bytes to text, and what is no text.

/// Beginnings of files that are no text, and what they are.
const MAGIC: [(&[u8], &str); 16] = [
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ\0", "compressed with xz; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"!<arch>\n", "an archive of objects"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"%PDF", "a PDF"),
    (b"\xd4\xc3\xb2\xa1", "a capture; `xoff inspect` reads it"),
    (b"\x0a\x0d\x0d\x0a", "a capture; `xoff inspect` reads it"),
    (b"SQLite format 3\0", "a database"),
    (b"PAR1", "a Parquet table"),
];

/// The text in a file, or why there is none. UTF-16 is known by its mark; of what is not UTF-8, single bytes are
/// replaced.
pub fn decode(bytes: &[u8]) -> Result<String, &'static str> {
    if let Some(text) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return decode(text);
    }
    if let Some(units) = bytes.strip_prefix(b"\xff\xfe") {
        return wide(units, u16::from_le_bytes);
    }
    if let Some(units) = bytes.strip_prefix(b"\xfe\xff") {
        return wide(units, u16::from_be_bytes);
    }
    if let Some((_, what)) = MAGIC.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Err(what);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Err("a tar archive; unpack it first");
    }
    let odd = |byte: &&u8| **byte < 32 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 8 | 12 | 27);
    if bytes.contains(&0) || bytes.iter().filter(odd).count() * 20 > bytes.len() {
        return Err("not a text");
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, &'static str> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("UTF-16 that ends in the middle of a character");
    }
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map_err(|_| "UTF-16 with characters that do not exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_what_is_none() {
        assert_eq!(decode(b"hostname a\n"), Ok("hostname a\n".into()));
        assert_eq!(decode(b"\xef\xbb\xbfhostname a\n"), Ok("hostname a\n".into()));
        assert_eq!(decode(b"\xff\xfeh\0i\0"), Ok("hi".into()));
        assert_eq!(decode(b"\xfe\xff\0h\0i"), Ok("hi".into()));
        assert_eq!(decode(b""), Ok(String::new()));
        assert_eq!(decode(b"caf\xe9 1\n"), Ok("caf\u{fffd} 1\n".into()));
        assert!(decode(b"\xff\xfeh\0i").is_err());
        assert!(decode(b"\x7fELF\x02interface Ethernet1").unwrap_err().contains("program"));
        assert!(decode(b"\x1f\x8b\x08").unwrap_err().contains("gzip"));
        assert!(decode(&[0; 4096]).is_err());
        let mut tar = vec![b'a'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert!(decode(&tar).unwrap_err().contains("tar"));
    }
}
