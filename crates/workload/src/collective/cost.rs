//! [`Cost`]: what GPUs and hosts spend on a collective, beside what the network takes.
//!
//! A receiver has three ways to learn that a piece has arrived. It waits for a counter that the sender moves
//! behind a fence (NCCL's Simple protocol): a fixed time per piece, and then full speed. Or it polls flags that
//! are stored with the data, one with every four bytes (LL): nearly no time per piece, and a low rate. Or one in every 128 bytes
//! (LL128): between the two in both. NCCL takes whichever is fastest for the size, and so does this: the cost of a piece is
//! the least of the three. That makes it a continuous and never falling function of the piece's size, from a hop of
//! 0.6 us over NVLink for a few bytes to 3.4 us and the copy for large pieces.
//!
//! What it is not: pieces are cut and sent as Simple cuts and sends them, whichever way is the cheapest one. Flags
//! take no room on the wire: with the way chosen piece by piece, a piece a byte longer would send half as many bytes where LL
//! ends. `docs/collectives.md` has the values beside measurements.

use xoff_units::{Bytes, Rate, Span};

/// What a collective costs beside the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// From the call to the first step.
    pub launch: Span,
    /// What NVLS takes longer than that, and again for every level of a tree between servers.
    pub nvls_launch: Span,
    /// What a channel spends on every piece that it receives with a counter and a fence.
    pub slice: Span,
    /// How fast one channel of a GPU then copies and adds up; without it that takes no time.
    pub copy_rate: Option<Rate>,
    /// What the hosts' proxies add to every piece that crosses the network: doorbell, completion, the flush of the data
    /// into the GPU, the counter.
    pub proxy: Span,
    /// How fast a GPU takes in what pairs exchange over the network (AllToAll, sends), all its channels together; without it
    /// as fast as it comes.
    pub pair_rate: Option<Rate>,
    /// With a flag beside every four bytes (LL), for small pieces.
    pub flags: Option<Flags>,
    /// With a flag in every 128 bytes (LL128), for pieces in between.
    pub lines: Option<Flags>,
}

/// What pieces cost whose data carries flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    /// What a channel spends on every piece.
    pub slice: Span,
    /// What the proxies add to it.
    pub proxy: Span,
    /// How fast one channel takes such data in.
    pub rate: Rate,
}

impl Cost {
    /// Nothing: the network is all that counts.
    pub const NONE: Cost = Cost {
        launch: Span::ZERO,
        nvls_launch: Span::ZERO,
        slice: Span::ZERO,
        copy_rate: None,
        proxy: Span::ZERO,
        pair_rate: None,
        flags: None,
        lines: None,
    };

    /// GPUs of the H100 generation with NCCL 2.30, in one set that agrees with published times from 8 bytes to
    /// 16 GiB on 8 to 256 GPUs (`docs/collectives.md`):
    ///
    /// - launch 8.4 us: the base latency of NCCL's tuner;
    /// - 16.6 us more with NVLS: the tuner counts 25 us for it;
    /// - slice 3.0 us: the tuner counts 3.4 us for a hop over NVLink with Simple, of which the wire takes
    ///   0.4 us (`nvlink-latency`);
    /// - copy-rate 23.5 GB/s: two channels per NIC, and NCCL's maintainers expect 46 to 48 GB/s of a 400G
    ///   NIC;
    /// - proxy 8 us: the tuner counts 14 us for a hop over the network, of which cables, switch and NICs take
    ///   about 2 us and the slice the rest;
    /// - with flags, slice 0.2 us and proxy 1 us: the tuner counts 0.6 us for a hop over NVLink with LL, and
    ///   2.7 to 5 us over the network;
    /// - flag-rate 8.8 GB/s: fitted to the AllReduce of 8 H100 between 16 KiB and 1 MiB. Data with flags is passed on line by
    ///   line, where ours is passed on piece by piece, so that it is more than what the tuner expects of a channel (about 5 GB/s);
    /// - with LL128, rate 17 GB/s as the tuner expects it, slice 2 us and proxy 5 us: the tuner counts 1.3 to 1.9 us for a hop over
    ///   NVLink and 4 to 8.5 us over the network, and the published times of 8 to 64 GPUs ask for the upper ends.
    pub const MEASURED: Cost = Cost {
        launch: Span::from_ns(8_400),
        nvls_launch: Span::from_ns(16_600),
        slice: Span::from_ns(3_000),
        copy_rate: Some(Rate::from_bps(23_500_000_000 * 8)),
        proxy: Span::from_ns(8_000),
        pair_rate: None,
        flags: Some(Flags {
            slice: Span::from_ns(200),
            proxy: Span::from_ns(1_000),
            rate: Rate::from_bps(8_800_000_000 * 8),
        }),
        lines: Some(Flags {
            slice: Span::from_ns(2_000),
            proxy: Span::from_ns(5_000),
            rate: Rate::from_bps(17_000_000_000 * 8),
        }),
    };

