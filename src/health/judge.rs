//! What readings say of the figures taken meanwhile.

use super::{GpuHealth, OtherProcess};
use crate::result::Warning;
use crate::units::{format_bytes, group_thousands};

/// An SM clock that falls by more than this share of its highest reading has changed the machine
/// between samples.
const FALL: f64 = 0.05;

/// One GPU, with the ranks on it.
struct Card<'a> {
    all: Vec<&'a GpuHealth>,
}

impl<'a> Card<'a> {
    fn each(health: &'a [GpuHealth]) -> Vec<Card<'a>> {
        let mut cards: Vec<Card<'a>> = Vec::new();
        for one in health {
            let same =
                |card: &&mut Card<'_>| card.all[0].uuid == one.uuid && card.all[0].host == one.host;
            match cards.iter_mut().find(same) {
                Some(card) => card.all.push(one),
                None => cards.push(Card { all: vec![one] }),
            }
        }
        cards
    }

    /// "the GPU of rank 3", "the GPU of ranks 0 to 7".
    fn name(&self) -> String {
        match self.all.as_slice() {
            [one] => format!("the GPU of rank {}", one.rank),
            all => format!(
                "the GPU of ranks {} to {}",
                all[0].rank,
                all[all.len() - 1].rank
            ),
        }
    }

    /// Lowest and highest SM clock while samples were taken, in MHz.
    fn sm_mhz(&self) -> Option<[u32; 2]> {
        let ranges = self
            .all
            .iter()
            .filter_map(|one| one.sampling.as_ref()?.sm_mhz);
        ranges.reduce(|[low, high], [lower, higher]| [low.min(lower), high.max(higher)])
    }

    /// Every reason that held the clocks down while samples were taken: the readings with it, and
    /// all readings.
    fn throttle(&self) -> Vec<(String, u64, u64)> {
        let ranges = || self.all.iter().filter_map(|one| one.sampling.as_ref());
        let readings = ranges().map(|range| range.readings).sum();
        let mut found: Vec<(String, u64, u64)> = Vec::new();
        for one in ranges().flat_map(|range| &range.throttle) {
            match found.iter_mut().find(|(reason, ..)| *reason == one.reason) {
                Some((_, times, _)) => *times += one.readings,
                None => found.push((one.reason.clone(), one.readings, readings)),
            }
        }
        found
    }

    /// Processes of others, each once.
    fn others(&self) -> Vec<&'a OtherProcess> {
        let mut found: Vec<&OtherProcess> = Vec::new();
        for other in self.all.iter().flat_map(|one| &one.others) {
            if found.iter().all(|one| one.pid != other.pid) {
                found.push(other);
            }
        }
        found
    }
}

/// What a reader of the figures must know of the GPUs' state.
pub fn health_warnings(health: &[GpuHealth]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for card in Card::each(health) {
        if let Some([lowest, highest]) = card.sm_mhz()
            && f64::from(lowest) < f64::from(highest) * (1.0 - FALL)
        {
            warnings.push(Warning {
                code: "clocks-fell".to_string(),
                text: format!(
                    "the SM clock of {} went between {} and {} MHz while samples were taken: the machine was not the same throughout",
                    card.name(),
                    group_thousands(u64::from(lowest)),
                    group_thousands(u64::from(highest))
                ),
                remedy: Some(format!(
                    "see why (nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER), or hold it: nvidia-smi -lgc {lowest}"
                )),
            });
        }
        for (reason, times, readings) in card.throttle() {
            warnings.push(Warning {
                code: "throttled".to_string(),
                text: format!(
                    "{} held its clocks down: {reason}, in {times} of {readings} readings while samples were taken",
                    card.name()
                ),
                remedy: Some("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER".to_string()),
            });
        }
        for other in card.others() {
            warnings.push(Warning {
                code: "gpu-not-alone".to_string(),
                text: format!("{} was not the job's alone: {}", card.name(), told(other)),
                remedy: Some(format!("end process {} first", other.pid)),
            });
        }
    }
    let blind: Vec<&GpuHealth> = health
        .iter()
        .filter(|one| one.unreadable.is_some())
        .collect();
    if let Some(first) = blind.first() {
        let why = first.unreadable.as_deref().unwrap_or_default();
        warnings.push(Warning {
            code: "gpu-health-unread".to_string(),
            text: format!(
                "the state of {} could not be read: {why}",
                match blind.len() {
                    1 => format!("the GPU of rank {}", first.rank),
                    several => format!("{several} ranks' GPUs"),
                }
            ),
            remedy: None,
        });
    }
    warnings
}

fn told(other: &OtherProcess) -> String {
    let mut text = format!("process {}", other.pid);
    if let Some(name) = &other.name {
        text.push_str(&format!(" ({name})"));
    }
    text.push_str(" is on it");
    if let Some(bytes) = other.memory_bytes {
        text.push_str(&format!(", with {}", format_bytes(bytes)));
    }
    match other.sm_percent {
        Some(0) | None => {}
        Some(percent) => text.push_str(&format!(", and had up to {percent} % of its time")),
    }
    text
}

