//! What launchers and collectors put before the lines of a log, taken off again.

/// More tags than any line has.
const MOST_TAGS: usize = 8;
/// Longest tag in bytes.
const LONGEST_TAG: usize = 128;

/// A line without the tags before it: `[1,0]<stdout>:` of Open MPI, `[0]` of MPICH and NCCL, `0: `
/// of srun, and times of a collector.
pub(super) fn untagged(line: &str) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..MOST_TAGS {
        match after_tag(rest) {
            Some(next) => rest = next.trim_start(),
            None => break,
        }
    }
    rest
}

fn after_tag(line: &str) -> Option<&str> {
    if let Some(inside) = line.strip_prefix('[') {
        let end = inside.find(']').filter(|end| *end <= LONGEST_TAG)?;
        let rest = &inside[end + 1..];
        let rest = ["<stdout>", "<stderr>"]
            .iter()
            .find_map(|stream| rest.strip_prefix(stream))
            .unwrap_or(rest);
        return Some(rest.strip_prefix(':').unwrap_or(rest));
    }
    let (word, rest) = line.split_once(' ')?;
    let is_rank = word
        .strip_suffix(':')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    let is_time = word.len() >= 19
        && word.ends_with('Z')
        && word.as_bytes()[10] == b'T'
        && word.bytes().take(4).all(|b| b.is_ascii_digit());
    (is_rank || is_time).then_some(rest)
}

/// The words of a line, without tags that were printed between them.
pub(super) fn words(line: &str) -> Vec<&str> {
    let is_tag = |word: &str| {
        let inside = word
            .strip_prefix('[')
            .and_then(|word| word.strip_suffix(']'));
        inside.is_some_and(|inside| inside.bytes().all(|b| b.is_ascii_digit() || b == b','))
    };
    line.split_whitespace()
        .filter(|word| !is_tag(word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_off_and_rows_stay() {
        for (line, rest) in [
            ("[1,0]<stdout>:     8  2 float", "8  2 float"),
            ("[0] #   size", "#   size"),
            ("[node-1@1,3]<stderr>: x", "x"),
            ("0:  # Using devices", "# Using devices"),
            ("2024-05-01T10:00:00.000Z [0] 8 2", "8 2"),
            ("     8   2  float", "8   2  float"),
            ("[no end", "[no end"),
            ("", ""),
        ] {
            assert_eq!(untagged(line), rest, "{line}");
        }
        assert_eq!(words("8 2 float [0] 1.0"), ["8", "2", "float", "1.0"]);
    }
}
