//! What an optical module says of itself: its temperature and the power that it receives, from the bytes of its memory map.
//!
//! The first byte says which map it is: SFF-8472 (SFP), SFF-8636 (QSFP) or CMIS (QSFP-DD, OSFP). Cables of copper have no
//! sensors, and zeros there are no values. Of CMIS only the lower page is read, which has the temperature; powers of its
//! lanes are on a page that this way does not reach.

/// What is read of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub offset: u32,
    /// How many.
    pub length: u32,
}

/// What every map begins with.
pub(super) const LOWER: Extent = Extent { offset: 0, length: 128 };
/// The second half of SFF-8472's map, from the word on which sensors there are.
const DIAGNOSTICS: Extent = Extent { offset: 256 + 96, length: 10 };

/// What a module's sensors say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sensors {
    /// Degrees Celsius.
    pub(super) temperature: Option<f64>,
    /// Power received, of the worst lane, in dBm.
    pub(super) received: Option<f64>,
}

/// Memory maps, by the first byte (SFF-8024).
enum Map {
    Sfp,
    Qsfp,
    Cmis,
}

fn map(lower: &[u8]) -> Option<Map> {
    match lower.first()? {
        0x03 | 0x0b => Some(Map::Sfp),
        0x0c | 0x0d | 0x11 => Some(Map::Qsfp),
        0x18 | 0x19 | 0x1b | 0x1e | 0x1f => Some(Map::Cmis),
        _ => None,
    }
}

/// Reads what is needed with `read`, and what the sensors say. Nothing without sensors.
pub(super) fn sensors<E>(mut read: impl FnMut(Extent) -> Result<Vec<u8>, E>) -> Result<Sensors, E> {
    let lower = read(LOWER)?;
    Ok(match map(&lower) {
        // Byte 92: there are diagnostics, and they are calibrated by the module itself.
        Some(Map::Sfp) if lower.get(92).is_some_and(|flags| flags & 0x60 == 0x60) => {
            let own = read(DIAGNOSTICS)?;
            of(degrees(&own, 0), &[power(&own, 8)])
        }
        Some(Map::Sfp) | None => Sensors::default(),
        Some(Map::Qsfp) => of(degrees(&lower, 22), &[34, 36, 38, 40].map(|at| power(&lower, at))),
        Some(Map::Cmis) => of(degrees(&lower, 14), &[]),
    })
}

/// Without any temperature there are no sensors, as in a cable of copper.
fn of(temperature: Option<f64>, lanes: &[Option<f64>]) -> Sensors {
    let temperature = temperature.filter(|degrees| *degrees != 0.0);
    let worst = lanes.iter().flatten().copied().reduce(f64::min);
    let received = worst.filter(|_| temperature.is_some()).map(dbm);
    Sensors { temperature, received }
}

fn word(bytes: &[u8], at: usize) -> Option<[u8; 2]> {
    bytes.get(at..at + 2)?.try_into().ok()
}

/// A temperature, in 256ths of a degree.
fn degrees(bytes: &[u8], at: usize) -> Option<f64> {
    Some(f64::from(i16::from_be_bytes(word(bytes, at)?)) / 256.0)
}

/// A power in milliwatts, from tenths of a microwatt.
fn power(bytes: &[u8], at: usize) -> Option<f64> {
    Some(f64::from(u16::from_be_bytes(word(bytes, at)?)) / 10_000.0)
}

/// As decibels of a milliwatt; no light is the least that the map can tell.
fn dbm(milliwatts: f64) -> f64 {
    10.0 * milliwatts.max(1e-4).log10()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(memory: &[u8]) -> Sensors {
        let part = |extent: Extent| -> Result<Vec<u8>, ()> {
            let begin = (extent.offset as usize).min(memory.len());
            let end = (begin + extent.length as usize).min(memory.len());
            Ok(memory[begin..end].to_vec())
        };
        sensors(part).unwrap()
    }

    #[test]
    fn a_qsfp_has_four_lanes() {
        let mut memory = vec![0; 256];
        memory[0] = 0x11;
        memory[22..24].copy_from_slice(&(41_i16 * 256 + 128).to_be_bytes());
        for (lane, power) in [10_000_u16, 8_000, 5_000, 10_000].into_iter().enumerate() {
            memory[34 + 2 * lane..36 + 2 * lane].copy_from_slice(&power.to_be_bytes());
        }
        let found = read(&memory);
        assert_eq!(found.temperature, Some(41.5));
        // Half a milliwatt is 3 dB below one.
        assert!((found.received.unwrap() + 3.01).abs() < 0.01, "{found:?}");
        memory[36..38].copy_from_slice(&[0, 0]);
        assert_eq!(read(&memory).received, Some(-40.0), "no light");
    }

    #[test]
    fn a_sfp_has_its_sensors_elsewhere() {
        let mut memory = vec![0; 512];
        (memory[0], memory[92]) = (0x03, 0x68);
        memory[352..354].copy_from_slice(&(-5_i16 * 256).to_be_bytes());
        memory[360..362].copy_from_slice(&10_000_u16.to_be_bytes());
        assert_eq!(read(&memory), Sensors { temperature: Some(-5.0), received: Some(0.0) });
        // Calibrated by the host: these numbers mean something else.
        memory[92] = 0x50;
        assert_eq!(read(&memory), Sensors::default());
    }

    #[test]
    fn cmis_has_its_temperature_and_copper_has_none() {
        let mut memory = vec![0; 256];
        memory[0] = 0x1e;
        memory[14..16].copy_from_slice(&(55_i16 * 256).to_be_bytes());
        assert_eq!(read(&memory), Sensors { temperature: Some(55.0), received: None });
        let mut copper = vec![0; 256];
        copper[0] = 0x11;
        assert_eq!(read(&copper), Sensors::default());
        assert_eq!(read(&[]), Sensors::default());
    }

    proptest! {
        #[test]
        fn any_memory_is_read(memory in proptest::collection::vec(any::<u8>(), 0..600)) {
            let found = read(&memory);
            prop_assert!(found.received.is_none_or(|dbm| (-40.0..9.0).contains(&dbm)));
        }
    }
}
