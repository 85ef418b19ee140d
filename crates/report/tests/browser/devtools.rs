//! A browser under control: Chromium's DevTools protocol over a pipe.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Names under which systems have it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser on this machine, if there is one.
pub(crate) fn find() -> Option<String> {
    if let Ok(named) = std::env::var("XOFF_CHROMIUM") {
        return Some(named);
    }
    let paths = std::env::var_os("PATH")?;
    let here = |name: &&str| std::env::split_paths(&paths).any(|dir| dir.join(name).is_file());
    NAMES.into_iter().find(|name| here(name)).map(str::to_owned)
}

/// A running browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    /// Events that it sent.
    pub(crate) events: Vec<Value>,
}

impl Browser {
    /// Starts it with a profile of its own.
    pub(crate) fn start(program: &str, profile: &Path) -> Self {
        // The protocol wants its pipe as descriptors 3 and 4; a shell can do that without unsafe code.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2 2>/dev/null";
        let profile = format!("--user-data-dir={}", profile.display());
        let mut child = Command::new("sh")
            .args(["-c", script, program])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .arg(profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let input = child.stdin.take().expect("a pipe was asked for");
        let output = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
        let mut browser = Self { child, input, output, session: None, next: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks for something and waits for the answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut text = message.to_string().into_bytes();
        text.push(0);
        self.input.write_all(&text).expect("the browser listens");
        loop {
            let mut answer = self.message();
            if answer["id"] == json!(self.next) {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
        }
    }

    /// Waits for an event of this name that has not been looked at.
    pub(crate) fn wait_for(&mut self, event: &str) {
        while !self.events.iter().any(|seen| seen["method"] == event) {
            self.message();
        }
    }

    /// The value of an expression in the page.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", asked);
        let failed = answer.get("exceptionDetails");
        assert!(failed.is_none(), "{expression}: {failed:?}");
        answer["result"]["value"].take()
    }

    fn message(&mut self) -> Value {
        let mut text = Vec::new();
        self.output.read_until(0, &mut text).expect("the browser answers");
        assert_eq!(text.pop(), Some(0), "the browser went away");
        let message: Value = serde_json::from_slice(&text).expect("the browser speaks JSON");
        if message.get("method").is_some() {
            self.events.push(message.clone());
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of base64, as the protocol sends pictures.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut held, mut bits) = (Vec::with_capacity(text.len() * 3 / 4), 0u32, 0);
    for six in text.bytes().filter_map(digit) {
        held = held << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    out
}
