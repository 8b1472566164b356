//! What counts as a node, and how the ranks of a node become slots: `--unit` and `--per`.

use crate::exit::Fail;
use crate::host;
use crate::machine::Target;
use crate::parts::{self, Per};
use crate::scout::Whereabouts;
use bench::{Facts, Scout, Seat};
use clap::ArgMatches;
use comm::{Comm, Reduce, agree};

/// What the command line says of it.
pub struct Grouping {
    /// Ranks are nodes, or nodes are, or what fits.
    each_rank: Option<bool>,
    per: Option<Per>,
    /// NICs of a simulated node; none on a real machine, where every rank looks.
    simulated_nics: Option<usize>,
}

impl Grouping {
    /// Reads it; what the machine cannot do is refused.
    pub fn read(args: &ArgMatches, machine: &Target) -> anyhow::Result<Grouping> {
        let text = |name: &str| args.get_one::<String>(name).map(String::as_str);
        let per = text("per").and_then(Per::named);
        let simulated_nics = machine.nics();
        if let (Some(Per::Socket | Per::Numa), Some(_)) = (per, simulated_nics) {
            return Err(Fail::usage(
                "--per: simulated nodes have neither sockets nor NUMA domains; take `nic` or `node`",
            ));
        }
        Ok(Grouping { each_rank: text("unit").map(|unit| unit == "rank"), per, simulated_nics })
    }

    /// Finds this rank's place; what a reader must know of it goes into the facts. Collective.
    pub fn take_seat(&self, world: &dyn Comm, scout: &Whereabouts<'_>, facts: &mut Facts) -> anyhow::Result<Seat> {
        let home = scout.home(world);
        let mut seat = Seat { home, ..Seat::find(world) };
        if self.simulated_nics.is_none() {
            facts.nodes = seat.nodes(world, &host::name());
            facts.hosts = facts.nodes.iter().map(|node| node.name.clone()).collect();
        }
        if self.each_rank.unwrap_or(seat.layout.nodes == 1 && seat.layout.ranks > 1) {
            if self.each_rank.is_none() {
                facts.warnings.push(
                    "all ranks are on one node and count as nodes: this is memory, not a network (--unit)".into(),
                );
            }
            // These nodes are ranks and have no names of their own.
            facts.nodes.clear();
            seat = Seat { home, ..Seat::each_rank_a_node(world) };
        } else if let Some(per) = self.per {
            seat = self.spread(world, seat, per, facts)?;
        }
        let layout = seat.layout;
        if layout.min_ranks_per_node != layout.max_ranks_per_node {
            facts.warnings.push(format!(
                "nodes have {} to {} ranks: communicators of the higher slots reach fewer nodes",
                layout.min_ranks_per_node, layout.max_ranks_per_node
            ));
        }
        Ok(seat)
    }

    fn spread(&self, world: &dyn Comm, seat: Seat, per: Per, facts: &mut Facts) -> anyhow::Result<Seat> {
        let part = match self.simulated_nics {
            Some(nics) => Ok((seat.slot as usize % nics) as u16),
            None => parts::here(per, seat.slot),
        };
        // One rank's refusal is everybody's, or the others would wait for it.
        if agree(world, f64::from(u8::from(part.is_err())), Reduce::Max) > 0.0 {
            let text = part.err().unwrap_or_else(|| "another rank's part of its node is not known".into());
            return Err(Fail::usage(format!("--per {}: {text}", per.name())));
        }
        let (seat, most) = seat.spread(world, part.expect("nobody refused"));
        let least = seat.layout.parts_per_node;
        if most != least {
            let name = per.name();
            facts.warnings.push(format!(
                "nodes have ranks on {least} to {most} parts (--per {name}); slots are counted for {least}"
            ));
        }
        Ok(seat)
    }
}
