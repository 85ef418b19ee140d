//! A gNMI server on loopback that sends what a test gives it.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use xoff_exporter::gnmi::proto::{
    self, CapabilityRequest, CapabilityResponse, Encoding, GetRequest, GetResponse, ModelData,
    Notification, Path, SubscribeRequest, SubscribeResponse, SubscriptionList, TypedValue, Update,
    subscribe_response, typed_value,
};

/// What a device does, which a test may change while it runs.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Models that it lists.
    pub(crate) models: Vec<(&'static str, &'static str)>,
    /// User and password, if it wants them.
    pub(crate) login: Option<(&'static str, &'static str)>,
    /// A token, if it wants one.
    pub(crate) token: Option<&'static str>,
    /// What it answers to a Get.
    pub(crate) get: Vec<Notification>,
    /// What it sends at first and at every sample.
    pub(crate) samples: Vec<Notification>,
    /// Whether it says that it has sent everything.
    pub(crate) syncs: bool,
    /// Whether it sends without a pause.
    pub(crate) endless: bool,
    /// Most paths that it takes.
    pub(crate) most: Option<usize>,
    /// Whether what it sends is no message.
    pub(crate) garbage: bool,
    /// What it was asked for.
    pub(crate) asked: Vec<SubscriptionList>,
}

type Shared = Arc<Mutex<Script>>;

