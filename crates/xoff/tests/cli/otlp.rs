//! Counters of a run to a receiver of OTLP. What is in the messages is tested where they are made (`xoff_collect::otlp`).

use super::{code, example, output, stderr};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};

/// A receiver that answers each request with status 200 and this, and gives the first line and the body of each.
fn receiver(answer: &'static [u8]) -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/metrics", listener.local_addr().unwrap());
    let (got, all) = channel();
    // It ends with the test: a thread that waits for one more connection holds nothing up.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut first, mut length) = (String::new(), 0);
            reader.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let line = line.trim().to_ascii_lowercase();
                if let Some(text) = line.strip_prefix("content-length: ") {
                    length = text.parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length";
            write!(stream, "{head}: {}\r\n\r\n", answer.len()).unwrap();
            stream.write_all(answer).unwrap();
            // The test may have seen enough.
            let _ = got.send((first.trim().to_owned(), body));
        }
    });
    (url, all)
}

fn run(folder: &Path, more: &[&str]) -> Output {
    let scenario = example("storm.toml");
    let own = ["run", &scenario, "--counters", "50us", "--no-report", "--out", "storm"];
    output(folder, &[&own[..], more].concat())
}

#[test]
fn a_run_is_written_as_otlp() {
    let folder = tempfile::tempdir().unwrap();
    let (url, all) = receiver(b"");
    let ran = run(folder.path(), &["--otlp", &url, "--interval", "30s"]);
    let said = stderr(&ran);
    assert!(said.contains("series of fabric `three-leaves-100g` to http://127.0.0.1"), "{said}");
    let (first, body) = all.recv().unwrap();
    assert_eq!(first, "POST /v1/metrics HTTP/1.1");
    let holds = |text: &str| body.windows(text.len()).any(|part| part == text.as_bytes());
    for text in ["service.name", "xoff_transmit_bytes", "By", "three-leaves-100g", "leaf-b→b0"] {
        assert!(holds(text), "{text}");
    }
    assert!(!holds("_total"), "names are without it");
}

#[test]
fn samples_that_are_rejected_fail_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (url, _all) = receiver(b"\x0a\x10\x08\x04\x12\x0cout of order");
    let ran = run(folder.path(), &["--otlp", &url]);
    assert_eq!(code(&ran), Some(3));
    let said = stderr(&ran);
    assert!(said.contains("rejected 4 of ") && said.contains("out of order"), "{said}");
    let none = run(folder.path(), &["--interval", "30s"]);
    assert_eq!(code(&none), Some(2));
    assert!(stderr(&none).contains("--otlp"), "{}", stderr(&none));
}
