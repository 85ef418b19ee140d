//! How datagram tests over rdma_cm find their peer: one side looks up, the other answers.

use super::error::PerfError;
use super::meeting::{ANSWERING, BETWEEN_ATTEMPTS};
use super::settings::Settings;
use super::stage::Stage;
use crate::cm::{ConnectionId, DatagramService, Event};
use std::net::IpAddr;
use xoff_transport::Qkey;
use xoff_units::Instant;
use xoff_wire::cm::LookupStatus;

/// The key of datagrams that perftest's own exchange introduced.
pub(super) const PLAIN_KEY: Qkey = Qkey(0x1111_1111);
/// The key that rdma_cm gives to all queue pairs of its UDP port space.
pub(super) const CM_KEY: Qkey = Qkey(0x0123_4567);

/// Looks up where our datagrams go. One that is about to listen gets a moment to do so.
pub(super) fn find(
    stage: &mut Stage,
    server: IpAddr,
    settings: &Settings,
    attempts: u32,
) -> Result<DatagramService, PerfError> {
    for _ in 1..attempts {
        match find_once(stage, server, settings) {
            Err(PerfError::NotFound(LookupStatus::INVALID_SERVICE_ID)) => {}
            result => return result,
        }
        let end = stage.now() + BETWEEN_ATTEMPTS;
        while stage.now() < end {
            event(stage, Some(end))?;
        }
    }
    find_once(stage, server, settings)
}

fn find_once(
    stage: &mut Stage,
    server: IpAddr,
    settings: &Settings,
) -> Result<DatagramService, PerfError> {
    let now = stage.now();
    let agent = stage.agent.as_mut();
    let ours = agent
        .and_then(|agent| agent.manager().look_up(now, server, settings.port))
        .ok_or(PerfError::Mismatch { theirs: "another IP version", ours: "ours" })?;
    loop {
        match event(stage, None)? {
            Some(Event::Found { id, service, .. }) if id == ours => return Ok(service),
            Some(Event::NotFound { id, status }) if id == ours => {
                return Err(PerfError::NotFound(status));
            }
            Some(Event::TimedOut { id }) if id == ours => {
                return Err(PerfError::Silence(ANSWERING));
            }
            _ => {}
        }
    }
}

/// Waits for the lookup of the client, and answers where its datagrams go.
pub(super) fn say(
    stage: &mut Stage,
    client: IpAddr,
    service: DatagramService,
) -> Result<(), PerfError> {
    loop {
        let Some(Event::LookedUp { id, from, .. }) = event(stage, None)? else { continue };
        if from == client {
            reply(stage, id, Some(service));
            return Ok(());
        }
        reply(stage, id, None);
    }
}

fn reply(stage: &mut Stage, id: ConnectionId, service: Option<DatagramService>) {
    let now = stage.now();
    let Some(agent) = &mut stage.agent else { return };
    match service {
        Some(service) => agent.manager().serve(now, id, service),
        None => agent.manager().decline(now, id, LookupStatus::CONSUMER),
    };
}

/// The next event, or none if something else happened first.
fn event(stage: &mut Stage, end: Option<Instant>) -> Result<Option<Event>, PerfError> {
    let idle = stage.turn()?;
    let event = stage.event();
    if idle && event.is_none() {
        // While only time has to pass, the silence of the peer means nothing.
        if end.is_some() {
            stage.heard();
        }
        stage.rest(None)?;
    }
    Ok(event)
}
