//! Inventories as people have them, and the mistakes in them.

use super::*;

fn ok(name: &str, text: &str) -> Inventory {
    read(name, text, &Defaults::default()).unwrap_or_else(|found| panic!("{name}: {found:#?}"))
}

fn mistakes(name: &str, text: &str) -> Vec<String> {
    let found = read(name, text, &Defaults::default()).expect_err("mistakes");
    for mistake in &found {
        assert!(!mistake.cure.is_empty(), "{mistake:?}");
        assert!(mistake.line as usize <= text.lines().count(), "{mistake:?}");
    }
    found.iter().map(|mistake| format!("{}: {}", mistake.line, mistake.message)).collect()
}

/// `name=address system user@:port via jump with identity`.
fn shown(inventory: &Inventory) -> Vec<String> {
    let one = |target: &Target| {
        let mut text = format!("{}={} {}", target.name, target.address, target.system);
        let port = target.port.map(|port| port.to_string());
        for (word, value) in [
            (" user ", &target.user),
            (" port ", &port),
            (" via ", &target.jump),
            (" with ", &target.identity),
        ] {
            if let Some(value) = value {
                text += &format!("{word}{value}");
            }
        }
        text
    };
    inventory.targets.iter().map(one).collect()
}

#[test]
fn ours() {
    let text = "[defaults]\nuser = \"ops\"\njump = \"me@bastion:2222\"\n\n[group.leaf]\nsystem = \"eos\"\nport = 830\n\n\
                [[device]]\nname = \"leaf[0:1]\"\ngroup = \"leaf\"\n\n[[device]]\nname = \"hgx1\"\naddress = \"2001:db8::7\"\n\
                system = \"host\"\nuser = \"root\"\nidentity = \"~/.ssh/k\"\n";
    let inventory = ok("i.toml", text);
    assert_eq!(
        shown(&inventory),
        [
            "leaf0=leaf0 eos user ops port 830 via me@bastion:2222",
            "leaf1=leaf1 eos user ops port 830 via me@bastion:2222",
            "hgx1=2001:db8::7 host user root via me@bastion:2222 with ~/.ssh/k",
        ]
    );
    assert_eq!(inventory.targets[2].line, 14);
    // The ending is not needed.
    assert_eq!(ok("inventory", text).form, Form::Ours);
}

#[test]
fn mistakes_in_ours() {
    for (text, expected) in [
        ("[[device]]\nsystem = \"eos\"\n", "1: a device has no name"),
        ("[[device]]\nname = \"a\"\n", "2: `a`: what it runs is not said"),
        ("[[device]]\nname = \"a\"\nsystem = \"ios\"\n", "3: `a`: there is no system `ios`"),
        ("[[device]]\nname = \"a\"\nsystem = \"eos\"\nprot = 22\n", "4: `prot` is not known here"),
        ("[[device]]\nname = \"a\"\nsystem = \"eos\"\nport = 0\n", "4: `a`: `0` is no port"),
        (
            "[[device]]\nname = \"a\"\nsystem = \"eos\"\ngroup = \"x\"\n",
            "4: `a`: there is no such group",
        ),
        (
            "[[device]]\nname = \"-oProxyCommand=x\"\nsystem = \"eos\"\n",
            "2: `-oProxyCommand=x` cannot be the name",
        ),
        (
            "[[device]]\nname = \"a\"\nsystem = \"eos\"\naddress = \"-v\"\n",
            "4: `a`: `-v` is no address",
        ),
        (
            "[[device]]\nname = \"a\"\nsystem = \"eos\"\nuser = \"-l\"\n",
            "4: `a`: `-l` cannot be a user",
        ),
        (
            "[[device]]\nname = \"a\"\nsystem = \"eos\"\njump = \"b;id\"\n",
            "4: `a`: jump: `b;id` is no address",
        ),
        (
            "[[device]]\nname = \"a\"\nsystem = \"eos\"\naddress = true\n",
            "4: `address` says nothing",
        ),
        ("[[device]\n", "1: "),
        ("[devices]\nx = 1\n", "1: `devices` is not known here"),
        ("# nothing\n", "0: no device in this TOML inventory"),
        ("device = 3\n", "1: `device` is no list"),
    ] {
        let found = mistakes("i.toml", text);
        assert!(found[0].starts_with(expected), "{text}: {found:#?}");
    }
    let twice =
        "[[device]]\nname = \"a\"\nsystem = \"eos\"\n[[device]]\nname = \"A\"\nsystem = \"eos\"\n";
    assert_eq!(mistakes("i.toml", twice), ["5: `A` is there already, on line 2"]);
}

