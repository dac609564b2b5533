//! The columns of a table, from its header or from the words of a row.

use super::lines::words;
use super::{Figures, Refused};

/// Where a figure was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Out,
    In,
}

/// What the words of a row are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    pub redop: bool,
    pub root: bool,
    /// The words of each place's group, in order.
    groups: Vec<(Place, Vec<Column>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Algbw,
    Busbw,
    Wrong,
    Other,
}

impl Columns {
    /// From the line that names them; `places` is the line above it. `None` for any other line.
    ///
    /// # Errors
    /// For times that are no times of the op.
    pub fn of_header(line: usize, header: &str, places: &str) -> Result<Option<Columns>, Refused> {
        let names = words(header);
        if names.len() < 6 || names[..3] != ["size", "count", "type"] {
            return Ok(None);
        }
        if names.contains(&"cputime") {
            return Err(Refused::at(
                line,
                "these are the processor's times (-C 1), not those of the collectives",
            )
            .try_this("a log of nccl-tests without -C"));
        }
        let mut columns = Columns {
            redop: names.contains(&"redop") || names.contains(&"op"),
            root: names.contains(&"root"),
            groups: Vec::new(),
        };
        let mut order = order(places).into_iter();
        for name in &names[3..] {
            let column = match *name {
                "redop" | "op" | "root" => continue,
                "time" => {
                    let Some(place) = order.next() else { break };
                    columns.groups.push((place, Vec::new()));
                    Column::Time
                }
                "algbw" => Column::Algbw,
                "busbw" => Column::Busbw,
                "#wrong" | "error" | "res" | "wrong" => Column::Wrong,
                _ => Column::Other,
            };
            if let Some((_, group)) = columns.groups.last_mut() {
                group.push(column);
            }
        }
        let is_whole = |(_, group): &(Place, Vec<Column>)| {
            [Column::Time, Column::Algbw, Column::Busbw]
                .iter()
                .all(|wanted| group.contains(wanted))
        };
        let whole = !columns.groups.is_empty() && columns.groups.iter().all(is_whole);
        Ok(whole.then_some(columns))
    }

    /// Of a table whose header is missing: `rest` are the words after the type.
    pub fn of_row(rest: &[&str]) -> Option<Columns> {
        let redop = rest.first().is_some_and(|word| is_word(word));
        let numbers = rest.iter().skip(usize::from(redop));
        let numbers = numbers.take_while(|word| is_figure(word)).count();
        let group = vec![Column::Time, Column::Algbw, Column::Busbw, Column::Wrong];
        let of = |root, places: &[Place]| Columns {
            redop,
            root,
            groups: places.iter().map(|place| (*place, group.clone())).collect(),
        };
        match numbers {
            4 => Some(of(false, &[Place::Out])),
            5 => Some(of(true, &[Place::Out])),
            8 => Some(of(false, &[Place::Out, Place::In])),
            9 => Some(of(true, &[Place::Out, Place::In])),
            _ => None,
        }
    }

    /// Words of a row's figures.
    pub fn figures(&self) -> usize {
        self.groups.iter().map(|(_, group)| group.len()).sum()
    }

    /// The figures that `words` say, exactly [`Columns::figures`] of them.
    pub fn read(&self, words: &[&str]) -> Result<Vec<(Place, Figures)>, String> {
        let mut read = Vec::new();
        let mut rest = words;
        for (place, group) in &self.groups {
            let (mine, after) = rest.split_at(group.len().min(rest.len()));
            rest = after;
            let word = |wanted: Column| {
                let at = group.iter().position(|column| *column == wanted)?;
                mine.get(at).copied()
            };
            let number = |wanted: Column, name: &str| -> Result<f64, String> {
                let text = word(wanted).unwrap_or("nothing");
                text.parse::<f64>()
                    .ok()
                    .filter(|value| value.is_finite() && *value >= 0.0)
                    .ok_or_else(|| format!("its {name} is '{text}'"))
            };
            read.push((
                *place,
                Figures {
                    us: number(Column::Time, "time")?,
                    algbw: number(Column::Algbw, "algbw")?,
                    busbw: number(Column::Busbw, "busbw")?,
                    wrong: match word(Column::Wrong) {
                        None | Some("N/A") => None,
                        Some(text) => Some(wrong(text)?),
                    },
                },
            ));
        }
        Ok(read)
    }
}

/// Wrong elements; versions before 2.13 print the largest difference instead, which is 0 or
/// rounding.
fn wrong(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.fract() == 0.0 && value < 1e18 => Ok(value as u64),
        // A relative difference below that of the shortest type.
        Ok(value) if (0.0..1e-2).contains(&value) => Ok(0),
        Ok(value) if value > 0.0 => Ok(1),
        _ => Err(format!("its number of wrong elements is '{text}'")),
    }
}

/// The places in the order of the line above the header; out of place first where it is missing.
fn order(places: &str) -> Vec<Place> {
    match (places.find("out-of-place"), places.find("in-place")) {
        (Some(_), None) => vec![Place::Out],
        (None, Some(_)) => vec![Place::In],
        (Some(out), Some(within)) if within < out => vec![Place::In, Place::Out],
        _ => vec![Place::Out, Place::In],
    }
}

/// A number, or what stands for none.
pub(super) fn is_figure(word: &str) -> bool {
    word == "N/A" || word.parse::<f64>().is_ok()
}

fn is_word(word: &str) -> bool {
    !is_figure(word) && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
