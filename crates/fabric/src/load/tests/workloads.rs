//! Mistakes in workloads are shown on their lines.

use super::*;

#[test]
fn collectives_are_checked_on_their_lines() {
    let scenario = "fabric = 'x'\n\
        [[workload]]\nkind = 'all-reduce'\nsizes = '1MiB..8GiB'\nrepeat = 3\nalgorithm = 'rail'\n\
        channels = 16\nqps = 4\nranks = 16\nplacement = 'fragmented'\n\
        [[workload]]\nkind = 'broadcast'\nsize = '1MiB'\nroot = 7\nplacement = [0, 1, 9, 2, 3, 4, 5, 6]\n\
        [[workload]]\nkind = 'all-to-all-collective'\nsize = '1MiB'\nalgorithm = 'pxn'\n";
    let fabric = "[cluster]\ngpus = 16\n[fabric]\nkind = 'single'\n";
    let loaded = load_scenario(scenario, fabric);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);

    let scenario = "fabric = 'x'\n\
        [[workload]]\nkind = 'all-reduce'\nsize = '0B'\nrepeat = 0\nalgorithm = 'pxn'\nchannels = 65\n\
        qps = 0\nranks = 17\noperation = 'read'\nclass = 8\n\
        [[workload]]\nkind = 'broadcast'\nsize = '1MiB'\nsizes = '1MiB..2MiB'\nroot = 3\n\
        placement = [0, 0, 16]\n\
        [[workload]]\nkind = 'all-gather'\nsizes = '2MiB..1MiB'\n\
        [[workload]]\nkind = 'send-recv'\nchanels = 2\nsize = '1B'\n";
    let found = lines(&load_scenario(scenario, fabric).diagnostics, scenario, fabric);
    for expected in ["scenario 20: error[xoff::wrong-value", "scenario 23: error[xoff::unknown-key"]
    {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
    let scenario = scenario.split("[[workload]]\nkind = 'all-gather'").next().unwrap();
    let found = lines(&load_scenario(scenario, fabric).diagnostics, scenario, fabric);
    for line in [4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17] {
        let expected = format!("scenario {line}: error[xoff::impossible");
        assert!(found.iter().any(|f| f.starts_with(&expected)), "{expected}\n{found:#?}");
    }
    assert_eq!(found.len(), 12, "{found:#?}");
}

