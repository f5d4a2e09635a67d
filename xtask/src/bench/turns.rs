//! Programs in turn: each round runs every program once, and the order is reversed from round to
//! round, so that none always follows the same other and all run under the same conditions.

/// One of the programs that take turns.
pub(super) struct Entrant<'a> {
    pub(super) name: String,
    /// Runs once: the figures, always in the same order.
    pub(super) run: Box<dyn Fn() -> Result<Vec<f64>, String> + 'a>,
}

impl<'a> Entrant<'a> {
    pub(super) fn new(name: impl Into<String>, run: impl Fn() -> Result<Vec<f64>, String> + 'a) -> Entrant<'a> {
        Entrant { name: name.into(), run: Box::new(run) }
    }
}

/// The figures of one entrant: for each figure, its value in each round.
pub(super) type Figures = Vec<Vec<f64>>;

/// Lets all run `rounds` times; in the order of the entrants.
pub(super) fn take(entrants: &[Entrant<'_>], rounds: usize) -> Result<Vec<Figures>, String> {
    let mut all: Vec<Figures> = entrants.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..entrants.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let values = (entrants[index].run)().map_err(|reason| format!("{}: {reason}", entrants[index].name))?;
            let figures = &mut all[index];
            figures.resize_with(values.len().max(figures.len()), Vec::new);
            figures.iter_mut().zip(values).for_each(|(figure, value)| figure.push(value));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_order_is_reversed_and_figures_stay_with_their_entrant() {
        let order = RefCell::new(String::new());
        let entrant = |name: &'static str, value: f64| {
            let order = &order;
            Entrant::new(name, move || {
                order.borrow_mut().push_str(name);
                Ok(vec![value, -value])
            })
        };
        let found = take(&[entrant("a", 1.0), entrant("b", 2.0)], 3).unwrap();
        assert_eq!(*order.borrow(), "abbaab");
        assert_eq!(found, [vec![vec![1.0; 3], vec![-1.0; 3]], vec![vec![2.0; 3], vec![-2.0; 3]]]);
        let failing = Entrant::new("c", || Err("no".to_owned()));
        assert_eq!(take(&[failing], 1).unwrap_err(), "c: no");
    }
}
