//! The server, with clients that behave and clients that do not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xoff_exporter::http::{Access, Server, Service, Token, tls};

#[allow(clippy::disallowed_methods, reason = "the server's patience is wall time")]
fn instant() -> Instant {
    Instant::now()
}

/// Serves `page\n` while `visit` is running, with so much patience.
fn with_server(access: Access, patience: u64, visit: impl FnOnce(SocketAddr)) {
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::listen(address, access, Duration::from_millis(patience)).unwrap();
    let address = server.address().unwrap();
    let (stop, start) = (AtomicBool::new(false), instant());
    let now = move || start.elapsed();
    let page = || "page\n".to_owned();
    std::thread::scope(|scope| {
        let service = Service { page: &page, now: &now, stop: &stop };
        let serving = scope.spawn(move || server.serve(service));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| visit(address)));
        stop.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends bytes and returns all that comes back.
fn send(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address);
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn two_pages_and_two_methods() {
    with_server(Access::default(), 5_000, |address| {
        let get = send(address, b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(get.starts_with("HTTP/1.1 200 OK\r\n") && get.ends_with("\r\n\r\npage\n"), "{get}");
        assert!(get.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
        assert!(get.contains("Content-Length: 5\r\n") && get.contains("Connection: close\r\n"));
        let head = send(address, b"HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 5\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(send(address, b"GET / HTTP/1.0\r\n\r\n").contains("href=\"/metrics\""));
        for (request, status) in [
            (&b"GET /other HTTP/1.1\r\n\r\n"[..], "404 "),
            (b"GET /metrics/../etc/passwd HTTP/1.1\r\n\r\n", "404 "),
            (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405 "),
            (b"DELETE / HTTP/1.1\r\n\r\n", "405 "),
            (b"hello\r\n\r\n", "400 "),
            (b"GET / HTTP/9.9\r\n\r\n", "400 "),
            (b"\x16\x03\x01\x02\x00\x01\x00", "400 "),
        ] {
            let answer = send(address, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request:?}: {answer}");
        }
    });
}

#[test]
fn a_head_that_does_not_end_is_refused() {
    with_server(Access::default(), 5_000, |address| {
        let long = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; 50_000]].concat();
        assert!(send(address, &long).starts_with("HTTP/1.1 431 "));
    });
}

#[test]
fn a_client_that_trickles_is_cut_off_in_time() {
    with_server(Access::default(), 600, |address| {
        let start = instant();
        let mut stream = connect(address);
        // A byte each 50 ms would keep a server that counts from the last byte busy for minutes.
        for byte in b"GET /metrics HTTP/1.1\r\nHost: very-slow-client-indeed".iter() {
            if stream.write_all(&[*byte]).is_err() || start.elapsed() > Duration::from_secs(2) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut answer = String::new();
        // The connection may be reset by what was sent after the answer; that is an end as good as any.
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
        assert!(send(address, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("page\n"));
    });
}

#[test]
fn many_clients_do_not_make_many_threads() {
    with_server(Access::default(), 3_000, |address| {
        let idle: Vec<TcpStream> = (0..60).map(|_| connect(address)).collect();
        std::thread::sleep(Duration::from_millis(300));
        let mut turned_away = 0;
        for mut stream in idle {
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let mut answer = [0; 12];
            if stream.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 503" {
                turned_away += 1;
            }
        }
        assert!((1..=60 - 16).contains(&turned_away), "{turned_away} were told to come back");
        // When the idle ones have gone, others are served, and as many as come one after the other.
        std::thread::sleep(Duration::from_millis(500));
        for _ in 0..50 {
            assert!(send(address, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("page\n"));
        }
    });
}

#[test]
fn a_page_that_panics_costs_one_answer() {
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::listen(address, Access::default(), Duration::from_secs(5)).unwrap();
    let address = server.address().unwrap();
    let (stop, start, asked) = (AtomicBool::new(false), instant(), AtomicUsize::new(0));
    let now = move || start.elapsed();
    let page = || {
        assert!(asked.fetch_add(1, Ordering::Relaxed) > 0, "the first page is not made");
        "page\n".to_owned()
    };
    let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        std::thread::scope(|scope| {
            let service = Service { page: &page, now: &now, stop: &stop };
            let server = &server;
            scope.spawn(move || server.serve(service));
            assert_eq!(send(address, b"GET /metrics HTTP/1.1\r\n\r\n"), "");
            assert!(send(address, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("page\n"));
            stop.store(true, Ordering::Relaxed);
        });
    }));
    assert!(served.is_err(), "the panic is not hidden when the server ends");
}

fn token(folder: &std::path::Path) -> Token {
    let path = folder.join("token");
    std::fs::write(&path, "correct-horse-battery-staple\n").unwrap();
    Token::read(&path).unwrap()
}

#[test]
fn a_wrong_token_reads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let access = Access { token: Some(token(folder.path())), tls: None };
    with_server(access, 5_000, |address| {
        let with = |header: &str| {
            send(address, format!("GET /metrics HTTP/1.1\r\n{header}\r\n").as_bytes())
        };
        assert!(with("Authorization: Bearer correct-horse-battery-staple\r\n").ends_with("page\n"));
        for header in [
            "",
            "Authorization: Bearer wrong-horse-battery-staple\r\n",
            "Authorization: Bearer correct-horse-battery-stapl\r\n",
            "Authorization: Basic correct-horse-battery-staple\r\n",
            "X-Authorization: Bearer correct-horse-battery-staple\r\n",
        ] {
            let answer = with(header);
            assert!(answer.starts_with("HTTP/1.1 401 ") && !answer.contains("page"), "{answer}");
            assert!(answer.contains("WWW-Authenticate: Bearer\r\n"));
        }
    });
}

#[test]
fn tls_is_spoken_and_plain_text_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let config = tls(&certificate, &key).unwrap();
    let access = Access { token: Some(token(folder.path())), tls: Some(config) };
    assert!(access.check("0.0.0.0:9810".parse().unwrap()).is_ok());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    with_server(access, 2_000, |address| {
        let name = "localhost".try_into().unwrap();
        let session = rustls::ClientConnection::new(Arc::new(client), name).unwrap();
        let mut stream = rustls::StreamOwned::new(session, connect(address));
        let request =
            "GET /metrics HTTP/1.1\r\nAuthorization: Bearer correct-horse-battery-staple\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("page\n"), "{answer}");
        let mut plain = connect(address);
        plain.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        let _ = plain.read_to_end(&mut bytes);
        assert!(!String::from_utf8_lossy(&bytes).contains("page"), "{bytes:?}");
    });
    for (a, b, message) in [
        (&key, &key, "has no certificate in PEM"),
        (&certificate, &certificate, "has no private key in PEM"),
        (&folder.path().join("none"), &key, "cannot read"),
    ] {
        let error = tls(a, b).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn addresses_of_others_are_refused_without_protection() {
    let server =
        Server::listen("0.0.0.0:0".parse().unwrap(), Access::default(), Duration::from_secs(1));
    let error = server.unwrap_err().to_string();
    assert!(error.contains("--tls-cert, --tls-key and --token-file"), "{error}");
}
