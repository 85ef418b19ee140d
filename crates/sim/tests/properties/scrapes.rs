//! What is scraped while a run goes on adds up to what its report says.

use crate::random::{load, plan};
use crate::{cases, until};
use proptest::prelude::*;
use xoff_sim::{ClassResult, Observer, Outcome, PortHealth, Scrape, Settings};
use xoff_units::{Bytes, Instant, Span};

/// Keeps the last scrape, and the greatest watermarks of all.
#[derive(Default)]
struct Scraper {
    count: u32,
    last: Instant,
    ports: Vec<[ClassResult; 8]>,
    health: Vec<PortHealth>,
    queues: Vec<[Bytes; 8]>,
    headrooms: Vec<[Bytes; 8]>,
    falls: Vec<String>,
}

/// What only grows.
fn counts(class: &ClassResult) -> [u64; 9] {
    [
        class.tx_packets,
        class.tx_bytes,
        class.marked,
        class.dropped_packets,
        class.buffer_drops,
        class.xoff_sent,
        class.xon_sent,
        class.pauses_received,
        class.paused.as_ps(),
    ]
}

fn nic_counts(health: &PortHealth) -> [u64; 9] {
    [
        health.link_downs,
        health.lost,
        health.timeouts,
        health.retransmitted,
        health.out_of_sequence,
        health.cnps,
        health.cnps_ignored,
        health.cnps_sent,
        health.marked_received,
    ]
}

impl Scraper {
    fn compare<const N: usize>(&mut self, what: &str, before: [u64; N], now: [u64; N]) {
        if before.iter().zip(&now).any(|(before, now)| now < before) {
            self.falls.push(format!("{what}: {before:?}, then {now:?}"));
        }
    }

    fn take(&mut self, ports: &[[ClassResult; 8]], health: &[PortHealth]) {
        let (old_ports, old_health) =
            (std::mem::replace(&mut self.ports, ports.to_vec()), std::mem::take(&mut self.health));
        self.health = health.to_vec();
        for (before, now) in old_ports.iter().flatten().zip(ports.iter().flatten()) {
            self.compare("a class", counts(before), counts(now));
        }
        for (before, now) in old_health.iter().zip(health) {
            self.compare("a port", nic_counts(before), nic_counts(now));
        }
        self.queues.resize(ports.len(), [Bytes::ZERO; 8]);
        self.headrooms.resize(ports.len(), [Bytes::ZERO; 8]);
        for (port, classes) in ports.iter().enumerate() {
            for (class, result) in classes.iter().enumerate() {
                let (queue, headroom) =
                    (&mut self.queues[port][class], &mut self.headrooms[port][class]);
                *queue = (*queue).max(result.deepest_queue);
                *headroom = (*headroom).max(result.deepest_headroom);
            }
        }
    }
}

impl Observer for Scraper {
    fn scrape(&mut self, scrape: &Scrape<'_>) {
        self.count += 1;
        assert!(scrape.at > self.last, "scrapes are in order");
        self.last = scrape.at;
        self.take(scrape.ports, scrape.health);
    }
}

proptest! {
    #![proptest_config(cases(64))]

    /// Nothing that adds up ever falls, no watermark is above the greatest length of the report, and what the report says is not
    /// less than the last scrape.
    #[test]
    fn scrapes_add_up_to_the_report(
        plan in plan(),
        load in load(&[3, 4, 0]),
        seed: u64,
        period in 500u64..50_000,
    ) {
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let base = Settings { seed, ..until(Span::from_ms(3)) };
        let mut scraper = Scraper::default();
        let scraped = Settings { scrape_period: Span::from_ns(period), ..base };
        let report = xoff_sim::run(&fabric, &flows, &[], &scraped, &mut scraper).unwrap();
        let (queues, headrooms) = (scraper.queues.clone(), scraper.headrooms.clone());
        // The last scrape may lie after the end of the run: what is paused then stays so until it.
        let mut ports = report.ports.clone();
        if scraper.last > report.end {
            let beyond = scraper.last - report.end;
            ports.iter_mut().flatten().for_each(|class| class.paused += beyond);
        }
        scraper.take(&ports, &report.health);
        if report.outcome == Outcome::Completed {
            let seen = scraper.last >= report.end && scraper.last < report.end + scraped.scrape_period;
            prop_assert!(seen, "the end was not seen: {} of {}", scraper.last, report.end);
        }
        prop_assert!(scraper.falls.is_empty(), "{:?}", scraper.falls);
        for (port, classes) in report.ports.iter().enumerate() {
            for (class, result) in classes.iter().enumerate() {
                if scraper.count > 0 {
                    prop_assert!(queues[port][class] <= result.deepest_queue);
                    prop_assert!(headrooms[port][class] <= result.deepest_headroom);
                }
            }
        }
    }
}
