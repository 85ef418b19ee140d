//! The lazy reaction point against one that takes every tick at its time.

use super::*;
use proptest::prelude::*;
use xoff_units::Ratio;

const LINE: Rate = Rate::from_gbps(100);

/// The parameters of the recorded ns-3 runs.
/// Constants that are easy to count with: a first cut to one half, and time alone.
fn round() -> Dcqcn {
    Dcqcn {
        g: Ratio::new(1, 256),
        initial_alpha: Ratio::ONE,
        byte_counter: Bytes::ZERO,
        ..Dcqcn::default()
    }
}

fn ns3() -> Dcqcn {
    Dcqcn {
        cut_at_once: false,
        additive_increase: Rate::from_bps(20_000_000),
        hyper_increase: Rate::from_bps(200_000_000),
        min_rate: Rate::from_gbps(1),
        ..round()
    }
}

fn path() -> PathInfo {
    PathInfo { line_rate: LINE, base_rtt: Span::from_us(4) }
}

fn at_ns(ns: u64) -> Instant {
    Instant::ZERO + Span::from_ns(ns)
}

/// Every tick is taken, one after the other; nothing is clever.
struct Eager {
    p: Dcqcn,
    rate: u64,
    target: u64,
    alpha: f64,
    stage: u32,
    alpha_tick: Option<u64>,
    decrease_tick: Option<u64>,
    increase_tick: Option<u64>,
    alpha_marked: bool,
    decrease_marked: bool,
    cuts: u64,
}

impl Eager {
    fn new(p: Dcqcn) -> Self {
        Self {
            p,
            rate: LINE.bps(),
            target: LINE.bps(),
            alpha: 1.0,
            stage: 0,
            alpha_tick: None,
            decrease_tick: None,
            increase_tick: None,
            alpha_marked: false,
            decrease_marked: false,
            cuts: 0,
        }
    }

    fn run_to(&mut self, now: u64) {
        loop {
            let ticks = [self.alpha_tick, self.increase_tick, self.decrease_tick];
            let Some(next) = ticks.iter().flatten().copied().min() else { return };
            if next > now {
                return;
            }
            if self.alpha_tick == Some(next) {
                self.alpha *= 1.0 - 1.0 / 256.0;
                self.alpha += if self.alpha_marked { 1.0 / 256.0 } else { 0.0 };
                self.alpha_marked = false;
                self.alpha_tick = Some(next + self.p.alpha_interval.as_ps());
            } else if self.increase_tick == Some(next) {
                self.increase();
                self.increase_tick = Some(next + self.p.increase_timer.as_ps());
            } else {
                self.decrease(next);
                self.decrease_tick = Some(next + self.p.decrease_interval.as_ps());
            }
        }
    }

