//! PCI Express links: generation, width, and what they can carry.

use std::fmt;

/// Generations of PCI Express, named as people name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    Gen1,
    Gen2,
    Gen3,
    Gen4,
    Gen5,
    Gen6,
}

impl Generation {
    pub const ALL: [Generation; 6] = [
        Generation::Gen1,
        Generation::Gen2,
        Generation::Gen3,
        Generation::Gen4,
        Generation::Gen5,
        Generation::Gen6,
    ];

    /// 1 to 6.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// The generation with this number.
    pub fn from_number(number: u32) -> Option<Generation> {
        Generation::ALL
            .into_iter()
            .find(|one| one.number() == number)
    }

    /// Transfers a lane, in GT/s (PCI Express Base Specification).
    pub fn gt_per_s(self) -> f64 {
        match self {
            Generation::Gen1 => 2.5,
            Generation::Gen2 => 5.0,
            Generation::Gen3 => 8.0,
            Generation::Gen4 => 16.0,
            Generation::Gen5 => 32.0,
            Generation::Gen6 => 64.0,
        }
    }

    /// Share of the transfers that is left after the line code: 8b/10b, 128b/130b, and from Gen6 on
    /// 242 of a flit's 256 bytes (PCI Express Base Specification).
    fn line_code(self) -> f64 {
        match self {
            Generation::Gen1 | Generation::Gen2 => 8.0 / 10.0,
            Generation::Gen3 | Generation::Gen4 | Generation::Gen5 => 128.0 / 130.0,
            Generation::Gen6 => 242.0 / 256.0,
        }
    }

    /// The speed as the kernel and NCCL's files write it: "32.0 GT/s PCIe", "8 GT/s".
    pub fn from_speed(text: &str) -> Option<Generation> {
        let number = text.trim().split_once(" GT/s")?.0;
        let speed: f64 = number.trim().parse().ok()?;
        Generation::ALL
            .into_iter()
            .find(|one| one.gt_per_s() == speed)
    }

    /// The inverse of [`Generation::from_speed`].
    pub fn speed(self) -> String {
        format!("{:.1} GT/s PCIe", self.gt_per_s())
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gen{}", self.number())
    }
}

/// Widths that a link can have, in lanes.
const WIDTHS: [u32; 7] = [1, 2, 4, 8, 12, 16, 32];

/// What a link has been trained to, or could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PcieMode {
    pub generation: Generation,
    /// Lanes.
    pub width: u32,
}

impl PcieMode {
    /// A generation and a width; `None` for a width that no link has.
    pub fn new(generation: Generation, width: u32) -> Option<PcieMode> {
        WIDTHS
            .contains(&width)
            .then_some(PcieMode { generation, width })
    }

    /// What one direction carries after the line code, in GB/s: Gen5 x16 63.0. Packet headers take
    /// their share of that, so no copy reaches it.
    pub fn wire_gb_per_s(self) -> f64 {
        self.generation.gt_per_s() * f64::from(self.width) * self.generation.line_code() / 8.0
    }

    /// What NCCL takes one direction for, in GB/s: Gen5 x16 48 (its topology code counts a Gen3
    /// lane as 60 of 80, and doubles that from generation to generation; before, it halves).
    pub fn nccl_gb_per_s(self) -> f64 {
        let speed = match self.generation {
            Generation::Gen1 => 15.0,
            Generation::Gen2 => 30.0,
            Generation::Gen3 => 60.0,
            Generation::Gen4 => 120.0,
            Generation::Gen5 => 240.0,
            Generation::Gen6 => 480.0,
        };
        f64::from(self.width) * speed / 80.0
    }

    /// "Gen5 x16", as [`fmt::Display`] writes it; case and spaces do not matter.
    ///
    /// # Errors
    /// A clause with the text.
    pub fn parse(text: &str) -> Result<PcieMode, String> {
        let lower = text.to_ascii_lowercase();
        let parts = lower.trim().strip_prefix("gen").and_then(|rest| {
            let (generation, width) = rest.split_once('x')?;
            let generation = Generation::from_number(generation.trim().parse().ok()?)?;
            PcieMode::new(generation, width.trim().parse().ok()?)
        });
        parts.ok_or_else(|| {
            format!("'{text}' is no PCIe link (write Gen5 x16; Gen1 to Gen6, x1 to x32)")
        })
    }

    /// Whether either the generation or the width is less than that of `other`.
    pub fn is_below(self, other: PcieMode) -> bool {
        self.generation < other.generation || self.width < other.width
    }

    /// The lower of each: what two ends that can do this and `other` agree on.
    pub fn common(self, other: PcieMode) -> PcieMode {
        PcieMode {
            generation: self.generation.min(other.generation),
            width: self.width.min(other.width),
        }
    }
}

impl fmt::Display for PcieMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x{}", self.generation, self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> PcieMode {
        PcieMode::parse(text).unwrap()
    }

    #[test]
    fn wires_carry_what_their_line_code_leaves() {
        for (text, gb_per_s) in [
            ("Gen1 x16", 4.0),
            ("Gen3 x16", 15.75),
            ("Gen4 x16", 31.51),
            ("Gen5 x16", 63.02),
            ("Gen5 x8", 31.51),
            ("Gen6 x16", 121.0),
        ] {
            let found = mode(text).wire_gb_per_s();
            assert!((found - gb_per_s).abs() < 0.01, "{text}: {found}");
        }
    }

    #[test]
    fn nccl_takes_a_link_for_less() {
        for (text, gb_per_s) in [
            ("Gen3 x16", 12.0),
            ("Gen4 x16", 24.0),
            ("Gen5 x16", 48.0),
            ("Gen6 x16", 96.0),
            ("Gen4 x8", 12.0),
        ] {
            assert_eq!(mode(text).nccl_gb_per_s(), gb_per_s);
            assert!(gb_per_s < mode(text).wire_gb_per_s());
        }
    }

    #[test]
    fn speeds_are_read_as_kernels_and_files_write_them() {
        for (text, generation) in [
            ("32.0 GT/s PCIe", Some(Generation::Gen5)),
            ("8 GT/s", Some(Generation::Gen3)),
            ("2.5 GT/s PCIe", Some(Generation::Gen1)),
            ("Unknown", None),
            ("", None),
            ("7 GT/s", None),
            ("NaN GT/s", None),
        ] {
            assert_eq!(Generation::from_speed(text), generation, "{text}");
        }
        for generation in Generation::ALL {
            assert_eq!(
                Generation::from_speed(&generation.speed()),
                Some(generation)
            );
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_text() {
        for bad in [
            "",
            "Gen7 x16",
            "Gen5 x3",
            "Gen5",
            "5x16",
            "Gen5 x-1",
            "Gen5 x16 x16",
        ] {
            let said = PcieMode::parse(bad).unwrap_err();
            assert!(said.contains(&format!("'{bad}'")), "{said}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_mode_reads_back(number in 1u32..=6, place in 0usize..7) {
            let generation = Generation::from_number(number).unwrap();
            let mode = PcieMode::new(generation, WIDTHS[place]).unwrap();
            proptest::prop_assert_eq!(PcieMode::parse(&mode.to_string()), Ok(mode));
            proptest::prop_assert_eq!(PcieMode::parse(&mode.to_string().replace(' ', "").to_uppercase()), Ok(mode));
            proptest::prop_assert!(mode.nccl_gb_per_s() < mode.wire_gb_per_s());
        }

        #[test]
        fn no_text_panics(text in ".{0,30}") {
            let _ = PcieMode::parse(&text);
            let _ = Generation::from_speed(&text);
        }
    }
}
