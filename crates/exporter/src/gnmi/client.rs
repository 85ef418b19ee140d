//! Keeps one stream of a device, and makes it again when it breaks.

use super::access::{Login, Security};
use super::failure::Failure;
use super::paths::{Dialect, Extent};
use super::proto::{
    self, CapabilityRequest, CapabilityResponse, GetResponse, Mode, SubscribeRequest,
    SubscribeResponse, SubscriptionList, subscribe_response::Response,
};
use super::{Phase, STALE, Settings, Shared};
use http::uri::PathAndQuery;
use prost::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// How long a connection, and how long a call that is no stream may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a device may take to send everything once.
const SYNC: Duration = Duration::from_secs(30);
/// Pauses between attempts.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Largest message. One path's values of a switch with 512 ports take 6 MB.
const LARGEST: usize = 16 << 20;

/// Runs until it is dropped.
pub(super) async fn run(shared: Arc<Shared>, settings: Settings) {
    let mut pause = SHORTEST;
    let mut extent = Extent::Whole;
    loop {
        // What an attempt left behind that did not come to its end.
        shared.state().store.clear();
        let mut session = Session { shared: &shared, settings: &settings, extent, synced: false };
        let failure = match session.run().await {
            Ok(never) => match never {},
            Err(failure) => failure,
        };
        if session.synced {
            pause = SHORTEST;
        } else if extent == Extent::Whole && matches!(failure, Failure::Refused(_)) {
            // It may be for one path that it does not know.
            extent = Extent::Least;
            shared.state().refused = true;
            continue;
        } else {
            // The device may have been refusing everything for a while: next time all of it is asked for again.
            extent = Extent::Whole;
            shared.state().refused = false;
        }
        // A user that is refused over and over may be locked out.
        if matches!(failure, Failure::Login(..)) {
            pause = LONGEST;
        }
        shared.enter(Phase::Down(failure));
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}

/// One attempt.
struct Session<'a> {
    shared: &'a Shared,
    settings: &'a Settings,
    extent: Extent,
    synced: bool,
}

/// What a session that goes on forever returns.
enum Never {}

