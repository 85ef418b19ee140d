//! The table of metrics. Names of mlx5 are those of the kernel's `Documentation/.../mlx5/counters.rst` and
//! `drivers/infiniband/hw/mlx5/counters.c`, names of SONiC those of SAI, names of node_exporter those of its collectors, names of DCGM
//! those of dcgm-exporter's `default-counters.csv` (4.8.2) and of the fields of DCGM 4.7.

use super::{Alias, Facts, Kind, Metric, Scope, Source, Unit};

/// Microseconds in seconds.
const US: f64 = 1e-6;
/// A word of four bytes, in which InfiniBand's port counters count data.
const WORD: f64 = 4.0;
/// Gigabytes in bytes.
const GB: f64 = 1e9;
/// Per cent in shares.
const PERCENT: f64 = 0.01;

const fn ethtool(name: &'static str) -> Alias {
    Alias::of(Source::Ethtool, name)
}

const fn hw(name: &'static str) -> Alias {
    Alias::of(Source::HwCounters, name)
}

const fn rxe(name: &'static str) -> Alias {
    Alias::of(Source::Rxe, name)
}

const fn port(name: &'static str) -> Alias {
    Alias::of(Source::PortCounters, name)
}

const fn netdev(name: &'static str) -> Alias {
    Alias::of(Source::Netdev, name)
}

const fn sonic(name: &'static str) -> Alias {
    Alias::of(Source::Sonic, name)
}

const fn switch(name: &'static str) -> Alias {
    Alias::of(Source::SonicExporter, name)
}

const fn node(name: &'static str) -> Alias {
    Alias::of(Source::NodeExporter, name)
}

const fn openconfig(name: &'static str) -> Alias {
    Alias::of(Source::OpenConfig, name)
}

/// Names of dcgm-exporter before 4.9.0, which renamed what DCGM 4.7 had renamed and changed units, and from then on.
const fn dcgm(name: &'static str) -> Alias {
    Alias::of(Source::Dcgm, name)
}

const fn us(alias: Alias) -> Alias {
    Alias::scaled(alias.source, alias.name, US)
}

/// A link that goes down and up again changes its state twice.
const fn half(alias: Alias) -> Alias {
    Alias::scaled(alias.source, alias.name, 0.5)
}

const fn counter(
    metric: Metric,
    name: &'static str,
    unit: Unit,
    scope: Scope,
    help: &'static str,
    aliases: &'static [Alias],
) -> Facts {
    Facts { metric, name, kind: Kind::Counter, unit, scope, help, aliases }
}

const fn events(
    metric: Metric,
    name: &'static str,
    scope: Scope,
    help: &'static str,
    aliases: &'static [Alias],
) -> Facts {
    Facts { metric, name, kind: Kind::Events, unit: Unit::Count, scope, help, aliases }
}

const fn gauge(
    metric: Metric,
    name: &'static str,
    unit: Unit,
    scope: Scope,
    help: &'static str,
    aliases: &'static [Alias],
) -> Facts {
    Facts { metric, name, kind: Kind::Gauge, unit, scope, help, aliases }
}

const fn watermark(
    metric: Metric,
    name: &'static str,
    help: &'static str,
    aliases: &'static [Alias],
) -> Facts {
    let (kind, unit, scope) = (Kind::Watermark, Unit::Bytes, Scope::Priority);
    Facts { metric, name, kind, unit, scope, help, aliases }
}