#[test]
fn costs_of_collectives_are_checked_on_their_lines() {
    let fabric = "[cluster]\ngpus = 16\nnvlink-latency = '600ns'\n[fabric]\nkind = 'single'\n";
    let sound = "fabric = 'x'\n\
        [[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\ncost = 'none'\n\
        [[workload]]\nkind = 'all-gather'\nsizes = '1KiB..1MiB'\ncost = 'measured'\nconnections = 'kept'\n\
        [[workload]]\nkind = 'gather'\nsize = '1MiB'\ncost = { launch = '5us', copy-rate = '100Gbps' }\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'mixtral-8x7b'\ntp = 8\n\
        cost = { slice = '2us', proxy = '6us', flags = false }\n";
    let loaded = load_scenario(sound, fabric);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);

    let wrong = "fabric = 'x'\n\
        [[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\n\
        cost = { copy-rate = '0Gbps', launch = '2s' }\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'gpt-3-175b'\n\
        cost = { flag-rate = '0bps' }\n";
    let found = lines(&load_scenario(wrong, fabric).diagnostics, wrong, fabric);
    for expected in [
        "scenario 5: error[xoff::impossible-value]: with a `copy-rate` of zero",
        "scenario 5: error[xoff::impossible-value]: `launch` is 2s",
        "scenario 9: error[xoff::impossible-value]: with a `flag-rate` of zero",
    ] {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
    for (cost, expected) in [
        ("'free'", "scenario 5: error[xoff::wrong-value"),
        ("{ lanch = '1us' }", "scenario 5: error[xoff::unknown-key"),
    ] {
        let text = format!(
            "fabric = 'x'\n[[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\ncost = {cost}\n"
        );
        let found = lines(&load_scenario(&text, fabric).diagnostics, &text, fabric);
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
    let slow = fabric.replace("600ns", "2ms");
    let found = lines(&load_scenario(sound, &slow).diagnostics, sound, &slow);
    assert!(found.iter().any(|f| f.contains("an NVLink that takes 2ms")), "{found:#?}");
}

#[test]
fn training_steps_are_checked_on_their_lines() {
    let fabric = "[cluster]\ngpus = 16\n[fabric]\nkind = 'single'\n";
    let sound = "fabric = 'x'\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'mixtral-8x7b'\ntp = 8\nep = 2\nzero = 3\n\
        gpu = 'h100'\nefficiency = 0.5\nplacement = 'fragmented'\nrecompute = 'selective'\n\
        [[workload]]\nkind = 'training-step'\ntp = 4\npp = 2\nvirtual-stages = 2\ndp = 1\n\
        model = { layers = 4, hidden = 512, heads = 8, ffn = 2048, vocabulary = 32000 }\n";
    let loaded = load_scenario(sound, fabric);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);

    let scenario = "fabric = 'x'\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'gpt-3-175b'\ntp = 0\nzero = 4\n\
        efficiency = 1.5\noperation = 'read'\nmicro-batches = 0\ndp = 17\ncp = 4294967295\n\
        pp = 4294967295\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'gpt-3-175b'\ntp = 3\n";
    let found = lines(&load_scenario(scenario, fabric).diagnostics, scenario, fabric);
    for line in [5, 6, 7, 8, 9, 15] {
        let expected = format!("scenario {line}: error[xoff::impossible");
        assert!(found.iter().any(|f| f.starts_with(&expected)), "{expected}\n{found:#?}");
    }
    let many = "fabric = 'x'\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'gpt-3-175b'\ndp = 17\n\
        [[workload]]\nkind = 'training-step'\nmodel = 'gpt-3-175b'\nstages = 3\n";
    let found = lines(&load_scenario(many, fabric).diagnostics, many, fabric);
    assert!(
        found.iter().any(|f| f.starts_with("scenario 9: error[xoff::unknown-key")),
        "{found:#?}"
    );
    let many = many.split("[[workload]]\nkind = 'training-step'\nmodel = 'gpt-3-175b'\nstages");
    let many = many.into_iter().next().unwrap();
    let found = lines(&load_scenario(many, fabric).diagnostics, many, fabric);
    let expected =
        "scenario 5: error[xoff::impossible-value]: 17 GPUs are wanted, and there are 16";
    assert!(found.iter().any(|f| f.starts_with(expected)), "{found:#?}");
}

