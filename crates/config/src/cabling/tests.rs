use super::*;
use proptest::prelude::*;

/// The cables of a text in words, and how many lines were not understood.
fn read(text: &str) -> (Vec<String>, usize) {
    let mut cables = Cables::default();
    cables.add(scan(file(), text), "me");
    let end = |end: &End| format!("{} {}", end.device, end.ports.join("|"));
    let all = cables.cables.iter().map(|c| format!("{} - {}", end(&c.ends[0]), end(&c.ends[1])));
    (all.collect(), cables.remarks.len())
}

fn file() -> FileId {
    crate::Files::default().add("x", "")
}

#[track_caller]
fn check(text: &str, cables: &[&str]) {
    let (found, remarks) = read(text);
    assert_eq!(found, cables);
    assert_eq!(remarks, 0, "{text}");
}

#[test]
fn tables_of_eos() {
    check(
        "leaf1#show lldp neighbors\n\
         Last table change time   : 0:12:33 ago\n\
         Number of table inserts  : 33\n\n\
         Port          Neighbor Device ID       Neighbor Port ID    TTL\n\
         ---------- ------------------------ ---------------------- ---\n\
         Et1/1         spine1.example.net       Ethernet1/1         120\n\
         Et2/1         spine2                   Ethernet1/1         120\n\
         Et33/1        gpu-01                   0c42.a101.0203      120\n\
         leaf1#show version\n",
        &[
            "leaf1 Et1/1 - spine1.example.net Ethernet1/1",
            "leaf1 Et2/1 - spine2 Ethernet1/1",
            "leaf1 Et33/1 - gpu-01 0c42.a101.0203",
        ],
    );
    check(
        "Port       Neighbor Device ID                     Neighbor Port ID   TTL\n\
         Et1        a-very-long-name.of-a-spine.in.a.long.domain.example.net Ethernet1 120\n",
        &["me Et1 - a-very-long-name.of-a-spine.in.a.long.domain.example.net Ethernet1"],
    );
}

#[test]
fn blocks_of_eos() {
    check(
        "Interface Ethernet1/1 detected 1 LLDP neighbors:\n\n\
         \x20 Neighbor 001c.7301.0203/\"Ethernet5/1\", age 10 seconds\n\
         \x20 Discovered 2 days, 1:02:03 ago\n\
         \x20 - Chassis ID type: MAC address (4)\n\
         \x20   Chassis ID     : 001c.7301.0203\n\
         \x20 - Port ID type: Interface name(5)\n\
         \x20   Port ID     : \"Ethernet5/1\"\n\
         \x20 - Time To Live: 120 seconds\n\
         \x20 - Port Description: \"leaf1 Ethernet1/1\"\n\
         \x20 - System Name: \"spine1.example.net\"\n\n\
         Interface Ethernet2/1 detected 0 LLDP neighbors:\n\n\
         Interface Ethernet3/1 detected 1 LLDP neighbors:\n\n\
         \x20 - Chassis ID type: MAC address (4)\n\
         \x20   Chassis ID     : 001c.7301.0209\n\
         \x20 - Port ID type: Interface name(5)\n\
         \x20   Port ID     : \"Ethernet6/1\"\n",
        &[
            "me Ethernet1/1 - spine1.example.net Ethernet5/1|leaf1 Ethernet1/1",
            "me Ethernet3/1 - 001c.7301.0209 Ethernet6/1",
        ],
    );
}

