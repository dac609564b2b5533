//! From the text to a table of classes.

use crate::topology::builder::{Flaw, MAX_GPUS};
use crate::topology::route::PathClass;

/// The table as it was printed.
pub(super) struct Matrix {
    /// GPUs and NICs, in the order of their columns.
    pub ends: Vec<End>,
    /// By row, then column.
    pub classes: Vec<Vec<PathClass>>,
}

/// A row of the table.
pub(super) struct End {
    pub name: String,
    /// What the column of NUMA nodes says; `None` where it says nothing.
    pub numa: Option<String>,
    pub line: usize,
}

impl End {
    pub fn gpu_index(&self) -> Option<u32> {
        let index: u32 = self.name.strip_prefix("GPU")?.parse().ok()?;
        (self.name == format!("GPU{index}")).then_some(index)
    }
}

/// Whether a text looks like what `nvidia-smi topo -m` prints.
pub fn is_topo_matrix(text: &str) -> bool {
    text.lines().take(50).any(is_header)
}

fn is_header(line: &str) -> bool {
    let plain = without_escapes(line);
    let mut words = plain.split_whitespace();
    words.next() == Some("GPU0") && !words.any(|word| word == "X")
}

/// The text without what underlines it on a terminal.
fn without_escapes(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        if c == '\u{1b}' {
            // "ESC [ 4 m": up to the letter that ends it.
            letters.by_ref().find(|c| c.is_ascii_alphabetic());
        } else {
            out.push(c);
        }
    }
    out
}

/// Cells of a line, in columns of tabs or, where a tab got lost, of spaces.
fn cells(line: &str) -> Vec<String> {
    let plain = without_escapes(line);
    let cells: Vec<&str> = match plain.contains('\t') {
        true => plain.split('\t').map(str::trim).collect(),
        false => plain.split_whitespace().collect(),
    };
    cells.into_iter().map(str::to_string).collect()
}

pub(super) fn read(text: &str) -> Result<Matrix, Flaw> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let (header_line, header) = lines
        .by_ref()
        .find(|(_, line)| is_header(line))
        .ok_or_else(|| Flaw::at(None, "no line names GPU0 and the other columns"))?;
    let header = cells(header);
    let names: Vec<String> = header
        .iter()
        .skip_while(|cell| cell.is_empty())
        .take_while(|cell| !cell.starts_with("CPU") && !cell.is_empty())
        .cloned()
        .collect();
    if names.len() > 2 * MAX_GPUS {
        let what = format!("{} columns, more than any machine has", names.len());
        return Err(Flaw::at(Some(header_line), what));
    }
    let numa_column = numa_column(&header, names.len());
    let mut matrix = Matrix {
        ends: Vec::new(),
        classes: Vec::new(),
    };
    for (line, row) in lines {
        let cells = cells(row);
        let place = matrix.ends.len();
        match cells.first() {
            Some(first) if names.get(place) == Some(first) => {}
            // Blank lines and the legend.
            _ if place == names.len() => break,
            _ if row.trim().is_empty() => continue,
            _ => {
                let expected = &names[place];
                let what = format!("the row of {} is missing", expected.escape_debug());
                return Err(Flaw::at(Some(line), what));
            }
        }
        let classes: Vec<PathClass> = cells[1..]
            .iter()
            .take(names.len())
            .map(|cell| class(cell).map_err(|what| Flaw::at(Some(line), what)))
            .collect::<Result<_, _>>()?;
        if classes.len() < names.len() {
            let what = format!("{} cells for {} columns", classes.len(), names.len());
            return Err(Flaw::at(Some(line), what));
        }
        let numa = numa_column
            .and_then(|column| cells.get(column))
            .filter(|text| !text.is_empty() && *text != "N/A");
        matrix.ends.push(End {
            name: names[place].clone(),
            numa: numa.cloned(),
            line,
        });
        matrix.classes.push(classes);
    }
    if matrix.ends.len() < names.len() {
        let what = format!("{} rows for {} columns", matrix.ends.len(), names.len());
        return Err(Flaw::at(Some(header_line), what));
    }
    Ok(matrix)
}

/// Where a row has its NUMA node: after its name, its classes and its processors.
fn numa_column(header: &[String], columns: usize) -> Option<usize> {
    let named = header.iter().any(|cell| cell == "NUMA Affinity")
        || header
            .windows(2)
            .any(|two| two[0] == "NUMA" && two[1] == "Affinity");
    named.then_some(columns + 2)
}

fn class(cell: &str) -> Result<PathClass, String> {
    let links = || {
        let count: u32 = cell.strip_prefix("NV")?.parse().ok()?;
        (1..=64)
            .contains(&count)
            .then_some(PathClass::NvLink(count))
    };
    match cell {
        "X" => Ok(PathClass::Same),
        "PIX" => Ok(PathClass::Pix),
        "PXB" => Ok(PathClass::Pxb),
        "PHB" => Ok(PathClass::Phb),
        "NODE" => Ok(PathClass::Node),
        // As it was called once.
        "SYS" | "SOC" => Ok(PathClass::Sys),
        _ => links().ok_or_else(|| {
            let short: String = cell.chars().take(20).collect();
            format!(
                "'{}' is none of X, PIX, PXB, PHB, NODE, SYS and NV#",
                short.escape_debug()
            )
        }),
    }
}
