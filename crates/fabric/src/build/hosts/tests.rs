use crate::load::load_fabric;
use crate::model::{Fabric, NicId};
use xoff_units::{PacketRate, Rate, Span};

const BASE: &str = "[cluster]\ngpus = 8\ngpus-per-server = 2\nnic = 'connectx-7'\n\
                    [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";

fn fabric(text: &str) -> Fabric {
    let loaded = load_fabric(&format!("{BASE}{text}"));
    assert!(loaded.value.is_some(), "{text}: {:#?}", loaded.diagnostics);
    loaded.value.unwrap().fabric
}

#[test]
fn single_nics_take_in_less_than_others() {
    let fabric = fabric(
        "[nic.receive]\nrate = '300Gbps'\n\
         [[host]]\nservers = ['server1']\nreceive = { rate = '100Gbps', buffer = '1MiB' }\n\
         [[host]]\nnics = ['server1-nic1']\npacket-rate = '50Mpps'\n\
         [[host]]\nnics = ['server2-nic0']\npcie = { slot = 'gen4 x8' }\n\
         receive = { rate = '200Gbps' }\n",
    );
    let rates: Vec<u64> =
        fabric.nics.iter().map(|nic| nic.receive.unwrap().rate.bps() / 1_000_000_000).collect();
    assert_eq!(rates[..4], [300, 300, 100, 100]);
    assert!(rates[4] < 200, "the slot is slower than what the file allows: {}", rates[4]);
    assert_eq!(fabric.nics[3].receive.unwrap().packet, Span::from_ns(20));
    assert_eq!(fabric.nics[3].packet_rate, Some(PacketRate::from_pps(50_000_000)));
    assert_eq!(fabric.nics[2].packet_rate, None);
}

#[test]
fn a_packet_rate_alone_limits_packets_and_not_bytes() {
    let fabric = fabric("[nic]\npacket-rate = '100Mpps'\n");
    let limit = fabric.nics[0].receive.unwrap();
    assert_eq!((limit.rate, limit.packet), (Rate::from_gbps(400), Span::from_ns(10)));
    let dual = format!("{BASE}homing = 'dual'\n[nic]\npacket-rate = '100Mpps'\n");
    let dual = load_fabric(&dual).value.unwrap().fabric;
    let limit = dual.nics[0].receive.unwrap();
    // Two ports share what the NIC handles.
    assert_eq!((limit.rate, limit.packet), (Rate::from_gbps(200), Span::from_ns(20)));
}

#[test]
fn nics_that_write_another_dscp_are_warned_about_once() {
    let text = format!(
        "{BASE}[[host]]\nservers = ['server0', 'server1']\ndscp = {{ data = 24 }}\n\
         [[class]]\nid = 6\ndscp = [48, 50]\n[nic.dscp]\ncnp = 50\n"
    );
    let loaded = load_fabric(&text);
    let [found] = &loaded.diagnostics[..] else { panic!("{:#?}", loaded.diagnostics) };
    assert_eq!(&text[found.span.clone()], "24");
    assert!(found.message.contains("puts them into class 0 (best-effort)"), "{found}");
    assert!(found.message.contains("PFC does not protect"), "{found}");
    assert!(found.help.as_ref().is_some_and(|help| help.contains("write DSCP 26")), "{found}");
    let fabric = loaded.value.unwrap().fabric;
    let data: Vec<u8> = fabric.nics.iter().map(|nic| nic.dscp[3]).collect();
    assert_eq!(data, [24, 24, 24, 24, 26, 26, 26, 26]);
    assert!(fabric.nics.iter().all(|nic| nic.dscp[6] == 50));
}

#[test]
fn nonsense_about_nics_is_refused_where_it_is() {
    for (text, shown) in [
        ("[nic]\npacket-rate = '0pps'\n", "'0pps'"),
        ("[nic]\npacket-rate = '200Mbps'\n", "'200Mbps'"),
        ("[nic]\npacket-rate = 200\n", "200"),
        ("[nic.dscp]\ndata = 64\n", "64"),
        ("[[host]]\nservers = [0]\nreceive = { rate = '0Gbps' }\n", "'0Gbps'"),
        ("[[host]]\nservers = [9]\npacket-rate = '1Mpps'\n", "9"),
        ("[[host]]\nservers = [0]\n", "[[host]]"),
        ("[traffic]\ncnp = 'data'\n[nic.dscp]\ncnp = 48\n", "48"),
    ] {
        let text = format!("{BASE}{text}");
        let loaded = load_fabric(&text);
        assert!(loaded.value.is_none(), "{text}");
        let shows = |found: &crate::Diagnostic| &text[found.span.clone()] == shown;
        assert!(loaded.diagnostics.iter().any(shows), "{text}: {:#?}", loaded.diagnostics);
    }
}

