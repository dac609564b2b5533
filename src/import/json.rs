//! nccl-tests' JSON, of version 3 or before.

use serde_json::Value;

use super::header::{name_of, version_of};
use super::{Device, Figures, Log, Refused, Row};

/// The newest version that is read.
const NEWEST: u64 = 3;

pub(super) fn read(text: &str) -> Result<Log, Refused> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| Refused::new(format!("begins as JSON and is none: {error}")))?;
    let version = json["version"].as_u64().unwrap_or(0);
    let Some(results) = json["results"].as_array() else {
        return Err(Refused::new("is JSON without the results of nccl-tests")
            .try_this("the file of all_reduce_perf --output_file FILE.json"));
    };
    if version > NEWEST {
        return Err(Refused::new(format!(
            "is nccl-tests' JSON of version {version}, and {NEWEST} is the newest that is read"
        ))
        .try_this("the text that the same run printed"));
    }
    let config = &json["config"];
    let own = &json["commbench"];
    let rows = results.iter().enumerate();
    Ok(Log {
        format: format!("nccl-tests JSON {version}"),
        program: program(&json["args"]),
        tests_version: None,
        nccl_version: json["nccl_version"].as_u64().and_then(version_of),
        started_at: json["start_time"].as_str().map(str::to_string),
        iterations: config["iterations"].as_u64(),
        warmup: config["warmup_iters"].as_u64(),
        aggregated: config["aggregated_iterations"].as_u64(),
        graph: config["graph"].as_u64(),
        most_bytes: config["maximum_bytes"].as_u64(),
        blocking: is_true(&config["blocking_collectives"]),
        devices: list(&config["devices"]).filter_map(device).collect(),
        rows: rows
            .map(|(index, row)| read_row(index + 1, row))
            .collect::<Result<_, _>>()?,
        figure: own["time"].as_str().map(str::to_string),
        host_memory: own["backend"] == "mpi-host",
        shared_gpu: own["shared_gpu"] == true,
        notes: Vec::new(),
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// nccl-tests writes truth as text.
fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true) || value == "true"
}

/// The first word that names one of its programs, or the op that commbench was given.
fn program(args: &Value) -> Option<String> {
    let words: Vec<&str> = list(args).filter_map(Value::as_str).collect();
    let named = words.iter().map(|word| name_of(word));
    if let Some(name) = named.clone().find(|name| name.ends_with("_perf")) {
        return Some(name);
    }
    let is_ours = words.get(1) == Some(&"sweep");
    let flag = words.iter().enumerate().find_map(|(at, word)| match *word {
        "--op" => words.get(at + 1).map(|op| op.to_string()),
        word => word.strip_prefix("--op=").map(str::to_string),
    });
    is_ours.then(|| flag.unwrap_or("allreduce".to_string()))
}

fn device(value: &Value) -> Option<Device> {
    let text = |name: &str| value[name].as_str().unwrap_or_default().trim().to_string();
    Some(Device {
        rank: u32::try_from(value["rank"].as_u64()?).ok()?,
        host: text("hostname"),
        device: u32::try_from(value["device"].as_u64()?).ok()?,
        bus: text("device_hex"),
        name: text("device_info"),
    })
}

fn read_row(number: usize, row: &Value) -> Result<Row, Refused> {
    let refuse = |what: String| Refused::new(format!("says in result {number}: {what}"));
    let whole = |name: &str| {
        row[name]
            .as_u64()
            .ok_or_else(|| refuse(format!("its {name} is {}", row[name])))
    };
    let figures = |place: &str| -> Result<Option<Figures>, Refused> {
        let value = &row[place];
        if value.is_null() {
            return Ok(None);
        }
        if value["time"].is_null() && !value["cpu_time"].is_null() {
            return Err(refuse(
                "these are the processor's times (-C 1), not those of the collectives".to_string(),
            )
            .try_this("a log of nccl-tests without -C"));
        }
        let number = |name: &str| {
            let found = value[name].as_f64().filter(|value| *value >= 0.0);
            found.ok_or_else(|| refuse(format!("its {name} is {}", value[name])))
        };
        Ok(Some(Figures {
            us: number("time")?,
            algbw: number("alg_bw")?,
            busbw: number("bus_bw")?,
            wrong: match &value["nwrong"] {
                Value::Null => None,
                _ => Some(number("nwrong")?.ceil() as u64),
            },
        }))
    };
    Ok(Row {
        line: number,
        bytes: whole("size")?,
        count: whole("count")?,
        dtype: row["type"].as_str().unwrap_or_default().to_string(),
        redop: row["redop"].as_str().map(|redop| redop.trim().to_string()),
        root: row["root"]
            .as_str()
            .and_then(|root| root.trim().parse().ok()),
        out_of_place: figures("out_of_place")?,
        in_place: figures("in_place")?,
    })
}