#[test]
fn tables_and_blocks_of_nxos() {
    check(
        "leaf1# show lldp neighbors\n\
         Capability codes:\n\
         \x20 (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n\
         \x20 (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n\
         Device ID            Local Intf      Hold-time  Capability  Port ID  \n\
         spine1               Eth1/1          120        BR          Ethernet1/1\n\
         gpu01                Eth1/2          120                    0c42.a101.0203\n\
         a-spine-with-a-long-name.example.net\n\
         \x20                    Eth1/3          120        BR          Ethernet1/7\n\
         Total entries displayed: 3\n",
        &[
            "leaf1 Eth1/1 - spine1 Ethernet1/1",
            "leaf1 Eth1/2 - gpu01 0c42.a101.0203",
            "leaf1 Eth1/3 - a-spine-with-a-long-name.example.net Ethernet1/7",
        ],
    );
    check(
        "Chassis id: 5254.0011.2233\nPort id: Ethernet1/1\nLocal Port id: Eth1/1\n\
         Port Description: to leaf1\nSystem Name: spine1\nSystem Description: Cisco Nexus\n\
         Time remaining: 100 seconds\nVlan ID: not advertised\n\n\
         Chassis id: 5254.0011.2234\nPort id: Ethernet1/4\nLocal Port id: Eth1/2\n\
         Port Description: null\nSystem Name: not advertised\n\nTotal entries displayed: 2\n",
        &["me Eth1/1 - spine1 Ethernet1/1|to leaf1", "me Eth1/2 - 5254.0011.2234 Ethernet1/4"],
    );
}

#[test]
fn tables_and_blocks_of_junos() {
    check(
        "{master:0}\nadmin@leaf1> show lldp neighbors \n\
         Local Interface    Parent Interface    Chassis Id          Port info          System Name\n\
         et-0/0/0           -                   ec:3e:f7:00:00:01   et-0/0/1           spine1\n\
         et-0/0/1:0         ae0                 ec:3e:f7:00:00:02   to leaf1           spine2\n",
        &["leaf1 et-0/0/0 - spine1 et-0/0/1", "leaf1 et-0/0/1:0 - spine2 to leaf1"],
    );
    check(
        "LLDP Neighbor Information:\nLocal Information:\n\
         Index: 1 Time to live: 120 Time mark: Wed Nov 4 12:00:00 2026 Age: 16 secs\n\
         Local Interface    : et-0/0/0\nParent Interface   : -\nLocal Port ID      : 512\n\
         Ageout Count       : 0\n\nNeighbour Information:\nChassis type       : Mac address\n\
         Chassis ID         : ec:3e:f7:00:00:01\nPort type          : Locally assigned\n\
         Port ID            : 515\nPort description   : et-0/0/1\nSystem name        : spine1\n\n\
         LLDP Neighbor Information:\nLocal Information:\nLocal Interface    : et-0/0/2\n\
         Neighbour Information:\nChassis ID         : ec:3e:f7:00:00:02\nPort ID            : et-0/0/9\n",
        &["me et-0/0/0 - spine1 515|et-0/0/1", "me et-0/0/2 - ec:3e:f7:00:00:02 et-0/0/9"],
    );
}

#[test]
fn tables_and_blocks_of_os10() {
    check(
        "OS10# show lldp neighbors\n\
         Loc PortID          Rem Host Name        Rem Port Id         Rem Chassis Id\n\
         ----------------------------------------------------------------------------\n\n\
         ethernet1/1/1       spine1               ethernet1/1/2       4c:76:25:00:00:01\n\
         ethernet1/1/2       -                    24:8a:07:b9:d8:10   24:8a:07:b9:d8:10\n\
         ethernet1/1/3       a-rather-long-name...ethernet1/1/4       4c:76:25:00:00:02\n",
        &[
            "OS10 ethernet1/1/1 - spine1 ethernet1/1/2",
            "OS10 ethernet1/1/2 - 24:8a:07:b9:d8:10 24:8a:07:b9:d8:10",
            "OS10 ethernet1/1/3 - a-rather-long-name... ethernet1/1/4",
        ],
    );
    check(
        "    Remote Chassis ID Subtype: Mac address (4)\n    Remote Chassis ID: 4c:76:25:00:00:01\n\
         \x20   Remote Port Subtype: Interface name (5)\n    Remote Port ID: ethernet1/1/2\n\
         \x20   Remote Port Description: leaf1\n    Local Port ID: ethernet1/1/1\n\
         \x20   Remote TTL: 120\n    Remote System Name: spine1\n\
         ---------------------------------------\n\
         \x20   Remote Chassis ID Subtype: Mac address (4)\n    Remote Chassis ID: 4c:76:25:00:00:02\n\
         \x20   Remote Port ID: ethernet1/1/3\n    Local Port ID: ethernet1/1/5\n",
        &[
            "me ethernet1/1/1 - spine1 ethernet1/1/2|leaf1",
            "me ethernet1/1/5 - 4c:76:25:00:00:02 ethernet1/1/3",
        ],
    );
}

