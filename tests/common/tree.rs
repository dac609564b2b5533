//! Captured trees of the kernel's files, as one text each.

use std::path::Path;

/// Writes the tree of a fixture below `root`.
pub fn plant(fixture: &str, root: &Path) {
    let path = format!(
        "{}/tests/fixtures/sysfs/{fixture}.tree",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parent = |path: &Path| std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some((path, target)) = line.split_once(" -> ") {
            let path = root.join(path);
            parent(&path);
            std::os::unix::fs::symlink(target, path).unwrap();
            continue;
        }
        let (path, content) = line.split_once('\t').unwrap();
        let path = root.join(path);
        parent(&path);
        match content.strip_prefix('@') {
            Some(patch) => std::fs::write(path, space(patch)).unwrap(),
            None => std::fs::write(path, content.replace('|', "\n") + "\n").unwrap(),
        }
    }
}

/// A configuration space with some bytes in it: "100=0d00…", both hexadecimal.
fn space(patch: &str) -> Vec<u8> {
    let (place, bytes) = patch.split_once('=').unwrap();
    let place = usize::from_str_radix(place, 16).unwrap();
    let mut space = vec![0u8; 4096];
    for (index, pair) in bytes.as_bytes().chunks(2).enumerate() {
        let pair = std::str::from_utf8(pair).unwrap();
        space[place + index] = u8::from_str_radix(pair, 16).unwrap();
    }
    space
}
