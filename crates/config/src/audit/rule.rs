//! The rules: what each is about, why it hurts and what cures it.

use xoff_fabric::Severity;

/// A rule of the audit.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name in reports, stable.
    pub id: &'static str,
    /// How bad a finding usually is.
    pub severity: Severity,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why it hurts.
    pub why: &'static str,
    /// What to do.
    pub cure: &'static str,
}

impl Rule {
    /// The rule as a page in Markdown: the one in `docs/rules`.
    pub fn page(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let Self { id, title, why, cure, .. } = self;
        format!(
            "# {id}\n\nUsually an {severity}: {title}.\n\n## Why it hurts\n\n{why}\n\n## What to do\n\n{cure}\n"
        )
        .replace("an warning", "a warning")
    }
}

macro_rules! rules {
    ($($name:ident = $severity:ident $id:literal: $title:literal, $why:literal, $cure:literal;)*) => {
        $(
            pub(super) static $name: Rule = Rule {
                id: $id,
                severity: Severity::$severity,
                title: $title,
                why: $why,
                cure: $cure,
            };
        )*

        /// All rules.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    NOT_APPLIED = Error "qos-not-applied":
        "a port that carries RoCE has no QoS",
        "Everything on this port is best effort and without pause: RoCE loses packets here as soon as \
         a queue fills, however well the rest of the fabric is configured.",
        "Apply the classification, queuing and PFC policy of the other ports to this one.";
    TRUST = Error "trust":
        "the port does not read DSCPs",
        "The class of a packet is taken from elsewhere (VLAN priority, port default), so RDMA data and \
         notifications are queued with everything else and PFC protects the wrong packets.",
        "Trust DSCP on every port that carries RoCE.";
    DATA_CLASS = Error "data-class":
        "the DSCP of RDMA data is in the wrong class",
        "Data that is lossless elsewhere is lossy here, or waits in a queue that no pause stops.",
        "Map the DSCP of RDMA data to the lossless class.";
    MIXED = Error "mixed-queue":
        "lossy traffic shares the lossless class or queue",
        "Other traffic fills the lossless buffer, causes pauses and is paused with it; RDMA flows \
         suffer from senders that react to neither marks nor pauses.",
        "Give the lossless class a queue and DSCPs of its own.";
    TENANTS = Error "tenants-shared":
        "tenants that are meant to be apart share a lossless queue or buffer",
        "A pause that one tenant causes stops the other, and the traffic of one fills the queue of the \
         other: the tenant that sends too much is no longer the only one that waits.",
        "Give each tenant the class, queue and priority group of the intent; or, if they may share, give \
         them one class in the fabric file.";
    PFC_ALL = Error "pfc-all-priorities":
        "PFC is on for all priorities",
        "Every class can stop the link: one slow receiver of any traffic pauses whole rows of \
         switches, and no class is left that can always move.",
        "Enable PFC for the lossless priority only.";
    PFC_EXTRA = Warning "pfc-extra":
        "PFC is on for more priorities than meant",
        "Every lossless priority takes headroom and can spread congestion; vendors' defaults have two.",
        "Disable PFC for priorities that carry no RDMA.";
    PFC_MISSING = Error "pfc-missing":
        "PFC is off where the class is lossless",
        "Nothing stops the sender when the buffer fills: the port drops, and go-back-N makes much of \
         every loss.",
        "Enable PFC for the lossless priority.";
    PFC_PRIORITY = Error "pfc-priority":
        "PFC is on for another priority than elsewhere",
        "Pauses name a priority that the peer does not stop: both ends look configured, and packets \
         are lost.",
        "Use one priority for RDMA on all devices.";
    PAUSE_GROUP = Error "pause-group":
        "the buffer of RDMA data sends no pause",
        "The priority group that RDMA data is charged to belongs to no priority with PFC, so it \
         overflows silently.",
        "Map the class and the PFC priority to the same priority group.";
    PAUSE_QUEUE = Error "pause-queue":
        "a received pause stops the wrong queue",
        "The queue of RDMA data goes on sending while another one is stopped.",
        "Map the PFC priority to the queue of the lossless class.";
    PAUSE_LINK = Error "pause-link":
        "the pause of one end does not stop the data of the other",
        "Along this cable the receiver asks for silence in a priority in which the sender has no \
         RDMA data.",
        "Make priority, queue and group maps agree at both ends.";
    ECN_MISSING = Error "ecn-missing":
        "the lossless queue does not mark",
        "Congestion control never hears of congestion: senders slow down only when pauses stop them, \
         and pauses spread.",
        "Configure ECN marking on the queue of RDMA data.";
    ECN_OFF = Error "ecn-off":
        "thresholds are set, but packets are dropped instead of marked",
        "Random early detection without ECN drops RDMA packets in a class that is meant to be \
         lossless.",
        "Turn ECN on in the profile.";
    ECN_ABOVE_XOFF = Warning "ecn-above-xoff":
        "marking may start after the pause",
        "An ingress that feeds a queue alone is paused before the queue is long enough to be marked. Marking \
         looks at an egress queue, which holds what several ingresses sent, and XOFF at one ingress: n \
         ingresses fill a queue to n times their XOFF, so marks come first from some number of ingresses on. \
         Below it PFC does the work of congestion control.",
        "Lower Kmin until two ingresses fill a queue so far, or raise alpha.";
    ECN_SPEED = Warning "ecn-speed":
        "the same thresholds at different speeds",
        "A threshold is a queueing time: what is right at 400G is four times as late at 100G.",
        "Scale the thresholds with the speed of the port.";
    ECN_DRIFT = Warning "ecn-drift":
        "thresholds differ from the intent",
        "Queues of one path mark at different lengths; flows get unequal shares.",
        "Restore the thresholds of the intent.";
    ECN_RANGE = Error "ecn-range":
        "marking ends below where it begins",
        "The device refuses the thresholds, or marks everything or nothing: congestion control is not told what it \
         needs to know.",
        "Set the maximum threshold above the minimum.";
    PMAX_ZERO = Error "pmax-zero":
        "marking has a probability of zero",
        "Nothing is marked until the queue is at its maximum threshold, and then everything is: senders hear of \
         congestion late and all at once.",
        "Set the marking probability of the fabric, 1 to 100 percent.";
    CNP_CLASS = Error "cnp-class":
        "notifications wait with RDMA data",
        "The packets that tell senders to slow down stand in the very queue that is too long.",
        "Give CNPs a class of their own.";
    CNP_TURN = Error "cnp-not-strict":
        "notifications have no strict queue",
        "CNPs wait behind other traffic; senders react late and congestion grows meanwhile.",
        "Make the queue of CNPs strict.";
    STRICT = Error "strict-starves":
        "a strict queue can starve RDMA",
        "What waits in it is always sent first, so that enough of it stops the lossless queue.",
        "Give the queue a weight.";
    SHARES = Error "weights-sum":
        "weights do not add up to 100 percent",
        "The device refuses the configuration or scales it to shares that were not chosen.",
        "Correct the weights.";
    SHARE_DRIFT = Warning "weights-drift":
        "weights differ from the intent",
        "RDMA gets another share of the link than planned when it is contended.",
        "Restore the weights of the intent.";
    HEADROOM_MISSING = Error "headroom-missing":
        "the lossless class has no headroom",
        "What is on its way when the pause is sent finds no buffer and is lost.",
        "Give the lossless priority group headroom for its cable.";
    HEADROOM_SMALL = Error "headroom-small":
        "headroom is too small for the cable",
        "A cable holds more in flight than the buffer beyond XOFF: every pause can lose packets.",
        "Size headroom from rate, length and MTU.";
    WATCHDOG = Warning "watchdog-missing":
        "no PFC watchdog",
        "One NIC that pauses forever stops the fabric behind it, and nothing ends it.",
        "Turn the PFC watchdog on.";
    WATCHDOG_ALERT = Warning "watchdog-alert-only":
        "the watchdog only raises an alert",
        "A stuck queue stays stuck until an operator acts on the alert.",
        "Let the watchdog drop or forward.";
    WATCHDOG_SLOW = Warning "watchdog-slow":
        "the watchdog waits for seconds",
        "A NIC that pauses without end stops the switches behind it within milliseconds; until the watchdog acts the \
         whole fabric may stand still.",
        "Let the watchdog act after 100 to 400 ms.";
    ALPHA_RANGE = Warning "alpha-range":
        "the buffer share of the lossless class is out of range",
        "With a very large alpha one congested port takes the whole buffer and other classes lose packets; with a very \
         small one every burst is paused.",
        "Use an alpha between 1/64 and 8, the same on all ports of a kind.";
    MTU_SMALL = Error "mtu-small":
        "the MTU is smaller than RDMA packets",
        "Packets of the configured RDMA MTU do not pass; connections come up and then hang.",
        "Raise the MTU above the largest RDMA packet.";
    MTU_LINK = Error "mtu-mismatch":
        "the two ends of a cable have different MTUs",
        "Large packets pass in one direction and vanish in the other.",
        "Set the same MTU at both ends.";
    MTU_DRIFT = Warning "mtu-drift":
        "the MTU differs from the intent",
        "Headroom and neighbours are sized for another one.",
        "Restore the MTU of the intent.";
    NIC_DSCP = Error "nic-data-dscp":
        "the NIC writes another DSCP into RDMA data",
        "The fabric treats its data as best effort: it is dropped under load while all switches are \
         configured well.",
        "Set the traffic class of the NIC to the DSCP of RDMA data.";
    NCCL = Error "nccl-traffic-class":
        "NCCL asks for another traffic class",
        "What NCCL says comes before the NIC's default: collectives leave the lossless class.",
        "Set NCCL_IB_TC to the ToS byte of RDMA data.";
    NCCL_MISSING = Warning "nccl-unset":
        "NCCL has no traffic class",
        "Queue pairs that bypass the NIC's default go out as best effort.",
        "Set NCCL_IB_TC in the environment of jobs.";
    NCCL_GID = Error "nccl-gid-index":
        "NCCL uses an address that is not RoCEv2, or is not routed",
        "The index chooses the entry of a NIC's address table, and with it the protocol. RoCEv1 frames have no IP \
         header: no router forwards them, no switch marks them, and their class is not that of a DSCP. An address of the link \
         (`fe80::`) is not routed between leaves.",
        "Set NCCL_IB_GID_INDEX to a RoCEv2 entry over IP (`show_gids` lists them), or leave it out: NCCL from 2.21 on \
         finds one itself.";
    NIC_CNP = Error "nic-cnp-dscp":
        "the NIC sends CNPs with another DSCP than the switches expect",
        "Notifications are queued as best effort and arrive late, or not at all; each device alone \
         looks right.",
        "Set cnp_dscp of the NIC to the DSCP of the CNP class.";
    NIC_CONTROL = Error "nic-congestion-control":
        "congestion control is off for the priority of RDMA",
        "Marked packets cause no notifications, or notifications do not slow the sender.",
        "Enable roce_np and roce_rp for the priority.";
    NIC_RANGE = Warning "nic-congestion-range":
        "a parameter of the NIC's congestion control is out of its range",
        "Outside of what the algorithm is made for it does not react, or never recovers: senders keep their rate \
         until pauses stop them, or stay slow after congestion is gone.",
        "Restore the value that the firmware ships with, or one within the range.";
    CABLE_MISMATCH = Error "cable-mismatch":
        "a cable leads elsewhere than planned",
        "Routes, rails and headroom are made for the cables of the plan. A NIC on the wrong rail sends through the \
         spines what should stay on its leaf, a pair of devices with a cable less is congested while another is idle.",
        "Move the cables that the finding names to the ports where the plan has them; or, if they are meant to be \
         like that, correct the fabric file or the list of cables.";
    CABLE_MISSING = Warning "cable-missing":
        "a cable of the plan is not seen",
        "The neighbour tables of the device were collected and show nothing at this port: the cable is not plugged in, \
         broken, or the other end is off or does not speak LLDP.",
        "Check link and LLDP at both ends of the cables that the finding names, and plug in what is missing.";
    STALE = Warning "description-stale":
        "the description of a port contradicts LLDP, or the fabric file",
        "At the next fault somebody will pull the cable that the description names.",
        "Correct the description, or move the cable to where the description has it.";
    BALANCING = Warning "balancing-missing":
        "dynamic load balancing is off",
        "Few large flows hashed onto equal paths collide: some links are full and others idle.",
        "Enable dynamic load balancing as on the other switches.";
    VERSIONS = Warning "versions-differ":
        "devices of one kind run different software",
        "Defaults and buffer models change between versions: the same configuration is not the same \
         behaviour.",
        "Bring devices of one kind to one version.";
    TUNNEL_CLASS = Error "tunnel-class":
        "the outer header of a tunnel loses the class of RDMA data",
        "Switches between the two ends of a tunnel see the outer header only. With another DSCP there, RDMA data \
         waits with other traffic, is not paused and is lost when a queue fills, though every port is configured as \
         it should be.",
        "Copy the DSCP to the outer header, or write one that is in the lossless class: `vxlan qos dscp propagation \
         encapsulation` or `qos map traffic-class N to dscp` on EOS, `nv set nve vxlan encapsulation dscp action copy` on \
         Cumulus Linux, `dscp_mode` or `encap_tc_to_dscp_map` in SONiC's `TUNNEL`.";
    TUNNEL_MARKS = Warning "tunnel-marks":
        "tunnels lose the marks of RDMA data",
        "A packet whose outer header says that its sender does not know marks is not marked but dropped, or \
         only paused; a mark that is not copied back reaches no NIC. Senders then go on at full rate until pauses \
         stop them.",
        "Carry marks to the outer header and back, as RFC 6040 describes: `vxlan qos ecn propagation` on EOS. \
         SONiC and Cumulus Linux do so by themselves.";
    GUARD = Warning "roce-unguarded":
        "no access list on RoCE where others have one",
        "Packets to UDP port 4791 from outside reach queue pairs; RoCE itself checks little.",
        "Apply the access list for UDP port 4791 here, too.";
    DRIFT = Warning "intent-drift":
        "a setting differs from the intent",
        "Traffic is treated differently here than on the neighbours, or than it was planned and validated.",
        "Restore the settings of the fabric file, or change the fabric file and approve it.";
    FLEET_DRIFT = Warning "fleet-drift":
        "a setting differs from that of most devices of its kind",
        "Ports that do the same job are configured differently: one of them is wrong, or the difference is wanted and \
         nothing says so.",
        "Configure the port as the others of its kind, or describe the fabric in a fabric file.";
    MALFORMED = Warning "value-unreadable":
        "a statement about RoCE has a value that cannot be read",
        "The device may refuse the statement, or mean something by it that was not checked.",
        "Correct the value.";
    UNDEFINED = Warning "undefined-name":
        "a profile, map or policy is used that is not defined",
        "The device refuses the statement, or leaves the port with its defaults.",
        "Define it, or use one that is defined.";
    TRUNCATED = Error "truncated":
        "the text of a device is cut off",
        "What stands behind the cut was not read: what is missing there looks like a mistake, and what is wrong there is \
         not found.",
        "Collect the configuration again, whole; turn paging off, and look at limits of lines and time.";
    NOTHING_CHECKED = Warning "nothing-checked":
        "nothing was checked",
        "What was not checked may be wrong: no finding here does not mean that all is well.",
        "Collect the whole running configuration; if it is there, give a fabric file that says which ports carry RoCE.";
    NOT_IN_FABRIC = Warning "not-in-fabric":
        "a device is not in the fabric file",
        "It was compared with nothing: if it carries RoCE, nobody knows whether it does so as meant.",
        "Add the device to the fabric file, or leave its configuration out.";
    NOT_SEEN = Warning "not-seen":
        "no configuration of a device",
        "What was not seen was not checked.",
        "Collect the configuration of this device.";
}
