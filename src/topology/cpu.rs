//! Families of processors, as far as the link between two sockets depends on them.

/// Families that NCCL tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuFamily {
    Amd,
    IntelBroadwell,
    IntelSkylake,
    IntelSapphireRapids,
    IntelEmeraldRapids,
    Arm,
    Power9,
}

/// How NCCL's topology file describes a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NcclCpu {
    pub arch: &'static str,
    pub vendor: Option<&'static str>,
    /// Family and model number; AMD's and ARM's do not matter to NCCL.
    pub ids: Option<(u32, u32)>,
}

impl CpuFamily {
    pub const ALL: [CpuFamily; 7] = [
        CpuFamily::Amd,
        CpuFamily::IntelBroadwell,
        CpuFamily::IntelSkylake,
        CpuFamily::IntelSapphireRapids,
        CpuFamily::IntelEmeraldRapids,
        CpuFamily::Arm,
        CpuFamily::Power9,
    ];

    /// The name in topology files.
    pub fn name(self) -> &'static str {
        match self {
            CpuFamily::Amd => "amd",
            CpuFamily::IntelBroadwell => "intel-broadwell",
            CpuFamily::IntelSkylake => "intel-skylake",
            CpuFamily::IntelSapphireRapids => "intel-sapphire-rapids",
            CpuFamily::IntelEmeraldRapids => "intel-emerald-rapids",
            CpuFamily::Arm => "arm",
            CpuFamily::Power9 => "power9",
        }
    }

    /// The family with this name.
    ///
    /// # Errors
    /// A clause with the name and those that are known.
    pub fn parse(name: &str) -> Result<CpuFamily, String> {
        let known = CpuFamily::ALL.into_iter().find(|one| one.name() == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = CpuFamily::ALL.into_iter().map(CpuFamily::name).collect();
            format!("unknown CPU family '{name}' (known: {})", names.join(", "))
        })
    }

    /// What NCCL takes one direction between two such sockets for, in GB/s (`src/graph/topo.h` of
    /// NCCL 2.30.7). It is what NCCL chooses by, not what boxes do: AMD's are measured at two to
    /// three times this.
    pub fn nccl_inter_socket_gb_per_s(self) -> f64 {
        match self {
            CpuFamily::Amd => 16.0,
            CpuFamily::IntelBroadwell => 6.0,
            CpuFamily::IntelSkylake => 10.0,
            CpuFamily::IntelSapphireRapids => 22.0,
            CpuFamily::IntelEmeraldRapids => 40.0,
            CpuFamily::Arm => 6.0,
            CpuFamily::Power9 => 32.0,
        }
    }

    /// The family of a processor as NCCL's files and /proc/cpuinfo describe it. Later Intel models
    /// count as the newest that NCCL knows, as in NCCL.
    pub fn from_ids(arch: &str, vendor: &str, family: u32, model: u32) -> Option<CpuFamily> {
        match (arch, vendor) {
            ("arm64" | "aarch64", _) => Some(CpuFamily::Arm),
            ("ppc64" | "ppc64le", _) => Some(CpuFamily::Power9),
            (_, "AuthenticAMD") => Some(CpuFamily::Amd),
            (_, "GenuineIntel") => Some(match (family, model) {
                (6, 0xCF..) => CpuFamily::IntelEmeraldRapids,
                (6, 0x8F..) => CpuFamily::IntelSapphireRapids,
                (6, 0x55..) => CpuFamily::IntelSkylake,
                _ => CpuFamily::IntelBroadwell,
            }),
            _ => None,
        }
    }

    /// The inverse of [`CpuFamily::from_ids`].
    pub fn nccl(self) -> NcclCpu {
        let intel = |model| NcclCpu {
            arch: "x86_64",
            vendor: Some("GenuineIntel"),
            ids: Some((6, model)),
        };
        let other = |arch, vendor| NcclCpu {
            arch,
            vendor,
            ids: None,
        };
        match self {
            CpuFamily::Amd => other("x86_64", Some("AuthenticAMD")),
            CpuFamily::IntelBroadwell => intel(0x4F),
            CpuFamily::IntelSkylake => intel(0x55),
            CpuFamily::IntelSapphireRapids => intel(0x8F),
            CpuFamily::IntelEmeraldRapids => intel(0xCF),
            CpuFamily::Arm => other("arm64", None),
            CpuFamily::Power9 => other("ppc64", None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_lead_back_to_the_family() {
        for family in CpuFamily::ALL {
            assert_eq!(CpuFamily::parse(family.name()), Ok(family));
            let NcclCpu { arch, vendor, ids } = family.nccl();
            let (number, model) = ids.unwrap_or((25, 1));
            let back = CpuFamily::from_ids(arch, vendor.unwrap_or(""), number, model);
            assert_eq!(back, Some(family));
        }
        assert!(CpuFamily::parse("vax").unwrap_err().contains("'vax'"));
    }

    #[test]
    fn processors_between_two_families_count_as_the_older() {
        // Ice Lake.
        let ice_lake = CpuFamily::from_ids("x86_64", "GenuineIntel", 6, 106);
        assert_eq!(ice_lake, Some(CpuFamily::IntelSkylake));
        // Both ways to number AMD's families.
        for family in [23, 25, 143, 175] {
            let amd = CpuFamily::from_ids("x86_64", "AuthenticAMD", family, 1);
            assert_eq!(amd, Some(CpuFamily::Amd));
        }
        assert_eq!(CpuFamily::from_ids("x86_64", "CentaurHauls", 7, 1), None);
    }
}
