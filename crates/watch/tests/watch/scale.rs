//! 8,192 GPUs: what a view and a frame take.

use super::made::{Made, STEPS, drawn, header, rails};
use std::time::Instant;
use xoff_telemetry::Metric;
use xoff_watch::model::{Subject, Watcher};
use xoff_watch::screen::Screen;

#[test]
#[allow(clippy::disallowed_methods, reason = "what it takes is what is asked")]
fn eight_thousand_gpus_fit_on_every_screen() {
    let fabric = rails(8_192);
    let mut made = Made::sound(&fabric);
    let port = fabric.nics[4_000].ports.start;
    let there = fabric.ports[port as usize].peer;
    made.put(there, Metric::PausedTime, Some(3), 4..STEPS.count, 30.0);
    made.put(there, Metric::TxPackets, Some(3), 4..STEPS.count, 0.0);
    let recording = made.finish();
    let subject = Subject { fabric: &fabric, recording: &recording, usual: None };
    let mut watcher = Watcher::default();
    let start = Instant::now();
    let view = watcher.look(&subject, 0..STEPS.count, &[]);
    let model = start.elapsed();
    assert_eq!(view.findings[0].place, fabric.nics[4_000].name);
    let mut screen = Screen::new(true);
    for size in [(80, 24), (200, 60), (40, 10), (20, 5)] {
        drawn(size, &header(), Some(&view), &mut screen);
        let start = Instant::now();
        let text = drawn(size, &header(), Some(&view), &mut screen);
        let frame = start.elapsed();
        println!("a frame of {} x {}: {frame:?}", size.0, size.1);
        let shown = size.1 > 10;
        assert_eq!(text.contains('S'), shown, "the NIC that pauses is on the map\n{text}");
        // Unoptimised and on a busy machine; optimised it is far below 16 ms.
        assert!(frame.as_millis() < 500, "{frame:?}");
    }
    println!("a view of {} NICs and {} series: {model:?}", view.nics, view.series);
    assert!(model.as_secs() < 60, "{model:?}");
}
