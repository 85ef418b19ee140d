use super::*;
use crate::collective::{self, Algorithm, Collective, Network, Settings, loads};
use crate::ideal::{self, Outcome};
use crate::layout::{Layout, Placement, RankId};
use crate::program::{Action, Program, Token};
use crate::trace::{self, Trace};
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;
use xoff_fabric::model::Fabric;
use xoff_units::Instant;

fn pod() -> Fabric {
    Fabric::from_toml("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n").unwrap()
}

fn read(name: &str, text: &str) -> Trace {
    trace::read_stream(name, text.as_bytes(), trace::Options::default()).unwrap()
}

fn goal(text: &str) -> Trace {
    read("s.goal", text)
}

fn plan(trace: &Trace) -> Arc<Replay> {
    Arc::new(Replay::new(trace, &Options::default()).unwrap())
}

fn refused(trace: &Trace) -> String {
    Replay::new(trace, &Options::default()).unwrap_err().to_string()
}

fn lenient() -> Options {
    Options { lenient: true, ..Options::default() }
}

fn program(plan: &Arc<Replay>, fabric: &Fabric, placement: &Placement) -> Program {
    let layout = Layout::new(fabric, Some(plan.ranks()), placement).unwrap();
    plan.program(&layout, &Settings::without_cost(), Choice::Auto).unwrap()
}

fn ran(plan: &Arc<Replay>) -> Outcome {
    let fabric = pod();
    let mut program = program(plan, &fabric, &Placement::Packed);
    ideal::run(&mut program, &fabric, &Network::default()).unwrap()
}

fn moved(outcome: &Outcome) -> u64 {
    let all = outcome.nics.iter().chain(&outcome.gpus);
    all.map(|moved| moved.sent.get()).sum()
}

#[test]
fn computing_messages_and_dependencies_take_their_time() {
    // Rank 9 is in the other server. 400 Gbit/s take 20 ps per byte.
    let text = "num_ranks 10\nrank 0 {\nl1: calc 1000\nl2: send 1000000b to 9 tag 3\nl2 requires l1\n}\n\
                rank 9 {\nl1: recv 1000000b from 0 tag 3\nl2: calc 500\nl2 requires l1\nl3: calc 100 cpu 1\n}\n";
    let outcome = ran(&plan(&goal(text)));
    let network = Network::default();
    let expected = 1_000_000 + 20 * 1_000_000 + network.latency.as_ps() + 500_000;
    assert_eq!(outcome.end, Instant::from_ps(expected));
    assert_eq!(moved(&outcome), 1_000_000);
    let half = Options { compute_scale: Ratio::new(1, 2), ..Options::default() };
    let half = Arc::new(Replay::new(&goal(text), &half).unwrap());
    assert_eq!(ran(&half).end, Instant::from_ps(expected - 750_000));
}

#[test]
fn one_stream_computes_one_thing_at_a_time() {
    let both = |second: &str| {
        let text = format!("num_ranks 1\nrank 0 {{\ncalc 300 cpu 0\ncalc 500 cpu {second}\n}}\n");
        ran(&plan(&goal(&text))).end
    };
    assert_eq!(both("0"), Instant::from_ps(800_000));
    assert_eq!(both("1"), Instant::from_ps(500_000));
}

#[test]
fn start_edges_wait_for_the_start_only() {
    let text =
        "num_ranks 1\nrank 0 {\nl1: calc 300 cpu 0\nl2: calc 500 cpu 1\nl2 irequires l1\n}\n";
    assert_eq!(ran(&plan(&goal(text))).end, Instant::from_ps(500_000));
}

#[test]
fn what_cannot_be_replayed_is_named_or_left_out() {
    let alone = "num_ranks 2\nrank 0 {\ncalc 5\nl1: recv 8b from 1 tag 4\n}\nrank 1 {\ncalc 7\n}\n";
    let said = refused(&goal(alone));
    assert!(said.starts_with("s.goal line 4 (rank 0, receive): receive without a send;"), "{said}");
    let plan = Arc::new(Replay::new(&goal(alone), &lenient()).unwrap());
    let left = &plan.left_out()[0];
    assert_eq!((left.what.as_str(), left.count), ("left out: receive without a send", 1));
    assert_eq!(left.first, "s.goal line 4");
    assert_eq!(ran(&plan).end, Instant::from_ps(7_000));
    let own = "num_ranks 2\nrank 1 {\nsend 8b to 1\n}\n";
    assert!(refused(&goal(own)).contains("line 3 (rank 1, send): message of a rank to itself"));
}

