//! PCIe switches that are known by model.

use super::pcie::Generation;

/// A model, or a family whose members the system does not tell apart.
#[derive(Debug, PartialEq, Eq)]
pub struct SwitchModel {
    /// The name in topology files.
    pub name: &'static str,
    /// PCI vendor and device numbers of its ports.
    pub ids: &'static [(u16, u16)],
    pub generation: Generation,
    /// Lanes of the chip, over all its virtual switches; `None` for a family.
    pub lanes: Option<u32>,
}

/// Switches seen in GPU boxes. Numbers and lanes: reports of boxes' owners, and topology files that
/// NCCL wrote on them.
pub static SWITCH_MODELS: [SwitchModel; 4] = [
    SwitchModel {
        name: "Microchip Switchtec PM50100",
        ids: &[(0x1F18, 0x0101)],
        generation: Generation::Gen5,
        lanes: Some(100),
    },
    SwitchModel {
        name: "Microchip Switchtec Gen4",
        ids: &[(0x11F8, 0x4000)],
        generation: Generation::Gen4,
        lanes: None,
    },
    SwitchModel {
        name: "Broadcom PEX890xx",
        ids: &[(0x1000, 0xC030)],
        generation: Generation::Gen5,
        lanes: None,
    },
    // What no list can have: somebody's prototype, or a model that a plan does not depend on.
    SwitchModel {
        name: "other",
        ids: &[],
        generation: Generation::Gen6,
        lanes: None,
    },
];

impl SwitchModel {
    /// The model with this name, whatever its case.
    ///
    /// # Errors
    /// A clause with the name and those that are known.
    pub fn parse(name: &str) -> Result<&'static SwitchModel, String> {
        let known = SWITCH_MODELS
            .iter()
            .find(|one| one.name.eq_ignore_ascii_case(name.trim()));
        known.ok_or_else(|| {
            let names: Vec<&str> = SWITCH_MODELS.iter().map(|one| one.name).collect();
            format!(
                "unknown switch model '{name}' (known: {})",
                names.join(", ")
            )
        })
    }

    /// The model whose ports have these PCI numbers.
    pub fn from_ids(vendor: u16, device: u16) -> Option<&'static SwitchModel> {
        SWITCH_MODELS
            .iter()
            .find(|one| one.ids.contains(&(vendor, device)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_name_and_by_number() {
        for model in &SWITCH_MODELS {
            assert_eq!(SwitchModel::parse(model.name), Ok(model));
            for &(vendor, device) in model.ids {
                assert_eq!(SwitchModel::from_ids(vendor, device), Some(model));
            }
        }
        let said = SwitchModel::parse("PLX 8747").unwrap_err();
        assert!(
            said.contains("'PLX 8747'") && said.contains("PEX890xx"),
            "{said}"
        );
    }
}
