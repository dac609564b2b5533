//! Entry and exit code.

fn main() {
    println!("commbench {}", env!("CARGO_PKG_VERSION"));
}