#[test]
fn tables_of_sonic_cumulus_and_picos() {
    check(
        "admin@leaf1:~$ show lldp table\nCapability codes: (R) Router, (B) Bridge, (O) Other\n\
         LocalPort    RemoteDevice    RemotePortID     Capability    RemotePortDescr\n\
         -----------  --------------  ---------------  ------------  -----------------\n\
         Ethernet0    spine1          Ethernet8        BR            leaf1\n\
         Ethernet8    gpu01           0c:42:a1:00:00:01               eth2\n\
         --------------------------------------------------\nTotal entries displayed:  2\n",
        &[
            "leaf1 Ethernet0 - spine1 Ethernet8|leaf1",
            "leaf1 Ethernet8 - gpu01 0c:42:a1:00:00:01|eth2",
        ],
    );
    check(
        "cumulus@leaf01:mgmt:~$ nv show interface lldp\n\
         Interface  Speed  Type  Remote Host      Remote Port      \n\
         ---------  -----  ----  ---------------  -----------------\n\
         eth0       1G     eth   oob-mgmt-switch  swp10            \n\
         swp1       400G   swp   server01         48:b0:2d:76:ee:8e\n\
         swp51      400G   swp   spine01          swp1             \n",
        &[
            "leaf01 eth0 - oob-mgmt-switch swp10",
            "leaf01 swp1 - server01 48:b0:2d:76:ee:8e",
            "leaf01 swp51 - spine01 swp1",
        ],
    );
    check(
        "LocalPort  Speed  Mode        RemoteHost     RemotePort\n\
         ---------  -----  ----------  -------------  ----------\n\
         swp51      100G   NotConfigured  spine01        swp1\n\
         swp52      100G   BGP Unnumbered  spine02        swp1\n",
        &["me swp51 - spine01 swp1", "me swp52 - spine02 swp1"],
    );
    check(
        "Interface    Chassis Id          Port Id      System Name\n\
         te-1/1/1     60:eb:69:00:00:01   te-1/1/49    spine1\n",
        &["me te-1/1/1 - spine1 te-1/1/49"],
    );
}

const PLAIN: &str = "\
root@gpu01:~# lldpcli show neighbors
-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    eth2, via: LLDP, RID: 1, Time: 0 day, 00:00:30
  Chassis:
    ChassisID:    mac 00:11:22:33:44:55
    SysName:      leaf1.example.net
    SysDescr:     Arista Networks EOS version 4.30
    Capability:   Bridge, on
  Port:
    PortID:       ifname Ethernet1/1
    PortDescr:    gpu01
    TTL:          120
-------------------------------------------------------------------------------
Interface:    eth3, via: LLDP, RID: 2, Time: 0 day, 00:00:30
  Chassis:
    ChassisID:    mac 00:11:22:33:44:66
    SysName:      leaf2
  Port:
    PortID:       local 515
-------------------------------------------------------------------------------
";

