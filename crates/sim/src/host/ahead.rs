//! Memory of hosts that will be needed soon (`run/ahead`).

use super::matching::key;
use super::protocol::{Blocked, Host, Route};
use crate::base::{Key, fetch_in};
use crate::link::{Head, Kind};
use crate::net::Net;
use comm::Op;

impl Host {
    /// A rank that goes on.
    #[inline(always)]
    pub(crate) fn fetch_rank(&self, rank: u32) {
        fetch_in(&self.ranks, rank as usize);
    }

    /// What such a rank has waited for, and what its fiber looks at first.
    #[inline(always)]
    pub(crate) fn fetch_awaited(&self, net: &Net<'_>, rank: u32) {
        fiber::fetch(self.ranks[rank as usize].first);
        fiber::fetch(self.ranks[rank as usize].first + 63);
        if let Blocked::Group(g) = self.ranks[rank as usize].blocked {
            net.operations.fetch_group(g);
        }
    }

    /// Asks for what the start of an operation will look for.
    #[inline(always)]
    pub(crate) fn fetch_start(&self, op: &Op<'_>, route: Route) {
        match op {
            Op::Send { .. } => {
                if let Some(order) = &self.order {
                    order.fetch_next(route.me, route.peer);
                }
            }
            Op::Recv { tag, .. } => self.matching.fetch(key(route.local, route.peer, route.context, *tag)),
        }
    }

    /// Where a message that comes will look for its receive.
    #[inline(always)]
    pub(crate) fn fetch_keys(&self, net: &Net<'_>, head: &Head) {
        match head.kind {
            Kind::Eager | Kind::Ask => {
                if let Some(order) = &self.order {
                    order.fetch(head.from, head.to);
                }
                self.matching.fetch(self.key(net, head));
            }
            Kind::Clear | Kind::Fetch | Kind::Bulk | Kind::Fetched => net.operations.fetch(head.remote),
            Kind::PutDone | Kind::GetDone => net.operations.fetch(head.request),
            Kind::Put | Kind::Get | Kind::Notice => {}
        }
    }

    /// The receive itself.
    #[inline(always)]
    pub(crate) fn fetch_receive(&self, net: &Net<'_>, head: &Head) {
        if matches!(head.kind, Kind::Eager | Kind::Ask)
            && let Some(request) = self.matching.waiting(self.key(net, head))
        {
            net.operations.fetch(request);
        }
    }

    fn key(&self, net: &Net<'_>, head: &Head) -> Key {
        let (_, local) = net.fabric.home(head.to);
        key(local, head.from, head.context, head.tag)
    }
}
