use super::*;
use crate::device::{PortName, RemarkKind};
use crate::place::FileId;
use crate::qos::Levels;
use xoff_units::Ratio;

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
    // No fabric file speaks of it: it is held against other devices.
    assert_eq!(device.own["easy-ecn"].value().map(String::as_str), Some("latency-first"));
    assert_eq!(device.remarks, []);
}

#[test]
fn random_early_detection_counts_in_the_units_of_the_box() {
    let at = "set interface gigabit-ethernet xe-1/1/1 wred queue 3";
    let text = format!(
        "{PORT}{at} enable true\n{at} max_thresh 400\n{at} min_thresh 200\n{at} drop_probability 50\n"
    );
    let wred = |text: &str| {
        let device = read(text);
        let wred = device.ports[&PortName::new("xe-1/1/1")].queues[3].wred.get();
        (wred.map(|wred| wred.levels), device.count(RemarkKind::Unknown))
    };
    let levels = Levels::Counts { min: 200, max: 400, pmax: Ratio::new(50, 100) };
    assert_eq!(wred(&text), (Some(levels), 0));
    assert_eq!(wred(&text.replace("true", "false")), (None, 0));
    // What it does without thresholds, and with thresholds alone, no guide says.
    assert_eq!(wred(&format!("{PORT}{at} enable true\n")), (None, 1));
    assert_eq!(wred(&text.replace(&format!("{at} enable true\n"), "")), (None, 3));
    assert_eq!(wred(&format!("{text}{at} ecn_thresh 1\n")), (Some(levels), 1));
    assert_eq!(wred(&text.replace("queue 3", "queue 9")), (None, 4));
}

#[test]
fn braces_that_are_cut_off_are_told() {
    let device = read("class-of-service {\n    pfc-profile a {\n");
    assert_eq!(device.count(RemarkKind::Truncated), 1);
}