#[test]
fn lldpd_in_all_its_forms() {
    check(PLAIN, &["gpu01 eth2 - leaf1.example.net Ethernet1/1|gpu01", "gpu01 eth3 - leaf2 515"]);
    check(
        "lldp.eth2.via=LLDP\nlldp.eth2.rid=1\nlldp.eth2.chassis.mac=00:11:22:33:44:55\n\
         lldp.eth2.chassis.name=leaf1\nlldp.eth2.port.ifname=swp1\nlldp.eth2.port.descr=gpu01\n\
         lldp.eth2.via=LLDP\nlldp.eth2.chassis.name=leaf9\nlldp.eth2.port.mac=00:11:22:33:44:99\n",
        &["me eth2 - leaf1 swp1|gpu01", "me eth2 - leaf9 00:11:22:33:44:99"],
    );
    check(
        r#"{"lldp": {"interface": [
             {"eth2": {"via": "LLDP", "chassis": {"leaf1": {"id": {"type": "mac", "value": "00:11"}}},
                       "port": {"id": {"type": "ifname", "value": "swp1"}, "descr": "to gpu"}}},
             {"eth3": {"chassis": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}},
                       "port": {"id": {"type": "mac", "value": "00:11:22:33:44:56"}}}}]}}"#,
        &["me eth2 - leaf1 swp1|to gpu", "me eth3 - 00:11:22:33:44:55 00:11:22:33:44:56"],
    );
    check(
        r#"{"lldp": {"interface": {"eth2": {"chassis": {"leaf1": {"id": {"value": "x"}}},
             "port": {"id": {"value": "swp1"}}}}}}"#,
        &["me eth2 - leaf1 swp1"],
    );
    check(
        r#"{"lldp": [{"interface": [{"name": "eth2", "via": "LLDP",
             "chassis": [{"id": [{"type": "mac", "value": "x"}], "name": [{"value": "leaf1"}]}],
             "port": [{"id": [{"type": "ifname", "value": "swp1"}], "descr": [{"value": "swp1"}]}]}]}]}"#,
        &["me eth2 - leaf1 swp1|swp1"],
    );
}

#[test]
fn json_of_switches() {
    check(
        "leaf1#show lldp neighbors | json\n{\n \"lldpNeighbors\": [\n  {\"port\": \"Ethernet1/1\", \
         \"neighborDevice\": \"spine1\", \"neighborPort\": \"Ethernet3/1\", \"ttl\": 120}]}\n",
        &["leaf1 Ethernet1/1 - spine1 Ethernet3/1"],
    );
    check(
        r#"{"lldpNeighbors": {"Ethernet1/1": {"lldpNeighborInfo": [{"chassisId": "0:1",
             "systemName": "spine1", "neighborInterfaceInfo": {"interfaceId": "\"Ethernet3/1\"",
             "interfaceDescription": "leaf1"}}]}, "Ethernet2/1": {"lldpNeighborInfo": []}}}"#,
        &["me Ethernet1/1 - spine1 Ethernet3/1|leaf1"],
    );
    check(
        r#"{"neigh_hdr": "x", "TABLE_nbor": {"ROW_nbor": [{"chassis_type": "7",
             "chassis_id": "spine1", "l_port_id": "Eth1/1", "port_id": "Ethernet1/2"}]}}"#,
        &["me Eth1/1 - spine1 Ethernet1/2"],
    );
    check(
        r#"{"TABLE_nbor_detail": {"ROW_nbor_detail": {"chassis_id": "0011.2233.4455",
             "l_port_id": "Eth1/1", "port_id": "Ethernet1/2", "port_desc": "x", "sys_name": "spine1"}}}"#,
        &["me Eth1/1 - spine1 Ethernet1/2|x"],
    );
    check(
        r#"{"lldp-neighbors-information": [{"lldp-neighbor-information": [{
             "lldp-local-port-id": [{"data": "et-0/0/0"}], "lldp-remote-port-id": [{"data": "515"}],
             "lldp-remote-port-description": [{"data": "et-0/0/1"}],
             "lldp-remote-system-name": [{"data": "spine1"}]}]}]}"#,
        &["me et-0/0/0 - spine1 515|et-0/0/1"],
    );
    check(
        r#"{"swp1": {"lldp": {"neighbor": {"spine01": {"port": {"name": "swp3"}}}}}, "lo": {}}"#,
        &["me swp1 - spine01 swp3"],
    );
}

