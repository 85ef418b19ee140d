use super::*;
use crate::device::{PortName, RemarkKind};
use crate::place::FileId;

fn read(text: &str) -> Device {
    PicOs.parse(&Input { name: "leaf0", file: FileId(0), text })
}

const PORT: &str = "set interface gigabit-ethernet xe-1/1/1 description \"spine1 xe-1/1/7\"\n";

#[test]
fn the_watchdog_counts_in_its_granularity() {
    let text = format!(
        "{PORT}set class-of-service interface xe-1/1/1 pfc-watchdog code-point 3 enable true\n\
         set class-of-service pfc-watchdog granularity 10\n\
         set class-of-service pfc-watchdog code-point 3 detect-interval 12\n"
    );
    let device = read(&text);
    assert_eq!(device.remarks, []);
    let watchdog = device.ports[&PortName::new("xe-1/1/1")].watchdog;
    assert_eq!((watchdog.on.get(), watchdog.detect.get()), (Some(true), Some(Span::from_ms(120))));
    // On some silicon a port has a time of its own.
    let own =
        "set class-of-service interface xe-1/1/1 pfc-watchdog code-point 3 detect-interval 2\n";
    let device = read(&format!("{text}{own}"));
    let watchdog = device.ports[&PortName::new("xe-1/1/1")].watchdog;
    assert_eq!(watchdog.detect.get(), Some(Span::from_ms(20)));
    let wrong = read(&text.replace("granularity 10", "granularity 20"));
    assert_eq!(wrong.count(RemarkKind::Unknown), 1);
    let wrong = read(&text.replace("interval 12", "interval 16"));
    assert_eq!(wrong.count(RemarkKind::Malformed), 1);
}

#[test]
fn what_a_port_does_by_itself_and_what_it_leads_to() {
    let device = read(&format!("{PORT}set class-of-service easy-ecn mode latency-first\n"));
    let port = &device.ports[&PortName::new("xe-1/1/1")];
    assert_eq!(port.mtu, Said::Default(Bytes::new(1514)));
    assert_eq!(port.watchdog.on, Said::Default(false));
    let peer = port.neighbour.value().unwrap();
    assert_eq!((peer.device.as_str(), peer.port.as_deref()), ("spine1", Some("xe-1/1/7")));
    assert_eq!(device.count(RemarkKind::Foreign), 1);
}

#[test]
fn random_early_detection_is_not_understood() {
    let device =
        read(&format!("{PORT}set interface gigabit-ethernet xe-1/1/1 wred queue 3 enable true\n"));
    assert_eq!(device.count(RemarkKind::Unknown), 1);
}

#[test]
fn braces_that_are_cut_off_are_told() {
    let device = read("class-of-service {\n    pfc-profile a {\n");
    assert_eq!(device.count(RemarkKind::Truncated), 1);
}
