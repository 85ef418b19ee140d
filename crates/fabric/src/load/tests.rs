mod workloads;

use super::*;
use proptest::prelude::*;

const EXAMPLE: &str = r#"
profile = "ns3-hpcc"
[cluster]
gpus = 64
gpus-per-server = 4
nics-per-server = 2
nic = "connectx-7"
nic-rate = "200Gbps"
nvlink = "900Gbps"
[fabric]
kind = "rail"
leaf = "tomahawk-5"
spine = "spectrum-4"
spines = 2
oversubscription = "2:1"
[links]
length = "30m"
[links.leaf-spine]
media = "800g-dr8"
bit-error-rate = 1e-12
parallel = 2
[nic]
latency = "700ns"
[nic.receive]
rate = "100Gbps"
buffer = "1MiB"
[switch]
buffer = "64MB"
forwarding = "cut-through"
[switch.spine]
headroom-pool = "4MB"
[switch.leaf.watchdog]
detect = "100ms"
[switch.hash]
seed = 7
fields = ["addresses", "dest-qp"]
[pfc]
alpha = "1/8"
headroom = "auto"
quanta = 1000
response = "standard"
[ecn]
kmin = "100KB"
kmax = "400KB"
pmax = "20%"
[traffic]
cnp = 6
[[class]]
id = 3
dscp = [26, 27]
[[class]]
id = 1
scheduling = 7
egress-alpha = 2
[[tenant]]
name = "research"
[[tenant]]
name = "serving"
class = 1
[transport]
mtu = "4096B"
[transport.congestion]
kind = "dcqcn"
g = 0.1
[[route]]
at = "leaf0"
to = "server0-nic0"
via = "spine0"
[catalogue.nic.mine]
like = "connectx-7"
rate = "50Gbps"
"#;

const CUSTOM: &str = r#"
[fabric]
kind = "custom"
[[node]]
name = "a"
kind = "nic"
[[node]]
name = "b"
kind = "nic"
server = "box"
[[node]]
name = "s"
kind = "switch"
silicon = "spectrum-4"
[[link]]
ends = "a s"
delay = "1us"
rate = "100Gbps"
[[link]]
ends = "b s"
parallel = 2
"#;

const SCENARIO: &str = r#"
fabric = "pod.toml"
seed = 3
duration = "1ms"
[[workload]]
kind = "incast"
size = "1MB"
target = "server1-nic1"
senders = 8
[[workload]]
kind = "flows"
[[workload.list]]
source = 0
destination = "server3-nic0"
size = "2MB"
path = ["leaf0", "spine1", "leaf0"]
[[workload]]
kind = "poisson"
load = 0.5
sizes = "websearch"
for = "1ms"
[[fault]]
kind = "pause-storm"
nic = 4
[override.pfc]
alpha = "1/4"
"#;

fn lines(diagnostics: &[Diagnostic], scenario: &str, fabric: &str) -> Vec<String> {
    let line = |d: &Diagnostic| match d.origin {
        Origin::Scenario => format!("scenario {}", d.line(scenario)),
        Origin::Fabric => format!("fabric {}", d.line(fabric)),
    };
    diagnostics.iter().map(|d| format!("{}: {d}", line(d))).collect()
}

#[test]
fn the_examples_load() {
    for text in [EXAMPLE, CUSTOM, "[cluster]\ngpus = 64"] {
        let loaded = load_fabric(text);
        assert!(loaded.value.is_some(), "{:#?}", loaded.diagnostics);
    }
    let loaded = load_scenario(SCENARIO, EXAMPLE);
    let setup = loaded.value.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    assert_eq!(setup.scenario.workloads.len(), 3);
    assert!(setup.scenario.overrides.contains_key("pfc"));
    assert_eq!(setup.setup.file.pfc.alpha, Some(xoff_units::Ratio::new(1, 4)));
}

