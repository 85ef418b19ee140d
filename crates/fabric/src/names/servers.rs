//! Servers by role: which ones a scenario means, and that no server has two roles.

use super::{NameError, Names};
use crate::model::ServerId;
use crate::scenario::{NodeRef, ServerSet};
use std::collections::BTreeSet;

/// A role of servers: the key that says which, and what it says.
#[derive(Debug, Clone, Copy)]
pub struct Role<'s> {
    /// The key in the file.
    pub key: &'static str,
    /// What it says; all servers that have no other role without it.
    pub set: Option<&'s ServerSet>,
}

/// What is wrong with a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {error}")]
pub struct RoleError {
    /// The key in the file.
    pub key: &'static str,
    /// What is wrong with it.
    pub error: NameError,
}

impl Names<'_> {
    /// A server by name or number. The only NIC of a server may stand for it.
    pub(crate) fn server_ref(&self, reference: &NodeRef) -> Result<ServerId, NameError> {
        match reference {
            NodeRef::Name(name) => self.server(name).or_else(|unknown| {
                let nic = self.nodes.get(name.trim()).and_then(|node| {
                    let nic = self.fabric.nics.get(node.index())?;
                    let only = self.fabric.servers[nic.server.index()].nics.len() == 1;
                    only.then_some(nic.server)
                });
                nic.ok_or(unknown)
            }),
            NodeRef::Number(number) => {
                let count = self.fabric.host_servers() as usize;
                if (*number as usize) < count {
                    return Ok(ServerId(*number));
                }
                Err(NameError {
                    message: format!("there is no server {number}"),
                    help: format!("the fabric has {count} servers, counted from 0"),
                })
            }
        }
    }

    /// The servers of one role, in the order of the fabric or of the list. Where there is a number,
    /// they are the first that have a NIC.
    pub fn servers(&self, role: Role<'_>) -> Result<Vec<ServerId>, RoleError> {
        self.choose(role, &BTreeSet::new(), false)
    }

    /// The servers of two roles. Where there are numbers, `back` are the last servers of the fabric,
    /// `front` the first that are left.
    pub fn roles(
        &self,
        front: Role<'_>,
        back: Role<'_>,
    ) -> Result<(Vec<ServerId>, Vec<ServerId>), RoleError> {
        let behind = self.choose(back, &BTreeSet::new(), true)?;
        let taken: BTreeSet<ServerId> = behind.iter().copied().collect();
        // Where one role is whatever the other leaves, it is the other that leaves nothing.
        let blamed = if front.set.is_some() { front.key } else { back.key };
        let before = self.choose(front, &taken, false);
        Ok((before.map_err(|wrong| RoleError { key: blamed, ..wrong })?, behind))
    }

    fn choose(
        &self,
        role: Role<'_>,
        taken: &BTreeSet<ServerId>,
        from_the_end: bool,
    ) -> Result<Vec<ServerId>, RoleError> {
        let wrong = |message: String, help: &str| RoleError {
            key: role.key,
            error: NameError { message, help: help.to_owned() },
        };
        let named = match role.set {
            Some(ServerSet::List(list)) => self.listed(list),
            _ => Ok(Vec::new()),
        };
        let named = named.map_err(|error| RoleError { key: role.key, error })?;
        if let Some(both) = named.iter().find(|server| taken.contains(server)) {
            let name = &self.fabric.servers[both.index()].name;
            return Err(wrong(format!("`{name}` has another role"), "give it one role"));
        }
        let all = (0..self.fabric.host_servers()).map(ServerId);
        let able = |id: &ServerId| !self.fabric.servers[id.index()].nics.is_empty();
        let mut free: Vec<ServerId> = all.filter(able).filter(|id| !taken.contains(id)).collect();
        let there = free.len();
        let chosen = match role.set {
            None => free,
            Some(ServerSet::List(_)) => named,
            Some(&ServerSet::Count(count)) if count as usize <= there => {
                if from_the_end {
                    free.drain(..there - count as usize);
                }
                free.truncate(count as usize);
                free
            }
            Some(ServerSet::Count(count)) => {
                let message = format!("{count} servers are wanted, and there are {there}");
                return Err(wrong(message, "give fewer"));
            }
        };
        if chosen.is_empty() {
            return Err(wrong("no server is left".to_owned(), "it needs one or more"));
        }
        Ok(chosen)
    }

    fn listed(&self, list: &[NodeRef]) -> Result<Vec<ServerId>, NameError> {
        let mut seen = BTreeSet::new();
        let mut servers = Vec::with_capacity(list.len());
        for reference in list {
            let id = self.server_ref(reference)?;
            let server = &self.fabric.servers[id.index()];
            if server.nics.is_empty() {
                let message = format!("`{}` has no NIC", server.name);
                return Err(NameError { message, help: "name another server".to_owned() });
            }
            if !seen.insert(id) {
                let message = format!("`{}` is listed twice", server.name);
                return Err(NameError { message, help: "list it once".to_owned() });
            }
            servers.push(id);
        }
        Ok(servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Fabric;

    fn numbers(list: &[u32]) -> ServerSet {
        ServerSet::List(list.iter().map(|&number| NodeRef::Number(number)).collect())
    }

    fn role(set: Option<&ServerSet>) -> Role<'_> {
        Role { key: "role", set }
    }

    #[test]
    fn numbers_come_from_both_ends() {
        let fabric = Fabric::from_toml("[cluster]\nhosts = 6\n").unwrap();
        let names = Names::of(&fabric);
        let ids = |servers: Vec<ServerId>| servers.iter().map(|id| id.0).collect::<Vec<_>>();
        let two = ServerSet::Count(2);
        let (front, back) = names.roles(role(None), role(Some(&two))).unwrap();
        assert_eq!((ids(front), ids(back)), (vec![0, 1, 2, 3], vec![4, 5]));
        let (front, back) = names.roles(role(Some(&two)), role(Some(&numbers(&[5, 0])))).unwrap();
        assert_eq!((ids(front), ids(back)), (vec![1, 2], vec![5, 0]));
        assert_eq!(ids(names.servers(role(Some(&two))).unwrap()), [0, 1]);
        let nic = |name: &str| names.server_ref(&NodeRef::Name(name.to_owned()));
        assert_eq!(nic("server3-nic0").unwrap(), ServerId(3));
        assert!(nic("leaf0").is_err() && nic("server9-nic0").is_err());
    }

    #[test]
    fn mistakes_are_said() {
        let fabric = Fabric::from_toml("[cluster]\nhosts = 4\n").unwrap();
        let names = Names::of(&fabric);
        let said = |front: Option<ServerSet>, back: ServerSet| {
            let error = names.roles(role(front.as_ref()), role(Some(&back))).unwrap_err();
            error.to_string()
        };
        assert!(said(None, ServerSet::Count(5)).contains("5 servers are wanted, and there are 4"));
        assert!(said(None, ServerSet::Count(4)).contains("no server is left"));
        assert!(said(None, ServerSet::Count(0)).contains("no server is left"));
        assert!(said(None, numbers(&[])).contains("no server is left"));
        assert!(said(None, numbers(&[4])).contains("there is no server 4"));
        assert!(said(None, numbers(&[1, 1])).contains("listed twice"));
        assert!(said(Some(numbers(&[1, 2])), numbers(&[2])).contains("another role"));
    }
}
