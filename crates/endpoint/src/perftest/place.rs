//! Addresses: the server's, ours, the device there, and what the link between them carries.

use super::error::PerfError;
use super::settings::{Measure, Settings};
use super::stage::Stage;
use crate::{Device, DeviceSettings, OpenError};
use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
use std::io;
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs, UdpSocket,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes of a packet that are not payload: IPv6, UDP, BTH, RETH and ICRC.
const OVERHEAD: u32 = 80;

/// Loopback addresses that are tried when the first is taken by the other side.
const OTHERS: u8 = 16;

/// The address without the clothes of the other family.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        IpAddr::V6(_) => address,
    }
}

/// The interface of a link-local address; zero for every other.
pub(super) fn scope_of(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => v6.scope_id(),
        _ => 0,
    }
}

/// The address that we were told to use, if we were. `scope` is the interface to the peer, in case
/// the address is a link-local one and does not name its own.
pub(super) fn bound_to(settings: &Settings, scope: u32) -> Result<Option<SocketAddr>, PerfError> {
    let Some(bind) = settings.bind else { return Ok(None) };
    let IpAddr::V6(v6) = bind else { return Ok(Some(SocketAddr::new(bind, 0))) };
    let scope = match settings.scope {
        0 if v6.is_unicast_link_local() => scope,
        given => given,
    };
    if v6.is_unicast_link_local() && scope == 0 {
        return Err(of_which_interface(v6));
    }
    Ok(Some(SocketAddrV6::new(v6, 0, 0, scope).into()))
}

fn of_which_interface(v6: Ipv6Addr) -> PerfError {
    let why = format!("{v6} is an address of one interface only: say which, as in {v6}%eth0");
    PerfError::Address(why)
}

/// Whether the address that we were told to use is one of this machine's: a server should not wait for a client to find
/// out. Of a link-local one without its interface nothing can be said yet.
pub(super) fn check_bind(settings: &Settings) -> Result<(), PerfError> {
    match bound_to(settings, 0) {
        Ok(Some(bind)) => match UdpSocket::bind(bind) {
            Ok(_) => Ok(()),
            Err(error) => {
                let address = with_port(bind, settings.device_port.0);
                Err(OpenError::Bind { address, error }.into())
            }
        },
        Ok(None) | Err(_) => Ok(()),
    }
}

/// The device at `address`. If the other side is on this machine, too, and has the address, ours
/// is another loopback address: that is what everybody tries first.
pub(super) fn open(
    settings: &Settings,
    address: SocketAddr,
    same_machine: bool,
    stop: &Arc<AtomicBool>,
) -> Result<Stage, PerfError> {
    let ip = address.ip();
    if settings.v6.is_some_and(|v6| v6 != ip.is_ipv6()) {
        let why = format!("-x asks for another IP version than {ip} has; see --bind");
        return Err(PerfError::Address(why));
    }
    let at = |ip: IpAddr, scope: u32| {
        Device::open(DeviceSettings {
            port: settings.device_port,
            waiting: settings.waiting,
            socket_buffer: settings.socket_buffer,
            // A message that answers one acknowledges it in the same piece.
            hold_answers: settings.measure == Measure::Latency,
            ..DeviceSettings::new(ip).scope(scope)
        })
    };
    let mut device = at(ip, scope_of(address));
    if same_machine && settings.bind.is_none() && ip.is_ipv4() {
        for host in 2..2 + OTHERS {
            if !matches!(device, Err(OpenError::InUse(_))) {
                break;
            }
            match at(Ipv4Addr::new(127, 0, 0, host).into(), 0) {
                Ok(other) => device = Ok(other),
                Err(OpenError::InUse(_)) => {}
                Err(_) => break,
            }
        }
    }
    match device {
        Ok(device) => Ok(Stage::new(device, settings.silence(), stop.clone())),
        Err(OpenError::InUse(taken)) => Err(PerfError::InUse(taken)),
        Err(error) => Err(error.into()),
    }
}