impl Session<'_> {
    async fn run(&mut self) -> Result<Never, Failure> {
        let endpoint = endpoint(self.settings)?;
        let channel = timeout(PATIENCE, endpoint.connect()).await;
        let channel = channel.map_err(|_| Failure::Connect(late(PATIENCE)))?;
        let channel = channel.map_err(|error| Failure::connect(&error))?;
        let mut grpc = Grpc::new(channel).max_decoding_message_size(LARGEST);
        let capabilities = self.capabilities(&mut grpc).await?;
        let dialect = self.settings.dialect.or_else(|| Dialect::of(&capabilities));
        let dialect = dialect.ok_or(Failure::Dialect)?;
        // Names of ports first, so that the first page has them.
        self.beside(&mut grpc, dialect).await;
        let request = SubscribeRequest {
            subscribe: Some(SubscriptionList {
                prefix: dialect.prefix(),
                subscription: dialect.subscriptions(self.settings.sample, self.extent),
                mode: Mode::Stream.into(),
                encoding: Dialect::encoding(&capabilities).into(),
            }),
        };
        // The client's half stays open: servers take its end for the end of the stream.
        let requests = tokio_stream::once(request).chain(tokio_stream::pending());
        let request = sign(&self.settings.login, requests);
        ready(&mut grpc).await?;
        let path = PathAndQuery::from_static(proto::SUBSCRIBE);
        let call = grpc.streaming(request, path, ProstCodec::default());
        let answer = timeout(SYNC, call).await.map_err(|_| Failure::NotSynced)?;
        let stream = answer.map_err(|status| self.failed(&status))?.into_inner();
        self.listen(stream, &mut grpc, dialect).await
    }

    async fn listen(
        &mut self,
        mut stream: Streaming<SubscribeResponse>,
        grpc: &mut Grpc<Channel>,
        dialect: Dialect,
    ) -> Result<Never, Failure> {
        let sample = self.settings.sample;
        let silence = (sample * STALE).max(PATIENCE);
        let mut beside = interval_at(Instant::now() + sample, sample);
        beside.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (deadline, quiet) = (sleep(SYNC), sleep(silence));
        tokio::pin!(deadline, quiet);
        loop {
            let message = tokio::select! {
                message = stream.message() => message,
                () = &mut deadline, if !self.synced => return Err(Failure::NotSynced),
                () = &mut quiet, if self.synced => return Err(Failure::Silent(silence)),
                _ = beside.tick(), if self.synced => {
                    self.beside(grpc, dialect).await;
                    continue;
                }
            };
            quiet.as_mut().reset(Instant::now() + silence);
            let message = message.map_err(|status| self.failed(&status))?;
            match message.ok_or(Failure::Ended)?.response {
                Some(Response::Update(update)) => {
                    let now = (self.shared.now)();
                    self.shared.state().store.apply(&update, dialect, now);
                }
                Some(Response::SyncResponse(true)) if !self.synced => {
                    self.synced = true;
                    self.shared.enter(Phase::Synced(dialect));
                }
                Some(Response::SyncResponse(_)) | None => {}
            }
        }
    }

    /// What the device speaks. One that does not say may be asked all the same, if it is known whose paths it has.
    async fn capabilities(&self, grpc: &mut Grpc<Channel>) -> Result<CapabilityResponse, Failure> {
        let answer = self.unary(grpc, proto::CAPABILITIES, CapabilityRequest {}).await;
        match answer {
            Err(status) if status.code() == Code::Unimplemented => match self.settings.dialect {
                Some(_) => Ok(CapabilityResponse::default()),
                None => Err(Failure::Dialect),
            },
            answer => answer.map_err(|status| self.failed(&status)),
        }
    }

    /// Asks for what is not on the stream. Without an answer it is missing, and counters are not.
    async fn beside(&self, grpc: &mut Grpc<Channel>, dialect: Dialect) {
        let Some(request) = dialect.beside() else { return };
        let answer: Result<GetResponse, Status> = self.unary(grpc, proto::GET, request).await;
        let now = (self.shared.now)();
        let mut state = self.shared.state();
        match answer {
            Ok(answer) => {
                for notification in &answer.notification {
                    state.store.apply(notification, dialect, now);
                }
            }
            Err(_) => state.store.skip(),
        }
    }

    async fn unary<Q, A>(
        &self,
        grpc: &mut Grpc<Channel>,
        path: &'static str,
        request: Q,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let call = async {
            grpc.ready().await.map_err(|error| Status::from_error(Box::new(error)))?;
            let request = sign(&self.settings.login, request);
            let codec: ProstCodec<Q, A> = ProstCodec::default();
            grpc.unary(request, PathAndQuery::from_static(path), codec).await
        };
        let answer = timeout(PATIENCE, call).await;
        let answer = answer.map_err(|_| Status::deadline_exceeded(late(PATIENCE)))?;
        answer.map(tonic::Response::into_inner)
    }

    fn failed(&self, status: &Status) -> Failure {
        Failure::call(status, self.settings.login.cure())
    }
}

fn sign<T>(login: &Login, message: T) -> Request<T> {
    let mut request = Request::new(message);
    login.sign(request.metadata_mut());
    request
}

async fn ready(grpc: &mut Grpc<Channel>) -> Result<(), Failure> {
    grpc.ready().await.map_err(|error| Failure::connect(&error))
}

fn late(time: Duration) -> String {
    format!("no answer within {} s", time.as_secs())
}

fn endpoint(settings: &Settings) -> Result<Endpoint, Failure> {
    let Settings { address, security, .. } = settings;
    let scheme = if matches!(security, Security::Plain) { "http" } else { "https" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
    // Pings of HTTP/2 would find a dead peer, too, but servers in Go hang up on clients that send them often.
    let endpoint = endpoint
        .map_err(|error| Failure::connect(&error))?
        .connect_timeout(PATIENCE)
        .tcp_keepalive(Some(Duration::from_secs(10)));
    let Security::Tls(tls) = security else { return Ok(endpoint) };
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
    config = config.domain_name(tls.name.as_deref().unwrap_or(address.host()));
    if let Some((certificate, key)) = &tls.own {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    endpoint.tls_config(config).map_err(|error| Failure::connect(&error))
}
