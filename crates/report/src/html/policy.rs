//! The policy that a page carries: it loads nothing, and runs and shows only the script and the styles that we wrote, known by their SHA-256.
//! Markup that came from elsewhere, were it ever let through, could neither run nor dress itself up.
//! `scripts/check-report` opens pages in a browser.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The policy of a page with these contents of its `style` and `script` elements.
pub fn policy(style: &str, script: &str) -> String {
    let [style, script] = [style, script].map(hash);
    format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'"
    )
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST's example for FIPS 180-4, in the digits of RFC 4648.
    #[test]
    fn hashes_are_those_of_the_standard() {
        assert_eq!(hash("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        let policy = policy("a", "abc");
        assert!(policy.contains("script-src 'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='"), "{policy}");
        assert!(!policy.contains("unsafe"));
    }
}
