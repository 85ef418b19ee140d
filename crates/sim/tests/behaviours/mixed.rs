//! RoCE and TCP beside each other: each as itself, in classes of their own.

use crate::scene::{Run, Scene};
use xoff_sim::FlowResult;

/// Completions of the flows of one workload, in microseconds.
fn times(run: &Run<'_>, workload: u32) -> Vec<f64> {
    let flows = run.scene.flows.iter().zip(&run.report.flows);
    let of = flows.filter(|(flow, _)| flow.workload == workload);
    of.map(|(_, result)| result.completion().expect("it ended").as_us_f64()).collect()
}

fn last(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

#[test]
fn roce_stays_lossless_beside_tcp_at_any_load() {
    let alone = Scene::edited("mixed-tcp.toml", |text| {
        let end = text.rfind("[[workload]]").expect("a second workload");
        text[..end].to_owned()
    });
    let alone = last(&times(&alone.run(), 0));
    for load in ["0.1", "0.33", "0.6"] {
        let scene = Scene::edited("mixed-tcp.toml", |text| text.replace("0.33", load));
        assert!(scene.fabric.guests.len() == 1);
        // Lossless drops would fail the run.
        let run = scene.run();
        let (roce, tcp) = (times(&run, 0), times(&run, 1));
        println!(
            "load {load}: RoCE {:.1} us ({alone:.1} alone), {} TCP flows, the slowest {:.1} us",
            last(&roce),
            tcp.len(),
            last(&tcp)
        );
        // Half of every link is RoCE's, so nothing takes more than about twice as long.
        assert!(last(&roce) < 2.2 * alone, "{} and {alone} us", last(&roce));
        // 1 MB at 42 Gb/s, and slow start over 17 us of kernel.
        let fastest = tcp.iter().copied().fold(f64::MAX, f64::min);
        assert!(fastest > 190.0, "{fastest} us");
    }
}

/// One link: RoCE from one host, TCP from four others, to the same one. RoCE is held back by PFC alone, so that the
/// scheduler and not DCQCN decides.
fn bottleneck() -> Scene {
    Scene::edited("mixed-tcp.toml", |_| {
        let tcp =
            |host: u32| format!("  {{ source = {host}, destination = 0, size = \"20MB\" }},\n");
        let list: String = (2..6).map(tcp).collect();
        format!(
            "fabric = \"non-blocking-64.toml\"\n\
             [[workload]]\nkind = \"flows\"\n\
             list = [{{ source = 1, destination = 0, size = \"10MB\" }}]\n\
             [[workload]]\nkind = \"flows\"\ntransport = \"tcp\"\nlist = [\n{list}]\n\
             [override.transport.congestion]\nkind = \"none\"\n"
        )
    })
}

fn rate(flow: &FlowResult, bytes: f64) -> f64 {
    8e-3 * bytes / flow.completion().expect("it ended").as_us_f64()
}

#[test]
fn roce_gets_its_share_of_a_link_that_tcp_fills() {
    let scene = bottleneck();
    let run = scene.run();
    let class = |workload: u32| {
        let flow = scene.flows.iter().find(|flow| flow.workload == workload);
        scene.fabric.classes[usize::from(flow.expect("a flow").class.0)].lossless
    };
    assert!(class(0) && !class(1), "each in its class");
    let at = scene.flows.iter().position(|flow| flow.workload == 0).expect("RoCE");
    let roce = rate(&run.report.flows[at], 10e6);
    println!("RoCE gets {roce:.1} Gb/s of 100");
    assert!((45.0..55.0).contains(&roce), "{roce} Gb/s");
    let again = |workload: u32| {
        let flows = scene.flows.iter().zip(&run.report.flows);
        let of = flows.filter(|(flow, _)| flow.workload == workload);
        of.map(|(_, result)| result.counters.retransmitted).sum::<u64>()
    };
    assert_eq!(again(0), 0, "nothing of RoCE is lost");
}