#[test]
fn rails_are_known_where_the_design_has_them() {
    let rails = |fabric: &Fabric| fabric.nics.iter().map(|nic| nic.rail).collect::<Vec<_>>();
    let pod = fabric("");
    assert_eq!(rails(&pod), [0, 1, 0, 1, 0, 1, 0, 1].map(Some));
    assert!(pod.off_rail().is_empty());
    let plain = load_fabric(&BASE.replace("'rail'", "'leaf-spine'")).value.unwrap().fabric;
    assert_eq!(rails(&plain), [None; 8]);
    let mut miswired = pod.overlay();
    let ports = |nic: usize| {
        (pod.nics[nic].ports.start, pod.ports[pod.nics[nic].ports.start as usize].peer)
    };
    let port = |nic| (crate::model::PortId(ports(nic).0), ports(nic).1);
    miswired.swap(port(0), port(1)).unwrap();
    assert_eq!(miswired.finish().off_rail(), [NicId(0), NicId(1)]);
}

const CUSTOM: &str = "[fabric]\nkind = 'custom'\n\
    [[node]]\nname = 'a0'\nkind = 'nic'\nserver = 'a'\nrail = 0\n\
    [[node]]\nname = 'a1'\nkind = 'nic'\nserver = 'a'\nrail = 1\n\
    [[node]]\nname = 'b0'\nkind = 'nic'\nserver = 'b'\nrail = 0\n\
    [[node]]\nname = 'b1'\nkind = 'nic'\nserver = 'b'\nrail = 1\n\
    [[node]]\nname = 'c0'\nkind = 'nic'\nserver = 'c'\nrail = 0\n\
    [[node]]\nname = 's0'\nkind = 'switch'\n[[node]]\nname = 's1'\nkind = 'switch'\n\
    [[link]]\nends = 'a0 s0'\n[[link]]\nends = 'b0 s0'\n[[link]]\nends = 'a1 s1'\n\
    [[link]]\nends = 'b1 s0'\n[[link]]\nends = 'c0 s0'\n[[link]]\nends = 's0 s1'\n";

#[test]
fn a_custom_fabric_may_say_which_rail_is_meant() {
    let custom = load_fabric(CUSTOM).value.unwrap().fabric;
    assert_eq!(custom.nics.iter().map(|n| n.rail).collect::<Vec<_>>(), [0, 1, 0, 1, 0].map(Some));
    let strange: Vec<&str> =
        custom.off_rail().iter().map(|nic| custom.nics[nic.index()].name.as_str()).collect();
    assert_eq!(strange, ["b1"]);
    let twice = CUSTOM.replacen("rail = 1", "rail = 0", 1);
    let found = load_fabric(&twice).diagnostics;
    assert!(found[0].message.contains("two NICs on rail 0"), "{found:?}");
    let switch = CUSTOM
        .replace("name = 's1'\nkind = 'switch'\n", "name = 's1'\nkind = 'switch'\nrail = 1\n");
    let loaded = load_fabric(&switch);
    assert!(loaded.value.is_none() && loaded.diagnostics[0].message.contains("is a switch"));
}

#[test]
fn two_servers_of_one_name_are_refused() {
    let text = CUSTOM.replace(
        "name = 'c0'\nkind = 'nic'\nserver = 'c'\nrail = 0\n",
        "name = 'c0'\nkind = 'nic'\n",
    );
    assert!(load_fabric(&text).value.is_some());
    let text = text.replace("server = 'b'", "server = 'c0-server'");
    let loaded = load_fabric(&text);
    assert!(loaded.value.is_none());
    let found = &loaded.diagnostics[0];
    assert!(found.message.contains("two servers called `c0-server`"), "{found}");
    assert_eq!(&text[found.span.clone()], "'c0'");
}
