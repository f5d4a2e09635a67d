//! The numbers of a figure: as text with units for people, in base units for programs.

use crate::AxisUnit;

/// The numbers of a figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Headings.
    pub columns: Vec<String>,
    /// Rows with one cell for each column.
    pub rows: Vec<Vec<Datum>>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// A name.
    Text(String),
    /// A number in the base unit of its unit; `None` where it is not known.
    Number(Option<f64>, AxisUnit),
    /// A number with a special spelling, such as a percentile with all of its nines.
    Labelled(String, f64, AxisUnit),
}

impl Datum {
    /// The text for people: with a prefix and its unit, or a dash if it is unknown.
    pub fn shown(&self) -> String {
        match self {
            Datum::Text(text) | Datum::Labelled(text, ..) => text.clone(),
            Datum::Number(value, unit) => value.map_or("–".to_owned(), |value| unit.format(value)),
        }
    }

    /// Whether it is a number, known or not.
    pub fn is_number(&self) -> bool {
        self.unit().is_some()
    }

    fn unit(&self) -> Option<AxisUnit> {
        match self {
            Datum::Text(_) => None,
            Datum::Number(_, unit) | Datum::Labelled(_, _, unit) => Some(*unit),
        }
    }

    /// The text for programs: a plain number in its base unit, empty if it is unknown.
    fn raw(&self) -> String {
        match self {
            Datum::Text(text) => text.clone(),
            Datum::Number(value, _) => value.filter(|value| value.is_finite()).map_or(String::new(), plain),
            Datum::Labelled(_, value, _) => plain(*value),
        }
    }
}

/// Without an exponent, which some programs cannot read, unless the number is extremely large or
/// small.
fn plain(value: f64) -> String {
    if value == 0.0 || (1e-9..1e18).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

impl Table {
    pub(crate) fn new(columns: &[&str]) -> Table {
        Table { columns: columns.iter().map(|&column| column.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, first: &[&str], rest: impl IntoIterator<Item = Datum>) {
        self.rows.push(first.iter().map(|&cell| Datum::Text(cell.to_owned())).chain(rest).collect());
    }

    /// Every n-th row if there are more than `most`; the second number is n.
    #[must_use]
    pub fn thinned(&self, most: usize) -> (Table, usize) {
        let step = self.rows.len().div_ceil(most.max(1)).max(1);
        let rows = self.rows.iter().step_by(step).cloned().collect();
        (Table { columns: self.columns.clone(), rows }, step)
    }

    /// Comma-separated values (RFC 4180): one line of unique names that end with the unit, then all
    /// rows, with numbers in base units. If a column has several units, a column `unit` contains
    /// them.
    pub fn csv(&self) -> String {
        let unit_of = |column: usize| {
            let mut units = self.rows.iter().filter_map(|row| row.get(column)?.unit());
            let first = units.next()?;
            units.all(|unit| unit == first).then_some(first)
        };
        let is_number = |column: usize| self.rows.iter().any(|row| row.get(column).is_some_and(Datum::is_number));
        let mixed = (0..self.columns.len()).find(|column| is_number(*column) && unit_of(*column).is_none());
        let mut names: Vec<String> = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            names.push(unique(named(column, unit_of(place)), &names));
        }
        names.extend(mixed.map(|_| unique("unit".to_owned(), &names)));
        let row = |row: &Vec<Datum>| -> Vec<String> {
            let unit = mixed.map(|column| row.get(column).and_then(Datum::unit).map_or("", AxisUnit::base).to_owned());
            row.iter().map(Datum::raw).chain(unit).collect()
        };
        std::iter::once(names).chain(self.rows.iter().map(row)).map(|cells| line(&cells)).collect()
    }
}

/// The name of a column for programs: letters, digits and `_`, with the unit at its end.
fn named(column: &str, unit: Option<AxisUnit>) -> String {
    let letters = column.chars().map(|one| if one.is_alphanumeric() || one == '.' { one } else { '_' });
    let words: String = letters.collect::<String>().to_lowercase();
    let words = words.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let unit = unit.map_or("", AxisUnit::base);
    match (words.as_str(), unit) {
        ("", "") => "column".to_owned(),
        ("", unit) => unit.to_owned(),
        (words, unit) if unit.is_empty() || words == unit || words.ends_with(&format!("_{unit}")) => words.to_owned(),
        (words, unit) => format!("{words}_{unit}"),
    }
}

fn unique(name: String, taken: &[String]) -> String {
    if !taken.contains(&name) {
        return name;
    }
    (2..).map(|number| format!("{name}_{number}")).find(|name| !taken.contains(name)).unwrap_or(name)
}

fn line(cells: &[String]) -> String {
    let field = |text: &String| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.clone(),
    };
    cells.iter().map(field).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64, unit: AxisUnit) -> Datum {
        Datum::Number(Some(value), unit)
    }

    #[test]
    fn long_tables_are_thinned() {
        let mut table = Table::new(&["n"]);
        (0..1000).for_each(|n| table.row(&[], [number(f64::from(n), AxisUnit::Count)]));
        let (thinned, step) = table.thinned(400);
        assert_eq!((thinned.rows.len(), step), (334, 3));
        assert_eq!(table.csv().lines().count(), 1001, "programs get all rows");
    }

    #[test]
    fn programs_get_base_units_and_names_that_are_unique() {
        let mut table = Table::new(&["a, \"b\"", "block size", "low", "low", "low", "share"]);
        let speed = [
            number(1536.0, AxisUnit::BytesPerSecond),
            Datum::Number(None, AxisUnit::PerSecond),
            number(0.5, AxisUnit::PerSecond),
            number(0.25, AxisUnit::Share),
        ];
        table.row(&["say \"x\", y"], [number(4096.0, AxisUnit::Bytes)].into_iter().chain(speed));
        let expected = "a_b,block_size_bytes,low_bytes_per_s,low_per_s,low_per_s_2,share\r\n\"say \"\"x\"\", y\",4096,1536,,0.5,0.25\r\n";
        assert_eq!(table.csv(), expected);
    }

    #[test]
    fn values_of_several_units_have_theirs_beside_them() {
        let mut table = Table::new(&["measure", "time", "value"]);
        table.row(&["wait"], [number(1e9, AxisUnit::Nanoseconds), number(2500.0, AxisUnit::Nanoseconds)]);
        table.row(&["busy"], [number(1e9, AxisUnit::Nanoseconds), number(f64::NAN, AxisUnit::Share)]);
        let expected = "measure,time_ns,value,unit\r\nwait,1000000000,2500,ns\r\nbusy,1000000000,,share\r\n";
        assert_eq!(table.csv(), expected);
        assert_eq!(table.rows[0][2].shown(), "2.5\u{A0}µs");
    }
}
