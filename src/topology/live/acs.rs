//! Access Control Services: whether a port sends traffic between its neighbours up to the root
//! complex instead of straight across.

/// Where extended capabilities begin in configuration space, and its size.
const FIRST: usize = 0x100;
const END: usize = 0x1000;

/// Number of the ACS capability (PCI Express Base Specification).
const ACS: u16 = 0x000D;

/// The control bits of a port that has ACS (PCI Express Base Specification, "ACS Control Register").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acs {
    /// Requests between peers go up to the root complex.
    pub request_redirect: bool,
    /// So do their completions.
    pub completion_redirect: bool,
    /// Requests from below that lead down again are forwarded up.
    pub upstream_forwarding: bool,
}

impl Acs {
    /// Whether traffic between two GPUs below the port's switch takes the way by the CPU.
    pub fn redirects(self) -> bool {
        self.request_redirect || self.completion_redirect
    }
}

/// The ACS control bits in a device's configuration space. `Err` where the space is cut short, as
/// the kernel does for users that are not root; `Ok(None)` for a device without ACS.
pub(super) fn acs_of(config: &[u8]) -> Result<Option<Acs>, ()> {
    let word = |at: usize| -> Option<u16> {
        Some(u16::from_le_bytes(config.get(at..at + 2)?.try_into().ok()?))
    };
    let mut at = FIRST;
    // Capabilities are at least 8 bytes: more than these is a cycle.
    for _ in 0..(END - FIRST) / 8 {
        let (id, next) = (word(at).ok_or(())?, word(at + 2).ok_or(())?);
        if id == ACS {
            let control = word(at + 6).ok_or(())?;
            return Ok(Some(Acs {
                request_redirect: control & (1 << 2) != 0,
                completion_redirect: control & (1 << 3) != 0,
                upstream_forwarding: control & (1 << 4) != 0,
            }));
        }
        at = usize::from(next >> 4) & !3;
        if at < FIRST {
            return Ok(None);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A configuration space with an AER capability, then ACS.
    fn space(control: u16) -> Vec<u8> {
        let mut space = vec![0u8; END];
        space[0x100..0x104].copy_from_slice(&(0x0001u32 | 1 << 16 | 0x148 << 20).to_le_bytes());
        space[0x148..0x14C].copy_from_slice(&(0x000Du32 | 1 << 16).to_le_bytes());
        space[0x14E..0x150].copy_from_slice(&control.to_le_bytes());
        space
    }

    #[test]
    fn redirect_bits_are_found_behind_other_capabilities() {
        let on = acs_of(&space(0x1D)).unwrap().unwrap();
        assert!(on.redirects() && on.upstream_forwarding);
        let off = acs_of(&space(0x01)).unwrap().unwrap();
        assert!(!off.redirects());
    }

    #[test]
    fn a_space_that_is_cut_short_is_not_one_without_acs() {
        assert_eq!(acs_of(&space(0x1D)[..64]), Err(()));
        assert_eq!(acs_of(&vec![0u8; END]), Ok(None));
        // A capability that leads to itself.
        let mut cycle = vec![0u8; END];
        cycle[0x100..0x104].copy_from_slice(&(0x0001u32 | 1 << 16 | 0x100 << 20).to_le_bytes());
        assert_eq!(acs_of(&cycle), Ok(None));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..600)) {
            let _ = acs_of(&bytes);
        }
    }
}
