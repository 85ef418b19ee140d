use super::*;
use crate::device::PortName;
use crate::qos::{Levels, Trust};
use xoff_fabric::load_fabric;
use xoff_fabric::model::Scheduling;

fn setup(text: &str) -> FabricSetup {
    load_fabric(text).into_result().expect("a good file")
}

const POD: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'leaf-spine'\nleaf = 'spectrum-4'\n\
                   leaves = 2\nspines = 2\n";

#[test]
fn the_intent_has_the_values_of_the_fabric() {
    let setup = setup(POD);
    let intent = Intent::with(&setup, Choices::all(SystemId::Sonic));
    assert_eq!(intent.agreement.data_dscp.map(Dscp::get), Some(26));
    assert_eq!(intent.agreement.cnp_dscp.map(Dscp::get), Some(48));
    assert_eq!(intent.agreement.lossless.unwrap().to_string(), "3");
    let leaf = intent.device("leaf0").unwrap();
    let port = &leaf.ports[&PortName::new("Ethernet0")];
    let first = setup.fabric.switches[0].ports.start as usize;
    let model = &setup.fabric.ports[first].classes[3];
    assert_eq!(port.groups[3].headroom.get(), Some(model.headroom));
    assert_eq!(port.groups[3].threshold.get(), Some(model.threshold));
    let wred = port.queues[3].wred.get().unwrap();
    assert_eq!(wred.levels, Levels::Sizes(model.ecn.unwrap()));
    assert_eq!(port.queues[6].scheduling.get(), Some(Scheduling::Strict));
    assert_eq!(port.trust.get(), Some(Trust::Dscp));
    assert_eq!(port.maps.group_of(Dscp::new(0).unwrap()).map(|g| g.get()), Some(0));
}

#[test]
fn cages_split_and_cables_join_named_ports() {
    let setup = setup(POD);
    let intent = Intent::with(&setup, Choices::all(SystemId::Eos));
    // 400G links on 800G cages: two per cage.
    let leaf = intent.device("leaf0").unwrap();
    let names: Vec<&str> = leaf.ports.keys().map(PortName::as_str).collect();
    assert_eq!(names[..3], ["Ethernet1/1", "Ethernet1/5", "Ethernet2/1"]);
    assert_eq!(intent.links.len(), setup.fabric.cables.len());
    let first = &intent.links[0];
    assert_eq!(first.ends[0].device, "server0");
    assert_eq!(first.ends[0].port.as_str(), "mlx5_0");
    assert_eq!(first.headroom[0], None);
    assert!(first.headroom[1].is_some());
}

#[test]
fn hosts_write_what_switches_read() {
    let setup = setup(POD);
    let intent = Intent::with(&setup, Choices::all(SystemId::NxOs));
    let host = intent.device("server1").unwrap();
    assert_eq!(host.ports.len(), 8);
    let nic = &host.ports[&PortName::new("mlx5_7")];
    assert_eq!(nic.nic.data_dscp.get().map(Dscp::get), Some(26));
    assert_eq!(nic.nic.notifies.get().unwrap().to_string(), "3");
    assert_eq!(host.nccl.traffic_class.get(), Some(106));
    assert_eq!(nic.mtu.get(), Some(Bytes::new(9000)));
}

/// A NIC each on the ports of one switch, which have these names.
fn star(ports: &[&str]) -> FabricSetup {
    let mut file = "[fabric]\nkind = 'custom'\nleaf = 'tomahawk-5'\n\
                    [[node]]\nname = 'leaf'\nkind = 'switch'\n"
        .to_owned();
    for (number, name) in ports.iter().enumerate() {
        file += &format!(
            "[[node]]\nname = 'n{number}'\nkind = 'nic'\nserver = 'box'\n\
             [[link]]\nends = 'leaf n{number}'\nports = ['{name}']\n"
        );
    }
    setup(&file)
}

#[test]
fn generated_names_avoid_given_ones() {
    let named = |ports: &[&str], system: SystemId| -> Vec<String> {
        let names = port_names(&star(ports), system);
        let (hosts, switch) = names.split_at(ports.len());
        let pairs = switch.iter().zip(hosts);
        pairs.map(|(a, b)| format!("{} {}", a.port.as_str(), b.port.as_str())).collect()
    };
    let none = named(&["- -"; 3], SystemId::Eos);
    assert_eq!(none, ["Ethernet1/1 mlx5_0", "Ethernet1/5 mlx5_1", "Ethernet2/1 mlx5_2"]);
    // Cages of which a port is named are left alone, however they are broken out.
    let some = named(&["- -", "Ethernet2/3 MLX5_0", "- mlx5_7", "- -"], SystemId::Eos);
    assert_eq!(
        some,
        ["Ethernet1/1 mlx5_1", "Ethernet2/3 MLX5_0", "Ethernet1/5 mlx5_7", "Ethernet3/1 mlx5_3"]
    );
    let some = named(&["ethernet8 mlx5_1", "- -", "- -", "- -"], SystemId::Sonic);
    assert_eq!(
        some,
        ["ethernet8 mlx5_1", "Ethernet0 mlx5_2", "Ethernet4 mlx5_3", "Ethernet16 mlx5_4"]
    );
}

/// Each of several ports of a server's NICs is a device of its own.
#[test]
fn nics_with_two_ports_have_two_names() {
    let file =
        "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\nhoming = 'dual'\n";
    let intent = Intent::with(&setup(file), Choices::all(SystemId::Eos));
    let names = intent.device("server0").unwrap().ports.keys().map(PortName::as_str);
    assert!(names.eq((0..16).map(|number| format!("mlx5_{number}")).collect::<Vec<_>>()));
}
