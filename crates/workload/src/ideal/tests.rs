use super::*;
use crate::program::{Graph, GraphBuilder, Queue, Work};
use crate::testing::star;
use xoff_units::Ratio;

fn network() -> Network {
    Network { latency: Span::from_us(2), ..Network::default() }
}

fn send(from: u32, to: u32, bytes: u64) -> Work {
    let (from, to, queue) = (NicId(from), NicId(to), Queue(0));
    Work::Network { from, to, queue, bytes: Bytes::new(bytes) }
}

/// NICs of 100G: 80 ps per byte.
fn run_graph(graph: Graph) -> Result<Outcome, IdealError> {
    run(&mut Program::Graph(graph), &star(4), &network())
}

fn end(works: &[Work]) -> u64 {
    let mut builder = GraphBuilder::new();
    works.iter().for_each(|&work| {
        builder.node(work);
    });
    run_graph(builder.build().unwrap()).unwrap().end.as_ps()
}

#[test]
fn ports_serialise_and_latency_adds() {
    let (wire, latency) = (80_000, 2_000_000);
    assert_eq!(end(&[send(0, 1, 1_000)]), wire + latency);
    // Two out of one port, two into one port, and two that have nothing to do with each other.
    assert_eq!(end(&[send(0, 1, 1_000), send(0, 2, 1_000)]), 2 * wire + latency);
    assert_eq!(end(&[send(0, 1, 1_000), send(2, 1, 1_000)]), 2 * wire + latency);
    assert_eq!(end(&[send(0, 1, 1_000), send(1, 0, 1_000)]), wire + latency);
    // One that waits at its sender does not hold up the receiver for others.
    let works = [send(0, 1, 100_000), send(0, 2, 1_000), send(3, 2, 1_000)];
    assert_eq!(end(&works), 100 * wire + wire + latency);
}

#[test]
fn shares_take_from_the_rate() {
    let mut builder = GraphBuilder::new();
    builder.node(send(0, 1, 1_000));
    let network = Network { nic_share: Ratio::new(1, 2), ..Network::default() };
    let mut program = Program::Graph(builder.build().unwrap());
    let outcome = run(&mut program, &star(4), &network).unwrap();
    assert_eq!(outcome.end.as_ps(), 160_000);
    assert_eq!(outcome.nics[0].sent, Bytes::new(1_000));
    assert_eq!(outcome.nics[1].received, Bytes::new(1_000));
}

#[test]
fn what_is_not_there_is_refused() {
    let one = |work| {
        let mut builder = GraphBuilder::new();
        builder.node(work);
        run_graph(builder.build().unwrap())
    };
    assert_eq!(one(send(0, 4, 1)), Err(IdealError::NoSuchPort));
    assert_eq!(one(send(u32::MAX, 0, 1)), Err(IdealError::NoSuchPort));
    let nvlink = Work::Nvlink { from: GpuId(0), to: GpuId(1), bytes: Bytes::new(1) };
    assert_eq!(one(nvlink), Err(IdealError::NoSuchPort));
    let long = Work::Compute { gpu: GpuId(0), span: Span::MAX };
    assert_eq!(one(long), Err(IdealError::TooLong));
}
