//! NCCL's log: lines of its form in the file that NCCL_DEBUG_FILE names.

use std::fs::File;
use std::io::Write;

fn write(line: &str) {
    let Some(path) = std::env::var_os("NCCL_DEBUG_FILE") else {
        return;
    };
    if let Ok(mut file) = File::options().append(true).open(path) {
        let _ = writeln!(file, "stand-in:1:1 [0] {line}");
    }
}

pub fn info(text: &str) {
    write(&format!("NCCL INFO {text}"));
}

pub fn warn(text: &str) {
    write(&format!("stand-in.cc:1 NCCL WARN {text}"));
}
