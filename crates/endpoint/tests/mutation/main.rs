//! The fuzz target's entrance with sequences of packets that are nearly right: a bounded, repeatable
//! run for machines without a fuzzer. `XOFF_MUTATIONS=1000000` makes it longer.

#[path = "../entries/mod.rs"]
mod entries;

use xoff_wire::{Opcode, Service};

/// A small generator: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A packet for the queue pair of its service: in order, with the right key and a range near the edge
/// of the memory it opens, each of these most of the time.
fn packet(random: &mut Random, expected: &mut u32) -> Vec<u8> {
    let kinds: Vec<(Service, Opcode)> = (0..=255).filter_map(Opcode::from_raw).collect();
    let (service, opcode) = kinds[random.below(kinds.len() as u64) as usize];
    let payload = if opcode.has_payload() {
        [0, 1, 7, 8, 1023, 1024, 1025][random.below(7) as usize]
    } else {
        0
    };
    let pad = (4 - payload % 4) % 4;
    let psn = if random.one_in(5) { random.below(1 << 24) as u32 } else { *expected };
    *expected += u32::from(random.one_in(2));
    let mut bytes = vec![opcode.raw(service), (pad as u8) << 4, 0xff, 0xff, 0, 0, 0, 0];
    bytes.extend((psn | if random.one_in(2) { 0x8000_0000 } else { 0 }).to_be_bytes());
    let extension = opcode.extension_len(service);
    let address = 0x1_0000 + random.below(0x4000);
    let mut rest = address.to_be_bytes().to_vec();
    rest.extend([0; 4]);
    rest.extend((random.below(4096) as u32).to_be_bytes());
    rest.resize(extension.max(16), random.below(256) as u8);
    bytes.extend(&rest[..extension]);
    bytes.resize(bytes.len() + payload + pad + 4, random.below(256) as u8);
    if random.one_in(6) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << random.below(8);
    }
    if random.one_in(30) {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    }
    let which = Service::ALL.iter().position(|known| *known == service).unwrap_or(0);
    let kind = which as u8 | if random.one_in(4) { 0 } else { 4 } | (random.below(4) as u8) << 4;
    let mut framed = vec![kind];
    framed.extend((bytes.len() as u16).to_le_bytes());
    framed.extend(bytes);
    framed
}

#[test]
fn nothing_that_arrives_reaches_closed_memory() {
    let rounds = std::env::var("XOFF_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let mut random = Random(1);
    let mut accepted = 0;
    for _ in 0..rounds.unwrap_or(20_000u64) {
        let mut expected = 0;
        let mut input = Vec::new();
        for _ in 0..=random.below(12) {
            input.extend(packet(&mut random, &mut expected));
        }
        accepted += entries::entrance(&input);
    }
    assert!(accepted > 0, "not one packet was right enough to be accepted");
}