    fn increase(&mut self) {
        let step = match self.stage.cmp(&self.p.fast_recovery) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => self.p.additive_increase.bps(),
            std::cmp::Ordering::Greater => self.p.hyper_increase.bps(),
        };
        self.target = (self.target + step).min(LINE.bps());
        let close = self.target.abs_diff(self.rate) <= 2;
        self.rate = if close { self.target } else { self.rate / 2 + self.target / 2 };
        self.stage += 1;
    }

    fn decrease(&mut self, at: u64) {
        if !std::mem::take(&mut self.decrease_marked) {
            return;
        }
        if self.stage != 0 || self.p.clamp_target {
            self.target = self.rate;
        }
        let kept = (self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64;
        self.rate = kept.max(self.p.min_rate.bps());
        self.stage = 0;
        self.increase_tick = Some(at + self.p.increase_timer.as_ps());
        self.cuts += 1;
    }

    fn mark(&mut self, now: u64) {
        self.run_to(now);
        self.decrease_marked = true;
        if self.alpha_tick.is_none() {
            self.alpha_tick = Some(now + self.p.alpha_interval.as_ps());
            self.decrease_tick = Some(now + 1000 + self.p.decrease_interval.as_ps());
        } else {
            self.alpha_marked = true;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn lazy_and_eager_agree(
        gaps in proptest::collection::vec(prop_oneof![
            4 => 1u64..2_000_000, 2 => 1u64..20_000_000, 1 => 1u64..3_000_000_000,
            1 => Just(1_000_000), 1 => Just(4_000_000), 1 => Just(300_000_000),
        ], 1..60),
        kinds in proptest::collection::vec(0u8..4, 60),
        increase_us in prop_oneof![Just(300u64), Just(55), Just(6)],
        fast_recovery in 0u32..6,
        clamp_target in any::<bool>(),
    ) {
        let p = Dcqcn {
            increase_timer: Span::from_us(increase_us), fast_recovery, clamp_target, ..ns3()
        };
        let mut eager = Eager::new(p.clone());
        let mut lazy = Reaction::new(&p, path());
        let mut counters = Counters::default();
        let mut now = 0;
        for (gap, kind) in gaps.into_iter().zip(kinds) {
            now += gap;
            match kind {
                0 | 1 => {
                    eager.mark(now);
                    lazy.notified(Instant::from_ps(now), &p, &mut counters);
                }
                // An owner that is on time, then one that is late.
                2 => {
                    while lazy.deadline() <= Instant::from_ps(now) {
                        lazy.advance(lazy.deadline(), &p, &mut counters);
                    }
                    eager.run_to(now);
                    prop_assert_eq!(lazy.rate, eager.rate);
                }
                _ => eager.run_to(now),
            }
            eager.run_to(now);
            let state = lazy.state(Instant::from_ps(now), &p);
            prop_assert_eq!(state.rate.bps(), eager.rate);
            prop_assert_eq!(state.target.bps(), eager.target);
            prop_assert!((state.alpha - eager.alpha).abs() < 1e-12);
            prop_assert_eq!(state.stage, eager.stage);
        }
        lazy.advance(Instant::from_ps(now), &p, &mut counters);
        prop_assert_eq!(counters.rate_decreases, eager.cuts);
    }

    #[test]
    fn never_leaves_its_bounds(
        events in proptest::collection::vec((0u64..2_000_000_000, 0u8..3, 0u32..100_000_000), 1..100),
        cut_at_once in any::<bool>(),
        clamp_target in any::<bool>(),
        byte_counter in prop_oneof![Just(0u64), 1u64..10_000_000],
        g in 0u64..=256,
        largest_cut in 0u64..=100,
    ) {
        let p = Dcqcn {
            cut_at_once, clamp_target, byte_counter: Bytes::new(byte_counter),
            g: Ratio::new(g, 256), largest_cut: Ratio::new(largest_cut, 100), ..round()
        };
        let mut lazy = Reaction::new(&p, path());
        let mut counters = Counters::default();
        let mut now = Instant::ZERO;
        for (gap, kind, len) in events {
            now += Span::from_ps(gap);
            match kind {
                0 => lazy.notified(now, &p, &mut counters),
                1 => { lazy.sent(now, len, &p, &mut counters); }
                _ => lazy.advance(now, &p, &mut counters),
            }
            prop_assert!(lazy.rate() >= p.min_rate && lazy.rate() <= LINE);
            prop_assert!(lazy.target >= lazy.rate && lazy.target <= LINE.bps());
            prop_assert!(lazy.alpha <= 1.0);
            prop_assert!(kind == 1 || lazy.deadline() > now);
        }
    }
}

/// The start of the recorded 2:1 run: every packet is marked from about 36.5 us to 60.3 us, then
/// none for a long time. Columns: time in us, rate, alpha in millionths, stage.
#[test]
fn follows_the_recorded_trajectory() {
    const RECORDED: [(u64, u64, u64, u32); 9] = [
        (30, 100_000_000_000, 1_000_000, 0),
        (50, 12_500_000_000, 1_000_000, 0),
        (60, 3_125_000_000, 1_000_000, 0),
        (70, 1_562_500_000, 965_388, 0),
        (80, 1_562_500_000, 928_334, 0),
        (300, 1_562_500_000, 392_420, 0),
        (360, 1_562_500_000, 310_288, 0),
        (370, 50_781_250_000, 298_378, 1),
        (670, 75_390_625_000, 92_221, 2),
    ];
    let p = ns3();
    let mut lazy = Reaction::new(&p, path());
    let mut counters = Counters::default();
    let mut marks = (36_500..60_300).step_by(80).map(at_ns).peekable();
    for (us, rate, alpha, stage) in RECORDED {
        let now = at_ns(us * 1000);
        while let Some(at) = marks.next_if(|&at| at <= now) {
            lazy.notified(at, &p, &mut counters);
        }
        let state = lazy.state(now, &p);
        assert_eq!((us, state.rate.bps(), state.stage), (us, rate, stage));
        assert!((state.alpha - alpha as f64 / 1e6).abs() < 1e-6, "{us} us: alpha {}", state.alpha);
        assert_eq!(state.target, LINE);
    }
    lazy.advance(at_ns(100_000), &p, &mut counters);
    assert_eq!(counters.rate_decreases, 6);
}

#[test]
fn the_first_notification_cuts_at_once_and_the_next_waits() {
    let p = round();
    let mut lazy = Reaction::new(&p, path());
    let mut counters = Counters::default();
    lazy.notified(at_ns(1000), &p, &mut counters);
    assert_eq!(lazy.rate(), Rate::from_gbps(50));
    lazy.notified(at_ns(2000), &p, &mut counters);
    lazy.notified(at_ns(3000), &p, &mut counters);
    assert_eq!(lazy.rate(), Rate::from_gbps(50));
    assert_eq!(lazy.deadline(), at_ns(5000));
    lazy.advance(at_ns(5000), &p, &mut counters);
    assert!(lazy.rate() < Rate::from_gbps(26));
    assert_eq!(counters.rate_decreases, 2);
    assert_eq!(lazy.deadline(), at_ns(305_000));
    // Long quiet: back at line rate, and nothing left to wake up for.
    lazy.advance(at_ns(3_000_000_000), &p, &mut counters);
    assert_eq!(lazy.rate(), LINE);
    assert!(lazy.deadline().is_never());
}

#[test]
fn bytes_increase_too_and_hyper_increase_needs_both() {
    let p = Dcqcn { byte_counter: Bytes::new(1_000_000), fast_recovery: 2, ..round() };
    let mut lazy = Reaction::new(&p, path());
    let mut counters = Counters::default();
    lazy.notified(at_ns(0), &p, &mut counters);
    let send = |lazy: &mut Reaction, counters: &mut Counters| {
        (0..1000).filter(|_| lazy.sent(at_ns(10), 1000, &p, counters)).count()
    };
    assert_eq!(send(&mut lazy, &mut counters), 1);
    assert_eq!(lazy.rate(), Rate::from_gbps(75));
    for _ in 0..10 {
        send(&mut lazy, &mut counters);
    }
    // Time has not moved, so it never got beyond additive increase; the target is the line anyway.
    assert_eq!((lazy.time_stage, lazy.byte_stage), (0, 11));
    assert_eq!(lazy.target, LINE.bps());
}

#[test]
fn increases_scale_with_the_line_rate_where_they_should() {
    let fixed = Dcqcn { additive_increase: Rate::from_bps(5_000_000), ..round() };
    let scaled = Dcqcn { increase_at: Rate::from_gbps(25), ..fixed.clone() };
    // The line is 100G: four times the rate that the constants are for.
    assert_eq!(steps(&fixed, LINE.bps()).0, 5_000_000);
    assert_eq!(steps(&scaled, LINE.bps()).0, 20_000_000);
    assert_eq!(steps(&scaled, LINE.bps()).1, 4 * steps(&fixed, LINE.bps()).1);
}

/// The mean rate over the next second of a 400G queue pair that was cut to half, as a share of the
/// line, when its target has come down, too.
fn share_of_the_next_second(p: &Dcqcn) -> f64 {
    let line = Rate::from_gbps(400);
    let path = PathInfo { line_rate: line, base_rtt: Span::from_us(10) };
    let mut lazy = Reaction::new(p, path);
    let mut counters = Counters::default();
    lazy.notified(at_ns(0), p, &mut counters);
    lazy.target = lazy.rate;
    let (mut now, mut sent) = (Instant::ZERO, 0u64);
    let packet = 4096;
    while now < Instant::ZERO + Span::from_ms(1_000) {
        lazy.advance(now, p, &mut counters);
        if !p.byte_counter.is_zero() {
            lazy.sent(now, packet, p, &mut counters);
        }
        now += lazy.rate().time_for(Bytes::new(packet.into()));
        sent += u64::from(packet);
    }
    sent as f64 * 8.0 / 400e9
}

#[test]
fn the_byte_counter_brings_a_flow_back_that_the_timer_leaves_slow() {
    let shipped = share_of_the_next_second(&Dcqcn::default());
    let timer = share_of_the_next_second(&Dcqcn { byte_counter: Bytes::ZERO, ..Dcqcn::default() });
    println!("shipped {shipped:.3}, timer alone {timer:.3}");
    assert!(shipped > 0.9, "{shipped}");
    assert!(timer < 0.8, "{timer}");
}
