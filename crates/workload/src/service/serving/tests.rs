use super::*;
use crate::collective::Network;
use crate::ideal;
use crate::program::Program;
use crate::training::{Gpu, MEMORY_EFFICIENCY, Model};
use xoff_fabric::model::Fabric;
use xoff_units::Ratio;

fn pace() -> Pace {
    Pace {
        model: Model::named("llama-3-70b").unwrap().model,
        gpu: Gpu::named("h100").unwrap().gpu,
        memory: MEMORY_EFFICIENCY,
        cache_element: 2,
        weight_element: 2,
    }
}

/// Servers of eight GPUs with eight NICs.
fn instance(server: u32) -> Instance {
    let nics = (server * 8..server * 8 + 8).map(NicId).collect();
    Instance { nics, gpu: GpuId(server * 8), gpus: 8 }
}

fn settings(prompts: Vec<Prompt>, by_layer: bool) -> ServingSettings {
    ServingSettings {
        prompts,
        prefill: vec![instance(0)],
        decode: vec![instance(1)],
        pace: pace(),
        by_layer,
        most: 256,
        queues: 1,
    }
}

fn prompt(after: Span, input: u32, output: u32) -> Prompt {
    Prompt { after, input, output }
}

/// 400G NICs, of whose rate this share is there.
fn served(settings: ServingSettings, share: u64) -> Vec<Served> {
    let text = "[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n";
    let fabric = Fabric::from_toml(text).unwrap();
    let mut program = Program::Serving(Box::new(Serving::new(settings)));
    let network = Network { nic_share: Ratio::new(share, 100), ..Network::default() };
    ideal::run(&mut program, &fabric, &network).unwrap();
    program.served().to_vec()
}

fn near(what: &str, is: Span, wanted: Span) {
    let off = is.as_ps() as f64 / wanted.as_ps() as f64 - 1.0;
    assert!(off.abs() < 1e-3, "{what}: {is} for {wanted}");
}

/// A lone request: its prompt, its cache over eight NICs of 50 GB/s, and a token; then the mean of its tokens.
#[test]
fn a_lone_request_takes_its_parts() {
    let (input, output) = (4_096, 11);
    let pace = pace();
    let token = |number: u64| pace.tokens(1, u64::from(input) + number, 8);
    let wire = Span::from_ps(pace.cache(input).get() * 1_000_000 / (8 * 50_000));
    let one = served(settings(vec![prompt(Span::from_us(7), input, output)], false), 100)[0];
    let latency = Network::default().latency;
    near("first", one.first.unwrap(), pace.prompt(input, 8) + wire + latency + token(0));
    let rest = (1..11).map(token).fold(Span::ZERO, |all, span| all + span);
    near("each", one.each.unwrap(), Span::from_ps(rest.as_ps() / 10));
    // Layer by layer only the last layer's part is not behind computing.
    let one = served(settings(vec![prompt(Span::from_us(7), input, output)], true), 100)[0];
    let last = Span::from_ps(wire.as_ps() / 80);
    near("by layer", one.first.unwrap(), pace.prompt(input, 8) + last + latency + token(0));
}

/// An answer of one token has no time for each other one.
#[test]
fn a_single_token_has_no_others() {
    let one = served(settings(vec![prompt(Span::ZERO, 10, 1)], true), 100)[0];
    assert!(one.done && one.first.is_some() && one.each.is_none(), "{one:?}");
}

/// Two prompts at once: the second waits for the first, unless there is another server.
#[test]
fn prompts_wait_for_those_before_them() {
    let two = || vec![prompt(Span::ZERO, 4_096, 1), prompt(Span::ZERO, 4_096, 1)];
    let all = served(settings(two(), true), 100);
    let (first, second) = (all[0].first.unwrap(), all[1].first.unwrap());
    near("second", second - first, pace().prompt(4_096, 8));
    let mut wide = settings(two(), true);
    (wide.prefill, wide.decode) = (vec![instance(0), instance(2)], vec![instance(1), instance(3)]);
    let all = served(wide, 100);
    assert_eq!(all[0].first, all[1].first);
}

/// Requests share the tokens of their server as far as it takes so many at once.
#[test]
fn a_full_server_lets_requests_wait() {
    let many = || (0..4).map(|_| prompt(Span::ZERO, 64, 50)).collect::<Vec<_>>();
    let together = served(settings(many(), true), 100);
    let alone = served(ServingSettings { most: 1, ..settings(many(), true) }, 100);
    assert!(together.iter().chain(&alone).all(|one| one.done));
    // One after the other: each waits for the answers of those before it.
    let gap = alone[3].first.unwrap() - alone[2].first.unwrap();
    near("in turn", gap, alone[2].each.unwrap() * 50);
    assert!(together[3].first.unwrap() < alone[3].first.unwrap());
}

/// Less of the network is never better, for the first token of any request and for all together, but for this: a request
/// joins at a token of the others, and a little later may be just in time for one.
#[test]
fn a_slower_network_is_never_better() {
    let prompts = || -> Vec<Prompt> {
        let lengths = [900, 4_000, 100, 2_500, 7_000, 300, 1_800];
        let own = |number: usize| {
            prompt(Span::from_ms(20 + 7 * (number as u64 % 3)), lengths[number % 7], 40)
        };
        (0..60).map(own).collect()
    };
    for by_layer in [true, false] {
        let mut last: Option<Vec<Served>> = None;
        let mut sums = Vec::new();
        for share in [100, 50, 20, 5, 2] {
            let mut settings = settings(prompts(), by_layer);
            settings.decode.push(instance(2));
            let own = served(settings, share);
            if let Some(last) = &last {
                for (number, (slow, fast)) in own.iter().zip(last).enumerate() {
                    let slack = pace().tokens(60, 60 * 7_000, 8);
                    let (slow, fast) = (slow.first.unwrap(), fast.first.unwrap());
                    assert!(slow + slack >= fast, "{share} %, {number}: {slow} and {fast}");
                }
            }
            sums.push(own.iter().map(|one| one.first.unwrap().as_s_f64()).sum::<f64>());
            last = Some(own);
        }
        let falls = sums.windows(2).any(|pair| pair[1] < pair[0] * 0.99);
        assert!(!falls && sums[4] > sums[0] * 1.2, "by layer: {by_layer}, {sums:?}");
    }
}