#[test]
fn ranks_that_wait_for_each_other_are_refused() {
    let text = "num_ranks 2\nrank 0 {\nr: recv 8b from 1\ns: send 8b to 1\ns requires r\n}\n\
                rank 1 {\nr: recv 8b from 0\ns: send 8b to 0\ns requires r\n}\n";
    let said = refused(&goal(text));
    assert!(
        said.contains("line 3 (rank 0, receive) waits for s.goal line 9 (rank 1, send)"),
        "{said}"
    );
    assert!(said.ends_with("none of them can ever start"), "{said}");
    // Lenient or not: nothing of it can be left out for the rest to make sense.
    assert!(Replay::new(&goal(text), &lenient()).is_err());
}

/// Two tensor-parallel groups of 8, data parallel over both.
fn simai(gpus: u32) -> Trace {
    let text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: {gpus} \
         checkpoints: 0 checkpoint_initiates: 0\n1\n\
         layer -1 1000 ALLREDUCE 800000 2000 ALLREDUCE 800000 3000 REDUCESCATTER 1600000 50\n"
    );
    read("w.txt", &text)
}

#[test]
fn collectives_move_what_they_move_alone() {
    let fabric = pod();
    let layout = Layout::new(&fabric, Some(16), &Placement::Packed).unwrap();
    let settings = Settings::without_cost();
    let group = |ranks: &[u32]| layout.group(&ranks.iter().map(|r| RankId(*r)).collect::<Vec<_>>());
    let total = |what, ranks: &[u32], size| {
        let loads =
            loads(what, Algorithm::Ring, Bytes::new(size), &group(ranks), &settings).unwrap();
        loads.nics.values().chain(loads.gpus.values()).map(|moved| moved.sent.get()).sum::<u64>()
    };
    let tensor: Vec<u32> = (0..8).collect();
    let expected = 2 * 2 * total(Collective::AllReduce, &tensor, 800_000)
        + 8 * total(Collective::ReduceScatter, &[0, 8], 1_600_000);
    let plan = plan(&simai(16));
    let mut program = plan.program(&layout, &settings, Choice::Always(Algorithm::Ring)).unwrap();
    let outcome = ideal::run(&mut program, &fabric, &Network::default()).unwrap();
    assert_eq!(moved(&outcome), expected);
    let amount = plan.amount();
    assert_eq!((amount.collectives, amount.operations), (4 + 8, 16 * 7));
    let figures = program.calls();
    let shown: Vec<_> = figures.iter().map(|f| (f.name, f.ranks, f.count)).collect();
    assert_eq!(shown, [("all-reduce", 8, 4), ("reduce-scatter", 2, 8)]);
}

#[test]
fn replicas_share_the_data_parallel_groups() {
    let options = Options { replicas: 2, ..Options::default() };
    let plan = Replay::new(&simai(8), &options).unwrap();
    assert_eq!((plan.ranks(), plan.amount().operations), (16, 16 * 7));
    let mut comms = plan.comms.clone();
    comms.sort();
    assert_eq!(comms.len(), 2 + 8);
    assert!(comms.contains(&vec![3, 11]) && comms.contains(&(8..16).collect()));
    // The short header leaves open how many ranks are data parallel.
    let text = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 checkpoints: 0 checkpoint_initiates: 0\n1\n\
                layer -1 1000 ALLREDUCE 800000 1 NONE 0 1 ALLREDUCE 1600000 50\n";
    assert!(refused(&read("w.txt", text)).contains("give the number of `replicas`"));
    let open = Replay::new(&read("w.txt", text), &options).unwrap();
    let mut comms = open.comms.clone();
    comms.sort();
    assert_eq!(comms, [vec![0, 1], vec![0, 2], vec![1, 3], vec![2, 3]]);
    // Without groups that span them, replicas have nothing to do with each other.
    let text = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let twice = Replay::new(&goal(text), &options).unwrap();
    let ends: Vec<_> = twice.messages.iter().map(|sent| (sent.from, sent.to)).collect();
    assert_eq!(ends, [(0, 1), (2, 3)]);
}