/// All metrics, in the order of [`Metric`].
pub static METRICS: &[Facts] = &[
    counter(
        Metric::TxBytes,
        "xoff_transmit_bytes_total",
        Unit::Bytes,
        Scope::Priority,
        "Bytes sent, from Ethernet header to FCS.",
        &[
            ethtool("tx_prio{p}_bytes"),
            sonic("SAI_QUEUE_STAT_BYTES"),
            Alias::scaled(Source::PortCounters, "port_xmit_data", WORD),
            netdev("tx_bytes"),
            node("node_ethtool_transmitted_prio{p}_bytes"),
            node("node_infiniband_port_data_transmitted_bytes_total"),
            openconfig("/qos/interfaces/interface/output/queues/queue/state/transmit-octets"),
            openconfig("/interfaces/interface/state/counters/out-octets"),
            switch("sonic_queue_bytes_total"),
        ],
    ),
    counter(
        Metric::RxBytes,
        "xoff_receive_bytes_total",
        Unit::Bytes,
        Scope::Priority,
        "Bytes received, from Ethernet header to FCS.",
        &[
            ethtool("rx_prio{p}_bytes"),
            Alias::scaled(Source::PortCounters, "port_rcv_data", WORD),
            netdev("rx_bytes"),
            sonic("SAI_PORT_STAT_IF_IN_OCTETS"),
            node("node_ethtool_received_prio{p}_bytes"),
            node("node_infiniband_port_data_received_bytes_total"),
            openconfig("/interfaces/interface/state/counters/in-octets"),
            switch("sonic_interface_receive_bytes_total"),
        ],
    ),
    counter(
        Metric::TxPackets,
        "xoff_transmit_packets_total",
        Unit::Packets,
        Scope::Priority,
        "Packets sent.",
        &[
            ethtool("tx_prio{p}_packets"),
            sonic("SAI_QUEUE_STAT_PACKETS"),
            port("port_xmit_packets"),
            netdev("tx_packets"),
            node("node_ethtool_transmitted_prio{p}_packets"),
            node("node_infiniband_port_packets_transmitted_total"),
            openconfig("/qos/interfaces/interface/output/queues/queue/state/transmit-pkts"),
            openconfig("/interfaces/interface/state/counters/out-pkts"),
            openconfig("/interfaces/interface/state/counters/out-unicast-pkts"),
            switch("sonic_queue_packets_total"),
        ],
    ),
    counter(
        Metric::RxPackets,
        "xoff_receive_packets_total",
        Unit::Packets,
        Scope::Priority,
        "Packets received, damaged ones included.",
        &[
            ethtool("rx_prio{p}_packets"),
            port("port_rcv_packets"),
            netdev("rx_packets"),
            sonic("SAI_PORT_STAT_IF_IN_UCAST_PKTS"),
            node("node_ethtool_received_prio{p}_packets"),
            node("node_infiniband_port_packets_received_total"),
            openconfig("/interfaces/interface/state/counters/in-pkts"),
            openconfig("/interfaces/interface/state/counters/in-unicast-pkts"),
        ],
    ),
    gauge(
        Metric::Speed,
        "xoff_port_speed_bits_per_second",
        Unit::BitsPerSecond,
        Scope::Port,
        "Rate of the link as negotiated.",
        &[Alias::scaled(Source::NodeExporter, "node_infiniband_rate_bytes_per_second", 8.0)],
    ),
    gauge(
        Metric::Up,
        "xoff_port_up",
        Unit::Ratio,
        Scope::Port,
        "Whether the link is up: 1 or 0.",
        &[switch("sonic_interface_operational_status")],
    ),
    events(
        Metric::LinkDowns,
        "xoff_link_down_events_total",
        Scope::Port,
        "Times the link went down.",
        &[
            ethtool("link_down_events_phy"),
            rxe("link_downed"),
            port("link_downed"),
            netdev("carrier_down_count"),
            node("node_infiniband_link_downed_total"),
            half(openconfig("/interfaces/interface/state/counters/interface-transitions")),
            half(openconfig("/interfaces/interface/state/counters/carrier-transitions")),
        ],
    ),
    counter(
        Metric::PfcReceived,
        "xoff_pfc_received_frames_total",
        Unit::Frames,
        Scope::Priority,
        "PFC frames received that pause the priority.",
        &[
            ethtool("rx_prio{p}_pause"),
            sonic("SAI_PORT_STAT_PFC_{p}_RX_PKTS"),
            node("node_ethtool_received_prio{p}_pause"),
            Alias::of(Source::Amd, "nic_port_stats_frames_rx_pripause"),
        ],
    ),
    counter(
        Metric::PfcSent,
        "xoff_pfc_sent_frames_total",
        Unit::Frames,
        Scope::Priority,
        "PFC frames sent that pause the priority.",
        &[
            ethtool("tx_prio{p}_pause"),
            sonic("SAI_PORT_STAT_PFC_{p}_TX_PKTS"),
            node("node_ethtool_transmitted_prio{p}_pause"),
        ],
    ),
    counter(
        Metric::PausedTime,
        "xoff_paused_seconds_total",
        Unit::Seconds,
        Scope::Priority,
        "Time for which received PFC frames kept the priority from sending.",
        &[
            us(ethtool("rx_prio{p}_pause_duration")),
            us(sonic("SAI_PORT_STAT_PFC_{p}_RX_PAUSE_DURATION_US")),
            us(sonic("EST_PORT_STAT_PFC_{p}_RX_PAUSE_DURATION_US")),
            us(node("node_ethtool_received_prio{p}_pause_duration")),
        ],
    ),
    counter(
        Metric::PausingTime,
        "xoff_pausing_seconds_total",
        Unit::Seconds,
        Scope::Priority,
        "Time for which sent PFC frames kept the peer from sending.",
        &[
            us(ethtool("tx_prio{p}_pause_duration")),
            us(sonic("SAI_PORT_STAT_PFC_{p}_TX_PAUSE_DURATION_US")),
            us(node("node_ethtool_transmitted_prio{p}_pause_duration")),
        ],
    ),
    counter(
        Metric::PauseTransitions,
        "xoff_pause_transitions_total",
        Unit::Count,
        Scope::Priority,
        "Changes of the priority from paused to not paused.",
        &[
            ethtool("rx_prio{p}_pause_transition"),
            sonic("SAI_PORT_STAT_PFC_{p}_ON2OFF_RX_PKTS"),
            sonic("EST_PORT_STAT_PFC_{p}_ON2OFF_RX_PKTS"),
            node("node_ethtool_received_prio{p}_pause_transition"),
        ],
    ),
    events(
        Metric::WatchdogEvents,
        "xoff_pfc_watchdog_events_total",
        Scope::Priority,
        "Queues that the PFC watchdog declared stuck.",
        &[sonic("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED")],
    ),
    counter(
        Metric::WatchdogDrops,
        "xoff_pfc_watchdog_dropped_packets_total",
        Unit::Packets,
        Scope::Priority,
        "Packets dropped by the PFC watchdog.",
        &[sonic("PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS")],
    ),
    counter(
        Metric::EcnMarked,
        "xoff_ecn_marked_packets_total",
        Unit::Packets,
        Scope::Priority,
        "Packets marked with congestion experienced on their way out of a switch.",
        &[
            sonic("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"),
            openconfig("/qos/interfaces/interface/output/queues/queue/state/ecn-marked-pkts"),
        ],
    ),
    counter(
        Metric::EcnReceived,
        "xoff_ecn_received_packets_total",
        Unit::Packets,
        Scope::Nic,
        "RoCE packets that arrived marked with congestion experienced.",
        &[hw("np_ecn_marked_roce_packets")],
    ),
    counter(
        Metric::CnpSent,
        "xoff_cnp_sent_packets_total",
        Unit::Packets,
        Scope::Nic,
        "Congestion notifications that the receiving NIC sent.",
        &[hw("np_cnp_sent")],
    ),
    counter(
        Metric::CnpHandled,
        "xoff_cnp_handled_packets_total",
        Unit::Packets,
        Scope::Nic,
        "Congestion notifications that slowed the sending NIC down.",
        &[hw("rp_cnp_handled")],
    ),
    counter(
        Metric::CnpIgnored,
        "xoff_cnp_ignored_packets_total",
        Unit::Packets,
        Scope::Nic,
        "Congestion notifications that the sending NIC ignored.",
        &[hw("rp_cnp_ignored")],
    ),
    counter(
        Metric::BufferDrops,
        "xoff_buffer_dropped_packets_total",
        Unit::Packets,
        Scope::Priority,
        "Packets dropped for want of buffer.",
        &[
            ethtool("rx_prio{p}_discards"),
            sonic("SAI_QUEUE_STAT_DROPPED_PACKETS"),
            sonic("SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"),
            node("node_ethtool_received_prio{p}_discards"),
            openconfig("/qos/interfaces/interface/output/queues/queue/state/dropped-pkts"),
            switch("sonic_queue_dropped_packets_total"),
        ],
    ),
    counter(
        Metric::RouteDrops,
        "xoff_no_route_dropped_packets_total",
        Unit::Packets,
        Scope::Port,
        "Packets dropped because the switch had no route.",
        &[],
    ),
    counter(
        Metric::MtuDrops,
        "xoff_mtu_dropped_packets_total",
        Unit::Packets,
        Scope::Port,
        "Packets dropped because they were longer than the port's MTU.",
        &[
            ethtool("rx_oversize_pkts_phy"),
            openconfig("/interfaces/interface/ethernet/state/counters/in-maxsize-exceeded"),
        ],
    ),
    watermark(
        Metric::QueueWatermark,
        "xoff_queue_watermark_bytes",
        "Greatest length of the egress queue since the last scrape.",
        &[
            sonic("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"),
            openconfig("/qos/interfaces/interface/output/queues/queue/state/max-queue-len"),
            switch("sonic_queue_watermark_bytes_total"),
        ],
    ),
    watermark(
        Metric::IngressWatermark,
        "xoff_ingress_watermark_bytes",
        "Most shared buffer that the ingress priority group held since the last scrape.",
        &[sonic("SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES")],
    ),
    watermark(
        Metric::HeadroomWatermark,
        "xoff_headroom_watermark_bytes",
        "Most headroom that the ingress priority group held since the last scrape.",
        &[sonic("SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES")],
    ),
    gauge(
        Metric::QueueDelay,
        "xoff_queue_delay_seconds",
        Unit::Seconds,
        Scope::Priority,
        "Time that packets waited in the queue, 99th percentile.",
        &[],
    ),
    counter(
        Metric::CrcErrors,
        "xoff_crc_errors_total",
        Unit::Packets,
        Scope::Port,
        "Packets received damaged.",
        &[
            ethtool("rx_crc_errors_phy"),
            sonic("SAI_PORT_STAT_IF_IN_ERRORS"),
            port("port_rcv_errors"),
            netdev("rx_crc_errors"),
            node("node_infiniband_port_errors_received_total"),
            node("node_ethtool_received_crc_errors_phy"),
            openconfig("/interfaces/interface/ethernet/state/counters/in-crc-errors"),
            openconfig("/interfaces/interface/state/counters/in-fcs-errors"),
        ],
    ),
    counter(
        Metric::FecCorrected,
        "xoff_fec_corrected_codewords_total",
        Unit::Count,
        Scope::Port,
        "Code words that FEC corrected.",
        &[
            ethtool("rx_corrected_bits_phy"),
            sonic("SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES"),
            node("node_ethtool_received_corrected_bits_phy"),
            openconfig("/interfaces/interface/ethernet/state/counters/fec-corrected-blocks"),
        ],
    ),
    counter(
        Metric::FecUncorrected,
        "xoff_fec_uncorrected_codewords_total",
        Unit::Count,
        Scope::Port,
        "Code words that FEC could not correct.",
        &[
            sonic("SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES"),
            openconfig("/interfaces/interface/ethernet/state/counters/fec-uncorrectable-blocks"),
        ],
    ),
    counter(
        Metric::SymbolErrors,
        "xoff_symbol_errors_total",
        Unit::Count,
        Scope::Port,
        "Symbols received in error.",
        &[
            ethtool("rx_symbol_err_phy"),
            sonic("SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS"),
            port("symbol_error"),
            node("node_infiniband_symbol_error_total"),
            node("node_ethtool_received_symbol_err_phy"),
        ],
    ),
    gauge(
        Metric::ModuleTemperature,
        "xoff_module_temperature_celsius",
        Unit::Celsius,
        Scope::Port,
        "Temperature of the optical module.",
        &[],
    ),
    gauge(
        Metric::ModuleRxPower,
        "xoff_module_receive_power_dbm",
        Unit::Dbm,
        Scope::Port,
        "Optical power received, of the worst lane.",
        &[],
    ),
    counter(
        Metric::Retransmitted,
        "xoff_retransmitted_packets_total",
        Unit::Packets,
        Scope::Nic,
        "Packets that the NIC sent again.",
        &[rxe("completer_retry_err")],
    ),
    counter(
        Metric::Timeouts,
        "xoff_ack_timeouts_total",
        Unit::Count,
        Scope::Nic,
        "Times a queue pair waited for an acknowledgement in vain.",
        &[hw("local_ack_timeout_err")],
    ),
    counter(
        Metric::OutOfSequence,
        "xoff_out_of_sequence_packets_total",
        Unit::Packets,
        Scope::Nic,
        "Packets that arrived with others missing before them.",
        &[hw("out_of_sequence"), rxe("out_of_seq_request")],
    ),
    counter(
        Metric::Duplicates,
        "xoff_duplicate_requests_total",
        Unit::Packets,
        Scope::Nic,
        "Requests that arrived a second time.",
        &[hw("duplicate_request"), rxe("duplicate_request")],
    ),
    counter(
        Metric::ReceiverNotReady,
        "xoff_receiver_not_ready_total",
        Unit::Count,
        Scope::Nic,
        "NAKs received because the peer had no receive posted.",
        &[hw("rnr_nak_retry_err"), rxe("rcvd_rnr_err")],
    ),
    events(
        Metric::QueuePairErrors,
        "xoff_queue_pair_errors_total",
        Scope::Nic,
        "Queue pairs that gave up after their retries.",
        &[hw("req_transport_retries_exceeded"), rxe("retry_exceeded_err")],
    ),
    counter(
        Metric::OutOfBuffer,
        "xoff_out_of_buffer_packets_total",
        Unit::Packets,
        Scope::Nic,
        "Packets dropped because the NIC had no receive buffer.",
        &[hw("out_of_buffer"), ethtool("rx_discards_phy")],
    ),
    gauge(
        Metric::PcieStalled,
        "xoff_pcie_stalled_ratio",
        Unit::Ratio,
        Scope::Nic,
        "Share of the last second for which PCIe kept the NIC from writing to its host.",
        &[
            Alias::scaled(Source::Ethtool, "outbound_pci_stalled_wr", PERCENT),
            Alias::scaled(Source::NodeExporter, "node_ethtool_outbound_pci_stalled_wr", PERCENT),
        ],
    ),
    gauge(
        Metric::BusBandwidth,
        "xoff_collective_bus_bandwidth_bytes_per_second",
        Unit::BytesPerSecond,
        Scope::Job,
        "Bus bandwidth of the last collective.",
        &[Alias::scaled(Source::NcclInspector, "nccl_bus_bandwidth_gbs", GB)],
    ),
    gauge(
        Metric::CollectiveTime,
        "xoff_collective_seconds",
        Unit::Seconds,
        Scope::Job,
        "Time of the last collective.",
        &[Alias::scaled(Source::NcclInspector, "nccl_collective_exec_time_microseconds", US)],
    ),
    counter(
        Metric::GpuBusy,
        "xoff_gpu_busy_seconds_total",
        Unit::Seconds,
        Scope::Rank,
        "Time for which the GPU computed.",
        &[],
    ),
    counter(
        Metric::GpuWait,
        "xoff_gpu_wait_seconds_total",
        Unit::Seconds,
        Scope::Rank,
        "Time for which the GPU waited for its peers.",
        &[],
    ),
    gauge(
        Metric::StepTime,
        "xoff_step_seconds",
        Unit::Seconds,
        Scope::Job,
        "Time of the last training step.",
        &[],
    ),
    gauge(
        Metric::GpuBusyShare,
        "xoff_gpu_busy_ratio",
        Unit::Ratio,
        Scope::Gpu,
        "Share of time for which the GPU ran kernels, those of collectives that wait included.",
        &[
            Alias::scaled(Source::Dcgm, "DCGM_FI_DEV_GPU_UTIL", PERCENT),
            dcgm("DCGM_FI_DEV_GPU_UTIL_RATIO"),
        ],
    ),
    counter(
        Metric::GpuPcieReplays,
        "xoff_gpu_pcie_replays_total",
        Unit::Count,
        Scope::Gpu,
        "Packets that the GPU's PCIe link sent again.",
        &[dcgm("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"), dcgm("DCGM_FI_DEV_PCIE_REPLAY_TOTAL")],
    ),
    counter(
        Metric::GpuNvlinkReplays,
        "xoff_gpu_nvlink_replays_total",
        Unit::Count,
        Scope::Gpu,
        "Packets that the GPU's NVLinks sent again.",
        &[
            dcgm("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"),
            dcgm("DCGM_FI_DEV_NVLINK_REPLAY_TOTAL"),
        ],
    ),
];
