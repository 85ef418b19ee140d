//! Counters of hosts and switches for Prometheus to scrape: read where the kernel, a NIC or SONiC keeps them, exported under the
//! names of [`xoff_telemetry::metric`], so that alerts and `xoff diagnose` understand them without a mapping.
//!
//! [`host`] reads sysfs and `ethtool -S`, [`sonic`] reads SONiC's COUNTERS_DB, [`gnmi`] keeps a stream of any switch. All fill an
//! [`Exposition`], which is the text that Prometheus reads. A [`Scraper`] adds what the exporter says of itself, and an [`http::Server`] serves the page. [`naming`]
//! decides which device and port of a fabric a series belongs to.
//!
//! What is read is not believed: files, names and numbers are bounded, and what is no number is skipped and counted. Counters
//! are exported as they are, also those of 32 bits that wrap: a rate of Prometheus takes a wrap for a reset.
//!
//! What it is not: it keeps no history, draws no conclusions and changes no device. Read [`Exposition`] first, then [`host`].

mod exposition;
pub mod gnmi;
pub mod host;
pub mod http;
mod names;
pub mod naming;
mod scraper;
pub mod sonic;

pub use exposition::{Exposition, Kind, Target, Value};
pub use scraper::{Origin, Page, Scraper, Unavailable};
