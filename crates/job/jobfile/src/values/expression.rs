//! Arithmetic in values: `(expr)` with `+ - * / % ^`, and units after numbers and parentheses.
//!
//! Whole numbers only; division truncates. Times carry their dimension: `(2*3s)` is six seconds,
//! `(5s+100)` adds 100 microseconds, and `(2s*3s)` is refused. Nothing is passed to a shell.

use iolab_units::{KbBase, UnitError, parse_count, parse_ns};

/// Deepest nesting of parentheses and signs.
const MAX_DEPTH: usize = 64;

/// The kind of the numbers in an expression.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measure {
    /// Plain numbers and sizes.
    Count(KbBase),
    /// Times; a result without a unit is in units of this many nanoseconds.
    Time {
        /// Nanoseconds of one unit.
        bare_ns: u64,
    },
}

/// A number with its dimension in time (0: none, 1: nanoseconds).
#[derive(Debug, Clone, Copy)]
struct Quantity {
    number: i128,
    dimension: i32,
}

/// Evaluates `text`; times are in nanoseconds.
///
/// # Errors
/// A sentence about what is wrong.
pub(super) fn evaluate(text: &str, measure: Measure) -> Result<i128, String> {
    let mut parser = Parser { rest: text, measure, depth: 0 };
    let value = parser.sum()?;
    parser.skip_blanks();
    if !parser.rest.is_empty() {
        return Err(format!("`{}` is not valid in an expression", first_word(parser.rest)));
    }
    match (measure, value.dimension) {
        (Measure::Count(_), _) | (Measure::Time { .. }, 1) => Ok(value.number),
        (Measure::Time { bare_ns }, 0) => multiply(value.number, i128::from(bare_ns)),
        (Measure::Time { .. }, _) => Err("the result of the expression is not a time".to_owned()),
    }
}

fn first_word(text: &str) -> &str {
    let end = text.char_indices().nth(12).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn too_large() -> String {
    "the expression becomes too large".to_owned()
}

fn multiply(left: i128, right: i128) -> Result<i128, String> {
    left.checked_mul(right).ok_or_else(too_large)
}

struct Parser<'a> {
    rest: &'a str,
    measure: Measure,
    depth: usize,
}

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        self.skip_blanks();
        let letter = self.rest.chars().next().filter(|letter| wanted.contains(letter))?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn sum(&mut self) -> Result<Quantity, String> {
        let mut left = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            let right = self.product()?;
            let (left_number, right_number, dimension) = self.aligned(left, right)?;
            let number = match operator {
                '+' => left_number.checked_add(right_number),
                _ => left_number.checked_sub(right_number),
            };
            left = Quantity { number: number.ok_or_else(too_large)?, dimension };
        }
        Ok(left)
    }

    /// Converts both numbers to one dimension: next to a time, a bare number is in the bare unit.
    fn aligned(&self, left: Quantity, right: Quantity) -> Result<(i128, i128, i32), String> {
        let bare = match self.measure {
            Measure::Time { bare_ns } => i128::from(bare_ns),
            Measure::Count(_) => 1,
        };
        match (left.dimension, right.dimension) {
            (same, other) if same == other => Ok((left.number, right.number, same)),
            (0, 1) => Ok((multiply(left.number, bare)?, right.number, 1)),
            (1, 0) => Ok((left.number, multiply(right.number, bare)?, 1)),
            _ => Err("a time and a plain number cannot be added".to_owned()),
        }
    }

    fn product(&mut self) -> Result<Quantity, String> {
        let mut left = self.power()?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            let right = self.power()?;
            left = match operator {
                '*' => Quantity {
                    number: multiply(left.number, right.number)?,
                    dimension: left.dimension + right.dimension,
                },
                '/' => Quantity {
                    number: left.number.checked_div(right.number).ok_or("division by zero")?,
                    dimension: left.dimension - right.dimension,
                },
                _ => {
                    let (left_number, right_number, dimension) = self.aligned(left, right)?;
                    let number = left_number.checked_rem(right_number).ok_or("division by zero")?;
                    Quantity { number, dimension }
                }
            };
            if !(-8..=8).contains(&left.dimension) {
                return Err("the result of the expression is not a time".to_owned());
            }
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Quantity, String> {
        let base = self.signed()?;
        if self.take(&['^']).is_none() {
            return Ok(base);
        }
        // Right-associative, as in mathematics.
        let exponent = self.nested(Parser::power)?;
        if exponent.dimension != 0 || base.dimension != 0 {
            return Err("a time cannot be raised to a power".to_owned());
        }
        let exponent = u32::try_from(exponent.number).map_err(|_| "an exponent must be a small positive number")?;
        Ok(Quantity { number: base.number.checked_pow(exponent).ok_or_else(too_large)?, dimension: 0 })
    }

    fn signed(&mut self) -> Result<Quantity, String> {
        match self.take(&['+', '-']) {
            Some('-') => {
                let value = self.nested(Parser::signed)?;
                Ok(Quantity { number: value.number.checked_neg().ok_or_else(too_large)?, ..value })
            }
            Some(_) => self.nested(Parser::signed),
            None => self.atom(),
        }
    }

    fn atom(&mut self) -> Result<Quantity, String> {
        if self.take(&['(']).is_some() {
            let inner = self.nested(Parser::sum)?;
            if self.take(&[')']).is_none() {
                return Err("a closing parenthesis is missing".to_owned());
            }
            return self.with_suffix(inner);
        }
        let word = self.word();
        if word.is_empty() {
            return match self.rest.chars().next() {
                None => Err("expected a number, but the expression ends here".to_owned()),
                Some(letter) => Err(format!("expected a number, found `{letter}`")),
            };
        }
        self.number(&word)
    }

    /// Letters, digits and dots at the front.
    fn word(&mut self) -> String {
        self.skip_blanks();
        let end = self.rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.');
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word.to_owned()
    }

    fn number(&self, word: &str) -> Result<Quantity, String> {
        let read = |value: Result<i128, UnitError>, dimension| {
            value.map(|number| Quantity { number, dimension }).map_err(|error| error.to_string())
        };
        match self.measure {
            Measure::Count(base) => read(parse_count(word, base).map(i128::from), 0),
            Measure::Time { .. }
                if word.ends_with(|letter: char| letter.is_ascii_digit()) || word.starts_with("0x") =>
            {
                read(parse_count(word, KbBase::K1024).map(i128::from), 0)
            }
            Measure::Time { bare_ns } => read(parse_ns(word, bare_ns).map(i128::from), 1),
        }
    }

    /// A unit directly behind a closing parenthesis.
    fn with_suffix(&mut self, inner: Quantity) -> Result<Quantity, String> {
        if !self.rest.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            return Ok(inner);
        }
        let word = self.word();
        let unit = self.number(&format!("1{word}"))?;
        Ok(Quantity { number: multiply(inner.number, unit.number)?, dimension: inner.dimension + unit.dimension })
    }

    fn nested(&mut self, step: fn(&mut Self) -> Result<Quantity, String>) -> Result<Quantity, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression is nested too deeply".to_owned());
        }
        let value = step(self);
        self.depth -= 1;
        value
    }
}
