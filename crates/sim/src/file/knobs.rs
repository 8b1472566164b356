//! Knobs: what can be set in a section of a machine file. One line declares one.
//!
//! ```text
//! field: Sort = "default" "what it is" in [least, most] like other but unrecorded;
//! ```
//!
//! From that line come the card's parameter with its help, the field, its reading, its limits and its line in the record.
//! Optional: `named "x"` if the file calls it otherwise, `in [..]` limits in base units, `like other` if it is as another
//! knob of its section unless given, `but unrecorded` for what cannot change a result.

use super::Config;
use spec::{Kind, Params, Rate, ReadParams, Time, show_bytes};
use std::marker::PhantomData;

/// How a value is written in a machine file, kept in the configuration, and shown in a record.
pub trait Sort {
    type Kept;
    const KIND: Kind;
    /// Reads a parameter that its card has checked.
    fn read(params: &Params, name: &str) -> Self::Kept;
    fn show(kept: &Self::Kept) -> String;
}

/// A sort of numbers: what limits are compared with, in base units.
pub trait Number: Sort {
    fn number(kept: &Self::Kept) -> f64;
}

/// A whole number.
pub struct Count<T>(PhantomData<T>);
/// A size in bytes.
pub struct Size<T>(PhantomData<T>);
/// A rate of things per second, kept as the time between two of them.
pub struct PerSecond;

/// Whole numbers that a machine file's may be kept in; too large ones become the largest and are then out of range.
pub trait Whole: Copy {
    fn whole(n: u64) -> Self;
    fn wide(self) -> u64;
}

macro_rules! whole {
    ($($type:ty)*) => {
        $(impl Whole for $type {
            fn whole(n: u64) -> $type {
                <$type>::try_from(n).unwrap_or(<$type>::MAX)
            }
            fn wide(self) -> u64 {
                self as u64
            }
        })*
    };
}
whole!(u32 u64 usize);

/// Says of sorts how they are read, shown and compared.
macro_rules! sorts {
    ($([$($of:ident)?] $sort:ty as $kept:ty: $kind:ident, $read:expr, $show:expr, $number:expr;)*) => {
        $(impl $(<$of: Whole>)? Sort for $sort {
            type Kept = $kept;
            const KIND: Kind = Kind::$kind;
            fn read(params: &Params, name: &str) -> $kept {
                let read: fn(&Params, &str) -> $kept = $read;
                read(params, name)
            }
            fn show(kept: &$kept) -> String {
                let show: fn(&$kept) -> String = $show;
                show(kept)
            }
        }
        impl $(<$of: Whole>)? Number for $sort {
            fn number(kept: &$kept) -> f64 {
                let number: fn(&$kept) -> f64 = $number;
                number(kept)
            }
        })*
    };
}

sorts! {
    [T] Count<T> as T: Count, |p, n| T::whole(p.count(n)), |x| x.wide().to_string(), |x| x.wide() as f64;
    [T] Size<T> as T: Size, |p, n| T::whole(p.size(n) as u64), |x| show_bytes(x.wide()), |x| x.wide() as f64;
    [] Time as Time: Time, |p, n| p.time(n), Time::to_string, |x| x.secs();
    [] Rate as Rate: Rate, |p, n| p.rate(n), Rate::to_string, |x| x.bytes_per_s();
    [] f64 as f64: Real, |p, n| p.real(n), f64::to_string, |x| *x;
    // Times are whole picoseconds: a gap that rounds to 0 is compared as one of them, so that nothing is divided by 0.
    [] PerSecond as Time: Real, |p, n| Time::from_secs(1.0 / p.real(n)), Time::to_string, |x| 1.0 / x.secs().max(1e-12);
}

/// Makes an enum a sort: its variants and their words in a machine file.
macro_rules! words {
    ($type:ty { $($variant:ident = $word:literal),* }) => {
        impl Sort for $type {
            type Kept = $type;
            const KIND: Kind = Kind::Choice(&[$($word),*]);
            fn read(params: &Params, name: &str) -> $type {
                match params.word(name) {
                    $($word => <$type>::$variant,)*
                    _ => unreachable!("checked by its card"),
                }
            }
            fn show(kept: &$type) -> String {
                match kept {
                    $(<$type>::$variant => $word.to_string(),)*
                }
            }
        }
    };
}

