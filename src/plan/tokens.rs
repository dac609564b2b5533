//! Lists and ranges of tokens per GPU, as users write them.

/// More points than any curve needs.
const MAX_POINTS: usize = 64;

/// Far above any decode step.
const MAX_TOKENS: u64 = 1 << 24;

/// Reads "1,2,4", "1..256" (doubling), "16..64+8" (steps of 8) or "1..1000x10" (factors of 10), and
/// commas between any of them: the points in ascending order, each once.
///
/// ```
/// assert_eq!(commbench::plan::parse_tokens("1..8,6"), Ok(vec![1, 2, 4, 6, 8]));
/// assert_eq!(commbench::plan::parse_tokens("16..32+8"), Ok(vec![16, 24, 32]));
/// ```
///
/// # Errors
/// A sentence with the part at fault.
pub fn parse_tokens(text: &str) -> Result<Vec<u64>, String> {
    let mut points = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => points.push(number(part)?),
            Some((first, rest)) => range(number(first)?, rest, part, &mut points)?,
        }
        if points.len() > MAX_POINTS {
            return Err(format!("'{text}' has more than {MAX_POINTS} points"));
        }
    }
    points.sort_unstable();
    points.dedup();
    Ok(points)
}

fn number(text: &str) -> Result<u64, String> {
    match text.trim().parse::<u64>() {
        Ok(0) => Err("0 tokens per GPU send nothing".to_string()),
        Ok(value) if value <= MAX_TOKENS => Ok(value),
        Ok(value) => Err(format!("{value} tokens per GPU are beyond {MAX_TOKENS}")),
        Err(_) => Err(format!(
            "'{text}' is no number of tokens (write 1,2,4 or 1..256 or 16..64+8)"
        )),
    }
}

fn range(first: u64, rest: &str, part: &str, points: &mut Vec<u64>) -> Result<(), String> {
    let (last, next): (u64, Box<dyn Fn(u64) -> u64>) = match rest.split_once(['+', 'x']) {
        None => (number(rest)?, Box::new(|t| t * 2)),
        Some((last, by)) => {
            let by = number(by)?;
            if rest.contains('+') {
                (number(last)?, Box::new(move |t| t + by))
            } else if by >= 2 {
                (number(last)?, Box::new(move |t| t * by))
            } else {
                return Err(format!("'{part}': a factor of 1 goes nowhere"));
            }
        }
    };
    if last < first {
        return Err(format!("'{part}' ends before it begins"));
    }
    let mut point = first;
    while point <= last && points.len() <= MAX_POINTS {
        points.push(point);
        point = next(point);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(parse_tokens("1..256").unwrap().len(), 9);
        assert_eq!(parse_tokens("3..20"), Ok(vec![3, 6, 12]));
        assert_eq!(parse_tokens("1..1000x10"), Ok(vec![1, 10, 100, 1000]));
        assert_eq!(parse_tokens(" 8, 2,8"), Ok(vec![2, 8]));
        assert_eq!(parse_tokens("7..7"), Ok(vec![7]));
    }

    #[test]
    fn nonsense_is_refused_with_the_part_at_fault() {
        for (text, hint) in [
            ("0", "0 tokens"),
            ("1,0", "0 tokens"),
            ("", "''"),
            ("x", "'x'"),
            ("8..4", "ends before"),
            ("1..8x1", "factor of 1"),
            ("1..8+0", "0 tokens"),
            ("1..", "''"),
            ("-3", "'-3'"),
            ("1..1000+1", "more than 64"),
            ("99999999999", "beyond"),
            ("1.5", "'1.5'"),
        ] {
            let error = parse_tokens(text).unwrap_err();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics_and_points_ascend(text in "[0-9.,+x ]{0,24}") {
            if let Ok(points) = parse_tokens(&text) {
                proptest::prop_assert!(!points.is_empty() && points.len() <= MAX_POINTS);
                proptest::prop_assert!(points.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
