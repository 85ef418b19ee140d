//! A server of ours against what a stock client said, and against clients that say nonsense.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xoff_endpoint::perftest::{Extent, Figures, Measure, Outcome, PerfError, Settings, Verb, run};
use xoff_wire::udp::Port;

/// Keys of `ib_write_bw` of perftest 4.5 in a Debian guest.
const KEYS: &[u8] = b"0000:0001:000012:0dddf7:00000328:00007f078460e000:\
    00:00:00:00:00:00:00:00:00:00:ff:ff:0a:63:00:02:00000000:\0";

/// Everything that client says in `-s 65536 -n 40`, message by message.
fn said() -> Vec<Vec<u8>> {
    let mut messages = vec![
        b"6.06\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        4096u32.to_be_bytes().to_vec(),
        64u32.to_be_bytes().to_vec(),
        b"5\0".to_vec(),
    ];
    // Keys, two barriers, and the one after the data.
    messages.extend(vec![KEYS.to_vec(); 4]);
    messages.push(65536u64.to_be_bytes().to_vec());
    messages.push(40u64.to_be_bytes().to_vec());
    for figure in [26.5, 26.11, 0.000418] {
        messages.push(f64::to_be_bytes(figure).to_vec());
    }
    messages.push(KEYS.to_vec());
    messages.push(b"done\0".to_vec());
    messages
}

/// A server of its own, and its port.
fn serve(patience: Duration) -> (JoinHandle<Result<Outcome, PerfError>>, u16) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Below the ports that systems give to connections by themselves.
    let own = 12_000 + (std::process::id() % 400) as u16 * 50;
    let next = own + 2 * NEXT.fetch_add(1, Ordering::Relaxed) % 50;
    let settings = Settings {
        port: Port(next),
        device_port: Port(next + 1),
        bind: Some(IpAddr::from([127, 0, 0, 3])),
        extent: Extent::Iterations(40),
        patience,
        ..Settings::new(Verb::Write, Measure::Bandwidth)
    };
    let stop = Arc::new(AtomicBool::new(false));
    (thread::spawn(move || run(settings, &stop, |_| (), |_| ())), next)
}

fn call(port: u16) -> TcpStream {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_recorded_stock_client_is_served_to_the_end() {
    let (server, port) = serve(Duration::from_secs(5));
    let mut client = call(port);
    client.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    for (step, message) in said().iter().enumerate() {
        client.write_all(message).unwrap();
        let mut answer = vec![0; message.len()];
        client.read_exact(&mut answer).unwrap_or_else(|error| panic!("step {step}: {error}"));
        match message.len() {
            108 => assert!(answer.ends_with(b":00000000:\0"), "step {step}"),
            5 => assert_eq!(&answer, b"done\0"),
            16 => assert!(answer.starts_with(b"6.06\0")),
            _ => {}
        }
    }
    drop(client);
    let outcome = server.join().unwrap().unwrap();
    let Figures::Bandwidth { average, .. } = outcome.rows[0].figures else { panic!("no figures") };
    assert!((average / 1_048_576.0 - 26.11).abs() < 1e-6);
    assert_eq!((outcome.rows[0].size, outcome.rows[0].iterations), (65536, 40));
    // No data came, and that is noticed.
    assert_eq!(outcome.verified.unwrap().wrong, 65536);
}

#[test]
fn nonsense_ends_the_server_and_nothing_else() {
    for broken in 0..said().len() - 1 {
        let (server, port) = serve(Duration::from_secs(2));
        let mut client = call(port);
        client.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        for (step, message) in said().iter().enumerate() {
            let mut message = message.clone();
            if step == broken {
                message.fill(0xff);
            }
            let mut answer = vec![0; message.len()];
            // The server may hang up at any time from now on.
            if client.write_all(&message).is_err() || client.read_exact(&mut answer).is_err() {
                assert!(step >= broken);
                break;
            }
        }
        drop(client);
        let result = server.join().expect("no panic");
        // Figures may be anything: a side that measured nothing sends what it has.
        let figures = (8..13).contains(&broken);
        assert_eq!(result.is_ok(), figures, "message {broken}: {result:?}");
    }
}

#[test]
fn a_client_that_falls_silent_is_given_up() {
    let (server, port) = serve(Duration::from_millis(400));
    let mut client = call(port);
    client.write_all(&said()[0]).unwrap();
    let result = server.join().unwrap();
    assert!(matches!(result, Err(PerfError::Silence(_))), "{result:?}");
    let (server, port) = serve(Duration::from_millis(400));
    drop(call(port));
    let result = server.join().unwrap();
    assert!(matches!(result, Err(PerfError::Exchange(_))), "{result:?}");
}
