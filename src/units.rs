//! Sizes and times as people write and read them.

/// Parses a size in bytes: digits with an optional binary suffix (`14336`, `14K`, `256M`, `1G`).
///
/// Suffixes are powers of 1024, as in nccl-tests; a trailing `B` or `iB` is accepted.
///
/// ```
/// assert_eq!(commbench::units::parse_bytes("14K"), Ok(14_336));
/// assert!(commbench::units::parse_bytes("1.5M").is_err());
/// ```
///
/// # Errors
/// A sentence for the user when the text is no size or does not fit 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let digits_end = trimmed
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(trimmed.len());
    let (digits, suffix) = trimmed.split_at(digits_end);
    let number: u64 = digits.parse().map_err(|_| {
        format!(
            "'{text}' is not a size in bytes (write 14336, 14K, 256M or 1G; K, M, G are binary)"
        )
    })?;
    let suffix = suffix.trim().to_ascii_lowercase();
    let shift = match suffix.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => {
            return Err(format!(
                "'{text}' has an unknown suffix (K, M, G and T are known, all binary)"
            ));
        }
    };
    number
        .checked_mul(1u64 << shift)
        .ok_or_else(|| format!("'{text}' does not fit 64 bits"))
}

/// The text without what a terminal takes for commands: control characters, but for line breaks,
/// become `\u{FFFD}`. For words that others wrote: file contents, names of hosts, libraries' texts.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => '\n',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// A size for people: exact below 1 MiB, where the field speaks in bytes; binary units above.
pub fn format_bytes(bytes: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20)] {
        let one = 1u64 << shift;
        if bytes >= one {
            return if bytes.is_multiple_of(one) {
                format!("{} {unit}", bytes / one)
            } else {
                format!("{:.2} {unit}", bytes as f64 / one as f64)
            };
        }
    }
    format!("{} B", group_thousands(bytes))
}

/// A size as short as it is exact: "14,336 B", "64 KiB", "256 MiB".
pub fn short_bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units
        .into_iter()
        .find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match whole {
        // 14,336 B is how the field speaks of it, not 14 KiB.
        Some((unit, shift)) if (bytes >> shift).is_power_of_two() || shift > 10 => {
            format!("{} {unit}", group_thousands(bytes >> shift))
        }
        _ => format!("{} B", group_thousands(bytes)),
    }
}

/// An integer with a comma between groups of three digits.
pub fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Microseconds as text with three significant digits and the unit that suits them.
pub fn format_us(us: f64) -> String {
    if us >= 1e6 {
        format!("{} s", significant(us / 1e6))
    } else if us >= 1e3 {
        format!("{} ms", significant(us / 1e3))
    } else {
        format!("{} µs", significant(us))
    }
}

/// Three significant digits, never in exponent form; whole numbers from 100 on.
pub fn significant(value: f64) -> String {
    let digits = decimals(value);
    format!("{value:.digits$}")
}

/// A median as [`significant`] writes it and its interval with the same number of decimals; one
/// more where the ends of the interval would look the same.
pub fn median_and_interval(median: f64, ci95: Option<[f64; 2]>) -> (String, Option<String>) {
    let mut digits = decimals(median);
    if let Some([lo, hi]) = ci95
        && lo < hi
        && format!("{lo:.digits$}") == format!("{hi:.digits$}")
    {
        digits += 1;
    }
    (
        format!("{median:.digits$}"),
        ci95.map(|[lo, hi]| format!("[{lo:.digits$}, {hi:.digits$}]")),
    )
}

/// Decimals that give a value three significant digits; none from 100 on.
fn decimals(value: f64) -> usize {
    match value.abs() {
        magnitude if magnitude >= 100.0 || magnitude == 0.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        magnitude if magnitude >= 1.0 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_nccl_tests_reads_them() {
        assert_eq!(parse_bytes("14336"), Ok(14336));
        assert_eq!(parse_bytes("14K"), Ok(14336));
        assert_eq!(parse_bytes("256M"), Ok(256 << 20));
        assert_eq!(parse_bytes("1GiB"), Ok(1 << 30));
        assert_eq!(parse_bytes("0"), Ok(0));
    }

    #[test]
    fn short_sizes_stay_exact() {
        for (bytes, text) in [
            (0, "0 B"),
            (8, "8 B"),
            (14_336, "14,336 B"),
            (65_536, "64 KiB"),
            (100 << 20, "100 MiB"),
            ((1 << 20) + 1, "1,048,577 B"),
            (1 << 40, "1 TiB"),
        ] {
            assert_eq!(short_bytes(bytes), text);
        }
    }

    #[test]
    fn nonsense_sizes_are_refused_with_the_value() {
        for bad in [
            "",
            "K",
            "-5",
            "12Q",
            "14i",
            "14kbb",
            "14ikb",
            "1.5M",
            "99999999999999999999",
            "18446744073709551615K",
        ] {
            let message = parse_bytes(bad).unwrap_err();
            assert!(message.contains(bad), "{message}");
        }
    }

    #[test]
    fn no_text_commands_a_terminal() {
        assert_eq!(printable("a\x1b[2J\nb\u{9b}µ"), "a\u{FFFD}[2J\nb\u{FFFD}µ");
    }

    #[test]
    fn sizes_print_exactly_where_they_are_not_round() {
        assert_eq!(format_bytes(14336), "14,336 B");
        assert_eq!(format_bytes((1 << 20) + (1 << 19)), "1.50 MiB");
        assert_eq!(format_bytes(512), "512 B");
        assert_eq!(format_bytes(256 << 20), "256 MiB");
    }

    #[test]
    fn an_interval_never_reads_as_a_point() {
        let text = |lo, hi| median_and_interval(55.8, Some([lo, hi]));
        let some = |text: &str| Some(text.to_string());
        assert_eq!(text(54.1, 57.0), ("55.8".to_string(), some("[54.1, 57.0]")));
        assert_eq!(
            text(55.79, 55.84),
            ("55.80".to_string(), some("[55.79, 55.84]"))
        );
        assert_eq!(text(55.8, 55.8), ("55.8".to_string(), some("[55.8, 55.8]")));
        assert_eq!(median_and_interval(0.0, None), ("0".to_string(), None));
    }

    proptest::proptest! {
        #[test]
        fn any_plain_number_reads_back(bytes in proptest::num::u64::ANY) {
            proptest::prop_assert_eq!(parse_bytes(&bytes.to_string()), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = parse_bytes(&text);
        }

        #[test]
        fn grouping_only_adds_commas(number in proptest::num::u64::ANY) {
            proptest::prop_assert_eq!(group_thousands(number).replace(',', ""), number.to_string());
        }
    }
}
