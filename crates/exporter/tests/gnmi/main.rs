//! Devices that behave and devices that do not, by gNMI on loopback.

mod server;

use server::{Device, Script, path, sample};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xoff_exporter::gnmi::proto::{Notification, typed_value::Value};
use xoff_exporter::gnmi::{Dialect, Login, Queues, Secret, Security, Settings, Switch, Tls};
use xoff_exporter::naming::Naming;
use xoff_exporter::{Exposition, Origin};

const SECOND: Duration = Duration::from_secs(1);
const SONIC: (&str, &str) = ("sonic-db", "SONiC");

#[allow(clippy::disallowed_methods, reason = "samples come in wall time")]
fn instant() -> Instant {
    Instant::now()
}

fn settings(address: impl std::fmt::Display) -> Settings {
    Settings {
        address: address.to_string().parse().unwrap(),
        security: Security::Plain,
        login: Login::Nobody,
        dialect: None,
        sample: SECOND,
        patience: SECOND * 10,
    }
}

fn start(settings: Settings) -> Switch {
    let start = instant();
    let now = Arc::new(move || start.elapsed());
    Switch::start(settings, Naming::switch("pod", "leaf0"), Queues::new(), now).unwrap()
}

fn page(switch: &mut Switch) -> Result<String, String> {
    let mut out = Exposition::default();
    switch.read(&mut out).map(|()| out.text()).map_err(|error| error.0)
}

