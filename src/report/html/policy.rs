//! What the page may do: the Content-Security-Policy that stands in its head.

use base64::prelude::{BASE64_STANDARD, Engine};

use super::{SCRIPT, STYLE};

/// Nothing but the page's own style and script, known by their hashes, and pictures that are in
/// the page. No attribute of an element may hold style or script, so that even markup that slipped
/// in could neither run nor fetch anything.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        source(STYLE),
        source(SCRIPT)
    )
}

/// The source expression that lets exactly this text in.
fn source(text: &str) -> String {
    let hash = hmac_sha256::Hash::hash(text.as_bytes());
    format!("'sha256-{}'", BASE64_STANDARD.encode(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_specification() {
        // The example of Content Security Policy Level 3, 2.3.1.
        assert_eq!(
            source("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
