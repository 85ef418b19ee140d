use super::*;
use crate::load_scenario;

const POD: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";

fn pod() -> Fabric {
    Fabric::from_toml(POD).unwrap()
}

/// The first port of the first switch, and the class of RDMA data.
fn place(fabric: &Fabric) -> (PortId, ClassId) {
    (PortId(fabric.switches[0].ports.start), fabric.data_class)
}

#[test]
fn an_overlay_leaves_its_fabric_alone() {
    let fabric = pod();
    let (port, class) = place(&fabric);
    let mut overlay = fabric.overlay();
    overlay.class(port, class, |rules| rules.ecn = None).unwrap();
    let edited = overlay.finish();
    let ecn = |fabric: &Fabric| fabric.ports[port.index()].classes[usize::from(class.0)].ecn;
    assert!(ecn(&fabric).is_some() && ecn(&edited).is_none());
}

#[test]
fn impossible_edits_are_refused_and_change_nothing() {
    let fabric = pod();
    let (port, class) = place(&fabric);
    let mut overlay = fabric.overlay();
    let ecn = Ecn { kmin: Bytes::new(2), kmax: Bytes::new(1), pmax: xoff_units::Ratio::ONE };
    let edit = overlay.class(port, class, |rules| rules.ecn = Some(ecn));
    assert_eq!(edit, Err(Flaw::Marking(ecn)));
    let edit = overlay.class(port, class, |rules| rules.scheduling = Scheduling::Weighted(0));
    assert_eq!(edit, Err(Flaw::Weight));
    assert_eq!(overlay.class(port, ClassId(8), |_| ()), Err(Flaw::Class(8)));
    let buffer = overlay.switches[0].buffer;
    let edit = overlay.class(port, class, |rules| rules.headroom = buffer);
    assert!(matches!(edit, Err(Flaw::Buffer { .. })), "{edit:?}");
    let memory = fabric.packet_memory(&fabric.switches[0]);
    let all = memory.headroom + memory.reserved;
    assert_eq!(overlay.switch(SwitchId(0), |switch| switch.buffer = all), Ok(()));
    let short = all - Bytes::new(1);
    assert!(overlay.switch(SwitchId(0), |switch| switch.buffer = short).is_err());
    let edit = overlay.switch(SwitchId(0), |switch| switch.dscp_to_class[9] = ClassId(9));
    assert_eq!(edit, Err(Flaw::Class(9)));
    let two = xoff_units::Ratio::new(2, 1);
    assert_eq!(overlay.cable(CableId(0), |cable| cable.loss = two), Err(Flaw::Share));
    let edited = overlay.finish();
    assert_eq!(edited.ports[port.index()].classes, fabric.ports[port.index()].classes);
    assert_eq!(edited.switches[0].dscp_to_class, fabric.switches[0].dscp_to_class);
    assert!(edited.cables[0].loss.is_zero());
}

#[test]
#[should_panic(expected = "an edit moved a switch")]
fn an_overlay_does_not_move_ports() {
    let _ = pod().overlay().switch(SwitchId(0), |switch| switch.ports.end += 1);
}

#[test]
fn what_is_wired_wrong_is_found() {
    let broken = |edit: fn(&mut Model)| {
        let mut model = (*pod()).clone();
        edit(&mut model);
        std::panic::catch_unwind(|| Fabric::new(model)).is_err()
    };
    assert!(!broken(|_| ()));
    assert!(broken(|model| model.ports[0].peer = PortId(1)));
    assert!(broken(|model| model.ports[0].cable = CableId(7)));
    assert!(broken(|model| model.ports[0].node = NodeId(1)));
    assert!(broken(|model| model.nics[0].ports.end += 1));
    assert!(broken(|model| model.nics[0].server = ServerId(1)));
    assert!(broken(|model| model.servers[0].nics.end -= 1));
    assert!(broken(|model| model.cables.push(model.cables[0].clone())));
    assert!(broken(|model| {
        let via = PortId(model.switches[1].ports.start);
        model.static_routes = vec![StaticRoute { at: SwitchId(0), to: NicId(0), via }];
    }));
}

#[test]
fn overrides_can_be_laid_over_a_fabric_that_is_built() {
    let scenario = "fabric = 'a.toml'\n[[workload]]\nkind = 'permutation'\nsize = '1MB'\n\
                    [[fault]]\nkind = 'miscabling'\n\
                    links = ['server0-nic0 leaf0', 'server0-nic1 leaf1']\n\
                    [override.transport]\ntimeout = '3ms'\n";
    let setup = load_scenario(scenario, POD).value.unwrap().setup;
    let keys = "[transport]\ncongestion = { kind = 'none' }\n".parse().unwrap();
    let changed = setup.overridden(&keys).unwrap();
    let qp = &changed.fabric.nics[0].qp;
    assert_eq!(qp.congestion, xoff_transport::config::Congestion::None);
    assert_eq!(qp.timeout, Span::from_ms(3), "what lay over the file before stays");
    let peers = |fabric: &Fabric| fabric.ports.iter().map(|port| port.peer).collect::<Vec<_>>();
    assert_eq!(peers(&changed.fabric), peers(&setup.fabric), "cables stay swapped");
    assert_ne!(peers(&changed.fabric), peers(&pod()));
    assert!(setup.overridden(&"[transport]\ntimeout = 'soon'\n".parse().unwrap()).is_err());
}