/// Reads pages until one is as it should be.
fn until(switch: &mut Switch, seconds: u64, good: impl Fn(&Result<String, String>) -> bool) {
    let start = instant();
    loop {
        let found = page(switch);
        if good(&found) {
            return;
        }
        assert!(start.elapsed() < SECOND * seconds as u32, "{found:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn octets(value: u64) -> Notification {
    let text = format!(r#"{{"etp1":{{"SAI_PORT_STAT_IF_IN_OCTETS":"{value}"}}}}"#);
    sample("COUNTERS_DB", "COUNTERS/Ethernet*", Value::JsonIetf(text.into()))
}

fn queues() -> Notification {
    let text = r#"{"etp1:3":{"SAI_QUEUE_STAT_BYTES":"7","PFC_WD_STATUS":"operational"}}"#;
    sample("COUNTERS_DB", "COUNTERS/Ethernet*/Queues", Value::JsonIetf(text.into()))
}

fn sonic() -> Script {
    let ports = r#"{"Ethernet0":{"alias":"etp1","oper_status":"up","speed":"400000"}}"#;
    Script {
        models: vec![("openconfig-interfaces", "OpenConfig"), SONIC],
        get: vec![sample("APPL_DB", "PORT_TABLE", Value::JsonIetf(ports.into()))],
        samples: vec![octets(5), queues()],
        syncs: true,
        ..Script::default()
    }
}

fn line(family: &str, more: &str, value: impl std::fmt::Display) -> String {
    format!("{family}{{device=\"leaf0\",fabric=\"pod\",port=\"Ethernet0\"{more}}} {value}\n")
}

fn assert_has(text: &str, line: &str) {
    assert!(text.contains(line), "no {line} in\n{text}");
}

/// What both dialects say of the same port.
fn assert_common(text: &str) {
    assert_has(text, &line("xoff_port_up", "", 1));
    assert_has(text, &line("xoff_port_speed_bits_per_second", "", 400_000_000_000u64));
    assert_has(text, &line("xoff_receive_bytes_total", "", 5));
    assert_has(text, &line("xoff_transmit_bytes_total", ",priority=\"3\"", 7));
}

#[test]
fn a_sonic_switch_is_exported() {
    let device = Device::start(sonic());
    let mut switch = start(settings(device.address));
    let text = page(&mut switch).unwrap();
    assert_common(&text);
    assert_has(&text, &line("xoff_sonic_pfc_wd_stormed", ",priority=\"3\"", 0));
    assert_has(&text, "xoff_exporter_paths_refused 0\n");
    let asked = device.script.lock().unwrap().asked.clone();
    let [list] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(list.prefix.as_ref().unwrap().target, "COUNTERS_DB");
    assert_eq!((list.mode, list.encoding), (0, 4), "a stream of JSON_IETF");
    let first = &list.subscription[0];
    assert_eq!((first.mode, first.sample_interval), (2, 1_000_000_000), "a sample");
    assert_eq!(first.path, Some(path("COUNTERS/Ethernet*")));
    // The next sample, and a port that goes down.
    device.change(|script| {
        let ports = r#"{"Ethernet0":{"alias":"etp1","oper_status":"down"}}"#;
        script.get = vec![sample("APPL_DB", "PORT_TABLE", Value::JsonIetf(ports.into()))];
        script.samples[0] = octets(6);
    });
    let down = line("xoff_port_up", "", 0);
    let six = line("xoff_receive_bytes_total", "", 6);
    until(&mut switch, 10, |page| {
        page.as_ref().is_ok_and(|text| text.contains(&six) && text.contains(&down))
    });
}

#[test]
fn an_openconfig_switch_is_exported() {
    let port = "interfaces/interface[name=Ethernet0]";
    let queue =
        "qos/interfaces/interface[interface-id=Ethernet0]/output/queues/queue[name=3]/state";
    let device = Device::start(Script {
        models: vec![("openconfig-interfaces", "OpenConfig")],
        samples: vec![
            sample("", &format!("{port}/state/counters/in-octets"), Value::Uint(5)),
            sample("", &format!("{port}/state/oper-status"), Value::JsonIetf("\"UP\"".into())),
            sample(
                "",
                &format!("{port}/ethernet/state"),
                Value::JsonIetf(
                    r#"{"port-speed":"SPEED_400GB","counters":{"in-crc-errors":"2"}}"#.into(),
                ),
            ),
            sample("", queue, Value::JsonIetf(r#"{"transmit-octets":"7"}"#.into())),
        ],
        syncs: true,
        // It does not know all of the paths, and refuses all of them for it.
        most: Some(2),
        ..Script::default()
    });
    let mut switch = start(settings(device.address));
    let text = page(&mut switch).unwrap();
    assert_common(&text);
    assert_has(&text, &line("xoff_crc_errors_total", "", 2));
    assert_has(&text, "xoff_exporter_paths_refused 1\n");
    let asked: Vec<usize> =
        device.script.lock().unwrap().asked.iter().map(|list| list.subscription.len()).collect();
    assert_eq!(asked, [5, 2]);
}

#[test]
fn what_is_not_sent_again_or_deleted_vanishes() {
    let device = Device::start(sonic());
    let mut switch = start(settings(device.address));
    let (octets, bytes) = (line("xoff_receive_bytes_total", "", 5), "xoff_transmit_bytes_total");
    let text = page(&mut switch).unwrap();
    assert!(text.contains(&octets) && text.contains(bytes), "{text}");
    // Of the queues nothing comes any more. Their last sample may be a second old when it stops.
    device.change(|script| drop(script.samples.pop()));
    let start = instant();
    until(&mut switch, 15, |page| page.as_ref().is_ok_and(|text| !text.contains(bytes)));
    assert!(start.elapsed() > SECOND * 3 / 2, "{:?}", start.elapsed());
    assert!(page(&mut switch).unwrap().contains(&octets));
    device.change(|script| {
        script.samples = vec![Notification {
            delete: vec![path("COUNTERS/Ethernet*")],
            ..Notification::default()
        }];
    });
    let start = instant();
    until(&mut switch, 15, |page| page.as_ref().is_ok_and(|text| !text.contains(&octets)));
    assert!(start.elapsed() < SECOND * 2, "{:?}", start.elapsed());
    // The stream is there all the same.
    assert!(page(&mut switch).unwrap().contains("xoff_port_up{"));
}

#[test]
fn a_device_that_goes_away_and_returns() {
    let device = Device::start(sonic());
    let (address, script) = (device.address, device.script.clone());
    let mut switch = start(settings(address));
    assert!(page(&mut switch).is_ok());
    drop(device);
    until(&mut switch, 10, Result::is_err);
    let gone = page(&mut switch).unwrap_err();
    assert!(gone.contains(&address.to_string()), "{gone}");
    let device = Device::at(address, script, None);
    until(&mut switch, 20, Result::is_ok);
    assert!(page(&mut switch).unwrap().contains(&line("xoff_receive_bytes_total", "", 5)));
    drop((switch, device));
}

#[test]
fn a_device_that_falls_silent_is_left() {
    let device = Device::start(sonic());
    let mut switch = start(settings(device.address));
    assert!(page(&mut switch).is_ok());
    device.change(|script| script.samples.clear());
    until(&mut switch, 20, |page| {
        page.as_ref().is_err_and(|error| error.contains("sent nothing for 5 s"))
    });
    device.change(|script| script.samples = vec![octets(8)]);
    let eight = line("xoff_receive_bytes_total", "", 8);
    until(&mut switch, 20, |page| page.as_ref().is_ok_and(|text| text.contains(&eight)));
}

#[test]
fn a_wrong_password_is_named() {
    let login = Some(("admin", "secret word"));
    let device = Device::start(Script { login, ..sonic() });
    let secret = |text: &str| Secret::new(text, "a test").unwrap();
    let user = |password| Login::User(secret("admin"), secret(password));
    let open = |login| page(&mut start(Settings { login, ..settings(device.address) }));
    assert!(open(user("secret word")).unwrap().contains("xoff_receive_bytes_total{"));
    let wrong = open(user("guess")).unwrap_err();
    assert!(wrong.contains(&device.address.to_string()), "{wrong}");
    assert!(wrong.contains("Invalid Username or Password"), "{wrong}");
    assert!(wrong.contains("check --username and its password"), "{wrong}");
    assert!(!wrong.contains("guess"), "{wrong}");
    let nobody = open(Login::Nobody).unwrap_err();
    assert!(nobody.contains("--username and --password-file"), "{nobody}");
    let device = Device::start(Script { token: Some("token-of-16-bytes"), ..sonic() });
    let open = |login| page(&mut start(Settings { login, ..settings(device.address) }));
    assert!(open(Login::Token(secret("token-of-16-bytes"))).is_ok());
    let wrong = open(Login::Token(secret("another"))).unwrap_err();
    assert!(wrong.contains("--device-token-file"), "{wrong}");
}

#[test]
fn a_device_that_never_says_it_is_done_has_no_page() {
    for endless in [false, true] {
        let device = Device::start(Script { syncs: false, endless, ..sonic() });
        let patience = SECOND;
        let mut switch = start(Settings { patience, ..settings(device.address) });
        let error = page(&mut switch).unwrap_err();
        assert!(error.contains("has not sent all of its values yet (no sync_response)"), "{error}");
        // It ends at once, however much still comes.
        let start = instant();
        drop(switch);
        assert!(start.elapsed() < SECOND * 5, "{:?}", start.elapsed());
        drop(device);
    }
}

#[test]
fn garbage_is_refused() {
    let device = Device::start(Script { garbage: true, ..sonic() });
    let mut switch = start(settings(device.address));
    let error = page(&mut switch).unwrap_err();
    assert!(error.contains(&device.address.to_string()), "{error}");
    // What is no JSON, what nobody asked for, and numbers that are none.
    let odd = |at, value| sample("COUNTERS_DB", at, value);
    let device = Device::start(Script {
        samples: vec![
            odd("COUNTERS/Ethernet*", Value::JsonIetf(b"{\"a\":".to_vec())),
            odd("COUNTERS/Ethernet*", Value::JsonIetf("[".repeat(100_000).into_bytes())),
            odd("nothing/of/ours", Value::Uint(1)),
            Notification::default(),
            octets(5),
        ],
        ..sonic()
    });
    let mut switch = start(settings(device.address));
    let mut out = Exposition::default();
    switch.read(&mut out).unwrap();
    assert!(out.errors() >= 2, "{}", out.errors());
    assert!(out.text().contains(&line("xoff_receive_bytes_total", "", 5)));
    // No gRPC at all.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let noise = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(&[0x55; 65_536]);
    });
    let error = page(&mut start(settings(address))).unwrap_err();
    assert!(error.contains(&format!("cannot reach gNMI at {address}")), "{error}");
    noise.join().unwrap();
}

#[test]
fn a_device_that_speaks_something_else_is_said() {
    let device = Device::start(Script { models: vec![("vendor-ports", "Vendor")], ..sonic() });
    let error = page(&mut start(settings(device.address))).unwrap_err();
    assert!(error.contains("--dialect"), "{error}");
    let dialect = Some(Dialect::Sonic);
    assert!(page(&mut start(Settings { dialect, ..settings(device.address) })).is_ok());
    drop(device);
    let nothing = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = page(&mut start(settings(nothing))).unwrap_err();
    assert!(error.contains(&format!("cannot reach gNMI at {nothing}")), "{error}");
    assert!(error.contains("refused"), "{error}");
}

#[test]
fn certificates_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let path = folder.path().join(format!("{name}.pem"));
        std::fs::write(&path, made.cert.pem()).unwrap();
        (path, made.cert.pem(), made.signing_key.serialize_pem())
    };
    let (ca, certificate, key) = made("leaf0.example");
    let script = Arc::new(std::sync::Mutex::new(sonic()));
    let any = "127.0.0.1:0".parse().unwrap();
    let device = Device::at(any, script, Some((certificate, key)));
    let open = |ca: &std::path::Path, name: Option<&str>| {
        let tls = Tls::read(ca, name.map(str::to_owned), None).unwrap();
        let security = Security::Tls(tls);
        page(&mut start(Settings { security, ..settings(device.address) }))
    };
    let text = open(&ca, Some("leaf0.example")).unwrap();
    assert!(text.contains("xoff_receive_bytes_total{"), "{text}");
    // The address is not in the certificate.
    let error = open(&ca, None).unwrap_err();
    assert!(error.contains("no TLS with") && error.contains("--tls-name"), "{error}");
    // Somebody else signed it.
    let error = open(&made("other.example").0, Some("leaf0.example")).unwrap_err();
    assert!(error.contains("no TLS with") && error.contains("--ca"), "{error}");
    // A device with TLS is not spoken to without.
    let error = page(&mut start(settings(device.address))).unwrap_err();
    assert!(error.contains("--ca"), "{error}");
}
