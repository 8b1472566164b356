//! A published system as figures of merit, so that a run can be held against it by name.

use crate::known::Known;
use crate::merit::Merit;
use crate::view::{View, gpcnet_title};
use record::reference::System;

/// What is published of the tests that a run has, at the same message sizes; rounded as printed, and without intervals.
pub fn merits_of(system: &System, view: &View<'_>) -> Vec<Merit> {
    let mut all = Vec::new();
    for canary in &view.canaries {
        let (title, metric) = (gpcnet_title(canary.isolated), canary.isolated.metric);
        let name = format!("{}.{}", view.record.plan.suite, canary.name);
        for phase in ["isolated", "loaded"] {
            for (label, stat) in [("avg", "avg"), ("p99", "99%"), ("p99.9", "99.9%")] {
                let value = system.value(&title, phase, stat).map(Known::bare);
                all.extend(value.map(|x| Merit::of_samples(format!("{name}.{phase}.{label}"), canary.isolated, x)));
            }
        }
        let impact = system.impact(metric, &title);
        let factors =
            [("impact", impact.average), ("impact99", impact.tail), ("impact99_over_avg", impact.tail_over_average)];
        for (label, value) in factors {
            all.extend(value.map(|x| Merit::factor(format!("{name}.{label}"), Known::bare(x))));
        }
    }
    all
}