/// The least that a knob may be.
pub(super) enum Least {
    Is(f64),
    /// The longest packet: a smaller buffer would never let it pass.
    Packet,
}

impl From<f64> for Least {
    fn from(x: f64) -> Least {
        Least::Is(x)
    }
}

/// A knob's value and what it may be.
pub(super) struct Limit {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) value: f64,
    pub(super) least: Least,
    pub(super) most: f64,
}

impl Limit {
    /// Refuses a value outside, in words.
    pub(super) fn check(&self, config: &Config) -> Result<(), String> {
        let Limit { name, kind, value, most, .. } = self;
        let least = match self.least {
            Least::Is(x) => x,
            Least::Packet => f64::from(config.packet()),
        };
        // NaN lies in no range, so it is refused too.
        match (least..=*most).contains(value) {
            true => Ok(()),
            false => {
                let [value, least, most] = [*value, least, *most].map(|x| kind.show(x));
                Err(format!("{name} = {value} is out of range; choose {least} to {most}"))
            }
        }
    }
}

/// A section of the machine file: see the module. `with` adds fields that are no knobs.
macro_rules! knobs {
    (
        $(#[$doc:meta])*
        struct $name:ident = $section:literal $about:literal {
            $($field:ident $(named $file:literal)?: $sort:ty = $default:literal $what:literal
                $(in [$least:expr, $most:expr])? $(like $like:ident)? $(but $mark:ident)?;)*
        }
        with { $($(#[$also_doc:meta])* $also:ident: $also_type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(#[doc = $what] pub $field: <$sort as Sort>::Kept,)*
            $($(#[$also_doc])* pub $also: $also_type,)*
        }

        impl $name {
            pub(super) const CARD: Card = Card {
                name: $section,
                about: $about,
                source: "",
                // Knobs have limits of their own, which `Limit::check` compares.
                params: &[$(
                    Param::new(knobs!(@name $field $($file)?), <$sort as Sort>::KIND, $default, $what).up_to(f64::INFINITY)
                ),*],
            };

            /// What is as another parameter unless it is given: itself, and the other.
            const LIKE: &[(&str, &str)] = &[$($((stringify!($field), stringify!($like)),)?)*];

            /// Reads what is given, with defaults for the rest, and adds the fields that are no knobs.
            fn read(mut given: Params, ($($also,)*): ($($also_type,)*)) -> Result<$name, ParamError> {
                // What is wrong is said of the name that stands in the file, not of one that is like it.
                Self::CARD.resolve(&given)?;
                // Before the card fills in defaults: afterwards nothing tells what was given.
                for (name, like) in Self::LIKE {
                    if let Some(value) = given.get(*like).cloned() {
                        given.entry(name.to_string()).or_insert(value);
                    }
                }
                let params = Self::CARD.resolve(&given)?;
                Ok($name {
                    $($field: <$sort as Sort>::read(&params, knobs!(@name $field $($file)?)),)*
                    $($also,)*
                })
            }

            /// Adds what may change a result, by name.
            fn add_facts(&self, prefix: &str, facts: &mut Vec<(String, String)>) {
                $(knobs!(@unless [$($mark)?] {
                    facts.push((format!("{prefix}{}", stringify!($field)), <$sort as Sort>::show(&self.$field)))
                });)*
            }

            /// Adds what must lie within limits.
            #[allow(unused_variables, reason = "a section may have no limits")]
            fn add_limits(&self, prefix: &str, limits: &mut Vec<Limit>) {
                $(knobs!(@limit [$($least, $most)?] limits, Limit {
                    name: format!("{prefix}{}", knobs!(@name $field $($file)?)),
                    kind: <$sort as Sort>::KIND,
                    value: <$sort as Number>::number(&self.$field),
                });)*
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $file:literal) => { $file };
    (@limit [] $limits:ident, Limit { $($known:tt)* }) => {};
    (@limit [$least:expr, $most:expr] $limits:ident, Limit { $($known:tt)* }) => {
        $limits.push(Limit { $($known)* least: Least::from($least), most: $most })
    };
    (@unless [] $do:block) => { $do };
    (@unless [unrecorded] $do:block) => {};
}

pub(super) use {knobs, words};
