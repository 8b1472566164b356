//! Finding the site's MPI library, without starting MPI.
//!
//! The library must be the launcher's own, or every process ends up alone. So the order is: what the user names, what lies
//! beside the launcher that is among this process's ancestors, what the site's environment names, and at last whatever the
//! dynamic linker finds by name. A library of the launcher's family goes before a stranger.

use crate::MpiError;
use crate::abi::Kind;
use crate::launch::{Launcher, launched};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// Room for a library's version; the largest of the three interfaces is 8192.
const VERSION_ROOM: usize = 16 * 1024;
/// How many ancestors are looked at for a launcher: room for a shell, a profiler and a binding tool in between.
const ANCESTORS: usize = 8;

/// A usable MPI library. It is loaded, and MPI is not started.
#[derive(Debug)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// The binary interface it speaks.
    pub kind: Kind,
    /// What it says about itself, on one line.
    pub version: String,
    /// The version of the MPI standard it implements.
    pub standard: (i32, i32),
    /// How it was found.
    pub how: String,
    pub(crate) library: &'static Library,
}

/// Which libraries go with which launchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    OpenMpi,
    Mpich,
}

/// The names of libraries, in the order they are tried where nothing says which family is meant.
const NAMES: [(&str, Option<Family>); 5] = [
    ("libmpi_abi.so.1", None),
    ("libmpi.so.40", Some(Family::OpenMpi)),
    ("libmpi.so.12", Some(Family::Mpich)),
    ("libmpich.so.12", Some(Family::Mpich)),
    ("libmpi_cray.so.12", Some(Family::Mpich)),
];

/// Environment variables that sites set to an MPI's prefix; the EBROOT ones are EasyBuild's.
const PREFIXES: [&str; 8] = [
    "I_MPI_ROOT",
    "MPI_HOME",
    "CRAY_MPICH_DIR",
    "EBROOTOPENMPI",
    "EBROOTMPICH",
    "EBROOTIMPI",
    "EBROOTMVAPICH2",
    "EBROOTPSMPI",
];

/// A file or a bare name to try.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Candidate {
    path: PathBuf,
    family: Option<Family>,
    how: String,
}

/// Finds the library and loads it, without starting MPI. `explicit` is what the user asked for: a library, or a prefix with
/// one in it; else `TAILBACK_MPI_LIB` is asked. If either is given, nothing else is tried.
pub fn find(explicit: Option<&Path>) -> Result<Found, MpiError> {
    let environment = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = explicit
        .map(|path| (path.to_path_buf(), "as asked for"))
        .or_else(|| environment("TAILBACK_MPI_LIB").map(|path| (PathBuf::from(path), "by TAILBACK_MPI_LIB")));
    let candidates = match &named {
        Some((path, how)) if path.is_dir() => in_prefix(path, None, how),
        Some((path, how)) => vec![Candidate { path: path.clone(), family: None, how: how.to_string() }],
        None => search(&environment, &ancestors(), family_of_launch()),
    };
    let mut tried = Vec::new();
    let mut only = None;
    for candidate in &candidates {
        match open(candidate) {
            Ok(found) => return Ok(found),
            Err(reason) => {
                tried.push(format!("{} ({}): {reason}", candidate.path.display(), candidate.how));
                only = Some((candidate, reason));
            }
        }
    }
    match (named, only) {
        (Some((path, how)), None) => Err(MpiError::Unusable {
            path,
            how: how.to_string(),
            reason: format!("this directory has none of {}", NAMES.map(|(name, _)| name).join(", ")),
        }),
        (Some(_), Some((candidate, reason))) => {
            Err(MpiError::Unusable { path: candidate.path.clone(), how: candidate.how.clone(), reason })
        }
        (None, _) => Err(MpiError::NotFound { tried: tried.join("; ") }),
    }
}

