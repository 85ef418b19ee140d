//! Storage, serving, rounds and tenants: each against what can be worked out by hand.

use crate::scene::{Run, Scene, near};
use xoff_units::{Bytes, Span};
use xoff_workload::program::RequestId;
use xoff_workload::service::Served;
use xoff_workload::training::{Gpu, MEMORY_EFFICIENCY, Model, Pace};

/// What a payload takes on a wire of so many Gb/s, headers included.
fn wire(scene: &Scene, bytes: u64, gbps: f64) -> f64 {
    let qp = &scene.fabric.nics[0].qp;
    let (mtu, around) = (qp.mtu.get(), (qp.framing.header + qp.framing.gap).get());
    (bytes + bytes.div_ceil(mtu) * around) as f64 * 8.0 / (gbps * 1e3)
}

/// Mean time of a job's requests in microseconds.
fn mean_request(run: &Run<'_>) -> f64 {
    let times: Vec<f64> =
        run.report.jobs[0].requests.iter().map(|r| r.time().unwrap().as_us_f64()).collect();
    times.iter().sum::<f64>() / times.len() as f64
}

/// Three GPUs share a storage NIC: the checkpoint takes what the NIC takes for three shares.
#[test]
fn a_checkpoint_takes_as_long_as_its_storage() {
    for operation in ["write", "read"] {
        let scene = Scene::edited("checkpoint.toml", |text| {
            let text = text.replace("\"16MB\"", "\"2MB\"");
            let none = "[override.transport]\ncongestion = { kind = \"none\" }\n";
            format!("{text}operation = \"{operation}\"\n{none}")
        });
        let run = scene.run();
        let took = run.last_end().as_ps() as f64 / 1e6;
        let storage = wire(&scene, 3 * 2_000_000, 400.0);
        near(operation, took, storage, 0.06);
        assert!(took > storage);
    }
}

/// In a closed loop, what is under way is what ends in a second times what one takes.
#[test]
fn blocks_obey_littles_law() {
    for (depth, reads) in [(1, "100%"), (8, "0%"), (8, "70%")] {
        let scene = Scene::edited("nvme-of.toml", |text| {
            let text = text.replace("queue-depth = 8", &format!("queue-depth = {depth}"));
            let text = text.replace("targets = 2", "targets = 2\ninitiators = 1");
            text.replace("70%", reads)
        });
        let run = scene.run();
        let requests = &run.report.jobs[0].requests;
        let last = requests.iter().filter_map(|request| request.end).max().unwrap();
        let rate = requests.len() as f64 / (last.as_ps() as f64 / 1e6);
        // Eight NICs of one server; at both ends of the run some places are idle.
        near("under way", rate * mean_request(&run), 8.0 * f64::from(depth), 0.1);
    }
}

/// A single read of an idle disk: a command, the disk, the block and its response.
#[test]
fn a_block_takes_its_way_and_the_disk() {
    let scene = Scene::edited("nvme-of.toml", |text| {
        let text = text.replace("targets = 2", "targets = [1]\ninitiators = [0]");
        let text = text.replace("queue-depth = 8", "queue-depth = 1").replace("70%", "100%");
        text.replace("for = \"500us\"", "operations = 3")
    });
    let run = scene.run();
    let requests = &run.report.jobs[0].requests;
    assert_eq!(requests.len(), 3 * 8);
    let took = requests[0].time().unwrap();
    // Both ways by one leaf: the NICs' latency, the leaf's and the cables' are a few microseconds.
    let least = Span::from_us(20) + Span::from_ns(16_384 * 8 / 400);
    assert!(took > least && took < least + Span::from_us(6), "{took}");
}

/// On an idle fabric every transfer is within its objective, and takes what its rails take.
#[test]
fn caches_on_an_idle_fabric_are_in_time() {
    let scene = Scene::edited("kv-cache.toml", |text| {
        let text = text.replace("[200, 1000]", "50").replace("requests = 30", "requests = 5");
        text.replace("second = 1500", "second = 10")
    });
    let service = scene.jobs[0].service.as_ref().unwrap();
    assert_eq!(service.size(RequestId(0)), Bytes::new(50 * 320 * 1024));
    let run = scene.run();
    let expected = wire(&scene, 50 * 320 * 1024 / 8, 400.0);
    near("a cache", mean_request(&run), expected, 0.1);
    let objective = service.objective.unwrap();
    assert!(run.report.jobs[0].requests.iter().all(|r| r.time().unwrap() < objective));
}

/// Requests of the example, each with these tokens, with a change to its text.
fn served(requests: u32, input: u32, edit: impl FnOnce(String) -> String) -> Vec<Served> {
    let scene = Scene::edited("inference.toml", |text| {
        let text = text.replace("requests = 60", &format!("requests = {requests}"));
        let text = text.replace("[200, 3000]", &input.to_string()).replace("[20, 120]", "6");
        edit(text)
    });
    scene.run().report.jobs[0].served.clone()
}

