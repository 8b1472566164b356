//! Finding and ending processes by the namespaces they are in and the mark in their environment.

use crate::state::{Holder, State};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// The variable that marks what a run has launched. Daemons leave their process group, but keep their environment.
pub(crate) const MARK: &str = "TAILBACK_TESTBED_RUN";
/// How long processes may take to end after being asked.
const GRACE: Duration = Duration::from_secs(3);

/// The namespace of a process (`self` or an id), as the kernel names it: `user:[4026531837]`.
pub(crate) fn namespace(pid: &str, kind: &str) -> Option<String> {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()?.into_os_string().into_string().ok()
}

/// When a process started, in ticks since boot: field 22 of its stat line, counted after the name, which may hold anything.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The first field after the name is number 3, so number 22 has index 19.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The boot that this machine is in.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().into()
}

/// Whether the holder is the very process that was recorded.
pub(crate) fn is_alive(holder: &Holder) -> bool {
    holder.boot == boot() && start_of(holder.pid) == Some(holder.start) && !is_zombie(holder.pid)
}

fn is_zombie(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// All living processes but this one. The dead keep their namespaces until their parent looks after them.
fn all() -> impl Iterator<Item = u32> {
    let own = std::process::id();
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(move |&pid| pid != own && !is_zombie(pid))
}

/// Processes whose mark is `mark`, or begins with it if that ends with a slash.
pub(crate) fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let matches = |entry: &[u8]| match mark.ends_with('/') {
        true => entry.starts_with(wanted.as_bytes()),
        false => entry == wanted.as_bytes(),
    };
    all()
        .filter(|pid| fs::read(format!("/proc/{pid}/environ")).is_ok_and(|e| e.split(|&b| b == 0).any(matches)))
        .collect()
}

/// Processes in the namespaces of a testbed.
pub(crate) fn inside(state: &State) -> Vec<u32> {
    if let Some(holder) = &state.holder {
        let user = |pid: &u32| namespace(&pid.to_string(), "user").as_ref() == Some(&holder.user_ns);
        // The holder is left out: it keeps the namespaces and is ended last, by `holder::stop`.
        return all().filter(|&pid| pid != holder.pid).filter(user).collect();
    }
    // The file of a namespace and the link in /proc have the same inode; a file without a namespace has one of /run.
    let ids: BTreeSet<String> = state
        .made
        .iter()
        .filter_map(|place| Some(format!("net:[{}]", fs::metadata(state.netns(place)).ok()?.ino())))
        .collect();
    all().filter(|pid| namespace(&pid.to_string(), "net").is_some_and(|id| ids.contains(&id))).collect()
}

/// Ends everything that runs in a testbed or was launched on it; returns how many processes there were.
pub(crate) fn end_all_of(state: &State) -> usize {
    let mark = mark_of(state);
    end(|| [inside(state), marked(&mark)].concat())
}

/// The beginning of the mark of all runs on a testbed.
pub(crate) fn mark_of(state: &State) -> String {
    format!("{}/", state.dir().display())
}

/// Asks the processes that `find` finds to end, then ends them, until it finds none; returns how many there were.
pub(crate) fn end(find: impl Fn() -> Vec<u32>) -> usize {
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    for signal in [Signal::TERM, Signal::KILL] {
        let deadline = crate::clock::now() + GRACE;
        // Anew for each signal: who ignored the first gets the second.
        let mut asked = BTreeSet::new();
        loop {
            let found = find();
            if found.is_empty() {
                return seen.len();
            }
            seen.extend(&found);
            for pid in found {
                // What appears later, forked by one that was asked, is asked too.
                if asked.insert(pid) {
                    send(pid, signal);
                }
            }
            if crate::clock::now() > deadline {
                break;
            }
            crate::clock::pause();
        }
    }
    seen.len()
}

/// Sends a signal; a process that is gone already needs none.
pub(crate) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn marked_processes_are_found_and_ended_even_if_they_ignore_requests() {
        let mark = format!("/test/{}/1", std::process::id());
        let script = "trap '' TERM; echo ready; while :; do sleep 0.1; done";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .env(MARK, &mark)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0; 6]).unwrap();
        assert!(marked(&mark).contains(&child.id()));
        assert!(marked(&format!("/test/{}/", std::process::id())).contains(&child.id()));
        assert!(marked(&format!("/test/{}", std::process::id())).is_empty(), "a mark is not a prefix");
        assert!(end(|| marked(&mark)) >= 1);
        assert_eq!(child.wait().unwrap().code(), None, "ended by a signal");
        assert_eq!(end(|| marked(&mark)), 0);
    }

    #[test]
    fn a_holder_is_recognised_by_more_than_its_id() {
        let pid = std::process::id();
        let mut holder =
            Holder { pid, start: start_of(pid).unwrap(), boot: boot(), user_ns: namespace("self", "user").unwrap() };
        assert!(is_alive(&holder));
        holder.start += 1;
        assert!(!is_alive(&holder));
        (holder.start, holder.boot) = (holder.start - 1, "another".into());
        assert!(!is_alive(&holder));
    }
}