/// A device that listens until it is dropped.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) script: Shared,
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Device {
    pub(crate) fn start(script: Script) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), Arc::new(Mutex::new(script)), None)
    }

    /// At an address, with a certificate and its key if it has them.
    pub(crate) fn at(address: SocketAddr, script: Shared, tls: Option<(String, String)>) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, start) = std::sync::mpsc::channel();
        let service = Service(script.clone());
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let incoming = TcpIncoming::bind(address).unwrap();
                started.send(incoming.local_addr().unwrap()).unwrap();
                let mut server = Server::builder();
                if let Some((certificate, key)) = tls {
                    let identity = Identity::from_pem(certificate, key);
                    server = server.tls_config(ServerTlsConfig::new().identity(identity)).unwrap();
                }
                tokio::select! {
                    result = server.serve_with_incoming(service, incoming) => result.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        let address = start.recv().unwrap();
        Self { script, address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn admitted(script: &Script, metadata: &MetadataMap) -> Result<(), Status> {
    let get = |name| metadata.get(name).and_then(|value| value.to_str().ok());
    let user = script.login.is_none_or(|(name, password)| {
        get("username") == Some(name) && get("password") == Some(password)
    });
    let token = script.token.is_none_or(|token| {
        get("access_token") == Some(token)
            && get("authorization") == Some(format!("Bearer {token}").as_str())
    });
    if user && token {
        Ok(())
    } else {
        Err(Status::unauthenticated("Invalid\nUsername or Password"))
    }
}

#[derive(Clone)]
struct Service(Shared);

impl tower_service::Service<http::Request<Body>> for Service {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = Method(self.0.clone());
        Box::pin(async move {
            Ok(match request.uri().path() {
                proto::CAPABILITIES => {
                    let codec: ProstCodec<CapabilityResponse, CapabilityRequest> =
                        ProstCodec::default();
                    Grpc::new(codec).unary(method, request).await
                }
                proto::GET => {
                    let codec: ProstCodec<GetResponse, GetRequest> = ProstCodec::default();
                    Grpc::new(codec).unary(method, request).await
                }
                proto::SUBSCRIBE if method.0.lock().unwrap().garbage => {
                    let codec: ProstCodec<Garbage, SubscribeRequest> = ProstCodec::default();
                    Grpc::new(codec).streaming(method, request).await
                }
                proto::SUBSCRIBE => {
                    let codec: ProstCodec<SubscribeResponse, SubscribeRequest> =
                        ProstCodec::default();
                    Grpc::new(codec).streaming(Subscribe(method.0), request).await
                }
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

#[derive(Clone)]
struct Method(Shared);

impl UnaryService<CapabilityRequest> for Method {
    type Response = CapabilityResponse;
    type Future = Ready<Result<Response<CapabilityResponse>, Status>>;

    fn call(&mut self, request: Request<CapabilityRequest>) -> Self::Future {
        let script = self.0.lock().unwrap();
        let models = script.models.iter().map(|(name, organization)| ModelData {
            name: (*name).to_owned(),
            organization: (*organization).to_owned(),
            version: "1".to_owned(),
        });
        let answer = CapabilityResponse {
            supported_models: models.collect(),
            supported_encodings: vec![Encoding::Json.into(), Encoding::JsonIetf.into()],
            gnmi_version: "0.10.0".to_owned(),
        };
        ready(admitted(&script, request.metadata()).map(|()| Response::new(answer)))
    }
}

impl UnaryService<GetRequest> for Method {
    type Response = GetResponse;
    type Future = Ready<Result<Response<GetResponse>, Status>>;

    fn call(&mut self, request: Request<GetRequest>) -> Self::Future {
        let script = self.0.lock().unwrap();
        assert_eq!(request.get_ref().prefix.as_ref().unwrap().target, "APPL_DB");
        let notification = script.get.clone();
        let answer = Response::new(GetResponse { notification });
        ready(admitted(&script, request.metadata()).map(|()| answer))
    }
}

struct Subscribe(Shared);

impl StreamingService<SubscribeRequest> for Subscribe {
    type Response = SubscribeResponse;
    type ResponseStream = ReceiverStream<Result<SubscribeResponse, Status>>;
    type Future =
        Pin<Box<dyn Future<Output = Result<Response<Self::ResponseStream>, Status>> + Send>>;

    fn call(&mut self, request: Request<Streaming<SubscribeRequest>>) -> Self::Future {
        let script = self.0.clone();
        Box::pin(async move {
            admitted(&script.lock().unwrap(), request.metadata())?;
            let mut requests = request.into_inner();
            let list = requests.message().await?.and_then(|first| first.subscribe);
            let list = list.ok_or_else(|| Status::invalid_argument("no subscription"))?;
            let most = {
                let mut script = script.lock().unwrap();
                script.asked.push(list.clone());
                script.most
            };
            if most.is_some_and(|most| list.subscription.len() > most) {
                return Err(Status::not_found("No such path"));
            }
            let pause = Duration::from_nanos(list.subscription[0].sample_interval);
            let (send, stream) = mpsc::channel(16);
            tokio::spawn(samples(script, send, pause, requests));
            Ok(Response::new(ReceiverStream::new(stream)))
        })
    }
}

/// Sends until the client ends its half.
async fn samples(
    script: Shared,
    send: mpsc::Sender<Result<SubscribeResponse, Status>>,
    pause: Duration,
    mut requests: Streaming<SubscribeRequest>,
) {
    let respond = |response| Ok(SubscribeResponse { response: Some(response) });
    let mut synced = false;
    loop {
        let (samples, syncs, endless) = {
            let script = script.lock().unwrap();
            (script.samples.clone(), script.syncs, script.endless)
        };
        for sample in samples {
            if send.send(respond(subscribe_response::Response::Update(sample))).await.is_err() {
                return;
            }
        }
        if syncs && !synced {
            synced = true;
            let sync = subscribe_response::Response::SyncResponse(true);
            let _ = send.send(respond(sync)).await;
        }
        if endless {
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = requests.message() => return,
        }
    }
}

/// What is no message: a number where one should be.
#[derive(Clone, PartialEq, prost::Message)]
struct Garbage {
    #[prost(uint64, tag = "1")]
    number: u64,
}

impl StreamingService<SubscribeRequest> for Method {
    type Response = Garbage;
    type ResponseStream = tokio_stream::Once<Result<Garbage, Status>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, _: Request<Streaming<SubscribeRequest>>) -> Self::Future {
        ready(Ok(Response::new(tokio_stream::once(Ok(Garbage { number: 5 })))))
    }
}

/// A path like `COUNTERS/Ethernet*`.
pub(crate) fn path(text: &str) -> Path {
    let elem = |name: &str| {
        let (name, key) = name.split_once('[').unwrap_or((name, ""));
        let key = key.trim_end_matches(']').split_once('=');
        let key = key.map(|(name, value)| (name.to_owned(), value.to_owned()));
        proto::PathElem { name: name.to_owned(), key: key.into_iter().collect() }
    };
    Path { elem: text.split('/').map(elem).collect(), ..Path::default() }
}

/// One value.
pub(crate) fn sample(target: &str, at: &str, value: typed_value::Value) -> Notification {
    let update = Update { path: Some(path(at)), val: Some(TypedValue { value: Some(value) }) };
    let prefix = Some(Path { target: target.to_owned(), ..Path::default() });
    Notification { timestamp: 1, prefix, update: vec![update], ..Notification::default() }
}
