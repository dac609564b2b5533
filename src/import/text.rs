//! nccl-tests' table as text, of any version, among whatever else was printed.

use super::columns::{Columns, Place, is_figure};
use super::header;
use super::lines::{untagged, words};
use super::{Figures, Log, Refused, Row};

/// nccl-tests' element types over its versions: nothing else begins a row.
const TYPES: [&str; 16] = [
    "int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16",
    "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "char", "int",
];

/// Reads the table, or the `table`-th of several, from 1.
pub(super) fn read(text: &str, table: Option<usize>) -> Result<Log, Refused> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(index + 1, untagged(line))?;
    }
    reader.end()?;
    choose(reader.tables, table)
}

fn choose(mut tables: Vec<Log>, table: Option<usize>) -> Result<Log, Refused> {
    tables.retain(|log| !log.rows.is_empty());
    let held = tables.len();
    match table {
        Some(wanted) => {
            let index = wanted.checked_sub(1).filter(|index| *index < held);
            index.map(|index| tables.swap_remove(index)).ok_or_else(|| {
                Refused::new(format!("holds {held} tables, and --table {wanted} is none of them"))
                    .try_this(format!("--table 1 to --table {held}"))
            })
        }
        None if held > 1 => Err(Refused::new(format!(
            "holds {held} tables, and a result has one"
        ))
        .try_this(format!(
            "--table 1 to --table {held}; n tables of one GPU each come from a binary without MPI: make MPI=1"
        ))),
        None => Ok(tables.pop().unwrap_or_default()),
    }
}

#[derive(Default)]
struct Reader {
    /// Complete tables, and the one that is being read.
    tables: Vec<Log>,
    /// What was said since the last table.
    said: Log,
    columns: Option<Columns>,
    /// The comment before this line.
    comment: String,
    pending: Option<Pending>,
}

/// A row whose figures have not all come: NCCL's own lines can be printed into it.
struct Pending {
    row: Row,
    columns: Columns,
    figures: Vec<String>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Refused> {
        if let Some(comment) = line.strip_prefix('#') {
            return self.comment(number, comment);
        }
        let words = words(line);
        if let Some(row) = self.begun(number, &words) {
            self.drop_pending();
            self.pending = Some(row);
            return self.complete();
        }
        if let Some(pending) = &mut self.pending
            && !words.is_empty()
            && words.iter().all(|word| is_figure(word))
        {
            pending
                .figures
                .extend(words.iter().map(|word| word.to_string()));
            return self.complete();
        }
        header::overhear(line, self.log());
        Ok(())
    }

    /// The table that is read, or what will be said of the next.
    fn log(&mut self) -> &mut Log {
        match (&self.columns, self.tables.last_mut()) {
            (Some(_), Some(log)) => log,
            _ => &mut self.said,
        }
    }

    fn comment(&mut self, number: usize, comment: &str) -> Result<(), Refused> {
        if let Some(columns) = Columns::of_header(number, comment, &self.comment)? {
            self.drop_pending();
            self.columns = Some(columns);
            let log = Log {
                format: "nccl-tests text".to_string(),
                ..std::mem::take(&mut self.said)
            };
            self.tables.push(log);
        } else if ends_table(comment) {
            self.drop_pending();
            self.columns = None;
        } else {
            header::read(comment, &mut self.said);
        }
        self.comment = comment.to_string();
        Ok(())
    }

    /// The row that `words` begin.
    fn begun(&mut self, number: usize, words: &[&str]) -> Option<Pending> {
        let [bytes, count, dtype, rest @ ..] = words else {
            return None;
        };
        let (bytes, count) = (bytes.parse().ok()?, count.parse().ok()?);
        if !TYPES.contains(dtype) {
            return None;
        }
        let columns = match &self.columns {
            Some(columns) => columns.clone(),
            None => {
                let columns = Columns::of_row(rest)?;
                self.columns = Some(columns.clone());
                self.tables.push(Log {
                    format: "nccl-tests text".to_string(),
                    ..std::mem::take(&mut self.said)
                });
                columns
            }
        };
        let mut rest = rest.iter().copied();
        let redop = columns.redop.then(|| rest.next().map(str::to_string));
        let root = columns.root.then(|| rest.next().and_then(leading_number));
        let figures = rest.take_while(|word| is_figure(word));
        Some(Pending {
            row: Row {
                line: number,
                bytes,
                count,
                dtype: dtype.to_string(),
                redop: redop.flatten(),
                root: root.flatten(),
                out_of_place: None,
                in_place: None,
            },
            figures: figures.map(str::to_string).collect(),
            columns,
        })
    }

    /// Takes the pending row if all its figures are there.
    fn complete(&mut self) -> Result<(), Refused> {
        let Some(mut pending) = self.pending.take() else {
            return Ok(());
        };
        let wanted = pending.columns.figures();
        if pending.figures.len() < wanted {
            self.pending = Some(pending);
            return Ok(());
        }
        let words: Vec<&str> = pending.figures[..wanted]
            .iter()
            .map(|word| &**word)
            .collect();
        let read: Vec<(Place, Figures)> = pending
            .columns
            .read(&words)
            .map_err(|why| Refused::at(pending.row.line, why))?;
        for (place, figures) in read {
            match place {
                Place::Out => pending.row.out_of_place = Some(figures),
                Place::In => pending.row.in_place = Some(figures),
            }
        }
        if let Some(log) = self.tables.last_mut() {
            log.rows.push(pending.row);
        }
        Ok(())
    }

    /// Says that a row never got its figures.
    fn drop_pending(&mut self) {
        if let (Some(pending), Some(log)) = (self.pending.take(), self.tables.last_mut()) {
            log.notes.push(format!(
                "the row of {} B in line {} is cut off and left out",
                pending.row.bytes, pending.row.line
            ));
        }
    }

    fn end(&mut self) -> Result<(), Refused> {
        self.drop_pending();
        Ok(())
    }
}

/// The lines below a table.
fn ends_table(comment: &str) -> bool {
    let comment = comment.trim_start();
    [
        "Out of bounds values",
        "Avg bus bandwidth",
        "Collective test concluded",
    ]
    .iter()
    .any(|start| comment.starts_with(start))
}

/// NCCL's first line can stand right behind a root: "-1node1:71:71".
fn leading_number(word: &str) -> Option<i64> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let end = digits
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(digits.len());
    let number: i64 = digits[..end].parse().ok()?;
    Some(if word.starts_with('-') {
        -number
    } else {
        number
    })
}
