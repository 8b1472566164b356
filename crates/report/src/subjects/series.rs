//! A test over time: what else happens on the machine, as a band from the median to the 99 % value.

use crate::grid::{Grid, exact};
use crate::known::{mean, quantile};
use crate::section::{Room, Section};
use crate::svg::frame::{Axis, Frame, Labels};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use crate::view::View;
use record::{About, Direction, JobRecord, PhaseRecord};

/// A measurement that is less than so many times worse than usual is as usual.
const SMALL: f64 = 1.01;

/// One measurement of a test.
struct Moment<'a> {
    /// Counted from 1.
    index: u32,
    /// Seconds since 1970, or since the run began if that has no date.
    at: f64,
    job: &'a JobRecord,
}

/// A test and its measurements in the order of time.
struct Over<'a> {
    test: &'a str,
    moments: Vec<Moment<'a>>,
}

/// The date at which a run began, if it has one.
fn start(view: &View<'_>) -> Option<f64> {
    view.record.created.as_deref().and_then(spec::date::parse).map(|seconds| seconds as f64)
}

fn tests<'a>(view: &View<'a>) -> Vec<Over<'a>> {
    let mut all: Vec<Over<'a>> = Vec::new();
    let begin = start(view).unwrap_or(0.0);
    for (phase, job) in view.sampled() {
        let About::Series { test, index } = &phase.about else { continue };
        let moment = Moment { index: *index, at: begin + began(phase), job };
        match all.iter_mut().find(|o| o.test == test) {
            Some(over) => over.moments.push(moment),
            None => all.push(Over { test, moments: vec![moment] }),
        }
    }
    all
}

/// Records of before do not say when a phase began; their measurements are then one second apart, which the axis says.
fn began(phase: &PhaseRecord) -> f64 {
    match (&phase.about, phase.began_s) {
        (_, Some(seconds)) => seconds,
        (About::Series { index, .. }, None) => f64::from(*index),
        _ => 0.0,
    }
}

/// Nothing of runs without a series.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let all = tests(view);
    if all.is_empty() {
        return Vec::new();
    }
    let mut section = Section::with_room(Room::Terminal, "Over time");
    all.iter().for_each(|over| section.say(sentence(view, over)));
    section.list(table(view, &all));
    let mut drawn = Section::with_room(Room::Page, "Every measurement");
    let long = all.iter().filter(|over| over.moments.len() > 1);
    let (pictures, numbers) = long.map(|over| (picture(view, over), every(view, over))).unzip();
    let caption = "Line: median of each measurement; band: from there to what 99 of 100 samples are no worse than.";
    drawn.figure(caption, pictures, numbers);
    vec![section, drawn]
}

/// A value that is worse than another.
fn worse(job: &JobRecord, a: f64, b: f64) -> bool {
    if job.metric.direction() == Direction::LowerIsBetter { a > b } else { a < b }
}

/// The measurement with the worst average.
fn worst<'o, 'a>(over: &'o Over<'a>) -> &'o Moment<'a> {
    let pick =
        |a: &'o Moment<'a>, b: &'o Moment<'a>| if worse(a.job, mean(b.job).value, mean(a.job).value) { b } else { a };
    // A test is listed with its first measurement.
    over.moments.iter().reduce(pick).expect("one measurement at least")
}

fn sentence(view: &View<'_>, over: &Over<'_>) -> String {
    let values: Vec<f64> = over.moments.iter().map(|m| mean(m.job).value).collect();
    let (scale, unit) = over.moments[0].job.metric.shown();
    let usual = crate::compare::changes::median(&values);
    let worst = worst(over);
    let times = worst.job.metric.impact(usual, mean(worst.job).value);
    if times < SMALL {
        let (usual, n) = (digits(usual * scale), values.len());
        return format!("{}: {usual} {unit} in each of {n} measurements, to 1 %: nothing else was felt.", over.test);
    }
    format!(
        "{}: usually {} {unit}, at worst {} ({} times worse) at {}.",
        over.test,
        digits(usual * scale),
        digits(mean(worst.job).value * scale),
        digits(times),
        moment(view, worst)
    )
}