#[test]
fn storage_and_serving_are_checked_on_their_lines() {
    let fabric = "[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n";
    let sound = "fabric = 'x'\n\
        [[workload]]\nkind = 'checkpoint'\nsize = '1MB'\nstorage = 1\nstripes = 2\nstagger = '1us'\n\
        each = 'server'\noperation = 'read'\ntenant = 'a'\nvxlan = true\n\
        [[workload]]\nkind = 'nvme-of'\ntargets = ['server3']\ninitiators = [0, 1]\nblock = '4KiB'\n\
        queue-depth = 4\nreads = 0.5\nmedia-latency = '10us'\nfor = '1ms'\n\
        [[workload]]\nkind = 'kv-cache'\nprefill = 1\ndecode = 3\nmodel = 'llama-3-70b'\n\
        tokens = [1, 9]\nrequests-per-second = 5\nrequests = 5\nobjective = '1ms'\nqps = 2\n\
        [[workload]]\nkind = 'inference'\nprefill = 1\ndecode = 3\nmodel = 'llama-3-70b'\n\
        input = [1, 9]\noutput = 5\nrequests-per-second = 5\nrequests = 5\ntransfer = 'whole'\n\
        objective = { ttft = '2s', tpot = '200ms', share = 0.9 }\nmax-batch = 8\n\
        [[workload]]\nkind = 'inference'\nprefill = 1\ndecode = 1\nmodel = 'llama-3-8b'\n\
        trace = 'requests.jsonl'\n\
        [[workload]]\nkind = 'parameter-server'\nservers = 1\nsize = '1MB'\ncompute = '1us'\n\
        [[workload]]\nkind = 'halo'\ngrid = [2, 4, 4]\nsize = '1MB'\nperiodic = false\n\
        [[workload]]\nkind = 'background'\nload = 0.5\nsizes = 'datamining'\nfor = '1ms'\n\
        arrivals = 'constant'\nservers = 2\n";
    let loaded = load_scenario(sound, fabric);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);

    // Every line from the third on is wrong, but for kinds and headings.
    let scenarios = [
        "[[workload]]\nkind = 'checkpoint'\nsize = '0B'\nstorage = 4\nstripes = 0\ntenant = ' '\n",
        "[[workload]]\nkind = 'nvme-of'\ntargets = ['server9']\nblock = '0B'\nqueue-depth = 0\n\
         reads = 1.5\noperations = 0\noperation = 'send'\nfor = '1ms'\n",
        "[[workload]]\nkind = 'kv-cache'\nprefill = [0]\ntokens = [9, 1]\nrequests-per-second = 0\n\
         requests = 0\nobjective = '0us'\nqps = 129\nbytes-per-token = '0B'\ndecode = [9]\n",
        "[[workload]]\nkind = 'inference'\nmodel = 'llama-3-8b'\nprefill = [0]\ninput = 0\noutput = [9, 1]\n\
         requests-per-second = 0\nmax-batch = 0\nefficiency = 2\nmemory-efficiency = 0\nweight-bytes = 0\n\
         objective = { share = 2 }\noperation = 'read'\nqps = 0\ndecode = [9]\n",
        "[[workload]]\nkind = 'inference'\nprefill = [0]\nrequests-per-second = 5\ninput = 1\noutput = 1\n\
         objective = { ttft = '0us' }\ndecode = [9]\ntrace = 'x'\nmodel = 'x'\n",
        "[[workload]]\nkind = 'parameter-server'\nsize = '0B'\nrounds = 0\nservers = [1, 1]\n",
        "[[workload]]\nkind = 'halo'\ngrid = [8, 5]\nsize = '0B'\nrounds = 0\noperation = 'read'\n",
        "[[workload]]\nkind = 'background'\nload = 2\nfor = '0us'\nsizes = '1MB'\nservers = 9\n",
    ];
    for scenario in scenarios {
        let text = format!("fabric = 'x'\n{scenario}");
        let found = lines(&load_scenario(&text, fabric).diagnostics, &text, fabric);
        for (number, line) in text.lines().enumerate().skip(3) {
            // What is right on these lines is said to be wrong on another one.
            let right =
                ["for = '1ms'", "sizes = '1MB'", "prefill = [0]", "trace = 'x'", "model = 'x'"];
            if right.contains(&line) {
                continue;
            }
            let expected = format!("scenario {}: error[xoff::", number + 1);
            assert!(found.iter().any(|f| f.starts_with(&expected)), "{line}\n{found:#?}");
        }
    }
}

#[test]
fn vxlan_needs_room_in_the_mtu() {
    let scenario = "fabric = 'x'\n\
        [[workload]]\nkind = 'permutation'\nsize = '1MB'\nvxlan = true\n";
    let fabric = |mtu: u32| format!("[cluster]\nhosts = 4\n[switch]\nmtu = '{mtu}B'\n");
    // 4096 of payload, 62 of headers, 20 of extended ones, 50 of VXLAN.
    let errors = |scenario: &str, mtu: u32| -> Vec<String> {
        let fabric = fabric(mtu);
        let loaded = load_scenario(scenario, &fabric);
        let wrong = loaded.diagnostics.into_iter().filter(|found| found.is_error());
        lines(&wrong.collect::<Vec<_>>(), scenario, &fabric)
    };
    assert_eq!(errors(scenario, 4228), [""; 0]);
    let narrow = fabric(4227);
    let found = lines(&load_scenario(scenario, &narrow).diagnostics, scenario, &narrow);
    let expected = "scenario 5: error[xoff::impossible-value]: packets of 4.228KB with VXLAN";
    assert!(found.iter().any(|f| f.starts_with(expected)), "{found:#?}");
    assert_eq!(errors(&scenario.replace("vxlan = true\n", ""), 4227), [""; 0]);
}
