//! Names of tables and fields, as SONiC's YANG models have them.

/// Tables that are read.
pub(super) const KNOWN: [&str; 21] = [
    "ACL_RULE",
    "BUFFER_PG",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_QUEUE",
    "CABLE_LENGTH",
    "DEVICE_METADATA",
    "DEVICE_NEIGHBOR",
    "DOT1P_TO_TC_MAP",
    "DSCP_TO_TC_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "PFC_WD",
    "PORT",
    "PORT_QOS_MAP",
    "QUEUE",
    "SCHEDULER",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "VERSIONS",
    "WRED_PROFILE",
];

/// Other tables that tell a `config_db.json` from any JSON.
pub(super) const OTHERS: [&str; 20] = [
    "BGP_NEIGHBOR",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "CRM",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "DEVICE_NEIGHBOR_METADATA",
    "DSCP_TO_FC_MAP",
    "EXP_TO_FC_MAP",
    "FEATURE",
    "FLEX_COUNTER_TABLE",
    "INTERFACE",
    "LOOPBACK_INTERFACE",
    "LOSSLESS_TRAFFIC_PATTERN",
    "MGMT_INTERFACE",
    "PORTCHANNEL",
    "PORTCHANNEL_INTERFACE",
    "PORTCHANNEL_MEMBER",
    "TC_TO_DSCP_MAP",
    "VLAN_INTERFACE",
    "VLAN_MEMBER",
    "VXLAN_TUNNEL",
];

/// Fields of tables whose readers look for those they need.
pub(super) const FIELDS: [(&str, &[&str]); 7] = [
    ("BUFFER_PG", &["profile"]),
    ("BUFFER_POOL", &["type", "mode", "size", "xoff", "percentage"]),
    (
        "BUFFER_PROFILE",
        &[
            "pool",
            "size",
            "xon",
            "xon_offset",
            "xoff",
            "dynamic_th",
            "static_th",
            "headroom_type",
            "packet_discard_action",
        ],
    ),
    ("BUFFER_QUEUE", &["profile"]),
    (
        "DEVICE_NEIGHBOR",
        &["name", "port", "type", "mgmt_addr", "local_port", "lo_addr", "hwsku", "deployment_id"],
    ),
    ("SCHEDULER", &["type", "weight", "priority", "meter_type", "cir", "pir", "cbs", "pbs"]),
    (
        "WRED_PROFILE",
        &[
            "ecn",
            "green_drop_probability",
            "green_max_threshold",
            "green_min_threshold",
            "red_drop_probability",
            "red_max_threshold",
            "red_min_threshold",
            "wred_green_enable",
            "wred_red_enable",
            "wred_yellow_enable",
            "yellow_drop_probability",
            "yellow_max_threshold",
            "yellow_min_threshold",
        ],
    ),
];