#[test]
fn lists_of_cables() {
    check(
        "cable,leg,network,from_rack,from_unit,from_device,from_port,from_label,to_rack,to_unit,\
         to_device,to_port,to_label,rail,rate,lanes,length_m,part,from_end,from_form,to_end,to_form\n\
         H00001,,compute,r1,3,server0-nic0,1,x,r1,40,leaf0,1/1,y,0,400Gbps,4 x 100G,3,dac,,,,\n",
        &["server0-nic0 1 - leaf0 1/1"],
    );
    check(
        "\"Device A\";\"Interface A\";\"Device B\";\"Interface B\"\n\
         leaf1;\"Ethernet1/1\";spine1;Ethernet1/1\n",
        &["leaf1 Ethernet1/1 - spine1 Ethernet1/1"],
    );
    for heading in [
        "a_device,a_port,b_device,b_port",
        "side_a_device,side_a_name,side_b_device,side_b_name",
        "Source Switch,Source Port,Destination Switch,Destination Port",
        "device1,port1,device2,port2",
        "A-End Device,A-End Port,B-End Device,B-End Port",
        "device,port,peer_device,peer_port",
        "source,source_port,destination,destination_port",
        "switch,interface,neighbor,neighbor_interface",
        "Device A,Termination A,Device B,Termination B",
        "termination_a_device,termination_a_name,termination_b_device,termination_b_name",
    ] {
        check(
            &format!("# exported\n{heading}\nleaf1,swp1,spine1,swp2\n"),
            &["leaf1 swp1 - spine1 swp2"],
        );
    }
    check("from,to\nleaf1:swp1,spine1:swp2\n", &["leaf1 swp1 - spine1 swp2"]);
    let (found, remarks) = read("a_device,a_port,b_device,b_port\nleaf1,swp1\n\"x,y,z\n,,,\n");
    assert_eq!((found.len(), remarks), (0, 3));
}

#[test]
fn cables_of_netbox() {
    let new = r#"{"count": 1, "results": [{"id": 1,
        "a_terminations": [{"object_type": "dcim.interface",
           "object": {"device": {"id": 4, "name": "leaf1"}, "name": "Ethernet1/1"}}],
        "b_terminations": [{"object": {"device": {"name": "spine1"}, "name": "Ethernet1/2"}}]}]}"#;
    check(new, &["leaf1 Ethernet1/1 - spine1 Ethernet1/2"]);
    let old = r#"[{"id": 1, "termination_a": {"device": {"name": "leaf1"}, "name": "swp1"},
        "termination_b": {"device": {"name": "spine1"}, "name": "swp2"}},
        {"id": 2, "termination_a": {"name": "panel"}, "termination_b": null}]"#;
    assert_eq!(read(old), (vec!["leaf1 swp1 - spine1 swp2".to_owned()], 1));
}

#[test]
fn a_configuration_around_a_table_stays() {
    let text = "leaf1#show running-config\nhostname leaf1\n!\ninterface Ethernet1/1\n   mtu 9214\n!\nend\n\
                leaf1#show lldp neighbors\n\
                Port          Neighbor Device ID       Neighbor Port ID    TTL\n\
                Et1/1         spine1                   Ethernet1/1         120\n";
    let scan = scan(file(), text);
    let rest = scan.rest.expect("a table");
    assert_eq!(rest.lines().count(), text.lines().count());
    assert!(rest.contains("mtu 9214") && !rest.contains("spine1"), "{rest}");
    assert!(super::scan(file(), "hostname leaf1\ninterface Ethernet1/1\n").is_empty());
}

#[test]
fn a_row_that_is_not_understood_is_remarked() {
    let (found, remarks) = read(
        "Port          Neighbor Device ID       Neighbor Port ID    TTL\n\
         Et1/1         spine1                   Ethernet1/1         120\n\
         % the rest was lost somewhere on the way here, and nobody knows where it went\n",
    );
    assert_eq!((found.len(), remarks), (1, 1));
}