/// All places where nobody named one, best first.
fn search(
    environment: &dyn Fn(&str) -> Option<OsString>,
    ancestors: &[PathBuf],
    launch: Option<Family>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let launcher = ancestors.iter().find_map(|exe| family_of_launcher(exe).map(|family| (exe, family)));
    if let Some((exe, family)) = launcher
        && let Some(prefix) = exe.parent().and_then(Path::parent)
    {
        // A prefix such as /usr may hold several libraries; one of the other family cannot talk to this launcher.
        let how = format!("beside the launcher {}", exe.display());
        candidates
            .extend(in_prefix(prefix, Some(family), &how).into_iter().filter(|c| c.family != Some(family.other())));
    }
    let family = launcher.map(|(_, family)| family).or(launch);
    let mut others = Vec::new();
    for variable in PREFIXES {
        if let Some(prefix) = environment(variable) {
            others.extend(in_prefix(Path::new(&prefix), family, &format!("by {variable}")));
        }
    }
    others.extend(NAMES.iter().map(|&(name, family)| Candidate {
        path: PathBuf::from(name),
        family,
        how: format!("by the dynamic linker's search for {name}"),
    }));
    order(&mut others, family);
    candidates.extend(others);
    candidates
}

/// The libraries that exist under a prefix, those of the family first.
fn in_prefix(prefix: &Path, family: Option<Family>, how: &str) -> Vec<Candidate> {
    let triplet = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
    // `lib/release` is Intel's, the triplet Debian's; the last is for a directory that holds the library itself.
    let places = ["lib", "lib64", "lib/release", &triplet, ""];
    let mut candidates = Vec::new();
    for place in places {
        let directory = prefix.join(place);
        for (name, family) in NAMES {
            let path = directory.join(name);
            if path.is_file() {
                candidates.push(Candidate { path, family, how: how.to_string() });
            }
        }
    }
    order(&mut candidates, family);
    candidates
}

/// Puts the family first and strangers last, and keeps the order otherwise.
fn order(candidates: &mut [Candidate], family: Option<Family>) {
    if family.is_some() {
        candidates.sort_by_key(|candidate| match candidate.family {
            same if same == family => 0,
            None => 1,
            Some(_) => 2,
        });
    }
}

impl Family {
    fn other(self) -> Family {
        match self {
            Family::OpenMpi => Family::Mpich,
            Family::Mpich => Family::OpenMpi,
        }
    }
}

/// The family that the environment of the launch speaks for.
fn family_of_launch() -> Option<Family> {
    match launched()?.launcher {
        Launcher::OpenMpi | Launcher::Pmix => Some(Family::OpenMpi),
        Launcher::Pmi => Some(Family::Mpich),
        Launcher::Slurm => None,
    }
}

/// The family of a launcher by the name of its program. `mpirun` itself tells nothing, but no launcher's program is
/// called so: it is a link or a script.
fn family_of_launcher(exe: &Path) -> Option<Family> {
    match exe.file_name()?.to_str()? {
        "orterun" | "orted" | "prterun" | "prted" | "prte" => Some(Family::OpenMpi),
        "hydra_pmi_proxy" | "mpiexec.hydra" | "hydra_bstrap_proxy" | "mpispawn" => Some(Family::Mpich),
        _ => None,
    }
}

/// The programs of this process's ancestors, nearest first; those of other users cannot be seen.
fn ancestors() -> Vec<PathBuf> {
    let mut programs = Vec::new();
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..ANCESTORS {
        if pid <= 1 {
            break;
        }
        programs.extend(std::fs::read_link(format!("/proc/{pid}/exe")));
        let Some(parent) = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| parent(&stat))
        else {
            break;
        };
        pid = parent;
    }
    programs
}

/// The parent in a line of `/proc/PID/stat`; the program's name before it is in brackets and may contain anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// What the loader said, which names the file or the dependency that is missing; the error itself only says that it failed.
fn cause(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |said| said.to_string())
}

/// Loads a candidate and looks at what it is; the error is the reason against it.
fn open(candidate: &Candidate) -> Result<Found, String> {
    // Open MPI's components look up symbols of the library that loads them, hence RTLD_GLOBAL.
    // SAFETY: the file is an MPI library by name and by the user's or the site's word; its initialisers are run.
    let library = unsafe { Library::open(Some(&candidate.path), RTLD_NOW | RTLD_GLOBAL) }.map_err(|e| cause(&e))?;
    let (version, file) = version(&library).ok_or("it is not an MPI library: MPI_Get_library_version is missing")?;
    let standard = standard(&library);
    let path =
        if candidate.path.is_absolute() { candidate.path.clone() } else { file.unwrap_or(candidate.path.clone()) };
    let kind = kind(&library, &version, standard)?;
    if kind == Kind::Standard && version.contains("Intel") {
        // Intel's standard-ABI library (2021.18 and .19) swaps MPI_ERRORS_RETURN and MPI_ERRORS_ABORT against the standard.
        let sibling = path.with_file_name("libmpi.so.12");
        if !sibling.is_file() {
            return Err("Intel's libmpi_abi has two error handlers swapped; name its libmpi.so.12 instead".to_string());
        }
        let how =
            format!("{}; libmpi.so.12 instead of libmpi_abi.so.1, whose error handlers are swapped", candidate.how);
        return open(&Candidate { path: sibling, family: Some(Family::Mpich), how });
    }
    // MPI libraries leave threads and exit handlers behind, so they cannot be unloaded.
    let library = Box::leak(Box::new(library));
    Ok(Found { path, kind, version, standard, how: candidate.how.clone(), library })
}

