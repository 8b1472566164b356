//! Canonical form of directed multigraphs: two graphs have the same key exactly if one is the other with nodes renamed.
//!
//! Components are done one by one and ordered by their keys. In a component, nodes are coloured by what they are connected
//! to until colours settle; where several nodes share a colour each is tried as the first, and the smallest edge list wins. Nodes with the
//! same neighbours ("twins") are interchangeable, so one of them stands for all: stars do not explode.

/// A graph's key and the order of its edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// Edges over canonical node numbers as text, e.g. `0>1 0>2`: equal for isomorphic graphs and only for them.
    pub key: String,
    /// `order[i]` is the edge of the original graph that is i-th in the key.
    pub order: Vec<usize>,
}

/// Edges beyond which no form is sought.
pub const MAX_EDGES: usize = 64;
/// Complete colourings beyond which the search gives up; regular graphs of this size do not occur in campaigns.
const MAX_LEAVES: usize = 2_000;

/// The canonical form; none for graphs of more than [`MAX_EDGES`] edges or with too many symmetries.
pub fn canonical(edges: &[(usize, usize)]) -> Option<Canonical> {
    if edges.len() > MAX_EDGES {
        return None;
    }
    let mut parts = Vec::new();
    for component in components(edges) {
        parts.push(connected(edges, &component)?);
    }
    parts.sort();
    let (mut key, mut order, mut offset) = (Vec::new(), Vec::new(), 0);
    for (code, edges) in parts {
        key.extend(code.iter().map(|&(s, d)| format!("{}>{}", s + offset, d + offset)));
        offset += code.iter().map(|&(s, d)| s.max(d) + 1).max().unwrap_or(0);
        order.extend(edges);
    }
    Some(Canonical { key: key.join(" "), order })
}