    /// Its name in files and tables; `own` if it has none.
    pub fn name(&self) -> &'static str {
        match *self {
            Cost::MEASURED => "measured",
            Cost::NONE => "none",
            _ => "own",
        }
    }

    /// The time a channel spends on a piece that it receives.
    pub fn work(&self, bytes: Bytes) -> Span {
        let polled = |flags: Flags| flags.slice + flags.rate.time_for(bytes);
        self.polled().map(polled).fold(self.fenced(bytes), Span::min)
    }

    /// The same of a pair's piece that crossed the network, where so many channels share what the GPU takes in.
    pub fn pair_work(&self, bytes: Bytes, channels: u32) -> Span {
        let shared = Bytes::new(bytes.get().saturating_mul(channels.into()));
        self.work(bytes).max(self.pair_rate.map_or(Span::ZERO, |rate| rate.time_for(shared)))
    }

    /// The same where data carries no flags.
    pub(crate) fn fenced(&self, bytes: Bytes) -> Span {
        self.slice + self.copy_rate.map_or(Span::ZERO, |rate| rate.time_for(bytes))
    }

    /// What the proxies add to a piece that crosses the network.
    pub fn delay(&self, bytes: Bytes) -> Span {
        let polled = |flags: Flags| flags.proxy + flags.rate.time_for(bytes);
        self.polled().map(polled).fold(self.proxy, Span::min)
    }

    /// The ways in which data carries flags.
    fn polled(&self) -> impl Iterator<Item = Flags> + use<> {
        self.flags.into_iter().chain(self.lines)
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::MEASURED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_cost_what_flags_cost_and_large_ones_what_fences_cost() {
        let cost = Cost::MEASURED;
        let near = |span: Span, us: f64| (span.as_us_f64() - us).abs() < 0.01;
        assert!(near(cost.work(Bytes::new(8)), 0.2), "{}", cost.work(Bytes::new(8)));
        assert!(near(cost.delay(Bytes::new(8)), 1.0));
        // In between with LL128: 40 KiB take 2.41 us at 17 GB/s, 4.65 at 8.8 and 1.74 at 23.5.
        assert!(near(cost.work(Bytes::new(40 << 10)), 4.41));
        // 1 MiB at 23.5 GB/s takes 44.62 us.
        assert!(near(cost.work(Bytes::new(1 << 20)), 47.62));
        assert!(near(cost.delay(Bytes::new(1 << 20)), 8.0));
        assert_eq!(Cost::NONE.work(Bytes::new(1 << 20)), Span::ZERO);
        assert_eq!(Cost::NONE.delay(Bytes::new(1 << 20)), Span::ZERO);
    }

    #[test]
    fn channels_share_what_a_gpu_takes_in_from_pairs() {
        let cost = Cost { pair_rate: Some(Rate::from_gbps(80)), ..Cost::NONE };
        // 10 GB/s: 1 MB takes 100 us of a GPU, of one of four channels four times as long.
        assert_eq!(cost.pair_work(Bytes::new(1_000_000), 1), Span::from_us(100));
        assert_eq!(cost.pair_work(Bytes::new(1_000_000), 4), Span::from_us(400));
        let slow = Cost { copy_rate: Some(Rate::from_gbps(8)), ..cost };
        assert_eq!(slow.pair_work(Bytes::new(1_000_000), 4), Span::from_us(1_000));
        assert_eq!(Cost::MEASURED.pair_work(Bytes::new(9), 4), Cost::MEASURED.work(Bytes::new(9)));
    }

    #[test]
    fn a_larger_piece_never_costs_less() {
        let sizes = (0..200_000u64).step_by(7).map(Bytes::new);
        let costs: Vec<_> =
            sizes.map(|bytes| (Cost::MEASURED.work(bytes), Cost::MEASURED.delay(bytes))).collect();
        assert!(costs.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
    }
}
