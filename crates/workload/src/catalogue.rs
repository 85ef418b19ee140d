//! Flow sizes that were measured and published, as points of their cumulative distribution: a size
//! in bytes, and the share of flows up to it in hundredths of a percent. Between two points sizes are
//! evenly spread.

/// A measured distribution of flow sizes.
#[derive(Debug, Clone, Copy)]
pub struct SizeDistribution {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Where it was measured.
    pub source: &'static str,
    /// Sizes in bytes, and the share of flows up to each in 1/10,000.
    pub(crate) points: &'static [(u64, u64)],
}

/// The distributions that a scenario can name.
pub const SIZE_DISTRIBUTIONS: [SizeDistribution; 4] = [
    SizeDistribution {
        name: "websearch",
        source: "web search cluster; Alizadeh et al., Data Center TCP, SIGCOMM 2010",
        points: &[
            (0, 0),
            (10_000, 1_500),
            (20_000, 2_000),
            (30_000, 3_000),
            (50_000, 4_000),
            (80_000, 5_300),
            (200_000, 6_000),
            (1_000_000, 7_000),
            (2_000_000, 8_000),
            (5_000_000, 9_000),
            (10_000_000, 9_700),
            (30_000_000, 10_000),
        ],
    },
    SizeDistribution {
        name: "datamining",
        source: "data mining; Greenberg et al., VL2, SIGCOMM 2009, as traffic generators tabulate it",
        points: &[
            (0, 0),
            (180, 1_000),
            (216, 2_000),
            (560, 3_000),
            (900, 4_000),
            (1_100, 5_000),
            (1_870, 6_000),
            (3_160, 7_000),
            (10_000, 8_000),
            (400_000, 9_000),
            (3_160_000, 9_500),
            (100_000_000, 9_800),
            (1_000_000_000, 10_000),
        ],
    },
    SizeDistribution {
        name: "hadoop",
        source: "Hadoop cluster; Roy et al., Inside the Social Network's Network, SIGCOMM 2015",
        points: &[
            (0, 0),
            (100, 100),
            (200, 200),
            (300, 500),
            (350, 1_500),
            (400, 2_000),
            (500, 3_000),
            (600, 4_000),
            (700, 5_000),
            (1_000, 6_000),
            (2_000, 6_700),
            (7_000, 7_000),
            (30_000, 7_200),
            (50_000, 8_200),
            (80_000, 8_700),
            (120_000, 9_000),
            (300_000, 9_500),
            (1_000_000, 9_750),
            (2_000_000, 9_900),
            (10_000_000, 10_000),
        ],
    },
    SizeDistribution {
        name: "storage",
        source: "block storage over RDMA; figures published with Li et al., HPCC, SIGCOMM 2019",
        points: &[
            (0, 0),
            (4_000, 2_293),
            (8_000, 6_921),
            (16_000, 8_061),
            (32_000, 9_047),
            (64_000, 9_353),
            (128_000, 9_677),
            (256_000, 9_753),
            (2_000_000, 10_000),
        ],
    },
];
