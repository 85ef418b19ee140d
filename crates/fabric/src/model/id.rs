//! Numbers of nodes, ports, cables and classes, each with a type of its own.

use std::fmt;

/// Traffic classes per port. Also the number of PFC priorities and of egress queues.
pub const CLASSES: usize = 8;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(/** A NIC or a switch. */ NodeId);
id!(/** A NIC: one network identity, usually one per GPU. */ NicId);
id!(/** A switch. */ SwitchId);
id!(/** A port of a NIC or switch. */ PortId);
id!(/** A cable between two ports. */ CableId);
id!(/** A server with its GPUs and NICs. */ ServerId);

/// A traffic class: priority, queue and PFC class are the same number, 0 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u8);

impl ClassId {
    /// The class as an index. Higher numbers than 7 do not get past the checks of files.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0 & 7) as usize
    }

    /// The class as a bit of a mask of classes.
    #[inline(always)]
    pub const fn bit(self) -> u8 {
        1 << (self.0 & 7)
    }
}