/// When it was, in words.
fn moment(view: &View<'_>, m: &Moment<'_>) -> String {
    match start(view) {
        Some(_) => spec::date::rfc3339(m.at as i64),
        None => format!("measurement {}", m.index),
    }
}

fn table(view: &View<'_>, all: &[Over<'_>]) -> Grid {
    let header = ["Test", "unit", "measured", "usual avg", "worst avg", "when", "usual 99%", "worst 99%"];
    let mut grid = Grid::new("Over time", &header);
    for over in all {
        let job = over.moments[0].job;
        let (scale, unit) = job.metric.shown();
        let of = |pick: &dyn Fn(&JobRecord) -> f64| -> Vec<f64> {
            over.moments.iter().map(|m| pick(m.job) * scale).filter(|v| v.is_finite()).collect()
        };
        let ends = |values: &[f64]| match values {
            [] => ["-".to_string(), "-".to_string()],
            some => {
                let most = some.iter().copied().reduce(|a, b| if worse(job, b, a) { b } else { a });
                [digits(crate::compare::changes::median(some)), digits(most.unwrap_or(f64::NAN))]
            }
        };
        let ([average, worst_average], [tail, worst_tail]) =
            (ends(&of(&|j| mean(j).value)), ends(&of(&|j| quantile(j, 0.99).value)));
        let measured = over.moments.len().to_string();
        let when = moment(view, worst(over));
        grid.row([over.test.to_string(), unit.to_string(), measured, average, worst_average, when, tail, worst_tail]);
    }
    grid
}

fn every(view: &View<'_>, over: &Over<'_>) -> Grid {
    let (scale, unit) = over.moments[0].job.metric.shown();
    let mut grid = Grid::new(&format!("{} [{unit}]", over.test), &["When", "avg", "50%", "99%", "samples"]);
    for m in &over.moments {
        let numbers = [mean(m.job), quantile(m.job, 0.5), quantile(m.job, 0.99)].map(|x| exact(x.value * scale));
        grid.row([moment(view, m)].into_iter().chain(numbers).chain([m.job.summary.samples.to_string()]));
    }
    grid
}

fn picture(view: &View<'_>, over: &Over<'_>) -> Svg {
    let (scale, unit) = over.moments[0].job.metric.shown();
    let points: Vec<(f64, f64, f64)> = over
        .moments
        .iter()
        .map(|m| {
            let [middle, tail] = [0.5, 0.99].map(|q| m.job.summary.quantile(q).map_or(f64::NAN, |q| q.value * scale));
            (m.at, middle, tail)
        })
        .filter(|p| p.1 > 0.0 && p.2 > 0.0 && p.1.is_finite() && p.2.is_finite())
        .collect();
    let (low, high) =
        points.iter().fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), p| (a.min(p.1).min(p.2), b.max(p.1).max(p.2)));
    let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
    let (first, last) = (over.moments[0].at, over.moments[over.moments.len() - 1].at);
    let x = match start(view) {
        Some(_) => Axis { scale: Scale::dates(first, last), label: "UTC", labels: Labels::Plain },
        None => Axis { scale: Scale::linear(first, last), label: "seconds of the run", labels: Labels::Plain },
    };
    let y = Axis { scale: Scale::log(low, high), label: unit, labels: Labels::Plain };
    let about = format!("{} measurements. {}", over.moments.len(), sentence(view, over));
    let mut frame = Frame::new(over.test, &about, 220.0, x, y);
    let upper = points.iter().map(|p| (p.0, p.2));
    let lower = points.iter().rev().map(|p| (p.0, p.1));
    frame.shape("s0", &upper.chain(lower).collect::<Vec<_>>());
    frame.line("s0", &points.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>());
    for (m, p) in over.moments.iter().zip(&points).filter(|_| points.len() == over.moments.len() && points.len() <= 60)
    {
        let tip = format!("{}: median {}, 99 % {} {unit}", moment(view, m), digits(p.1), digits(p.2));
        frame.dot("s0", (p.0, p.1), None, &tip);
    }
    frame.svg.text("value", (8.0, 14.0), Anchor::Start, over.test);
    frame.svg
}