/// Whatever else it says, a file without hosts and switches is no fabric of 64 GPUs.
#[test]
fn a_file_that_describes_no_fabric_says_what_the_smallest_one_is() {
    let nothing = [
        "",
        "# 64 GPUs\n\n",
        "profile = 'ns3-hpcc'\n",
        "[transport]\nkind = 'tcp'\n",
        "[pfc]\nalpha = '1/4'\n[cluster]\n[fabric]\n",
    ];
    for text in nothing {
        let loaded = load_fabric(text);
        assert!(loaded.value.is_none(), "{text:?}");
        let [only] = &loaded.diagnostics[..] else { panic!("{:#?}", loaded.diagnostics) };
        assert_eq!(only.code, code::EMPTY);
        assert!(only.to_string().contains("`[cluster]` with `gpus = 256`"), "{only}");
    }
    // A scenario may bring what the file does not say.
    let scenario = "fabric = 'f.toml'\n[override.cluster]\nhosts = 4\n";
    assert_eq!(load_scenario(scenario, "").value.unwrap().setup.fabric.nics.len(), 4);
    assert!(load_fabric("[fabric]\nkind = 'fat-tree'\nk = 4\n").value.is_some());
    // A misspelt table is one mistake and not two.
    let found = load_fabric("[clutser]\ngpus = 8\n").diagnostics;
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [code::UNKNOWN_KEY]);
}

#[test]
fn a_loaded_file_can_be_written_and_read_again() {
    let setup = load_fabric(EXAMPLE).value.unwrap();
    let text = toml::to_string(&setup.file).unwrap();
    let again = load_fabric(&text);
    let again = again.value.unwrap_or_else(|| panic!("{:#?}\n{text}", again.diagnostics));
    assert_eq!(toml::to_string(&again.file).unwrap(), text);
    assert_eq!(format!("{:?}", again.fabric), format!("{:?}", setup.fabric));
}

