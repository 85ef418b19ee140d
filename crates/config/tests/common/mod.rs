//! Fabrics for tests.

#![allow(dead_code, reason = "every test uses its own part")]

use proptest::prelude::*;
use xoff_config::Facts;
use xoff_config::device::{Balancing, Device};
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;
use xoff_fabric::{FabricSetup, load_fabric};

/// Two leaves, two spines, four servers with two NICs each; a watchdog; two speeds.
pub(crate) const POD: &str = "
[cluster]
gpus = 8
gpus-per-server = 2
nic = 'connectx-7'

[fabric]
kind = 'leaf-spine'
leaf = 'tomahawk-5'
leaves = 2
spines = 2

[switch.watchdog]
detect = '200ms'
restore = '400ms'

[links.host]
rate = '400Gbps'
length = '5m'

[links.leaf-spine]
rate = '800Gbps'
length = '40m'
";

/// What is added to [`POD`] for two tenants that are meant to be apart.
pub(crate) const TENANTS: &str = "
[[class]]
id = 4
lossless = true

[[tenant]]
name = 'research'

[[tenant]]
name = 'serving'
class = 4
";

pub(crate) fn setup(file: &str) -> FabricSetup {
    match load_fabric(file).into_result() {
        Ok(setup) => setup,
        Err(found) => panic!("{file}\n{found:#?}"),
    }
}

/// The intent for devices that run what they run; switches that are not among them run SONiC.
pub(crate) fn intent_for(setup: &FabricSetup, balancing: Balancing, devices: &[Device]) -> Intent {
    Intent::running(setup, balancing, devices, |_| SystemId::Sonic)
}

pub(crate) fn facts_of(system: SystemId) -> Vec<Facts> {
    let intent = Intent::with(&setup(POD), Choices::all(system));
    intent.devices.iter().map(Facts::of).collect()
}

/// Fabric files with all that configurations depend on drawn at random.
pub(crate) fn fabric_files() -> impl Strategy<Value = String> {
    let silicon = prop::sample::select(vec!["tomahawk-5", "spectrum-4", "generic", "tomahawk-4"]);
    let rates = (
        prop::sample::select(vec![100u64, 200, 400]),
        prop::sample::select(vec![100u64, 200, 400]),
    );
    let cables = (1u64..400, 1u64..60);
    let pause = prop_oneof![
        3 => (1u64..64, 1u64..64).prop_map(|(a, b)| format!("alpha = '{a}/{b}'")),
        1 => (200u64..2_000).prop_map(|k| format!("xoff = '{k}KB'")),
    ];
    let offset = (0u64..50_000).prop_map(|b| format!("xon-offset = '{b}B'"));
    let marking = (1u64..100_000, 1u64..200_000, 1u64..=1000, any::<bool>()).prop_map(
        |(kmin, more, pmax, scale)| {
            let kmax = kmin + more;
            format!("kmin = '{kmin}B'\nkmax = '{kmax}B'\npmax = '{pmax}/1000'\nscale = {scale}")
        },
    );
    let watchdog = prop::option::of((
        1u64..10_000,
        1u64..100_000,
        prop::sample::select(vec!["drop", "forward"]),
    ));
    let mtu = 4_300u64..=9_216;
    let pool = prop::option::of(1u64..8);
    let head = (silicon, rates, cables, pause, offset, marking);
    (head, watchdog, mtu, pool, classes()).prop_map(
        |((silicon, rates, cables, pause, offset, marking), watchdog, mtu, pool, classes)| {
            let watchdog = watchdog.map_or(String::new(), |(detect, restore, action)| {
                format!(
                    "[switch.watchdog]\ndetect = '{detect}ms'\nrestore = '{restore}ms'\n\
                     action = '{action}'\n"
                )
            });
            let pool = pool.map_or(String::new(), |mb| format!("headroom-pool = '{mb}MB'\n"));
            format!(
                "[cluster]\ngpus = 4\ngpus-per-server = 2\n[fabric]\nkind = 'leaf-spine'\n\
                 leaf = '{silicon}'\nleaves = 2\nspines = 2\n[switch]\nmtu = '{mtu}B'\n{pool}\
                 {watchdog}[links.host]\nrate = '{}Gbps'\nlength = '{}m'\n[links.leaf-spine]\n\
                 rate = '{}Gbps'\nlength = '{}m'\n[pfc]\n{pause}\n{offset}\n[ecn]\n{marking}\n\
                 {classes}",
                rates.0, cables.1, rates.1, cables.0
            )
        },
    )
}

/// Data and notification classes anywhere, with DSCPs and turns of their own.
fn classes() -> impl Strategy<Value = String> {
    let pair = (0usize..8, 1usize..8).prop_map(|(data, step)| (data, (data + step) % 8));
    let dscps = prop::sample::subsequence((0u8..64).collect::<Vec<_>>(), 4);
    let turns = prop::collection::vec(
        prop_oneof![(1u32..200).prop_map(|weight| weight.to_string()), Just("'strict'".to_owned()),],
        2,
    );
    let reserved = prop::option::of(0u64..40_000);
    (pair, dscps, turns, reserved, any::<bool>()).prop_map(
        |((data, cnp), dscps, turns, reserved, apart)| {
            let reserved = reserved.map_or(String::new(), |b| format!("reserved = '{b}B'\n"));
            let cnp_class = if apart { cnp.to_string() } else { "'data'".to_owned() };
            let quiet = if data == 3 { String::new() } else if cnp == 3 { "lossless = false\n".to_owned() } else {
                "[[class]]\nid = 3\nlossless = false\n".to_owned()
            };
            let (own, other) = if cnp == 3 { (quiet, String::new()) } else { (String::new(), quiet) };
            format!(
                "[traffic]\ndata = {data}\ncnp = {cnp_class}\n[[class]]\nid = {data}\nlossless = true\n\
                 dscp = [{}, {}]\nscheduling = {}\n{reserved}[[class]]\nid = {cnp}\n\
                 dscp = [{}, {}]\nscheduling = {}\n{own}{other}",
                dscps[0], dscps[1], turns[0], dscps[2], dscps[3], turns[1]
            )
        },
    )
}
