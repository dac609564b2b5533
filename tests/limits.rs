//! Files that are too large, too deep, or no files at all: refused at once, with the value.

mod common;

use std::os::unix::fs::symlink;
use std::process::Command;

use common::{Scratch, alone, run};

fn refused(scratch: &Scratch, arguments: &[&str], code: i32, hint: &str) {
    let output = run(alone(&scratch.0, arguments)).expect_code(code);
    let said = &output.stderr;
    assert!(said.contains(hint), "should say '{hint}': {said}");
    assert!(said.contains("try:"), "{said}");
    assert!(said.len() < 2_000, "{} bytes of message", said.len());
    assert_eq!(output.stdout, "");
}

#[test]
fn model_files() {
    let scratch = Scratch::new();
    let model = |file: &str, code: i32, hint: &str| {
        refused(
            &scratch,
            &["plan", "--ranks", "2", "--model", file],
            code,
            hint,
        );
    };
    let file = |name: &str, text: &str| std::fs::write(scratch.0.join(name), text).unwrap();
    model("/dev/zero", 2, "goes on after 1048576 bytes");
    std::fs::create_dir(scratch.0.join("folder.toml")).unwrap();
    model("folder.toml", 3, "folder.toml/config.json");
    file("large.toml", &"#".repeat((1 << 20) + 1));
    model("large.toml", 2, "1048577 bytes");
    // As deep as the largest file can be. A stack overflow would end the process by a signal.
    let most = (1 << 20) - 100;
    for (name, text) in [
        ("arrays.toml", format!("a = {}", "[".repeat(most))),
        ("tables.toml", "[".repeat(most)),
        ("inline.toml", format!("a = {}", "{a=".repeat(most / 3))),
        ("dotted.toml", format!("{}a = 1", "a.".repeat(most / 2))),
        ("table.toml", format!("[{}a]", "a.".repeat(most / 2))),
        ("arrays.json", "[".repeat(most)),
        ("objects.json", "{\"a\":".repeat(most / 5)),
    ] {
        file(name, &text);
        model(name, 2, name);
    }
    file(
        "escape.toml",
        "name = \"\\u001b[2J\"\nsource = \"s\"\nlayers = 1\nmoe_layers = 0\nhidden_size = 1\nrouted_experts = 0\nexperts_per_token = 0\nactivation_dtype = \"bf16\"\n",
    );
    model("escape.toml", 2, "control character");
}

#[test]
fn result_files() {
    let scratch = Scratch::new();
    let folder = scratch.0.join("o");
    std::fs::create_dir(&folder).unwrap();
    let json = folder.join("result.json");
    let report = |code: i32, hint: &str| refused(&scratch, &["report", "o"], code, hint);

    symlink("/dev/zero", &json).unwrap();
    report(2, "result.json is no file");
    std::fs::remove_file(&json).unwrap();

    let made = Command::new("mkfifo").arg(&json).status().unwrap();
    assert!(made.success());
    report(2, "result.json is no file");
    std::fs::remove_file(&json).unwrap();

    std::fs::create_dir(&json).unwrap();
    report(2, "result.json is no file");
    std::fs::remove_dir(&json).unwrap();

    // Sparse: it takes no room.
    let large = std::fs::File::create(&json).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    report(2, "67108865 bytes");

    std::fs::write(&json, "[".repeat(1 << 20)).unwrap();
    report(2, "holds no result");
    std::fs::write(&json, b"\xff\xfe").unwrap();
    report(2, "is no text from byte 0 on");

    let eager = include_str!("../fuzz/corpus/result_json/eager.json");
    std::fs::write(
        &json,
        eager.replace("\"ranks\":2,", "\"ranks\":4294967295,"),
    )
    .unwrap();
    report(2, "ranks = 4294967295");
    std::fs::write(&json, eager).unwrap();
    let csv = std::fs::File::create(folder.join("samples.csv")).unwrap();
    csv.set_len((1 << 30) + 1).unwrap();
    report(2, "1073741825 bytes");
}

#[cfg(feature = "mpi")]
#[test]
fn plan_files() {
    let scratch = Scratch::new();
    let plan = |file: &str, code: i32, hint: &str| {
        refused(&scratch, &["replay", file], code, hint);
    };
    let file = |name: &str, text: &str| std::fs::write(scratch.0.join(name), text).unwrap();
    plan("/dev/zero", 2, "goes on after 16777216 bytes");
    std::fs::create_dir(scratch.0.join("folder.toml")).unwrap();
    plan("folder.toml", 3, "folder.toml");
    let large = std::fs::File::create(scratch.0.join("large.toml")).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    plan("large.toml", 2, "16777217 bytes");
    file("deep.toml", &format!("block = {}", "[".repeat(10 << 20)));
    plan("deep.toml", 2, "deep.toml");
    let ops = "schema = \"commbench/plan/1\"\nname = \"x\"\n[[block]]\nrepeat = 18446744073709551615\n[[block.op]]\nkind = \"allreduce\"\nbytes = 2\ndtype = \"bf16\"\n";
    file("many.toml", ops);
    plan("many.toml", 2, "many.toml");
    file(
        "many.toml",
        &ops.replace("18446744073709551615", "9223372036854775807"),
    );
    plan("many.toml", 2, "more than 100,000 ops");
}