#[test]
fn devices_of_prompts_and_files() {
    let device = |line: &str| {
        let text = format!("{line}\nlldp.eth2.chassis.name=x\n");
        read(&text).0.first().map(|cable| cable.split(' ').next().unwrap_or("").to_owned())
    };
    for line in [
        "leaf1#show lldp neighbors",
        "leaf1(config)# show lldp neighbors",
        "leaf1> show lldp neighbors",
        "admin@leaf1:~$ lldpctl -f keyvalue",
        "cumulus@leaf1:mgmt:~$ sudo lldpctl",
        "[root@leaf1 ~]# lldpctl",
        "root@leaf1:/etc# lldpctl",
    ] {
        assert_eq!(device(line).as_deref(), Some("leaf1"), "{line}");
    }
    assert_eq!(device("echo 3 > /sys/x").as_deref(), Some("me"));
    for (path, name) in [
        ("lab/leaf1-lldp-neighbors.json", "leaf1"),
        ("lab/lldp_gpu-01.txt", "gpu-01"),
        ("lab/leaf1/lldp.txt", "leaf1"),
        ("leaf1.example.net.txt", "leaf1.example.net"),
        ("leaf1.lldp.json", "leaf1"),
        ("show_lldp.txt", ""),
    ] {
        assert_eq!(device_of_file(path), name, "{path}");
    }
}

#[test]
fn names_of_nics() {
    let mut cables = Cables::default();
    let text = "root@gpu1:~# ibdev2netdev\nmlx5_0 port 1 ==> eth2 (Up)\nroot@gpu1:~# rdma link\n\
                link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev eth3\nnic mlx5_2 eth4\n";
    cables.add(scan(file(), text), "me");
    let all: Vec<_> = cables.interfaces.iter().map(|i| (&*i.device, &*i.nic, &*i.name)).collect();
    assert_eq!(
        all,
        [("gpu1", "mlx5_0", "eth2"), ("gpu1", "mlx5_1", "eth3"), ("gpu1", "mlx5_2", "eth4")]
    );
}

#[test]
fn names_that_mean_the_same() {
    assert!(same_device("leaf1.example.net", "LEAF1"));
    assert!(!same_device("leaf1.example.net", "leaf1.example.org"));
    assert!(!same_device("leaf1", "leaf10"));
    assert!(!same_device("10.0.0.1", "10"));
    let eos = |name| port_key(crate::SystemId::Eos, name);
    assert_eq!(eos("Et1/1"), eos("Ethernet1/1"));
    assert_eq!(eos("Ethernet 1/1"), eos("eth1/1"));
    assert_ne!(eos("Ethernet1/1"), eos("Ethernet1/11"));
    assert_ne!(eos("Management1"), eos("Ethernet1"));
    let sonic = |name| port_key(crate::SystemId::Sonic, name);
    assert_ne!(sonic("eth0"), sonic("Ethernet0"));
    let junos = |name| port_key(crate::SystemId::Junos, name);
    assert_eq!(junos("et-0/0/0.0"), junos("et-0/0/0"));
    assert_ne!(junos("et-0/0/0:1"), junos("et-0/0/0"));
    let picos = |name| port_key(crate::SystemId::PicOs, name);
    assert_ne!(picos("xe-1/1/1.2"), picos("xe-1/1/1"));

    let mut names = Names::default();
    for (index, name) in
        ["leaf1", "leaf2.a.net", "leaf2.b.net", "gpu-with-a-long-name"].iter().enumerate()
    {
        names.add(name, index);
    }
    assert_eq!(names.find("Leaf1.any.net"), Some(0));
    assert_eq!(names.find("leaf2.b.net"), Some(2));
    assert_eq!(names.find("leaf2"), None);
    assert_eq!(names.find("leaf2.c.net"), None);
    assert_eq!(names.find("gpu-with-a..."), Some(3));
    assert_eq!(names.find("leaf..."), None);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(Port  |Neighbor Device ID  |Neighbor Port ID  |TTL|---- |lldp\\.a\\.via=|[{}\\[\\]\",:]|\
                               \"lldp\"|\"interface\"|Interface: |Chassis id: |Local Port id: |a_device,a_port,b_device,b_port|\
                               leaf1# |é|\\PC|\\n| ){0,60}") {
        let scan = scan(file(), &text);
        if let Some(rest) = &scan.rest {
            prop_assert_eq!(rest.lines().count(), text.lines().count());
        }
        let lines = text.lines().count() as u32;
        for cable in &scan.found.cables {
            prop_assert!(cable.place.first >= 1 && cable.place.last <= lines.max(1));
        }
    }
}