#[test]
fn ansible_ini() {
    let text = "# fabric\nbastion ansible_network_os=linux\n\n[leafs]\nleaf[01:02] ansible_user='net ops'\nleaf03:2222 \
                ansible_host=10.0.0.3  # the odd one\n\n[spines]\nspine0 ansible_host=10.0.1.1 ansible_port=22 rack=\"a b\"\n\n\
                [leafs:vars]\nansible_network_os = arista.eos.eos\nansible_password=hush\n\n[fabric:children]\nleafs\nspines\n\n\
                [fabric:vars]\nansible_network_os=cisco.nxos.nxos\nansible_user=admin\n\
                ansible_ssh_common_args='-o ProxyJump=bastion'\n";
    let text = text.replace("'net ops'", "'netops'");
    let inventory = ok("hosts", &text);
    assert_eq!(inventory.form, Form::AnsibleIni);
    assert_eq!(
        shown(&inventory),
        [
            "bastion=bastion host",
            "leaf01=leaf01 eos user netops via bastion",
            "leaf02=leaf02 eos user netops via bastion",
            "leaf03=10.0.0.3 eos user admin port 2222 via bastion",
            "spine0=10.0.1.1 nx-os user admin port 22 via bastion",
        ]
    );
    assert!(inventory.notes[0].contains("ansible_password (1)"), "{:?}", inventory.notes);
}

#[test]
fn mistakes_in_ansible_ini() {
    for (text, expected) in [
        ("[a]\nleaf0 ansible_host\n", "2: `ansible_host` is no variable"),
        ("[a]\nleaf0 x='y\n", "2: a quotation mark has no end"),
        ("[a:hosts]\nleaf0\n", "1: there is no section `[a:hosts]`"),
        ("[a]\nleaf0 ansible_network_os={{ nos }}\n", "2: ansible_network_os is a template"),
        ("[a:children]\nb\n[b:children]\na\n", "0: group `a` is a child of itself"),
        ("[a]\nleaf[0:999999]\n", "2: more than 100000 devices"),
        ("[a]\nleaf[9:0]\n", "2: `leaf[9:0]`: `[9:0]` is no range"),
        ("[a]\n", "0: no device in this Ansible inventory (INI)"),
        (
            "[a]\nleaf0 ansible_host=$(id) ansible_network_os=eos\n",
            "2: `leaf0`: `$(id)` is no address",
        ),
    ] {
        let found = mistakes("i.ini", text);
        assert!(found.iter().any(|one| one.starts_with(expected)), "{text}: {found:#?}");
    }
}

#[test]
fn ansible_yaml() {
    let text = "---\nall:\n  vars:\n    ansible_user: admin   # everybody\n    ntp:\n      - 10.0.0.1\n      - {a: b}\n    motd: |\n      hello: \
                world\n    secret: !vault |\n      $ANSIBLE_VAULT;1.1\n  children:\n    leafs:\n      hosts:\n        leaf0:\n          \
                ansible_host: \"10.0.0.10\"\n        leaf[1:2]: {ansible_port: 2222, note: 'a, b'}\n      vars:\n        \
                ansible_network_os: nvidia.nvue\n        ansible_connection: ssh\n    spines:\n      hosts:\n        spine0:\n          \
                ansible_user: root\n        spine1: {}\n      vars:\n        ansible_network_os: dellemc.os10.os10\n        \
                ansible_connection: httpapi\n        ansible_port: 443\nhosts_of_gpus:\n  hosts:\n    hgx1: ~\n  vars: \
                {ansible_network_os: linux}\n";
    let inventory = ok("inventory.yml", text);
    assert_eq!(
        shown(&inventory),
        [
            "leaf0=10.0.0.10 cumulus user admin",
            "leaf1=leaf1 cumulus user admin port 2222",
            "leaf2=leaf2 cumulus user admin port 2222",
            "spine0=spine0 os10 user root",
            "spine1=spine1 os10 user admin",
            "hgx1=hgx1 host user admin",
        ]
    );
    assert!(inventory.notes[0].contains("ansible_port of 2 devices"), "{:?}", inventory.notes);
    assert_eq!(ok("hosts", text).form, Form::AnsibleYaml);
}

