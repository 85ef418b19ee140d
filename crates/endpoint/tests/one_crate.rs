//! One crate to import: whatever a signature is made of is found here.

use std::fs;
use std::path::{Path, PathBuf};
use xoff_endpoint::{
    Access, Atomic, Bytes, Completion, Counters, DeviceSettings, Ecn, Endpoint, Error, Immediate,
    PairSettings, Port, ProtectionDomain, Psn, QpConfig, Qpn, Rate, RejectReason, Rkey, Service,
    Span, Status, TrafficClass, Verb, Work, host_config, transport, units, wire,
};

#[test]
fn a_program_needs_no_other_crate() {
    let config = QpConfig { retry_limit: 3, mtu: Bytes::new(1024), ..host_config() };
    let mut settings = DeviceSettings::new([127, 91, 20, 1]).port(Port(4791));
    settings.line_rate = Rate::from_gbps(25);
    settings.cnp_class = TrafficClass::new(48, Ecn::NotCapable);
    settings.base_rtt = Span::from_us(20);
    let endpoint = Endpoint::open(settings).unwrap();
    let access = Access::LOCAL_WRITE | Access::REMOTE_READ;
    let region = endpoint.register(vec![0; 8], access).wait().unwrap();
    let connection = endpoint
        .connection_with(Service::Reliable, move |pair: &mut PairSettings| {
            let _: ProtectionDomain = pair.domain;
            pair.config = config.into();
        })
        .wait()
        .unwrap();
    let (psn, qpn): (Psn, Qpn) = (connection.introduction().psn, connection.introduction().qpn);
    assert!(psn != Psn::new(0) || qpn != Qpn::new(0));
    let key: Rkey = region.remote(Bytes::ZERO).key;
    assert_ne!(key, Rkey(0));
    let work = Work::send_immediate(region.all(), Immediate([1; 4]));
    assert_eq!(work.verb, Verb::SendImmediate(Immediate([1; 4])));
    let add = Atomic::FetchAdd { add: 1 };
    let early: Result<Completion, Error> =
        connection.atomic(add, region.all(), region.remote(Bytes::ZERO)).wait();
    assert_eq!(early.map(|completion| completion.status == Status::Ok), Err(Error::WrongState));
    let pair = connection.pair();
    let counters: Counters =
        endpoint.with(move |device| device.counters(pair)).wait().unwrap().unwrap();
    assert_eq!(counters, transport::Counters::default());
    assert_eq!(units::Bytes::ZERO, Bytes::ZERO);
    assert_eq!(wire::cm::RejectReason::CONSUMER, RejectReason::CONSUMER);
}

#[test]
fn no_example_and_no_page_imports_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("../../docs/endpoint.md")];
    list(&root.join("examples"), &mut pages);
    list(&root.join("src"), &mut pages);
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let source = page.starts_with(root.join("src"));
        for (number, line) in text.lines().enumerate() {
            // Of the sources only what is run as a test of the documentation.
            if source && !line.trim_start().starts_with("//") {
                continue;
            }
            for other in ["xoff_units", "xoff_wire", "xoff_transport"] {
                let imports = line.contains(&format!("use {other}"));
                assert!(!imports, "{}:{}: {line}", page.display(), number + 1);
            }
        }
    }
}

fn list(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, pages);
        } else {
            pages.push(path);
        }
    }
}