#[test]
fn reduce_scatter_and_barrier_have_programs() {
    let fabric = pod();
    let layout = Layout::new(&fabric, Some(16), &Placement::Packed).unwrap();
    let run = |what: call::What, size: u64| {
        let settings = Settings::without_cost();
        let mut program = what.program(Bytes::new(size), &layout, &settings, Choice::Auto).unwrap();
        ideal::run(&mut program, &fabric, &Network::default()).unwrap()
    };
    let plain = |collective| call::What::Plain(collective);
    let reduce = |root| plain(Collective::Reduce { root: RankId(root) });
    // Everybody but the root sends all of it once, and where servers change by way of the GPU that owns the NIC.
    let servers = layout.domains().len() as u64;
    let sent = moved(&run(reduce(9), 5_000_001));
    assert!((15 * 5_000_001..(15 + servers) * 5_000_001).contains(&sent), "{sent}");
    // The root keeps its share.
    let scatter = plain(Collective::Scatter { root: RankId(3) });
    assert!((1500..2 * 1500).contains(&moved(&run(scatter, 1600))));
    assert!(moved(&run(call::What::Barrier, 4)) > 0);
    let reduce = run(reduce(0), 64 << 20).end;
    let broadcast = Collective::Broadcast { root: RankId(0) };
    let size = Bytes::new(64 << 20);
    let settings = Settings::without_cost();
    let mut other =
        collective::program(broadcast, Algorithm::Ring, size, &layout, &settings).unwrap();
    let broadcast = ideal::run(&mut other, &fabric, &Network::default()).unwrap().end;
    let ratio = reduce.as_ps() as f64 / broadcast.as_ps() as f64;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

/// A schedule in which sends and receives of a pair come in a common order, so that it is sound.
fn schedule(ranks: u32, steps: &[(u32, u32, u64, bool)]) -> String {
    let mut own: Vec<(String, u32)> = vec![(String::new(), 0); ranks as usize];
    let mut add = |rank: u32, work: String, chained: bool| {
        let (text, count) = &mut own[rank as usize];
        writeln!(text, "l{count}: {work}").unwrap();
        if chained && *count > 0 {
            writeln!(text, "l{count} requires l{}", *count - 1).unwrap();
        }
        *count += 1;
    };
    for &(a, b, size, chained) in steps {
        let (a, b) = (a % ranks, b % ranks);
        if a == b {
            add(a, format!("calc {size} cpu {}", size % 2), chained);
        } else {
            add(a, format!("send {size}b to {b} tag {}", size % 3), chained);
            add(b, format!("recv {size}b from {a} tag {}", size % 3), chained);
        }
    }
    let blocks =
        own.iter().enumerate().map(|(rank, (text, _))| format!("rank {rank} {{\n{text}}}\n"));
    format!("num_ranks {ranks}\n{}", blocks.collect::<String>())
}

/// Runs a program with everything done in an order of our choice, and checks that no computation begins
/// before what it waits for is done. Says what was sent.
fn run_in_any_order(plan: &Arc<Replay>, picks: &[usize]) -> Result<u64, TestCaseError> {
    let mut program = program(plan, &pod(), &Placement::Packed);
    let (mut under_way, mut out) = (Vec::<Token>::new(), Vec::new());
    let mut done = vec![false; plan.tasks.len()];
    let (mut sent, mut finished, mut picks) = (0, false, picks.iter().cycle());
    program.start(&mut out);
    loop {
        for action in out.drain(..) {
            prop_assert!(!finished, "something after the end");
            match action {
                Action::Wait { token, .. } => {
                    let node = token.index() as u32;
                    for (before, followers) in
                        (0..).zip(&done).map(|(at, d)| (d, plan.followers(at)))
                    {
                        prop_assert!(*before || !followers.contains(&node), "began early");
                    }
                    under_way.push(token);
                }
                Action::Network { token, bytes, .. } | Action::Nvlink { token, bytes, .. } => {
                    sent += bytes.get();
                    under_way.push(token);
                }
                Action::Finished => finished = true,
                Action::Begins { .. } | Action::Ends { .. } => {}
                Action::Call { .. } => prop_assert!(false, "nobody asked for whole collectives"),
            }
        }
        if under_way.is_empty() {
            prop_assert!(finished, "stuck");
            return Ok(sent);
        }
        let token = under_way.swap_remove(picks.next().unwrap_or(&0) % under_way.len());
        // A receive may be done later than its message arrives, never earlier.
        match (token.kind(), plan.messages.get(token.index())) {
            (0, _) => done[token.index()] = true,
            (_, Some(message)) => {
                done[message.send as usize] = true;
                done[message.receive as usize] = true;
            }
            (_, None) => prop_assert!(false, "a token of no message"),
        }
        program.done(token, &mut out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sound_schedules_come_to_their_end(
        ranks in 1u32..6,
        steps in prop::collection::vec((0u32..6, 0u32..6, 1u64..2_000_000, any::<bool>()), 1..40),
        picks in prop::collection::vec(0usize..1000, 1..20),
    ) {
        let plan = plan(&goal(&schedule(ranks, &steps)));
        let expected: u64 =
            steps.iter().filter(|s| s.0 % ranks != s.1 % ranks).map(|s| s.2).sum();
        prop_assert_eq!(plan.amount().message_bytes.get(), expected);
        prop_assert_eq!(run_in_any_order(&plan, &picks)?, expected);
        prop_assert_eq!(moved(&ran(&plan)), expected);
    }
}

/// A rank of a trace leaves a collective when it leaves the collective alone, whatever others are still at.
#[test]
fn ranks_leave_a_collective_one_by_one() {
    let fabric = pod();
    for (kind, way, apart) in [
        ("broadcast", Algorithm::Ring, true),
        ("reduce", Algorithm::Ring, true),
        ("all-gather", Algorithm::Ring, false),
        ("gather", Algorithm::Pxn, true),
        ("all-to-all-collective", Algorithm::Pxn, false),
    ] {
        let name = way.name();
        let text = format!("kind='{kind}'\nsize='1000000B'\nalgorithm='{name}'\ncost='none'");
        let jobs = crate::programs(&crate::testing::workloads(&text), &fabric, 1).unwrap();
        let job = &jobs[0];
        let mut alone = job.program(&job.runs[0]).unwrap();
        ideal::run(&mut alone, &fabric, &Network::default()).unwrap();
        let alone = alone.ends().unwrap();
        let plan = plan(&job.trace().unwrap());
        let settings = Settings::without_cost();
        let mut replay = plan.program(&job.layout, &settings, Choice::Always(way)).unwrap();
        ideal::run(&mut replay, &fabric, &Network::default()).unwrap();
        assert_eq!(replay.ends(), Some(alone), "{kind}");
        let figures = &replay.calls()[0];
        assert_eq!((figures.first, figures.median), (alone.first.1, alone.median), "{kind}");
        assert!(!apart || alone.apart() * 10 > alone.last.1, "{kind}: {alone:?}");
    }
}

/// Members that are in no trace are still at a collective when the only one that is has left it.
#[test]
fn a_collective_ends_for_members_without_a_trace_too() {
    let fabric = pod();
    let text = "kind='broadcast'\nsize='1000000B'\nalgorithm='ring'\ncost='none'";
    let jobs = crate::programs(&crate::testing::workloads(text), &fabric, 1).unwrap();
    let mut trace = jobs[0].trace().unwrap();
    for operation in &mut trace.operations {
        operation.who = trace::Who::One(trace::Rank(0));
    }
    let plan = Arc::new(Replay::new(&trace, &lenient()).unwrap());
    let ring = Choice::Always(Algorithm::Ring);
    let settings = Settings::without_cost();
    let mut replay = plan.program(&jobs[0].layout, &settings, ring).unwrap();
    let outcome = ideal::run(&mut replay, &fabric, &Network::default()).unwrap();
    let ends = replay.ends().unwrap();
    assert_eq!((ends.first.0, ends.last.0), (0, 0));
    assert!(ends.last.1 * 2 < outcome.end - Instant::ZERO, "{ends:?}");
}
