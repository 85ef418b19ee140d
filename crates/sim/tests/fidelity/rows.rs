//! The scenarios of the tables of `docs/fidelity.md`.

/// A scenario of the table: its name, its fabric, and what runs on it.
pub(crate) type Row = (&'static str, String, String);

pub(crate) fn rail(gpus: u32, per_leaf: u32) -> String {
    format!(
        "[cluster]\ngpus = {gpus}\nnic = 'connectx-7'\n\
         [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\nhosts-per-leaf = {per_leaf}\n"
    )
}

/// The same with NVSwitches that add up.
pub(crate) fn rail_nvls(gpus: u32, per_leaf: u32) -> String {
    rail(gpus, per_leaf).replace("[fabric]", "nvls = true\n[fabric]")
}

/// 32 hosts with 100G on four leaves.
pub(crate) fn leaf_spine(spines: u32) -> String {
    format!(
        "[cluster]\nhosts = 32\nnic = 'generic-100g'\n\
         [fabric]\nkind = 'leaf-spine'\nleaf = 'trident-3'\nhosts-per-leaf = 8\nspines = {spines}\n"
    )
}

pub(crate) const NO_CONTROL: &str = "[transport]\ncongestion = { kind = 'none' }\n";
pub(crate) const HPCC: &str = "[transport]\ncongestion = { kind = 'hpcc' }\n";
pub(crate) const AGGREGATION: &str = "[switch]\naggregation = {}\n";
pub(crate) const SPRAY: &str = "[switch.balancing]\nkind = 'spray'\n\
                     [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n";

pub(crate) fn collective(kind: &str, size: &str, more: &str) -> String {
    format!("[[workload]]\nkind = '{kind}'\nsize = '{size}'\n{more}\n")
}

pub(crate) fn step(text: &str) -> String {
    format!("[[workload]]\nkind = 'training-step'\n{text}\n")
}

/// A collective of one GPU in each of 16 servers.
fn servers(kind: &str, size: &str) -> String {
    let seats: Vec<String> = (0..16).map(|server| (8 * server).to_string()).collect();
    collective(kind, size, &format!("placement = [{}]", seats.join(", ")))
}

pub(crate) fn rows() -> Vec<Row> {
    let ring = "algorithm = 'ring'";
    let two = |size: &str| {
        let one = collective(
            "all-reduce",
            size,
            "algorithm = 'ring'\nranks = 128\nplacement = 'fragmented'",
        );
        one + &collective(
            "all-reduce",
            size,
            "algorithm = 'ring'\nranks = 64\nplacement = 'fragmented'",
        )
    };
    let fragmented = "algorithm = 'ring'\nranks = 128\nplacement = 'fragmented'";
    let mixtral = "model = 'mixtral-8x7b'\ngpu = 'h100'\ntp = 8\ncp = 4\nep = 4\ndp = 2\nmicro-batches = 1\nlayers = 4";
    let pipeline = "model = 'llama-3-70b'\ntp = 8\npp = 4\ndp = 2\nmicro-batches = 4\nlayers = 8";
    let sharded = "model = 'llama-3-8b'\ndp = 64\nmicro-batches = 1\nlayers = 2";
    vec![
        ("ring AllReduce, 64 GPUs, 64 MiB", rail(64, 32), collective("all-reduce", "64MiB", ring)),
        (
            "ring AllReduce, 64 GPUs, 256 MiB",
            rail(64, 32),
            collective("all-reduce", "256MiB", ring),
        ),
        (
            "ring AllReduce, 256 GPUs, 256 MiB",
            rail(256, 8),
            collective("all-reduce", "256MiB", ring),
        ),
        (
            "tree AllReduce, 64 GPUs, 16 MiB",
            rail(64, 32),
            collective("all-reduce", "16MiB", "algorithm = 'tree'"),
        ),
        (
            "tree AllReduce, 256 GPUs, 64 MiB",
            rail(256, 8),
            collective("all-reduce", "64MiB", "algorithm = 'tree'"),
        ),
        (
            "rail AllReduce, 256 GPUs, 64 MiB",
            rail(256, 8),
            collective("all-reduce", "64MiB", "algorithm = 'rail'"),
        ),
        ("AllReduce, 64 GPUs, 64 KiB", rail(64, 32), collective("all-reduce", "64KiB", "")),
        ("AllReduce, 64 GPUs, 1 MiB", rail(64, 32), collective("all-reduce", "1MiB", "")),
        ("AllGather, 64 GPUs, 64 MiB", rail(64, 32), collective("all-gather", "64MiB", "")),
        ("ReduceScatter, 64 GPUs, 64 MiB", rail(64, 32), collective("reduce-scatter", "64MiB", "")),
        ("Broadcast, 64 GPUs, 64 MiB", rail(64, 32), collective("broadcast", "64MiB", "")),
        ("Gather, 32 GPUs, 32 MiB", rail(32, 32), collective("gather", "32MiB", "")),
        ("send-recv, 64 GPUs, 16 MiB", rail(64, 32), collective("send-recv", "16MiB", "")),
        (
            "PAT AllGather, 8 GPUs, 4 MiB",
            rail(64, 32),
            collective(
                "all-gather",
                "4MiB",
                "algorithm = 'pat'\nplacement = [0, 8, 16, 24, 32, 40, 48, 56]",
            ),
        ),
        (
            "AllToAll, 64 GPUs, 64 MiB",
            rail(64, 32),
            collective("all-to-all-collective", "64MiB", ""),
        ),
        (
            "AllToAll, 256 GPUs, 64 MiB",
            rail(256, 8),
            collective("all-to-all-collective", "64MiB", ""),
        ),
        (
            "AllToAll, skewed, 64 GPUs",
            rail(64, 32),
            collective("all-to-all-collective", "32MiB", "skew = 2.0"),
        ),
        (
            "direct AllToAll, 64 GPUs, 8 MiB",
            rail(64, 32),
            collective("all-to-all-collective", "8MiB", "algorithm = 'direct'"),
        ),
        (
            "one fragmented ring, 16 MiB",
            rail(256, 8),
            collective("all-reduce", "16MiB", fragmented),
        ),
        (
            "one fragmented ring, 64 MiB",
            rail(256, 8),
            collective("all-reduce", "64MiB", fragmented),
        ),
        ("two fragmented rings, 16 MiB", rail(256, 8), two("16MiB")),
        ("two fragmented rings, 64 MiB", rail(256, 8), two("64MiB")),
        ("the same, HPCC", rail(256, 8) + HPCC, two("64MiB")),
        ("the same, no control", rail(256, 8) + NO_CONTROL, two("64MiB")),
        (
            "NVLS AllReduce, 8 GPUs, 64 MiB",
            rail_nvls(8, 32),
            collective("all-reduce", "64MiB", "algorithm = 'nvls'"),
        ),
        (
            "NVLS tree, 64 GPUs, 64 MiB",
            rail_nvls(64, 32),
            collective("all-reduce", "64MiB", "algorithm = 'nvls-tree'"),
        ),
        (
            "NVLS tree, 256 GPUs, 64 MiB",
            rail_nvls(256, 8),
            collective("all-reduce", "64MiB", "algorithm = 'nvls-tree'"),
        ),
        (
            "in-network, 32 hosts, 16 MiB",
            leaf_spine(8) + AGGREGATION,
            collective("all-reduce", "16MiB", "algorithm = 'in-network'"),
        ),
        (
            "in-network, 64 GPUs, 64 MiB",
            rail(64, 4) + AGGREGATION,
            collective("all-reduce", "64MiB", "algorithm = 'in-network'"),
        ),
        ("the same, sprayed", rail(256, 8) + SPRAY, two("64MiB")),
        ("Mixtral step, 4 layers, 64 GPUs", rail(64, 32), step(mixtral)),
        ("70B step, 8 layers, 64 GPUs, PP 4", rail(64, 32), step(pipeline)),
        ("8B step, 2 layers, 64 GPUs, DP 64", rail(64, 32), step(sharded)),
        ("AllGather of 16 servers, 256 MiB", rail(128, 16), servers("all-gather", "256MiB")),
        ("AllGather of 16 servers, 4 GiB", rail(128, 16), servers("all-gather", "4GiB")),
        ("ring AllReduce of 16 servers, 8 GiB", rail(128, 16), servers("all-reduce", "8GiB")),
        ("ring AllReduce, 64 GPUs, 8 GiB", rail(64, 32), collective("all-reduce", "8GiB", ring)),
        (
            "13B step, 128 GPUs",
            rail(128, 16),
            step("model = 'llama-2-13b'\ntp = 8\ndp = 16\nmicro-batches = 4"),
        ),
        ("Mixtral step, 64 GPUs", rail(64, 64), step(&mixtral.replace("\nlayers = 4", ""))),
        (
            "permutation, no control",
            leaf_spine(8) + NO_CONTROL,
            collective("permutation", "4MB", ""),
        ),
        ("permutation, HPCC", leaf_spine(8) + HPCC, collective("permutation", "4MB", "")),
        ("permutation, DCQCN", leaf_spine(8), collective("permutation", "4MB", "")),
        (
            "incast 16 to 1, no control",
            leaf_spine(8) + NO_CONTROL,
            collective("incast", "2MB", "senders = 16"),
        ),
        ("incast 16 to 1, DCQCN", leaf_spine(8), collective("incast", "2MB", "senders = 16")),
        (
            "all to all, no control",
            leaf_spine(8) + NO_CONTROL,
            collective("all-to-all", "200KB", ""),
        ),
    ]
}

pub(crate) fn row(name: &str) -> Row {
    rows().into_iter().find(|row| row.0 == name).expect("a row of that name")
}
