//! [`Dialect`]: what is subscribed to at a device, and what each of its leaves means.

use super::proto::{
    CapabilityResponse, Encoding, GetRequest, Path, PathElem, Subscription, SubscriptionMode,
};
use super::store::Store;
use super::{openconfig, sonic};
use crate::exposition::Exposition;
use crate::naming::Naming;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Whose paths a device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The tables of SONiC's COUNTERS_DB.
    Sonic,
    /// The models of OpenConfig.
    OpenConfig,
}

/// How much of it is subscribed to. A server may refuse a whole list for one path that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Every path.
    Whole,
    /// What every device has.
    Least,
}

/// The priorities that queues stand for, by their names, where those do not say it.
pub type Queues = BTreeMap<String, u8>;

impl Dialect {
    /// That of a device, by the models that it lists.
    pub(super) fn of(capabilities: &CapabilityResponse) -> Option<Self> {
        let models = &capabilities.supported_models;
        let sonic = models.iter().any(|model| {
            model.name.starts_with("sonic-") || model.organization.eq_ignore_ascii_case("sonic")
        });
        let openconfig = || models.iter().any(|model| model.name.starts_with("openconfig-"));
        match sonic {
            true => Some(Dialect::Sonic),
            false => openconfig().then_some(Dialect::OpenConfig),
        }
    }

    /// How values are to be written, of what a device can: one that lists nothing gets what all of them have to know.
    pub(super) fn encoding(capabilities: &CapabilityResponse) -> Encoding {
        let known = &capabilities.supported_encodings;
        let order = [Encoding::JsonIetf, Encoding::Proto, Encoding::Json];
        let found = order.into_iter().find(|encoding| known.contains(&(*encoding as i32)));
        found.unwrap_or(Encoding::JsonIetf)
    }

    /// What all paths begin with.
    pub(super) fn prefix(self) -> Option<Path> {
        match self {
            Dialect::Sonic => Some(Path { target: "COUNTERS_DB".into(), ..Path::default() }),
            Dialect::OpenConfig => None,
        }
    }

    /// What is subscribed to.
    pub(super) fn subscriptions(self, sample: Duration, extent: Extent) -> Vec<Subscription> {
        let (origin, all) = match self {
            Dialect::Sonic => ("", sonic::PATHS),
            Dialect::OpenConfig => ("openconfig", openconfig::PATHS),
        };
        let paths = all.iter().filter(|(_, every)| *every || extent == Extent::Whole);
        paths
            .map(|(text, _)| Subscription {
                path: Some(Path { origin: origin.into(), elem: elems(text), ..Path::default() }),
                mode: SubscriptionMode::Sample.into(),
                sample_interval: u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX),
            })
            .collect()
    }

    /// What is asked for beside the stream: a subscription has one database of SONiC, and the states of ports are in another one.
    pub(super) fn beside(self) -> Option<GetRequest> {
        match self {
            Dialect::Sonic => Some(GetRequest {
                prefix: Some(Path { target: "APPL_DB".into(), ..Path::default() }),
                path: vec![Path { elem: elems(sonic::PORT_TABLE), ..Path::default() }],
                encoding: Encoding::JsonIetf.into(),
            }),
            Dialect::OpenConfig => None,
        }
    }

    /// A step without the module that it is from. In SONiC, a colon is part of a name.
    pub(super) fn plain(self, name: &str) -> &str {
        match self {
            Dialect::Sonic => name,
            Dialect::OpenConfig => name.split_once(':').map_or(name, |(_, plain)| plain),
        }
    }

    /// The key of an entry of a list.
    pub(super) fn key(self, entry: &Json) -> Option<&str> {
        let Dialect::OpenConfig = self else { return None };
        let fields = entry.as_object()?.iter();
        let mut named =
            fields.filter(|(name, _)| ["name", "interface-id"].contains(&self.plain(name)));
        named.find_map(|(_, value)| value.as_str())
    }

    /// Whether a leaf means anything.
    pub(super) fn wants(self, steps: &[&str]) -> bool {
        match self {
            Dialect::Sonic => sonic::wants(steps),
            Dialect::OpenConfig => openconfig::wants(steps),
        }
    }

    /// Exports what there is.
    pub(super) fn export(
        self,
        store: &Store,
        naming: &Naming,
        queues: &Queues,
        out: &mut Exposition,
    ) {
        match self {
            Dialect::Sonic => sonic::export(store, naming, out),
            Dialect::OpenConfig => openconfig::export(store, naming, queues, out),
        }
    }
}

/// The steps of a path like `interfaces/interface[name=*]/state`.
fn elems(text: &str) -> Vec<PathElem> {
    let elem = |step: &str| {
        let (name, key) = step.split_once('[').unwrap_or((step, ""));
        let key = key.trim_end_matches(']').split_once('=');
        let key = key.map(|(name, value)| (name.to_owned(), value.to_owned()));
        PathElem { name: name.to_owned(), key: key.into_iter().collect() }
    };
    text.split('/').map(elem).collect()
}

#[cfg(test)]
mod tests;
