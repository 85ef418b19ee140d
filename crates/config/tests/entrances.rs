//! What the fuzz targets check, on seeded mutations of rendered configurations: for machines without
//! a fuzzer.

mod common;
mod entries;

use proptest::prelude::*;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

fn rendered(system: SystemId) -> Vec<u8> {
    let of = if system == SystemId::Host { SystemId::Eos } else { system };
    let choices = Choices { balancing: Balancing::Flowlet, ..Choices::all(of) };
    let intent = Intent::with(&common::setup(common::POD), choices);
    let device = intent.device(if system == SystemId::Host { "server0" } else { "leaf0" }).unwrap();
    let of = device.system.system();
    of.render(&of.fit(device, &mut Vec::new())).remove(0).text.into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn flipped_bytes_reach_nothing(
        which in 0usize..SystemId::ALL.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let system = SystemId::ALL[which];
        let mut bytes = rendered(system);
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(1 + cut.index(bytes.len()));
        entries::configuration(system, &bytes);
        entries::audit(&bytes);
    }
}
