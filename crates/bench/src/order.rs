//! Random orders that all ranks draw alike: no rank needs to be told.
//!
//! An order takes a time and a memory that grow with the ranks. Simulated ranks share a process and ask for the same order one
//! after the other, so a thread keeps the last few; if each drew its own, a million ranks would spend the most of a run on it.

use spec::Rng;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Orders that a thread keeps: jobs that run beside each other draw different ones.
const KEPT: usize = 4;

/// An order of `0..n`.
pub(crate) struct Order {
    list: Vec<u32>,
    places: Vec<u32>,
}

impl Order {
    fn new(list: Vec<u32>) -> Order {
        let mut places = vec![0; list.len()];
        (0..).zip(&list).for_each(|(place, &item)| places[item as usize] = place);
        Order { list, places }
    }

    /// How many things are in it.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// What is at a place.
    pub(crate) fn at(&self, place: usize) -> usize {
        self.list[place] as usize
    }

    /// Where something is.
    pub(crate) fn place(&self, item: usize) -> usize {
        self.places[item] as usize
    }

    /// What stands before and behind something if the order is a ring.
    pub(crate) fn neighbours(&self, item: usize) -> (usize, usize) {
        let (place, n) = (self.place(item), self.len());
        (self.at((place + n - 1) % n), self.at((place + 1) % n))
    }
}

/// What names an order: purpose, seed, number and size.
type Name = (&'static str, u64, u64, usize);

thread_local! {
    /// The orders that were drawn last, the newest first.
    static LAST: RefCell<VecDeque<(Name, Rc<Order>)>> = const { RefCell::new(VecDeque::new()) };
}

/// The order of `n` things for a purpose: `make` draws it, for the first who asks. A purpose has one way of making its orders.
pub(crate) fn order(name: Name, make: fn(&mut Rng, usize) -> Vec<u32>) -> Rc<Order> {
    LAST.with_borrow_mut(|last| {
        if let Some((_, order)) = last.iter().find(|(of, _)| *of == name) {
            return Rc::clone(order);
        }
        let (purpose, seed, index, n) = name;
        let order = Rc::new(Order::new(make(&mut Rng::new(seed, purpose, index), n)));
        last.truncate(KEPT - 1);
        last.push_front((name, Rc::clone(&order)));
        order
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::permutation;

    #[test]
    fn an_order_says_who_is_where_and_beside_whom() {
        let order = Order::new(vec![2, 0, 3, 1]);
        assert_eq!((order.len(), order.at(2), order.place(3)), (4, 3, 2));
        assert_eq!(order.neighbours(2), (1, 0), "the first stands behind the last");
        assert_eq!(order.neighbours(3), (0, 1));
    }

    #[test]
    fn an_order_is_kept_by_all_that_names_it() {
        let names: [Name; 5] = [("a", 1, 0, 64), ("b", 1, 0, 64), ("a", 2, 0, 64), ("a", 1, 1, 64), ("a", 1, 0, 65)];
        // More than are kept, twice: the first have been forgotten and are drawn again.
        for (purpose, seed, index, n) in [names, names].concat() {
            let drawn = permutation(&mut Rng::new(seed, purpose, index), n);
            let asked = || order((purpose, seed, index, n), permutation);
            assert_eq!(asked().list, drawn);
            assert!(Rc::ptr_eq(&asked(), &asked()), "one for all who ask");
        }
    }
}
