//! Two ends with a network between them.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread::{self, JoinHandle};

/// One end: in which namespace, and where.
#[derive(Clone)]
pub(crate) struct End {
    namespace: Option<String>,
    pub(crate) address: IpAddr,
}

impl End {
    /// Where RoCE listens.
    pub(crate) fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, 4791)
    }

    /// Runs something on a thread at this end.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        call: impl FnOnce(&End) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let end = self.clone();
        thread::spawn(move || {
            end.enter();
            call(&end)
        })
    }

    /// Moves this thread to where the end is.
    fn enter(&self) {
        if let Some(name) = &self.namespace {
            let file = File::open(format!("/run/netns/{name}")).expect("the namespace exists");
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("rights to enter the namespace");
        }
    }
}

/// Both ends. Namespaces that were made go away with this.
pub(crate) struct Net {
    pub(crate) near: End,
    pub(crate) far: End,
}

impl Net {
    /// Two namespaces and a veth pair that carries 4096 bytes of payload, or loopback.
    pub(crate) fn make() -> Self {
        let id = std::process::id();
        let end = |side: &str, last| End {
            namespace: Some(format!("xoff-speed-{id}-{side}")),
            address: Ipv4Addr::new(10, 92, 0, last).into(),
        };
        let net = Self { near: end("near", 1), far: end("far", 2) };
        if net.join() {
            return net;
        }
        drop(net);
        let end = |last| End { namespace: None, address: Ipv4Addr::new(127, 92, 0, last).into() };
        Self { near: end(1), far: end(2) }
    }

    fn join(&self) -> bool {
        let Some((a, b)) = self.near.namespace.as_ref().zip(self.far.namespace.as_ref()) else {
            return false;
        };
        run(&format!("ip netns add {a}"))
            && run(&format!("ip netns add {b}"))
            && run(&format!("ip link add veth0 netns {a} type veth peer name veth0 netns {b}"))
            && [(a, self.near.address), (b, self.far.address)].iter().all(|(name, address)| {
                run(&format!("ip -n {name} addr add {address}/24 dev veth0"))
                    && run(&format!("ip -n {name} link set veth0 mtu 4500 up"))
            })
    }

    /// What is between the ends, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.near.namespace {
            Some(_) => "two network namespaces, veth pair with MTU 4500",
            None => "loopback, for want of `ip` or the right to make network namespaces",
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for name in [&self.near, &self.far].iter().filter_map(|end| end.namespace.as_ref()) {
            run(&format!("ip netns del {name}"));
        }
    }
}

fn run(words: &str) -> bool {
    let mut words = words.split_whitespace();
    let command = words.next().unwrap_or_default();
    let output = Command::new(command).args(words).output();
    output.is_ok_and(|output| output.status.success())
}