#[test]
fn all_mistakes_at_once_with_their_lines() {
    let text = "[cluster]\ngpus = 0\nnic = 'connectx7'\n[fabric]\nleaf = 'tomahawk5'\nleef = 3\n\
                [ecn]\nkmin = '2MB'\nkmax = '1MB'\npmax = 1.5\n[pfc]\nalpha = 0\n\
                [[class]]\nid = 9\n[[class]]\nid = 1\ndscp = [64, 26]\n[[class]]\nid = 2\ndscp = [26]\n\
                [links.host]\nrate = 0\nmedia = 'dac'\nlength = '50m'\nloss = 2\n";
    let loaded = load_fabric(text);
    assert!(loaded.value.is_none());
    let found = lines(&loaded.diagnostics, "", text);
    for expected in [
        "fabric 2: error[xoff::impossible-value]: `gpus = 0`",
        "fabric 3: error[xoff::unknown-name]: there is no `connectx7`",
        "fabric 5: error[xoff::unknown-name]: there is no `tomahawk5`",
        "fabric 6: error[xoff::unknown-key]: there is no key `leef` here; did you mean `leaf`?",
        "fabric 8: error[xoff::impossible-value]: marking starts at 2MB",
        "fabric 10: error[xoff::impossible-value]: a probability above 1",
        "fabric 12: error[xoff::impossible-value]: with alpha 0",
        "fabric 14: error[xoff::wrong-value]: 9 is out of range: it lies between 0 and 7",
        "fabric 22: error[xoff::impossible-value]: a link of 0",
        "fabric 23: error[xoff::reach]: `dac` reach 2m",
        "fabric 25: error[xoff::impossible-value]: `loss` of 2",
    ] {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn one_mistake_is_one_error() {
    let files = [
        "[cluster]\ngpus = 'many'\n[fabric]\nleaves = 2\nhosts-per-leaf = 4\n",
        "[cluster]\ngpus = 16\n[ecn]\nkmin = 'low'\nkmax = '100KB'\n[fabric]\nkind = 'single'\n",
        "[[node]]\nname = 'a'\nkind = 'nc'\n[[node]]\nname = 'b'\nkind = 'nic'\n\
         [[node]]\nname = 's'\nkind = 'switch'\n[[link]]\nends = 'a s'\n\
         [[link]]\nends = 'b s'\n[fabric]\nkind = 'custom'\n",
        "[cluster]\ngpus = 16\n[fabric]\nkind = 'single'\n[[class]]\nid = 'three'\n",
    ];
    for text in files {
        let found = lines(&load_fabric(text).diagnostics, "", text);
        assert_eq!(found.len(), 1, "{text}{found:#?}");
        assert!(found[0].contains("xoff::wrong-value"), "{found:#?}");
    }
    let scenario =
        "fabric = 'x'\n[[workload]]\nkind = 'incast'\nsize = '1MB'\ntarget = 'server9-nic0'\n";
    let found = load_scenario(scenario, "[cluster]\ngpus = 'many'\n").diagnostics;
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn tables_and_lists_of_tables_are_told_apart() {
    let files = [
        ("[cluster]\ngpus = 16\n[link.host]\nlength = '3m'\n", "did you mean `[links.host]`?"),
        ("[cluster]\ngpus = 16\n[[links]]\nends = ['a', 'b']\n", "did you mean `[[link]]`"),
        ("[cluster]\ngpus = 16\n[class]\nid = 3\n", "write `[[class]]`"),
        ("[[cluster]]\ngpus = 16\n", "write `[cluster]`"),
        (
            "[cluster]\ngpus = 16\n[fabric]\nkind = 'single'\n[switches.leaf]\nbuffer = '1MB'\n",
            "did you mean `switch`?",
        ),
    ];
    for (text, help) in files {
        let found = lines(&load_fabric(text).diagnostics, "", text);
        assert_eq!(found.len(), 1, "{text}{found:#?}");
        assert!(found[0].contains(help), "{help}: {found:#?}");
    }
}

#[test]
fn dscps_and_classes_are_counted() {
    let text =
        "[[class]]\nid = 1\ndscp = [64, 26]\n[[class]]\nid = 2\ndscp = [26]\n[[class]]\nid = 1\n";
    let found = lines(&load_fabric(text).diagnostics, "", text);
    for expected in [
        "fabric 8: error[xoff::duplicate]: class 1",
        "fabric 6: error[xoff::duplicate]: DSCP 26",
        "fabric 3: error[xoff::impossible-value]: there is no DSCP 64",
    ] {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn tenants_have_one_name_and_a_class() {
    let text = "[cluster]\nhosts = 2\n[traffic]\ndata = 5\n[[tenant]]\nname = 'a'\n\
                [[tenant]]\nname = 'b'\nclass = 4\n";
    let tenants = load_fabric(text).value.unwrap().fabric.tenants.clone();
    let seen: Vec<(&str, u8)> = tenants.iter().map(|t| (t.name.as_str(), t.class.0)).collect();
    assert_eq!(seen, [("a", 5), ("b", 4)]);
    let text = "[[tenant]]\nname = 'a'\n[[tenant]]\nname = 'a'\n[[tenant]]\nname = ' '\n";
    let loaded = load_fabric(text);
    let found = lines(&loaded.diagnostics, "", text);
    for expected in [
        "fabric 4: error[xoff::duplicate]: there are two tenants `a`",
        "fabric 6: error[xoff::impossible-value]: a tenant needs a name",
    ] {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
    let text = "[[tenant]]\nname = 'a'\nclass = 8\n";
    let found = lines(&load_fabric(text).diagnostics, "", text);
    assert!(found.iter().any(|f| f.starts_with("fabric 3: error")), "{found:#?}");
    let text = "[[tenant]]\nclass = 3\n";
    let found = lines(&load_fabric(text).diagnostics, "", text);
    assert!(found.iter().any(|f| f.contains("name")), "{found:#?}");
}

#[test]
fn ecn_above_xoff_and_headroom_above_the_buffer() {
    let late = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n[pfc]\nxoff = '100KB'\n[ecn]\nkmin = '200KB'\n";
    let found = lines(&load_fabric(late).diagnostics, "", late);
    assert!(found[0].starts_with("fabric 8: warning[xoff::ecn-above-xoff]"), "{found:#?}");
    // Kmin is per egress queue, XOFF per ingress: what two hold, 100 kB and their reserve each, is more.
    assert!(load_fabric(late).value.is_some(), "a warning builds no fabric");
    assert!(found[0].contains("2 or more ingresses"), "{found:#?}");
    let never = late.replace("200KB", "1MB");
    let found = lines(&load_fabric(&never).diagnostics, "", &never);
    assert!(found[0].contains("not even 7 ingresses"), "{found:#?}");
    let ramp = late.replace("200KB", "50KB");
    let loaded = load_fabric(&ramp);
    assert!(loaded.value.is_some());
    assert_eq!(loaded.diagnostics[0].severity, Severity::Warning, "{:?}", loaded.diagnostics);
    let small = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n[switch]\nbuffer = '500KB'\n";
    let found = lines(&load_fabric(small).diagnostics, "", small);
    assert!(found[0].starts_with("fabric 6: error[xoff::headroom]"), "{found:#?}");
}

#[test]
fn too_little_headroom_is_allowed_and_said() {
    let text = "[cluster]\nhosts = 2\n[fabric]\nkind = 'single'\n[pfc]\nheadroom = '10KB'\n";
    let loaded = load_fabric(text);
    assert!(loaded.value.is_some());
    assert_eq!(loaded.diagnostics[0].code, code::HEADROOM);
    assert_eq!(loaded.diagnostics[0].line(text), 6);
}

#[test]
fn one_mistake_does_not_hide_another() {
    let text = "[cluster]\ngpus = 250\nnic = 'conectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n\
                [ecn]\nkmin = '40MB'\nkmax = '50MB'\n[[route]]\nat = 'leaf99'\nto = 'leaf0'\nvia = 'x'\n";
    let found = lines(&load_fabric(text).diagnostics, "", text);
    for expected in
        ["fabric 2: ", "fabric 3: ", "fabric 8: warning[xoff::ecn", "fabric 11: ", "fabric 12: "]
    {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn packets_have_to_pass_the_ports() {
    let text = "[transport]\nmtu = '4096B'\n[switch]\nmtu = '1500B'\n";
    let found = lines(&load_fabric(text).diagnostics, "", text);
    assert!(found.iter().any(|f| f.starts_with("fabric 2: error[xoff::mtu")), "{found:#?}");
    let odd = "[cluster]\nhosts = 2\n[transport]\nmtu = '1000B'\n";
    let loaded = load_fabric(odd);
    assert!(loaded.value.is_some());
    assert!(loaded.diagnostics.iter().any(|d| d.code == code::UNUSUAL));
}

#[test]
fn overrides_point_into_the_scenario() {
    let scenario = "fabric = 'x'\n[override.ecn]\nkmin = '1MB'\nkmxa = 3\n[override.transport.congestion]\nkind = 'none'\n";
    let fabric = "[cluster]\nhosts = 8\n[ecn]\nkmax = '10KB'\n";
    let loaded = load_scenario(scenario, fabric);
    let found = lines(&loaded.diagnostics, scenario, fabric);
    assert!(
        found.iter().any(|f| f.starts_with("scenario 3: error[xoff::impossible")),
        "{found:#?}"
    );
    assert!(
        found.iter().any(|f| f.starts_with("scenario 4: error[xoff::unknown-key")),
        "{found:#?}"
    );
}

#[test]
fn scenario_names_are_looked_up() {
    let scenario = "fabric = 'x'\n[[workload]]\nkind = 'incast'\nsize = '1MB'\ntarget = 'server9-nic0'\nsenders = 9\n\
                    [[workload]]\nkind = 'flows'\nclass = 8\n[[workload.list]]\nsource = 99\ndestination = 'server0'\nsize = 0\npath = ['spine7']\n\
                    [[fault]]\nkind = 'pause-storm'\nnic = 'leaf0'\n";
    let fabric = "[cluster]\nhosts = 8\n";
    let found = lines(&load_scenario(scenario, fabric).diagnostics, scenario, fabric);
    for expected in [
        "scenario 5: error[xoff::unknown-name]",
        "scenario 6: error[xoff::impossible",
        "scenario 9: error[xoff::impossible",
        "scenario 11: error[xoff::unknown-name]",
        "scenario 13: error[xoff::impossible",
        "scenario 14: error[xoff::unknown-name]",
        "scenario 17: error[xoff::unknown-name]: `leaf0` is a switch",
    ] {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn custom_mistakes() {
    let text = "[fabric]\nkind = 'custom'\n[[node]]\nname = 'a'\nkind = 'nic'\n[[node]]\nname = 'a'\nkind = 'nic'\n\
                [[node]]\nname = 'b'\nkind = 'nic'\n[[node]]\nname = 's'\nkind = 'switch'\n\
                [[link]]\nends = 'a s'\n[[link]]\nends = 'a sw'\n[[link]]\nends = 'a'\n";
    let found = lines(&load_fabric(text).diagnostics, "", text);
    for expected in [
        "fabric 7: error[xoff::duplicate]",
        "fabric 10: error[xoff::disconnected]: nothing is plugged into `b`",
        "fabric 18: error[xoff::unknown-name]: there is no node `sw`; did you mean `s`?",
        "fabric 20: error[xoff::wrong-value]",
    ] {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn huge_numbers_are_refused_quickly() {
    for text in [
        "[cluster]\ngpus = 4294967288\n",
        "[cluster]\nhosts = 4294967295\nnics-per-server = 4294967295\n",
        "[fabric]\nkind = 'fat-tree'\nk = 4294967294\n",
        "[fabric]\nkind = 'fat-tree'\nk = 128\n",
        "[fabric]\nleaves = 4294967295\nspines = 4294967295\n",
        "[fabric]\nkind = 'three-tier'\nleaves = 4294967295\nspines = 4294967295\ncores = 4294967295\n",
        "[fabric]\nspines = 2\nleaves = 2\n[links.leaf-spine]\nparallel = 4294967295\n",
        "[fabric]\noversubscription = '1/18446744073709551615'\nleaves = 2\n",
        "[cluster]\nhosts = 200000\n[fabric]\nkind = 'single'\n[catalogue.silicon.generic]\nmax-ports = 4294967295\nports = 4294967295\n",
        "[cluster]\ngpus = 8000\n[fabric]\nkind = 'rail'\nleaf = 'x'\n[catalogue.silicon.x]\nmax-ports = 4294967295\nports = 4294967295\nport-rate = '8Tbps'\n",
        "[switch]\nbuffer = '18446744073709551615B'\n[pfc]\nheadroom = '18446744073709551615B'\n",
        "[links]\nlength = '18446744073709551615mm'\n",
        "[links]\ndelay = '18446744073709551615ps'\nrate = '18446744073709551615bps'\n",
        "[pfc]\nheadroom = '18446744073709551615 delays'\nalpha = '18446744073709551615'\n",
    ] {
        let loaded = load_fabric(text);
        assert!(loaded.value.is_none(), "{text}");
        assert!(!loaded.diagnostics.is_empty(), "{text}");
    }
}

/// A file with a few of its pieces replaced, removed, doubled or cut.
fn mutated(base: &'static str) -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("0"),
        Just("-1"),
        Just("\"\""),
        Just("99999999999"),
        Just("[]"),
        Just("{}"),
        Just("true"),
        Just("1e308"),
        Just("nan"),
        Just("\"1/0\""),
        Just("\"4096B\""),
        Just("\"400Gbps\""),
        Just("4294967295"),
        Just("\"auto\""),
        Just("1979-05-27"),
        Just("\"1s\""),
        Just("[[1]]"),
        Just("\"none\""),
        Just("7"),
        Just("'a s'"),
    ];
    let edit = (any::<prop::sample::Index>(), 0..5u8, token);
    prop::collection::vec(edit, 1..6).prop_map(move |edits| {
        let mut lines: Vec<String> = base.lines().map(str::to_owned).collect();
        for (index, action, token) in edits {
            let at = index.index(lines.len());
            match action {
                0 => {
                    lines.remove(at);
                }
                1 => lines.push(lines[at].clone()),
                2 => {
                    let half: String = lines[at].chars().take(lines[at].len() / 2).collect();
                    lines[at] = half;
                }
                _ => {
                    if let Some((key, _)) = lines[at].split_once('=') {
                        lines[at] = format!("{key}= {token}");
                    }
                }
            }
            if lines.is_empty() {
                break;
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_fabric_file_panics(text in prop_oneof![mutated(EXAMPLE), mutated(CUSTOM)]) {
        let loaded = load_fabric(&text);
        prop_assert!(loaded.value.is_some() || loaded.diagnostics.iter().any(Diagnostic::is_error));
        for diagnostic in &loaded.diagnostics {
            prop_assert!(diagnostic.span.end <= text.len());
            let _ = diagnostic.line(&text);
        }
        if let Some(setup) = loaded.value {
            let _ = crate::derived::Derived::of(&setup);
        }
    }

    #[test]
    fn no_scenario_file_panics(text in mutated(SCENARIO)) {
        let loaded = load_scenario(&text, EXAMPLE);
        prop_assert!(loaded.value.is_some() || loaded.diagnostics.iter().any(Diagnostic::is_error));
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]a-z0-9=\"'.\n{}, -]{0,200}") {
        let _ = load_fabric(&text);
        let _ = load_scenario(&text, &text);
    }
}

#[test]
fn marking_and_notifying_are_the_same_for_all_classes() {
    let head = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n";
    let sound =
        format!("{head}[ecn]\nmark = 'enqueue'\nnotify = 'switch'\nnotify-interval = '2us'\n");
    let loaded = load_fabric(&sound);
    let marking = loaded.value.expect("a fabric").fabric.marking;
    assert!(marking.at_enqueue);
    assert_eq!(marking.notify, Some(xoff_units::Span::from_us(2)));
    let wrong = [
        ("[ecn]\nnotify-interval = '2us'\n", "fabric 6: error", "notify = \"switch\""),
        ("[[class]]\nid = 3\necn = { mark = 'enqueue' }\n", "fabric 7: error", "in `[ecn]`"),
        (
            "[ecn]\nnotify = 'switch'\n[transport]\nnotification = 'echo-in-ack'\n",
            "fabric 6: error",
            "transport.notification",
        ),
        ("[ecn]\nmark = 'late'\n", "fabric 6: error", "enqueue"),
    ];
    for (text, place, cure) in wrong {
        let text = format!("{head}{text}");
        let found = lines(&load_fabric(&text).diagnostics, "", &text);
        let said = found.iter().any(|line| line.starts_with(place) && line.contains(cure));
        assert!(said, "{text}\n{found:#?}");
    }
}

#[test]
fn thresholds_that_move_have_bounds_and_a_pace() {
    let head = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n";
    let sound = load_fabric(&format!("{head}[ecn.adaptive]\ninterval = '1ms'\nlowest = '1/4'\n"));
    let adaptive = sound.value.expect("a fabric").fabric.adaptive.expect("a controller");
    assert_eq!(adaptive.interval, xoff_units::Span::from_ms(1));
    assert_eq!(adaptive.lowest, xoff_units::Ratio::new(1, 4));
    let off = load_fabric(&format!("{head}[ecn.adaptive]\nenabled = false\n"));
    assert_eq!(off.value.expect("a fabric").fabric.adaptive, None);
    let wrong = [
        ("[ecn.adaptive]\nlowest = 2\n", "fabric 6: error", "1/256"),
        ("[ecn.adaptive]\nhighest = 0.5\n", "fabric 6: error", "256"),
        ("[ecn.adaptive]\nutilisation = 1.2\n", "fabric 6: error", "0.95"),
        ("[ecn.adaptive]\nmarks = 0\n", "fabric 6: error", "0.05"),
        ("[ecn.adaptive]\ninterval = '0us'\n", "fabric 6: error", "500us"),
        ("[ecn.adaptive]\nquiet = 0\n", "fabric 6: error", "1 or more"),
        ("[ecn.adaptive]\nup = 100\n", "fabric 6: error", "at most 32"),
        ("[ecn.adaptive]\ninterval = '20us'\n", "fabric 6: error", "58us or more"),
        ("[ecn]\nenabled = false\n[ecn.adaptive]\n", "fabric 7: error", "turn ECN on"),
        ("[[class]]\nid = 3\necn = { adaptive = {} }\n", "fabric 7: error", "in `[ecn]`"),
        ("[switch.leaf.ecn]\nadaptive = {}\n", "fabric 6: error", "in `[ecn]`"),
    ];
    for (text, place, cure) in wrong {
        let text = format!("{head}{text}");
        let found = lines(&load_fabric(&text).diagnostics, "", &text);
        let said = found.iter().any(|line| line.starts_with(place) && line.contains(cure));
        assert!(said, "{text}\n{found:#?}");
    }
}

#[test]
fn queue_pairs_per_connection_have_bounds() {
    let base = "[cluster]\nhosts = 4\n[fabric]\nkind = 'single'\n";
    let of = |value: &str| load_fabric(&format!("{base}[transport]\nqueue-pairs = {value}\n"));
    assert_eq!(load_fabric(base).value.unwrap().fabric.queue_pairs, 1);
    assert_eq!(of("16").value.unwrap().fabric.queue_pairs, 16);
    for wrong in ["0", "129", "'4'", "1.5"] {
        let loaded = of(wrong);
        assert!(loaded.value.is_none(), "{wrong}");
        assert_eq!(loaded.diagnostics.len(), 1, "{wrong}: {:?}", loaded.diagnostics);
        assert_eq!(loaded.diagnostics[0].line(&format!("{base}[transport]\n")), 6, "{wrong}");
    }
}

#[test]
fn costs_of_collectives_are_named_or_given() {
    use crate::scenario::{CostName, CostSetting};
    use xoff_units::Span;
    let base = "[cluster]\nhosts = 4\n[fabric]\nkind = 'single'\n";
    let of = |text: &str| load_fabric(&format!("{base}{text}\n"));
    let costs = |text: &str| of(text).value.expect(text).fabric.collectives.clone();
    assert_eq!(costs("").cost, CostSetting::Named(CostName::Measured));
    assert_eq!(costs("[collectives]\ncost = 'none'").cost, CostSetting::Named(CostName::None));
    let roce = costs("[collectives]\nprofile = 'a100-infiniband'");
    assert_eq!(roce.channels, Some(8));
    let CostSetting::Own(values) = roce.cost else { panic!("{roce:?}") };
    assert_eq!(values.launch, Some(Span::from_ns(13_300)));
    let own = "[catalogue.collectives.ours]\ncost = { launch = '5us' }\n[collectives]\nprofile = 'ours'\nchannels = 4";
    let CostSetting::Own(values) = costs(own).cost else { panic!() };
    assert_eq!((values.launch, costs(own).channels), (Some(Span::from_us(5)), Some(4)));
    let wrong = [
        ("[collectives]\nprofile = 'a100-roc'", "a100-roce"),
        ("[collectives]\nprofile = 'h100'\ncost = 'none'", "leave one of them out"),
        ("[collectives]\ncost = 'fabric'", "`measured`, `none`"),
        ("[collectives]\nchannels = 65", "at most 64"),
        ("[collectives]\ncost = { copy-rate = '0Gbps' }", "188Gbps"),
        ("[catalogue.collectives.x]\ncost = { slice = '3s' }", "below 20us"),
    ];
    for (text, cure) in wrong {
        let loaded = of(text);
        let said = format!("{:?}", loaded.diagnostics);
        assert!(loaded.value.is_none() && said.contains(cure), "{text}\n{said}");
    }
}