#[test]
fn mistakes_in_ansible_yaml() {
    for (text, expected) in [
        ("all:\n  hosts:\n    - leaf0\n", "2: `hosts` of `all` is no table"),
        ("all:\n  hosts:\n\t  leaf0:\n", "3: a tab indents this line"),
        ("all:\n  hosts:\n    leaf0: &a\n", "3: anchors and aliases"),
        ("all:\n  hosts:\n    leaf0:\n      <<: *a\n", "4: anchors and aliases"),
        ("all:\n  host:\n    leaf0:\n", "2: group `all` has no `host`"),
        ("all:\n  hosts:\n    leaf0: {ansible_host: 1\n", "3: this `{` cannot be read"),
        ("all:\n  hosts:\n    leaf0: 10.0.0.1\n", "3: `leaf0` has a value"),
        ("all:\n  hosts:\n    leaf0:\n    leaf0:\n", "4: `leaf0` is there already, on line 3"),
        ("all:\n", "0: no device in this Ansible inventory (YAML)"),
        ("just words\n", "1: `just words` is no key"),
    ] {
        let found = mistakes("i.yml", text);
        assert!(found[0].starts_with(expected), "{text}: {found:#?}");
    }
    let json = mistakes("inventory", "{\"_meta\": {}}");
    assert!(json[0].contains("JSON"), "{json:?}");
}

#[test]
fn lists_and_csv() {
    let list = "# rack 1\nleaf0 eos\nleaf[1:2] nxos user=admin port=2200 # two\n\nhgx1 host address=10.1.0.1\n";
    let list = ok("devices.txt", list);
    assert_eq!(
        shown(&list),
        [
            "leaf0=leaf0 eos",
            "leaf1=leaf1 nx-os user admin port 2200",
            "leaf2=leaf2 nx-os user admin port 2200",
            "hgx1=10.1.0.1 host",
        ]
    );
    let csv = "\u{feff}Hostname,Mgmt IP,Platform,Site\r\nleaf0,10.0.0.1/24,Arista EOS,\"a, b\nc\"\r\n\r\n\"leaf1\",,cumulus-linux\r\n";
    let csv = ok("export.csv", csv);
    assert_eq!(shown(&csv), ["leaf0=10.0.0.1 eos", "leaf1=leaf1 cumulus"]);
    assert_eq!(csv.targets[1].line, 5);
    assert_eq!(csv.notes, ["columns that are not used: Site"]);
    assert_eq!(shown(&ok("x", "name;system\na;sonic\n")), ["a=a sonic"]);
    assert_eq!(mistakes("x.csv", "a,b\n1,2\n"), ["1: no column is called `name`"]);
    assert_eq!(mistakes("x.csv", "name,system\na,eos,,x\n"), ["2: 4 cells under 2 headings"]);
    assert_eq!(mistakes("x.csv", "name,host\na,b\n"), ["1: two columns say the same of a device"]);
    assert_eq!(mistakes("x", "leaf0 eos 10.0.0.1\n"), ["1: `leaf0`: `10.0.0.1` is too much"]);
    assert_eq!(mistakes("x", "\n"), ["0: no device in this list of devices"]);
    assert_eq!(mistakes("x", "a\0b\n"), ["0: this is not text"]);
}

#[test]
fn defaults_and_check_lists() {
    let defaults = Defaults { system: Some(SystemId::JunosSet), user: Some("ops".to_owned()) };
    let inventory = read("x", "leaf0.dc1\nleaf1 eos user=me\n", &defaults).unwrap();
    assert_eq!(
        shown(&inventory),
        ["leaf0.dc1=leaf0.dc1 junos user ops", "leaf1=leaf1 eos user me"]
    );
    let wanted = ["leaf0", "LEAF1", "leaf2", "spine0"];
    assert_eq!(missing(&inventory.targets, wanted.into_iter()), ["leaf2", "spine0"]);
    let alike = ok("x", "h.a host\nh.b host\n");
    assert!(alike.notes[0].contains("`h` up to the first dot"), "{:?}", alike.notes);
}

#[test]
fn systems_by_every_name() {
    for (name, system) in [
        ("arista.eos.eos", SystemId::Eos),
        ("EOS", SystemId::Eos),
        ("cisco.nxos.nxos", SystemId::NxOs),
        ("nxos", SystemId::NxOs),
        ("junipernetworks.junos.junos", SystemId::Junos),
        ("junos-set", SystemId::Junos),
        ("dellemc.os10.os10", SystemId::Os10),
        ("nvidia.nvue", SystemId::Cumulus),
        ("cumulus_yaml", SystemId::Cumulus),
        ("dellemc.enterprise_sonic.sonic", SystemId::Sonic),
        ("sonic", SystemId::Sonic),
        ("picos", SystemId::PicOs),
        ("Ubuntu", SystemId::Host),
    ] {
        assert_eq!(system_named(name), Ok(system), "{name}");
    }
    assert!(system_named("ios").unwrap_err().contains("nx-os"));
    assert!(system_named("").is_err());
}
