//! PCI addresses.

/// The address in the form of the system, "0000:41:00.0": lower case, with a domain. Reads what
/// NVML ("00000000:41:00.0") and people ("41:00.0") write as well.
///
/// # Errors
/// A clause with the text.
pub fn parse_address(text: &str) -> Result<String, String> {
    let parts = || {
        let (rest, function) = text.trim().rsplit_once('.')?;
        let (rest, device) = rest.rsplit_once(':')?;
        let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
        let hex = |text: &str, most: u32| {
            let is_hex = !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
            let value = u32::from_str_radix(text, 16).ok()?;
            (is_hex && value <= most).then_some(value)
        };
        Some((
            hex(domain, u32::MAX)?,
            hex(bus, 0xFF)?,
            // NCCL's own files go beyond the 32 devices of a bus.
            hex(device, 0xFF)?,
            hex(function, 0xF)?,
        ))
    };
    match parts() {
        Some((domain, bus, device, function)) => {
            Ok(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
        }
        None => {
            let text: String = text.chars().take(40).collect();
            Err(format!(
                "'{}' is no PCI address (write 0000:41:00.0)",
                text.escape_debug()
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_comes_of_all() {
        for (text, address) in [
            ("0000:41:00.0", "0000:41:00.0"),
            ("00000000:C1:00.0", "0000:c1:00.0"),
            ("41:00.0", "0000:41:00.0"),
            ("ffff:ff:01.0", "ffff:ff:01.0"),
            ("10000:e1:00.0", "10000:e1:00.0"),
        ] {
            assert_eq!(parse_address(text).as_deref(), Ok(address));
        }
        for bad in [
            "",
            "41",
            "x:41:00.0",
            "0000:141:00.0",
            "0000:41:00",
            "+1:00.0",
            ":::.",
        ] {
            assert!(parse_address(bad).unwrap_err().contains(bad), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in ".{0,30}") {
            if let Ok(address) = parse_address(&text) {
                proptest::prop_assert_eq!(parse_address(&address), Ok(address));
            }
        }
    }
}