/// On an idle fabric a request takes its prompt, its cache over eight rails, and a token.
#[test]
fn a_request_takes_its_prompt_its_cache_and_a_token() {
    let pace = Pace {
        model: Model::named("llama-3-70b").unwrap().model,
        gpu: Gpu::named("h100").unwrap().gpu,
        memory: MEMORY_EFFICIENCY,
        cache_element: 2,
        weight_element: 2,
    };
    let input = 400;
    let whole = served(1, input, |text| text + "transfer = \"whole\"\n");
    let cache = wire(&Scene::load("inference.toml"), pace.cache(input).get() / 8, 400.0);
    let rest = (pace.prompt(input, 8) + pace.tokens(1, input.into(), 8)).as_us_f64();
    let took = whole[0].first.unwrap().as_us_f64() - rest;
    assert!(took > cache && took < cache * 1.05 + 6.0, "{took} us, of which {cache} on the wire");
    // Layer by layer all but the last is hidden behind computing.
    let layered = served(1, input, |text| text);
    let took = layered[0].first.unwrap().as_us_f64() - rest;
    assert!(took > cache / 80.0 && took < cache / 80.0 + 10.0, "{took} us");
    let tokens: f64 = (1..6).map(|n| pace.tokens(1, 400 + n, 8).as_us_f64()).sum();
    near("tokens", layered[0].each.unwrap().as_us_f64(), tokens / 5.0, 1e-4);
}

/// Slower NICs are never better for the first token of any request, nor for how many keep to their objective.
#[test]
fn a_slower_fabric_serves_no_better() {
    let at = |rate: &str| {
        served(8, 200, |text| {
            let text = text.replace("per-second = 10", "per-second = 60");
            format!("{text}[override.cluster]\nnic = \"generic-{rate}\"\n")
        })
    };
    let (fast, slow) = (at("400g"), at("100g"));
    let in_time =
        |all: &[Served]| all.iter().filter(|one| one.first.unwrap() < Span::from_ms(60)).count();
    for (one, other) in fast.iter().zip(&slow) {
        assert!(one.first.unwrap() < other.first.unwrap(), "{one:?} {other:?}");
    }
    assert!(in_time(&fast) >= in_time(&slow));
}

/// Without computing and NVLink's part, a round takes what a NIC takes for its faces.
#[test]
fn a_halo_takes_as_long_as_its_faces() {
    // One GPU of each server on a ring of eight: two faces out and in, all on one leaf.
    let scene = Scene::edited("halo.toml", |text| {
        let text = text.replace("[4, 4, 4]", "[1, 8]").replace("\"50us\"", "\"0us\"");
        format!("{text}placement = [0, 8, 16, 24, 32, 40, 48, 56]\n")
    });
    let run = scene.run();
    let round = run.report.jobs[0].runs[0].time().unwrap().as_us_f64() / 10.0;
    let faces = wire(&scene, 2 * 524_288, 400.0);
    assert!(round > faces && round < faces + 6.0, "{round} us where faces take {faces}");
}

/// Every server NIC takes the gradients of all workers, and sends parameters to all of them.
#[test]
fn a_parameter_server_takes_as_long_as_its_nics() {
    let scene = Scene::edited("parameter-server.toml", |text| {
        format!("{text}[override.transport]\ncongestion = {{ kind = \"none\" }}\n")
    });
    let run = scene.run();
    assert_eq!(run.report.jobs[0].runs.len(), 3);
    assert_eq!(run.report.jobs[0].posted, Bytes::new(3 * 2 * 24 * 4_000_000));
    let round = run.report.jobs[0].runs[0].time().unwrap().as_us_f64();
    let least = 120.0 + 2.0 * wire(&scene, 24 * 500_000, 400.0);
    near("a round", round, least, 0.1);
    assert!(round > least);
}

/// Mean time of the training's runs, together with the backup and alone.
fn training(name: &str) -> (f64, f64) {
    let both = Scene::load(name);
    let mut alone = Scene::load(name);
    alone.flows.clear();
    let mean = |scene: &Scene| {
        let run = scene.run();
        let runs = &run.report.jobs[0].runs;
        runs.iter().map(|run| run.time().unwrap().as_us_f64()).sum::<f64>() / runs.len() as f64
    };
    (mean(&both), mean(&alone))
}

#[test]
fn tenants_hurt_each_other_in_one_class_and_less_in_two() {
    let (together, alone) = training("tenants-one-class.toml");
    let (apart, still_alone) = training("tenants-two-classes.toml");
    near("alone", alone, still_alone, 0.001);
    let (one, two) = (together / alone, apart / alone);
    println!("slowdown {one:.2} in one class, {two:.2} in two");
    assert!(one > 3.0, "{one} times as long in one class");
    assert!((0.99..1.5).contains(&two), "{two} times as long in two classes");
}

/// Fifty bytes more around every packet, and nothing else.
#[test]
fn vxlan_is_paid_for_on_every_link() {
    let sent = |vxlan: &str| {
        let scene = Scene::edited("victim-alone.toml", |text| {
            text.replace("name = \"victim\"", &format!("name = \"victim\"\n{vxlan}"))
        });
        let run = scene.run();
        let (port, took) = (run.data("leaf-c→c0"), run.completion("a0", "c0"));
        (port.tx_packets, port.tx_bytes, took.as_us_f64())
    };
    let (plain, tunnelled) = (sent(""), sent("vxlan = true"));
    assert_eq!(tunnelled.0, plain.0);
    assert_eq!(tunnelled.1 - plain.1, 50 * plain.0);
    near("time", tunnelled.2 / plain.2, (4096.0 + 82.0 + 50.0) / (4096.0 + 82.0), 0.001);
}
