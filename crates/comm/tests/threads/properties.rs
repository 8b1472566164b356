//! Collectives with random numbers of ranks, sizes, roots and values.

use crate::machine::ThreadMachine;
use proptest::prelude::*;
use std::sync::Mutex;
use tailback_comm::collectives::{doubling_allreduce, fold, ring_allreduce};
use tailback_comm::{Buffer, Comm, Data, Reduce, Vector};

/// Collects what each rank returns, in rank order.
fn collect<T: Send>(size: usize, body: impl Fn(&dyn Comm) -> T + Sync) -> Vec<T> {
    let results = Mutex::new(Vec::new());
    let run = ThreadMachine::new(size).run(&|comm| {
        let result = body(comm);
        results.lock().unwrap().push((comm.rank(), result));
    });
    run.expect("no rank fails");
    let mut results = results.into_inner().unwrap();
    results.sort_by_key(|(rank, _)| *rank);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Either algorithm, whatever the length.
fn allreduce(ring: bool, comm: &dyn Comm, values: &mut [f64], how: Reduce) {
    let values = Vector::Values(values);
    if ring { ring_allreduce(comm, values, how) } else { doubling_allreduce(comm, values, how) }
}

fn reduce() -> impl Strategy<Value = Reduce> {
    prop_oneof![Just(Reduce::Sum), Just(Reduce::Min), Just(Reduce::Max)]
}

/// One vector of equal length per rank, of any floating-point values: zeros of both signs, infinities and NaNs too.
fn vectors() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (1..20usize, 0..60usize)
        .prop_flat_map(|(size, len)| proptest::collection::vec(proptest::collection::vec(any::<f64>(), len), size))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn allreduce_gives_every_rank_the_same_bits(vectors in vectors(), how in reduce()) {
        for ring in [false, true] {
            let results = collect(vectors.len(), |comm| {
                let mut values = vectors[comm.rank()].clone();
                allreduce(ring, comm, &mut values, how);
                values
            });
            for (i, first) in results[0].iter().enumerate() {
                for result in &results {
                    prop_assert_eq!(result[i].to_bits(), first.to_bits());
                }
                let terms = vectors.iter().map(|v| v[i]);
                if how != Reduce::Sum && terms.clone().all(|t| !t.is_nan()) {
                    let want = terms.reduce(|a, b| how.apply(a, b)).unwrap();
                    prop_assert_eq!(*first, want);
                }
            }
        }
    }

    #[test]
    fn sums_of_whole_numbers_are_exact(
        terms in proptest::collection::vec(-1_000_000i32..1_000_000, 1..20), len in 1..80usize, ring in any::<bool>(),
    ) {
        let results = collect(terms.len(), |comm| {
            let mut values: Vec<f64> = (0..len).map(|i| f64::from(terms[comm.rank()]) * (i as f64 + 1.0)).collect();
            allreduce(ring, comm, &mut values, Reduce::Sum);
            values
        });
        let sum: f64 = terms.iter().copied().map(f64::from).sum();
        let want: Vec<f64> = (0..len).map(|i| sum * (i as f64 + 1.0)).collect();
        for result in results {
            prop_assert_eq!(&result, &want);
        }
    }

    #[test]
    fn alltoall_transposes(size in 1..20usize, block in 0..50usize) {
        let byte = |from: usize, to: usize, i: usize| (from * 31 + to * 7 + i) as u8;
        let results = collect(size, |comm| {
            let me = comm.rank();
            let send: Vec<u8> = (0..size).flat_map(|to| (0..block).map(move |i| byte(me, to, i))).collect();
            let mut recv = vec![0; send.len()];
            comm.alltoall(Data::Bytes(&send), Buffer::Bytes(&mut recv));
            recv
        });
        for (me, result) in results.iter().enumerate() {
            let want: Vec<u8> = (0..size).flat_map(|from| (0..block).map(move |i| byte(from, me, i))).collect();
            prop_assert_eq!(result, &want);
        }
    }

    #[test]
    fn what_is_gathered_and_broadcast_is_what_every_rank_had(
        blocks in proptest::collection::vec(any::<[u8; 5]>(), 1..20), root in any::<prop::sample::Index>(),
    ) {
        let (size, root) = (blocks.len(), root.index(blocks.len()));
        let results = collect(size, |comm| {
            let mut all = vec![0; 5 * size];
            comm.gather(root, &blocks[comm.rank()], &mut all);
            comm.bcast(root, Buffer::Bytes(&mut all));
            all
        });
        for result in results {
            prop_assert_eq!(&result, &blocks.concat());
        }
    }

    #[test]
    fn fold_keeps_rank_order(strings in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..20)) {
        let mut results = collect(strings.len(), |comm| {
            fold(comm, strings[comm.rank()].clone(), &mut |a, b| [a, b].concat())
        });
        let first = results.remove(0);
        prop_assert_eq!(first, Some(strings.concat()));
        prop_assert!(results.iter().all(Option::is_none));
    }
}
