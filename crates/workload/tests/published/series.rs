//! What others have measured with nccl-tests and published, series by series.
//!
//! A series is one system and one collective. The sizes are those published; where several rows of a size were published, the
//! median. Left out: systems whose network was reported as broken or whose scale-out network is not said, and single rows that
//! their source calls outliers.

/// What a published figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Microseconds, out of place.
    Time,
    /// Bus bandwidth in GB/s.
    Bandwidth,
}

/// One published figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) gpus: u32,
    pub(crate) size: u64,
    pub(crate) published: f64,
}

/// One system and collective.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    /// `kind` of a scenario's workload.
    pub(crate) kind: &'static str,
    /// More keys of that workload.
    pub(crate) workload: &'static str,
    /// Keys of `[cluster]`, and what follows it.
    pub(crate) cluster: &'static str,
    /// The profile of the system.
    pub(crate) profile: &'static str,
    pub(crate) unit: Unit,
    pub(crate) rows: &'static [Row],
    /// The error that each band has, where that is more than the goal. It may only fall.
    pub(crate) bounds: [Option<f64>; 3],
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const fn row(gpus: u32, size: u64, published: f64) -> Row {
    Row { gpus, size, published }
}

const H100: &str = "nic = 'connectx-7'\nnvls = true\n";
/// Without NVSwitches that add up; NVLink of the third generation.
const A100: &str = "nic = 'connectx-6'\nnvlink = '2400Gbps'\n";