/// What the library says about itself, and the file it was loaded from.
fn version(library: &Library) -> Option<(String, Option<PathBuf>)> {
    type Call = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    // SAFETY: the MPI standard gives this function this type.
    let call = unsafe { library.get::<Call>("MPI_Get_library_version") }.ok()?;
    let mut text = vec![0u8; VERSION_ROOM];
    let mut length = 0;
    // SAFETY: it may be called before MPI_Init, and there is more room than any MPI_MAX_LIBRARY_VERSION_STRING.
    let failed = unsafe { call(text.as_mut_ptr().cast(), &mut length) };
    let text = CStr::from_bytes_until_nul(&text).ok().filter(|_| failed == 0)?;
    // A library that was found by its bare name has no path; the mapping of one of its functions has.
    let address = *call as *const c_void as usize;
    let file = std::fs::read_to_string("/proc/self/maps").ok().and_then(|maps| mapped_file(&maps, address));
    Some((essence(&text.to_string_lossy()), file))
}

/// A library's version on one line, without how it was compiled.
fn essence(text: &str) -> String {
    let compiled = ["configure", "CC:", "CXX:", "F77:", "FC:"];
    let lines = text.lines().filter(|line| !compiled.iter().any(|word| line.contains(word)));
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    lines.map(words).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The version of the standard, (0, 0) if the library does not say.
fn standard(library: &Library) -> (i32, i32) {
    pair(library, "MPI_Get_version").unwrap_or((0, 0))
}

/// Calls a function that gives two numbers, before MPI_Init.
fn pair(library: &Library, name: &str) -> Option<(i32, i32)> {
    type Call = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    // SAFETY: the functions asked for here have this type in the MPI standard.
    let call = unsafe { library.get::<Call>(name) }.ok()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both may be called before MPI_Init.
    let failed = unsafe { call(&mut major, &mut minor) };
    (failed == 0).then_some((major, minor))
}

/// Which binary interface a library speaks, or why none that is known.
fn kind(library: &Library, version: &str, standard: (i32, i32)) -> Result<Kind, String> {
    // MPICH's and Intel's native libraries have MPI_Abi_get_version too and answer -1.
    if pair(library, "MPI_Abi_get_version").is_some_and(|(major, _)| major >= 1) {
        // The draft in MPICH 4.3 has other constants.
        return if standard.0 >= 5 {
            Ok(Kind::Standard)
        } else {
            Err(format!("it has a draft of the standard ABI (MPI {}.{})", standard.0, standard.1))
        };
    }
    // SAFETY: only the presence of the symbol is looked at.
    if unsafe { library.get::<*mut c_void>("ompi_mpi_comm_world") }.is_ok() {
        return Ok(Kind::OpenMpi);
    }
    let upper = version.to_uppercase();
    if ["MPICH", "INTEL(R) MPI", "MVAPICH", "CRAY", "PARASTATION"].iter().any(|name| upper.contains(name)) {
        return Ok(Kind::Mpich);
    }
    Err(format!("its binary interface is not known (`{version}`); Open MPI, the MPICH family and MPI-5 libraries are"))
}

/// The file that is mapped at an address, from the text of `/proc/self/maps`.
fn mapped_file(maps: &str, address: usize) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        let range = usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?;
        let path = line.find('/').map(|start| PathBuf::from(&line[start..]));
        range.contains(&address).then_some(path).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prefix in the temporary directory with empty files of these names.
    fn prefix(name: &str, files: &[&str]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tailback-find-{}-{name}", std::process::id()));
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        root
    }

    fn paths(candidates: &[Candidate]) -> Vec<&Path> {
        candidates.iter().map(|candidate| candidate.path.as_path()).collect()
    }

    #[test]
    fn the_launchers_own_library_is_first_and_a_strangers_beside_it_is_not_taken() {
        let root = prefix("both", &["lib/libmpi.so.40", "lib/libmpich.so.12", "lib/libmpi_abi.so.1"]);
        let hydra = [PathBuf::from("/bin/sh"), root.join("bin/hydra_pmi_proxy")];
        let found = search(&|_| None, &hydra, None);
        assert_eq!(paths(&found)[..2], [root.join("lib/libmpich.so.12"), root.join("lib/libmpi_abi.so.1")]);
        assert!(!paths(&found).contains(&root.join("lib/libmpi.so.40").as_path()));
        let orted = search(&|_| None, &[root.join("bin/orted")], None);
        assert_eq!(orted[0].path, root.join("lib/libmpi.so.40"));
        assert!(orted[0].how.contains("orted"), "{}", orted[0].how);
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_sites_variables_come_before_the_linker_unless_the_launch_is_of_another_family() {
        let root = prefix("intel", &["lib/release/libmpi.so.12"]);
        let environment = |name: &str| (name == "I_MPI_ROOT").then(|| root.clone().into_os_string());
        let library = root.join("lib/release/libmpi.so.12");
        assert_eq!(search(&environment, &[], None)[0].path, library);
        assert_eq!(search(&environment, &[], Some(Family::Mpich))[0].path, library);
        assert_eq!(search(&environment, &[], Some(Family::OpenMpi))[0].path, Path::new("libmpi.so.40"));
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_named_library_that_is_none_is_an_error_with_its_name() {
        let error = find(Some(Path::new("/nowhere/libmpi.so.40"))).unwrap_err().to_string();
        assert!(error.contains("/nowhere/libmpi.so.40") && error.contains("as asked for"), "{error}");
        let empty = prefix("empty", &["readme"]);
        let error = find(Some(&empty)).unwrap_err().to_string();
        assert!(error.contains("none of libmpi_abi.so.1"), "{error}");
        std::fs::remove_dir_all(empty).unwrap();
    }

    /// A library of this process, changed so that it needs one which does not exist.
    #[test]
    fn a_missing_dependency_is_named() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        // Where Rust programs are linked otherwise there is no such library to change.
        let Some(at) = maps.lines().find(|l| l.contains("libgcc_s.so")).and_then(|l| l.find('/').map(|i| &l[i..]))
        else {
            return;
        };
        let mut bytes = std::fs::read(at).unwrap();
        let needed = b"\0libc.so.6\0";
        let place = bytes.windows(needed.len()).position(|w| w == needed).expect("it needs the C library");
        bytes[place..place + needed.len()].copy_from_slice(b"\0libx.so.6\0");
        let root = prefix("needs", &["lib/libmpi.so.40"]);
        let library = root.join("lib/libmpi.so.40");
        std::fs::write(&library, bytes).unwrap();
        let error = find(Some(&library)).unwrap_err().to_string();
        assert!(error.contains("libx.so.6: cannot open shared object file"), "{error}");
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn versions_are_short() {
        let mpich = "MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\nMPICH configure:\t--a=b\nMPICH CC:\tgcc -O2\n";
        assert_eq!(essence(mpich), "MPICH Version: 4.0.2; MPICH Device: ch4:ucx");
        assert_eq!(essence("Open MPI v4.1.4, ident: 4.1.4"), "Open MPI v4.1.4, ident: 4.1.4");
    }

    #[test]
    fn parents_are_read_past_strange_program_names() {
        assert_eq!(parent("12 (a) b) S 77 12 12 0"), Some(77));
        assert_eq!(parent("nonsense"), None);
    }

    #[test]
    fn the_file_of_an_address_is_the_one_mapped_there() {
        let maps =
            "1000-2000 r-xp 0 08:01 5    /usr/lib/a.so\n2000-3000 rw-p 0 00:00 0 \n3000-4000 r--p 0 08:01 6 /b c.so";
        assert_eq!(mapped_file(maps, 0x1fff), Some(PathBuf::from("/usr/lib/a.so")));
        assert_eq!(mapped_file(maps, 0x2000), None);
        assert_eq!(mapped_file(maps, 0x3000), Some(PathBuf::from("/b c.so")));
    }
}