/// The weakly connected components as lists of edge numbers, each in increasing order.
pub fn components(edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut nodes: Vec<usize> = edges.iter().flat_map(|&(s, d)| [s, d]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |n: usize| nodes.binary_search(&n).expect("collected above");
    let mut parent: Vec<usize> = (0..nodes.len()).collect();
    fn root(parent: &mut [usize], mut n: usize) -> usize {
        while parent[n] != n {
            parent[n] = parent[parent[n]];
            n = parent[n];
        }
        n
    }
    for &(s, d) in edges {
        let (a, b) = (root(&mut parent, place(s)), root(&mut parent, place(d)));
        parent[a.max(b)] = a.min(b);
    }
    let mut lists: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (i, &(s, _)) in edges.iter().enumerate() {
        lists[root(&mut parent, place(s))].push(i);
    }
    lists.retain(|l| !l.is_empty());
    lists
}

type Code = Vec<(usize, usize)>;

/// The smallest edge list of a connected part and the original edges in that order.
fn connected(edges: &[(usize, usize)], part: &[usize]) -> Option<(Code, Vec<usize>)> {
    let mut nodes: Vec<usize> = part.iter().flat_map(|&e| [edges[e].0, edges[e].1]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |n: usize| nodes.binary_search(&n).expect("collected above");
    let mut search = Search::new(nodes.len(), part.iter().map(|&e| (place(edges[e].0), place(edges[e].1))));
    search.descend(vec![0; nodes.len()]);
    // A search that gave up has not seen all labellings, and its best is no canonical form.
    let (code, labels) = search.best.filter(|_| search.leaves <= MAX_LEAVES)?;
    let mut order = part.to_vec();
    order.sort_by_key(|&e| (labels[place(edges[e].0)], labels[place(edges[e].1)], e));
    Some((code, order))
}

struct Search {
    /// How many edges lead from each node to each.
    count: Vec<Vec<u32>>,
    best: Option<(Code, Vec<usize>)>,
    leaves: usize,
}

impl Search {
    fn new(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Search {
        let mut count = vec![vec![0; nodes]; nodes];
        edges.for_each(|(s, d)| count[s][d] += 1);
        Search { count, best: None, leaves: 0 }
    }

    /// Refines a colouring and either reads the labels off or tries each candidate of the first shared colour.
    fn descend(&mut self, colours: Vec<usize>) {
        if self.leaves > MAX_LEAVES {
            return;
        }
        let colours = self.refine(colours);
        let n = colours.len();
        let shared = (0..n).find(|&c| colours.iter().filter(|&&x| x == c).count() > 1);
        let Some(cell) = shared else {
            self.leaves += 1;
            let mut code: Code = Vec::new();
            for (s, row) in self.count.iter().enumerate() {
                for (d, &times) in row.iter().enumerate() {
                    code.extend((0..times).map(|_| (colours[s], colours[d])));
                }
            }
            code.sort_unstable();
            if self.best.as_ref().is_none_or(|(best, _)| code < *best) {
                self.best = Some((code, colours));
            }
            return;
        };
        let members: Vec<usize> = (0..n).filter(|&v| colours[v] == cell).collect();
        let mut tried: Vec<usize> = Vec::new();
        for &v in &members {
            if tried.iter().any(|&t| self.twins(t, v)) {
                continue;
            }
            tried.push(v);
            let mut next = colours.clone();
            // The chosen one keeps the colour, the others take the next: colours are ranks with room for the cell.
            members.iter().filter(|&&m| m != v).for_each(|&m| next[m] = cell + 1);
            self.descend(next);
        }
    }

    fn twins(&self, a: usize, b: usize) -> bool {
        let same = |x: usize| {
            x == a || x == b || (self.count[a][x] == self.count[b][x] && self.count[x][a] == self.count[x][b])
        };
        self.count[a][b] == self.count[b][a] && (0..self.count.len()).all(same)
    }

    /// Splits colours by the colours of the neighbours until nothing changes. A colour is the number of nodes of smaller
    /// colour, so that colours do not depend on names.
    fn refine(&self, mut colours: Vec<usize>) -> Vec<usize> {
        let n = colours.len();
        loop {
            let signature = |v: usize| {
                let mut around: Vec<(usize, u32, u32)> = (0..n)
                    .map(|w| (colours[w], self.count[v][w], self.count[w][v]))
                    .filter(|x| x.1 + x.2 > 0)
                    .collect();
                around.sort_unstable();
                (colours[v], around)
            };
            let signatures: Vec<_> = (0..n).map(signature).collect();
            let next: Vec<usize> = (0..n).map(|v| signatures.iter().filter(|s| **s < signatures[v]).count()).collect();
            if next == colours {
                return next;
            }
            colours = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::{Rng, permutation};

    #[test]
    fn renaming_changes_nothing_and_the_order_is_an_isomorphism() {
        let mut rng = Rng::new(11, "canonical", 0);
        for _ in 0..300 {
            let edges: Vec<(usize, usize)> = (0..1 + rng.below(8))
                .map(|_| (rng.below(6) as usize, rng.below(5) as usize))
                .map(|(s, d)| (s, if d >= s { d + 1 } else { d }))
                .collect();
            let names = permutation(&mut rng, 7);
            let mut renamed: Vec<(usize, usize)> =
                edges.iter().map(|&(s, d)| (names[s] as usize, names[d] as usize)).collect();
            rng.shuffle(&mut renamed);
            let (a, b) = (canonical(&edges).unwrap(), canonical(&renamed).unwrap());
            assert_eq!(a.key, b.key);
            // Corresponding edges meet in the same way.
            for i in 0..edges.len() {
                for j in 0..edges.len() {
                    let meet = |e: &[(usize, usize)], o: &[usize]| {
                        let ((s, d), (t, f)) = (e[o[i]], e[o[j]]);
                        (s == t, d == f, s == f, d == t)
                    };
                    assert_eq!(meet(&edges, &a.order), meet(&renamed, &b.order));
                }
            }
        }
    }

    #[test]
    fn different_graphs_differ_and_symmetric_ones_are_quick() {
        let key = |e: &[(usize, usize)]| canonical(e).unwrap().key;
        assert_ne!(key(&[(0, 1), (0, 2)]), key(&[(1, 0), (2, 0)]));
        assert_ne!(key(&[(0, 1), (0, 1)]), key(&[(0, 1), (0, 2)]));
        assert_ne!(
            key(&[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
            key(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
        );
        let star: Vec<(usize, usize)> = (1..=MAX_EDGES).map(|d| (0, d)).collect();
        assert!(canonical(&star).is_some());
        let apart: Vec<(usize, usize)> = (0..30).map(|i| (2 * i, 2 * i + 1)).collect();
        assert!(canonical(&apart).is_some());
        assert!(canonical(&vec![(0, 1); MAX_EDGES + 1]).is_none());
    }
}