/// The GPUs' state while samples were taken, as one line; none where nothing was read.
pub fn health_words(health: &[GpuHealth]) -> Option<String> {
    let ranges: Vec<_> = health
        .iter()
        .filter_map(|one| one.sampling.as_ref())
        .collect();
    if ranges.is_empty() {
        return None;
    }
    let readings: u64 = ranges.iter().map(|range| range.readings).sum();
    let mut parts = Vec::new();
    if let Some([low, high]) = spread(ranges.iter().filter_map(|range| range.sm_mhz)) {
        parts.push(format!("SM clock {} MHz", from_to(low, high)));
    }
    if let Some([low, high]) = spread(ranges.iter().filter_map(|range| range.power_w)) {
        parts.push(format!("power {} W", from_to(low.round(), high.round())));
    }
    if let Some([low, high]) = spread(ranges.iter().filter_map(|range| range.temperature_c)) {
        parts.push(format!("{} °C", from_to(low, high)));
    }
    let how = match health.iter().find_map(|one| one.poll_ms) {
        Some(ms) => format!("every {ms} ms while samples were taken"),
        None => "between rounds of samples".to_string(),
    };
    Some(format!(
        "GPUs: {} ({readings} readings {how})",
        parts.join(", ")
    ))
}

fn spread<T: PartialOrd + Copy>(ranges: impl Iterator<Item = [T; 2]>) -> Option<[T; 2]> {
    let lower = |one: T, other: T| if other < one { other } else { one };
    let higher = |one: T, other: T| if other > one { other } else { one };
    ranges.reduce(|[a, b], [c, d]| [lower(a, c), higher(b, d)])
}

fn from_to<T: PartialEq + std::fmt::Display>(low: T, high: T) -> String {
    if low == high {
        low.to_string()
    } else {
        format!("{low} to {high}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GpuReading, ReadingRange};
    use super::*;

    fn health(rank: u32, uuid: &str, sm_mhz: &[u32], throttle: &[&str]) -> GpuHealth {
        let mut range = ReadingRange::default();
        for mhz in sm_mhz {
            range.add(&GpuReading {
                sm_mhz: Some(*mhz),
                power_w: Some(300.0),
                temperature_c: Some(60),
                throttle: throttle.iter().map(|one| one.to_string()).collect(),
                ..GpuReading::default()
            });
        }
        GpuHealth {
            rank,
            host: "box".to_string(),
            uuid: uuid.to_string(),
            unreadable: None,
            poll_ms: None,
            before: None,
            sampling: Some(range),
            after: None,
            others: Vec::new(),
        }
    }

    fn codes(health: &[GpuHealth]) -> Vec<String> {
        health_warnings(health)
            .into_iter()
            .map(|one| one.code)
            .collect()
    }

    #[test]
    fn a_clock_that_falls_by_more_than_a_twentieth_is_told_and_less_is_not() {
        assert!(codes(&[health(0, "a", &[1980, 1890], &[])]).is_empty());
        let fell = [health(3, "a", &[1980, 1400, 1900], &[])];
        let warnings = health_warnings(&fell);
        assert_eq!(warnings[0].code, "clocks-fell");
        assert!(
            warnings[0]
                .text
                .contains("rank 3 went between 1,400 and 1,980 MHz"),
            "{}",
            warnings[0].text
        );
    }

    #[test]
    fn different_gpus_may_have_different_clocks() {
        assert!(codes(&[health(0, "a", &[1980], &[]), health(1, "b", &[1400], &[])]).is_empty());
    }

    #[test]
    fn ranks_on_one_gpu_are_told_of_once() {
        let both = [
            health(0, "a", &[1980], &["power cap"]),
            health(1, "a", &[1980, 1980], &["power cap"]),
        ];
        let warnings = health_warnings(&both);
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].text.contains("ranks 0 to 1"),
            "{}",
            warnings[0].text
        );
        assert!(
            warnings[0].text.contains("3 of 3 readings"),
            "{}",
            warnings[0].text
        );
    }

    #[test]
    fn somebody_else_is_named_with_what_they_hold() {
        let mut one = health(3, "a", &[1980], &[]);
        one.others.push(OtherProcess {
            pid: 4711,
            name: Some("vllm".to_string()),
            memory_bytes: Some(96 << 30),
            sm_percent: Some(40),
        });
        let warnings = health_warnings(&[one]);
        assert_eq!(warnings[0].code, "gpu-not-alone");
        assert!(
            warnings[0]
                .text
                .contains("process 4711 (vllm) is on it, with 96 GiB, and had up to 40 %"),
            "{}",
            warnings[0].text
        );
    }

    #[test]
    fn the_line_says_ranges_and_how_often_was_read() {
        let words = health_words(&[health(0, "a", &[1900, 1980], &[])]).unwrap();
        assert_eq!(
            words,
            "GPUs: SM clock 1900 to 1980 MHz, power 300 W, 60 °C (2 readings between rounds of samples)"
        );
        assert_eq!(health_words(&[]), None);
    }
}
