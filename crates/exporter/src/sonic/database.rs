//! SONiC's databases: hashes by key, in Redis or in a test.

use crate::scraper::Unavailable;
use redis::{
    Client, Connection, ConnectionAddr, IntoConnectionInfo, Pipeline, RedisConnectionInfo,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How long Redis may take to answer. It is on the same machine, and one batch takes it milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// The fields of a hash, in no order.
pub type Hash = Vec<(String, String)>;

/// One of SONiC's databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Db {
    /// What applications want: ports and their state.
    Appl,
    /// What the switch counts.
    Counters,
    /// What is configured.
    Config,
}

impl Db {
    /// Its number in Redis.
    pub const fn number(self) -> i64 {
        match self {
            Db::Appl => 0,
            Db::Counters => 2,
            Db::Config => 4,
        }
    }
}

/// Where hashes are.
pub trait Database: Send {
    /// The hashes of these keys, in their order; one that is not there is empty.
    fn hashes(&mut self, db: Db, keys: &[String]) -> Result<Vec<Hash>, Unavailable>;
}

/// Where Redis listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host and a port.
    Tcp(String, u16),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl std::str::FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(path.into()));
        }
        let form = || {
            format!(
                "`{text}` is neither HOST:PORT, like 127.0.0.1:6379, nor unix:PATH, like unix:/var/run/redis/redis.sock"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match port.parse() {
            Ok(port) if !host.is_empty() => Ok(Address::Tcp(host.to_owned(), port)),
            _ => Err(form()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Redis, with a connection for each database, made when it is first needed and again after an error.
pub struct Redis {
    address: Address,
    open: BTreeMap<Db, Connection>,
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Redis {
    /// At an address; nothing is connected yet.
    pub fn at(address: Address) -> Self {
        Self { address, open: BTreeMap::new() }
    }

    fn connect(&self, db: Db) -> redis::RedisResult<Connection> {
        let address = match &self.address {
            Address::Tcp(host, port) => ConnectionAddr::Tcp(host.clone(), *port),
            Address::Unix(path) => ConnectionAddr::Unix(path.clone()),
        };
        // Older Redis does not know what a library is called, and there is nothing to tell it.
        let settings = RedisConnectionInfo::default().set_db(db.number()).set_skip_set_lib_name();
        let info = address.into_connection_info()?.set_redis_settings(settings);
        let connection = Client::open(info)?.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    }

    fn ask(&mut self, db: Db, pipeline: &Pipeline) -> redis::RedisResult<Vec<Raw>> {
        let mut connection = match self.open.remove(&db) {
            Some(connection) => connection,
            None => self.connect(db)?,
        };
        let answer = pipeline.query(&mut connection)?;
        // After an error it is not known what still comes on a connection: only one that answered is kept.
        self.open.insert(db, connection);
        Ok(answer)
    }
}

/// A hash as Redis has it: any bytes.
type Raw = Vec<(Vec<u8>, Vec<u8>)>;

impl Database for Redis {
    fn hashes(&mut self, db: Db, keys: &[String]) -> Result<Vec<Hash>, Unavailable> {
        let mut pipeline = Pipeline::with_capacity(keys.len());
        for key in keys {
            pipeline.cmd("HGETALL").arg(key);
        }
        let stale = self.open.contains_key(&db);
        let answer = match self.ask(db, &pipeline) {
            // A connection that was idle may have been closed meanwhile.
            Err(_) if stale => self.ask(db, &pipeline),
            answer => answer,
        };
        let answer = answer.map_err(|error| {
            let cure = "is it running, and is --redis its address?";
            Unavailable(format!("cannot read Redis at {}: {error}; {cure}", self.address))
        })?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let hash = |raw: Raw| raw.into_iter().map(|(a, b)| (text(a), text(b))).collect();
        Ok(answer.into_iter().map(hash).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| text.parse::<Address>();
        assert_eq!(read("127.0.0.1:6379"), Ok(Address::Tcp("127.0.0.1".into(), 6379)));
        assert_eq!(read("[::1]:6380"), Ok(Address::Tcp("::1".into(), 6380)));
        assert_eq!(read("unix:/run/r.sock"), Ok(Address::Unix("/run/r.sock".into())));
        for bad in ["", "unix:", "localhost", ":6379", "a:b", "a:70000"] {
            assert!(read(bad).unwrap_err().contains("neither HOST:PORT"), "{bad}");
        }
    }

    #[test]
    fn nothing_listens() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        drop(socket);
        let mut redis = Redis::at(Address::Tcp("127.0.0.1".into(), port));
        let error = redis.hashes(Db::Counters, &["a".into()]).unwrap_err();
        assert!(error.0.contains(&format!("cannot read Redis at 127.0.0.1:{port}")), "{error}");
    }
}
