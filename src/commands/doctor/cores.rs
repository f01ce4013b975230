//! How many cores and how much memory pipetop may use: the machine's, the affinity mask's, the
//! control group's.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;

pub(super) fn examine() -> Vec<Finding> {
    let mut findings = vec![cores(), affinity()];
    let groups = Groups::of_this_process();
    findings.push(match groups.cpu_limit() {
        Some(cores) => {
            let finding = Finding::note("CPU quota", format!("{cores:.2} cores (control group)"));
            let usable = std::thread::available_parallelism().map_or(1, usize::from);
            if cores < usable as f64 {
                finding.way_out(
                    "more threads than that are stopped in turn, which shows as runnable; raise \
                     the container's CPU limit, or set fewer threads",
                )
            } else {
                finding
            }
        }
        None => Finding::ok("CPU quota", "none"),
    });
    findings.push(memory(&groups));
    findings.push(container());
    findings
}

fn cores() -> Finding {
    let usable = std::thread::available_parallelism();
    let online = fs::read_to_string("/sys/devices/system/cpu/online");
    let online = online.ok().and_then(|list| in_list(list.trim()));
    match (usable, online) {
        (Ok(usable), Some(online)) => {
            Finding::ok("cores", format!("{usable} usable of {online} logical"))
        }
        (Ok(usable), None) => Finding::ok("cores", format!("{usable} usable")),
        (Err(error), _) => Finding::missing("cores", format!("not told: {error}"))
            .way_out("one thread a stage is used: set preprocess.threads and infer.threads"),
    }
}

fn affinity() -> Finding {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    match list.map(str::trim).and_then(|list| Some((list, in_list(list)?))) {
        Some((list, count)) => Finding::ok("affinity", format!("CPUs {list} ({count} of them)")),
        None => Finding::note("affinity", "the system does not tell"),
    }
}

/// How many numbers a kernel list such as `0-3,8` holds.
fn in_list(list: &str) -> Option<usize> {
    list.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            Some(last.checked_sub(first)? + 1)
        })
        .sum()
}

fn memory(groups: &Groups) -> Finding {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |key: &str| -> Option<u64> {
        let line = info.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let total = kib("MemTotal:").map(|kib| kib * 1024);
    let limit = groups.memory_limit().filter(|&limit| total.is_none_or(|total| limit < total));
    match (total, limit) {
        (Some(total), Some(limit)) => Finding::note(
            "memory",
            format!("{:.1} GiB (control group) of {:.1} GiB", gib(limit), gib(total)),
        ),
        (Some(total), None) => Finding::ok("memory", format!("{:.1} GiB", gib(total))),
        (None, Some(limit)) => {
            Finding::note("memory", format!("{:.1} GiB (control group)", gib(limit)))
        }
        (None, None) => Finding::note("memory", "the system does not tell"),
    }
}

fn container() -> Finding {
    let hints = [
        (Path::new("/.dockerenv").exists(), "Docker"),
        (Path::new("/run/.containerenv").exists(), "Podman"),
        (std::env::var_os("KUBERNETES_SERVICE_HOST").is_some(), "Kubernetes"),
        (std::env::var_os("container").is_some(), "the variable `container`"),
    ];
    let found: Vec<_> = hints.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    if found.is_empty() {
        Finding::ok("container", "no sign of one")
    } else {
        Finding::note("container", format!("signs of one: {}", found.join(", ")))
    }
}

/// Where this process's control groups are, each with its ancestors: the least limit counts.
struct Groups {
    /// Folders of cgroup v2, this process's first.
    unified: Vec<PathBuf>,
    /// Folders of the v1 controller `cpu`.
    cpu: Vec<PathBuf>,
    /// Folders of the v1 controller `memory`.
    memory: Vec<PathBuf>,
}

impl Groups {
    fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::read(&groups, Path::new("/sys/fs/cgroup"))
    }

    /// `groups` as in `/proc/self/cgroup`: lines of `number:controllers:path`. In a container the
    /// path may be the host's and not exist here; then the root, an ancestor of all, is the one
    /// that counts.
    fn read(groups: &str, root: &Path) -> Self {
        let mut found = Self { unified: Vec::new(), cpu: Vec::new(), memory: Vec::new() };
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let path = Path::new(path.trim_start_matches('/'));
            let chain = |root: PathBuf| path.ancestors().map(|part| root.join(part)).collect();
            if controllers.is_empty() {
                found.unified = chain(root.to_owned());
            }
            for controller in controllers.split(',') {
                match controller {
                    "cpu" => found.cpu = chain(root.join("cpu")),
                    "memory" => found.memory = chain(root.join("memory")),
                    _ => {}
                }
            }
        }
        found
    }

    /// The CPU quota in cores.
    fn cpu_limit(&self) -> Option<f64> {
        let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<f64>().ok();
        let unified = self.unified.iter().filter_map(|folder| {
            let text = fs::read_to_string(folder.join("cpu.max")).ok()?;
            let (quota, period) = text.trim().split_once(' ')?;
            Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
        });
        let v1 = self.cpu.iter().filter_map(|folder| {
            // -1 is no limit.
            let quota = number(folder.join("cpu.cfs_quota_us")).filter(|&quota| quota > 0.0)?;
            Some(quota / number(folder.join("cpu.cfs_period_us"))?)
        });
        unified.chain(v1).filter(|cores| cores.is_finite()).min_by(f64::total_cmp)
    }

    /// The memory limit in bytes.
    fn memory_limit(&self) -> Option<u64> {
        let limit = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let unified = self.unified.iter().filter_map(|folder| limit(folder.join("memory.max")));
        let v1 =
            self.memory.iter().filter_map(|folder| limit(folder.join("memory.limit_in_bytes")));
        unified.chain(v1).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn kernel_lists_are_counted() {
        assert_eq!(in_list("0-3,8"), Some(5));
        assert_eq!(in_list("0"), Some(1));
        assert_eq!(in_list(""), None);
        assert_eq!(in_list("3-1"), None);
    }

    #[test]
    fn the_least_limit_of_a_group_and_its_ancestors_counts() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, "pod/app/cpu.max", "max 100000\n");
        write(root, "pod/cpu.max", "150000 100000\n");
        write(root, "pod/app/memory.max", "1073741824\n");
        write(root, "pod/memory.max", "max\n");
        let groups = Groups::read("0::/pod/app\n", root);
        assert_eq!(groups.cpu_limit(), Some(1.5));
        assert_eq!(groups.memory_limit(), Some(1 << 30));
        let none = Groups::read("0::/elsewhere\n", root);
        assert_eq!((none.cpu_limit(), none.memory_limit()), (None, None));
    }

    #[test]
    fn groups_of_version_one_are_read_too() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        write(root, "cpu/box/cpu.cfs_quota_us", "400000\n");
        write(root, "cpu/box/cpu.cfs_period_us", "100000\n");
        write(root, "cpu/cpu.cfs_quota_us", "-1\n");
        write(root, "cpu/cpu.cfs_period_us", "100000\n");
        write(root, "memory/box/memory.limit_in_bytes", "2147483648\n");
        let groups = Groups::read("4:memory:/box\n3:cpu,cpuacct:/box\n", root);
        assert_eq!(groups.cpu_limit(), Some(4.0));
        assert_eq!(groups.memory_limit(), Some(2 << 30));
        // The path of a host, seen from inside a container.
        let outside = Groups::read("3:cpu:/host/box\n", &root.join("cpu").join("nowhere"));
        assert_eq!(outside.cpu_limit(), None);
    }
}