/// Connects to the server.
pub(super) fn call(server: &str, settings: &Settings) -> Result<TcpStream, PerfError> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in resolve(server, settings)? {
        match TcpStream::connect_timeout(&address, settings.patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(PerfError::Connect { server: server.to_owned(), error: last })
}

/// The server's addresses, in the order to try them. With rdma_cm they are of the family that we
/// are bound to. Where both sides are on this machine IPv4 comes first unless IPv6 is asked for:
/// there the machine has more than one loopback address, and each side needs its own.
pub(super) fn resolve(server: &str, settings: &Settings) -> Result<Vec<SocketAddr>, PerfError> {
    let failed = |error| PerfError::Connect { server: server.to_owned(), error };
    let by_cm = settings.rendezvous == super::settings::Rendezvous::Cm;
    let bind = settings.bind.filter(|_| by_cm);
    let fits = |at: &SocketAddr| bind.is_none_or(|bind| bind.is_ipv4() == at.is_ipv4());
    let all = (server, settings.port.0).to_socket_addrs().map_err(failed)?;
    let mut all: Vec<SocketAddr> = all.filter(fits).collect();
    if settings.v6 != Some(true) {
        all.sort_by_key(|at| !(at.is_ipv4() && at.ip().is_loopback()));
    }
    let nowhere = |at: &SocketAddr| match at {
        SocketAddr::V6(v6) => v6.ip().is_unicast_link_local() && v6.scope_id() == 0,
        SocketAddr::V4(_) => false,
    };
    if let Some(SocketAddr::V6(v6)) = all.first().filter(|at| nowhere(at)) {
        return Err(of_which_interface(*v6.ip()));
    }
    if all.is_empty() {
        return Err(failed(io::Error::from(io::ErrorKind::AddrNotAvailable)));
    }
    Ok(all)
}

/// The address of ours that packets to a peer leave from.
pub(super) fn way_to(peer: SocketAddr) -> Result<SocketAddr, PerfError> {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // Nothing is sent: this only looks up the route.
    socket.connect(with_port(peer, 9))?;
    Ok(with_port(socket.local_addr()?, 0))
}

/// Most payload of a packet that the link from us to a peer carries, in RoCE's steps. Where the
/// system does not say, the largest: the peer knows its end.
pub(super) fn link_mtu(local: SocketAddr, peer: SocketAddr) -> u16 {
    let ask = || {
        let socket = UdpSocket::bind(with_port(local, 0)).ok()?;
        socket.connect(with_port(peer, 9)).ok()?;
        if local.is_ipv4() { ip_mtu(&socket).ok() } else { ipv6_mtu(&socket).ok() }
    };
    let link = ask().unwrap_or(u32::MAX);
    let fits = |mtu: &u16| u32::from(*mtu) + OVERHEAD <= link;
    [4096, 2048, 1024, 512].into_iter().find(fits).unwrap_or(256)
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perftest::settings::Verb;

    fn settings() -> Settings {
        Settings::new(Verb::Write, Measure::Bandwidth)
    }

    #[test]
    fn on_one_machine_ipv4_comes_first() {
        let all = resolve("localhost", &settings()).expect("every machine knows it");
        let v4 = all.iter().any(SocketAddr::is_ipv4);
        assert!(!v4 || all[0].is_ipv4(), "{all:?}");
        let six = Settings { v6: Some(true), ..settings() };
        assert_eq!(resolve("::1", &six).unwrap()[0].ip(), IpAddr::from(Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn a_link_local_address_names_its_interface() {
        let lo = resolve("fe80::1%lo", &settings()).unwrap()[0];
        assert_eq!((scope_of(lo) > 0, lo.ip()), (true, "fe80::1".parse().unwrap()));
        let bound = |scope, way| {
            let bind = Some("fe80::2".parse().unwrap());
            bound_to(&Settings { bind, scope, ..settings() }, way)
        };
        assert!(matches!(bound(0, 0), Err(PerfError::Address(_))));
        let error = resolve("fe80::1", &settings()).expect_err("whose?").to_string();
        assert!(error.contains("say which, as in fe80::1%eth0"), "{error}");
        assert_eq!(bound(0, 3).unwrap().map(scope_of), Some(3));
        assert_eq!(bound(5, 3).unwrap().map(scope_of), Some(5));
        assert_eq!(scope_of("[2001:db8::1]:9".parse().unwrap()), 0);
    }

    #[test]
    fn a_server_does_not_wait_at_an_address_of_others() {
        let at = |bind: &str| {
            let bind = Some(bind.parse().unwrap());
            check_bind(&Settings { bind, ..settings() })
        };
        let error = at("192.0.2.1").expect_err("an address of documents").to_string();
        assert!(error.contains("192.0.2.1:4791"), "{error}");
        assert!(at("127.93.99.1").is_ok() && at("fe80::2").is_ok());
    }
}