pub(crate) const SERIES: [Series; 13] = [
    Series {
        name: "AllReduce on 8 H100, NVLink",
        source: "NVIDIA dgxc-benchmarking, nccl",
        kind: "all-reduce",
        workload: "",
        cluster: H100,
        profile: "h100-nvlink",
        unit: Unit::Time,
        rows: &[
            row(8, 8, 13.7),
            row(8, KIB, 16.9),
            row(8, 16 * KIB, 17.9),
            row(8, 64 * KIB, 19.5),
            row(8, 256 * KIB, 20.4),
            row(8, MIB, 27.4),
            row(8, 4 * MIB, 54.0),
            row(8, 16 * MIB, 124.0),
            // 479.90 GB/s.
            row(8, 16 * GIB, 62_648.0),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 A100, RoCE",
        source: "OCI oci-hpc-oke, BM.GPU.B4.8: 1.6 Tb/s per server",
        kind: "all-reduce",
        workload: "",
        cluster: A100,
        profile: "a100-roce",
        unit: Unit::Time,
        rows: &[
            row(16, 8, 36.5),
            row(16, KIB, 42.0),
            row(16, 16 * KIB, 49.4),
            row(16, 64 * KIB, 51.7),
            row(16, 256 * KIB, 68.0),
            row(16, MIB, 85.6),
            row(16, 4 * MIB, 127.0),
            row(16, 16 * MIB, 283.0),
            // 189.60 GB/s.
            row(16, 8 * GIB, 84_947.0),
        ],
        bounds: [None; 3],
    },
    Series {
        // 256 KiB took 100 to 193 us and is left out.
        name: "AllReduce on 16 A100, InfiniBand",
        source: "dstack, Crusoe: eight NICs of 200G per server",
        kind: "all-reduce",
        workload: "",
        cluster: A100,
        profile: "a100-infiniband",
        unit: Unit::Time,
        rows: &[
            row(16, 8, 27.7),
            row(16, KIB, 30.8),
            row(16, 16 * KIB, 47.0),
            row(16, 64 * KIB, 49.4),
            row(16, MIB, 81.7),
            row(16, 4 * MIB, 124.0),
            row(16, 16 * MIB, 274.0),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 to 64 H100, InfiniBand",
        source: "nccl-tests issue 309: eight NICs of 400G per server; in place from 32 GPUs on",
        kind: "all-reduce",
        workload: "",
        cluster: H100,
        profile: "h100",
        unit: Unit::Time,
        rows: &[
            row(16, MIB, 93.0),
            row(16, 4 * MIB, 111.0),
            row(16, 16 * MIB, 202.0),
            row(32, MIB, 93.0),
            row(32, 4 * MIB, 174.0),
            row(32, 16 * MIB, 286.0),
            row(64, MIB, 116.0),
            row(64, 4 * MIB, 204.0),
            row(64, 16 * MIB, 374.0),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 H100, GCP A3 Mega",
        source: "Google Cloud, with its own transport and NVLS off: eight NICs of 200G per server",
        kind: "all-reduce",
        workload: "",
        cluster: "nic = 'connectx-6'\n",
        profile: "h100-gcp-a3-mega",
        unit: Unit::Time,
        rows: &[
            row(16, 8, 136.0),
            row(16, KIB, 147.0),
            row(16, 16 * KIB, 139.0),
            row(16, 64 * KIB, 159.0),
            row(16, 256 * KIB, 167.0),
            row(16, MIB, 203.0),
            row(16, 4 * MIB, 365.0),
            row(16, 16 * MIB, 978.0),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 H100, EFA",
        source: "AWS awsome-distributed-training: 3.2 Tb/s per server",
        kind: "all-reduce",
        workload: "",
        cluster: H100,
        profile: "h100-efa",
        unit: Unit::Bandwidth,
        rows: &[
            row(16, MIB, 15.95),
            row(16, 16 * MIB, 105.52),
            row(16, 128 * MIB, 289.16),
            row(16, GIB, 436.95),
            row(16, 16 * GIB, 487.09),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 H100, EFA, early",
        source: "the first p5 servers",
        kind: "all-reduce",
        workload: "",
        cluster: H100,
        profile: "h100-efa-early",
        unit: Unit::Time,
        rows: &[row(16, 8, 176.0), row(16, KIB, 172.0)],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 to 256 H100, EFA",
        source: "crazyguitar/aws-gpu-communication-benchmark: 3.2 Tb/s per server",
        kind: "all-reduce",
        workload: "",
        cluster: H100,
        profile: "h100-efa",
        unit: Unit::Bandwidth,
        rows: &[
            row(16, 8 * GIB, 477.71),
            row(32, 8 * GIB, 356.99),
            row(64, 8 * GIB, 355.36),
            row(128, 8 * GIB, 356.27),
            row(256, 8 * GIB, 321.10),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllGather on 16 to 256 H100, EFA",
        source: "crazyguitar/aws-gpu-communication-benchmark",
        kind: "all-gather",
        workload: "",
        cluster: H100,
        profile: "h100-efa",
        unit: Unit::Bandwidth,
        rows: &[
            row(16, 2 * GIB, 328.58),
            row(32, 2 * GIB, 330.92),
            row(64, 2 * GIB, 293.71),
            row(128, 2 * GIB, 265.15),
            row(256, 2 * GIB, 262.77),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllToAll on 16 to 256 H100, EFA",
        source: "crazyguitar/aws-gpu-communication-benchmark",
        kind: "all-to-all-collective",
        workload: "",
        cluster: H100,
        profile: "h100-efa",
        unit: Unit::Bandwidth,
        rows: &[
            row(16, 2 * GIB, 79.25),
            row(32, 2 * GIB, 54.07),
            row(64, 2 * GIB, 49.63),
            row(128, 2 * GIB, 44.23),
            row(256, 2 * GIB, 40.78),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 32 B200, EFA",
        source: "stas00/ml-engineering, network: eight NICs of 400G per server",
        kind: "all-reduce",
        workload: "",
        cluster: "nic = 'connectx-7'\nnvlink = '7200Gbps'\nnvls = true\n",
        profile: "b200-efa",
        unit: Unit::Bandwidth,
        rows: &[
            row(32, MIB, 5.37),
            row(32, 16 * MIB, 64.43),
            row(32, 128 * MIB, 197.94),
            row(32, GIB, 361.99),
            row(32, 16 * GIB, 381.80),
        ],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 16 MI300X, RoCE",
        source: "OCI oci-hpc-oke, RCCL: eight NICs of 400G per server",
        kind: "all-reduce",
        workload: "",
        cluster: "nic = 'connectx-7'\n",
        profile: "h100",
        unit: Unit::Bandwidth,
        rows: &[row(16, GIB, 349.95), row(16, 16 * GIB, 358.37)],
        bounds: [None; 3],
    },
    Series {
        name: "AllReduce on 64 H100, InfiniBand with SHARP",
        source: "CoreWeave nccl-tests, NCCL_ALGO=COLLNETCHAIN: eight NICs per server, taken to be of 400G",
        kind: "all-reduce",
        workload: "algorithm = 'in-network'",
        cluster: "nic = 'connectx-7'\nnvls = true\n[switch]\naggregation = {}\n",
        profile: "h100",
        unit: Unit::Bandwidth,
        rows: &[row(64, 512 * MIB, 356.01), row(64, 8 * GIB, 386.56)],
        bounds: [None; 3],
    },
];
