//! [`Endpoint`]: a device that moves by itself, for any thread and any executor.

use crate::awaited::Awaited;
use crate::connection::Connection;
use crate::device::Device;
use crate::driver::Driver;
use crate::error::OpenError;
use crate::listener::Listener;
use crate::pending::{Pending, pending};
use crate::region::Region;
use crate::settings::{DeviceSettings, PairSettings};
use crate::terms::Terms;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use xoff_transport::Access;
use xoff_wire::Service;

/// A device on a thread of its own. Peers reach its memory whatever its users do.
///
/// Every call gives a [`Pending`]: wait for it or await it. Clones are the same endpoint; it ends
/// with the last of them, of its [`Region`]s and of its [`Connection`]s.
///
/// ```
/// use std::time::Duration;
/// use xoff_endpoint::{Access, Bytes, DeviceSettings, Endpoint, Error, Service};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let near = Endpoint::open(DeviceSettings::new([127, 93, 3, 1]))?;
/// let far = Endpoint::open(DeviceSettings::new([127, 93, 3, 2]))?;
/// let (source, target) = (vec![0; 100], vec![0; 100]);
/// let source = near.register(source, Access::ALL).wait()?;
/// let target = far.register(target, Access::ALL).wait()?;
///
/// // A connection with settings of its own: both ends of an unreliable one.
/// let ours = near.connection_with(Service::Unreliable, |settings| settings.qkey.0 = 7).wait()?;
/// let theirs = far.connection_with(Service::Unreliable, |_| {}).wait()?;
/// ours.connect(theirs.introduction(), 1024).wait()?;
/// theirs.connect(ours.introduction(), 1024).wait()?;
///
/// // Only a part of the region is sent. A message may be lost, so the wait for it has a limit.
/// source.fill(Bytes::new(10), b"part".to_vec()).wait()?;
/// let mut received = theirs.receive(target.all());
/// assert!(ours.send(source.slice(Bytes::new(10), Bytes::new(4))).wait()?.is_ok());
/// match received.wait_for(Duration::from_secs(5)) {
///     Ok(completion) => {
///         assert_eq!(completion.arrival().map(|arrival| arrival.length), Some(Bytes::new(4)));
///         assert_eq!(target.bytes().wait()?[..4], *b"part");
///     }
///     Err(Error::TimedOut { what, .. }) => eprintln!("no sign of {what}"),
///     Err(other) => return Err(other.into()),
/// }
///
/// // Anything else that the device can do, on its thread.
/// let pair = ours.pair();
/// assert!(near.with(move |device| device.state(pair)).wait()?.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) driver: Arc<Driver>,
    address: SocketAddr,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Opens a device and starts its thread.
    pub fn open(settings: DeviceSettings) -> Result<Self, OpenError> {
        Self::start(Device::open(settings)?)
    }

    /// Starts a thread for a device that is there already, with whatever it has.
    pub fn start(device: Device) -> Result<Self, OpenError> {
        let address = device.address();
        let failed = |error| OpenError::Socket { what: "cannot start a thread", error };
        Ok(Self { driver: Arc::new(Driver::start(device).map_err(failed)?), address })
    }

    /// Its address and UDP port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has the thread call something with the device.
    pub fn with<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Device) -> T + Send + 'static,
    ) -> Pending<T> {
        self.driver.call("run a function", move |engine| Ok(call(&mut engine.device)))
    }

    /// Registers memory. It is given back with the last clone of the region, or when the last work
    /// that was posted with it has ended, whichever is later; peers that know its key reach it until
    /// then.
    pub fn register(&self, bytes: Vec<u8>, access: Access) -> Pending<Region> {
        let endpoint = self.clone();
        let register = move |engine: &mut _| Region::new(engine, endpoint, bytes, access);
        self.driver.call("register memory", register)
    }

    /// Makes one end of a reliable connection.
    pub fn connection(&self) -> Pending<Connection> {
        self.connection_with(Service::Reliable, |_| {})
    }

    /// Makes one end of a connection, with settings of the caller's.
    pub fn connection_with(
        &self,
        service: Service,
        settings: impl FnOnce(&mut PairSettings) + Send + 'static,
    ) -> Pending<Connection> {
        let endpoint = self.clone();
        let make = move |engine: &mut _| Connection::new(engine, endpoint, service, settings);
        self.driver.call("make a queue pair", make)
    }

    /// Connects by rdma_cm to what listens at a port of `address`, on the usual terms, with at most
    /// [`REQUEST_DATA`](crate::cm::REQUEST_DATA) bytes of private data.
    ///
    /// [`Error::Rejected`](crate::Error::Rejected) has the reason and the private data of a peer that
    /// does not want to; [`Error::NoAnswer`](crate::Error::NoAnswer) comes after 9 seconds of silence.
    ///
    /// ```
    /// use xoff_endpoint::{DeviceSettings, Endpoint};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Endpoint::open(DeviceSettings::new([127, 93, 6, 1]))?;
    /// let listener = server.listen(7471).wait()?;
    /// let client = Endpoint::open(DeviceSettings::new([127, 93, 6, 2]))?;
    /// let connecting = client.connect(server.address().ip(), 7471, b"hello");
    ///
    /// let request = listener.next().wait()?;
    /// assert!(request.private_data().starts_with(b"hello"));
    /// let theirs = request.accept(b"welcome").wait()?;
    ///
    /// let ours = connecting.wait()?;
    /// let agreed = ours.negotiated().ok_or("not connected")?;
    /// assert!(agreed.private_data.starts_with(b"welcome"));
    /// assert_eq!(agreed.peer, server.address());
    ///
    /// ours.disconnect(b"bye").wait()?;
    /// let end = theirs.ended().wait()?;
    /// assert!(matches!(end, xoff_endpoint::End::Peer { private_data } if private_data.starts_with(b"bye")));
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(
        &self,
        address: impl Into<IpAddr>,
        port: u16,
        private_data: &[u8],
    ) -> Pending<Connection> {
        self.connect_with(address, port, Terms::with_data(private_data))
    }

    /// Connects by rdma_cm on terms of the caller's.
    pub fn connect_with(
        &self,
        address: impl Into<IpAddr>,
        port: u16,
        terms: Terms,
    ) -> Pending<Connection> {
        let (endpoint, to) = (self.clone(), address.into());
        let (promise, pending) = pending(Awaited::Answer { from: to, port });
        self.driver.submit(move |engine| {
            match Connection::new(engine, endpoint, terms.service, |_| {}) {
                Ok(connection) => engine.request(connection, to, port, &terms, promise),
                Err(error) => promise.keep(Err(error)),
            }
        });
        self.driver.withdrawing(pending)
    }

    /// Listens at a port for connections that are made by rdma_cm.
    pub fn listen(&self, port: u16) -> Pending<Listener> {
        let endpoint = self.clone();
        let listen = move |engine: &mut _| Listener::new(engine, endpoint, port);
        self.driver.call("listen", listen)
    }

    /// Whether it is the same one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver, &other.driver)
    }
}
