//! How much memory the program has used, and in pages of which size.

use xoff_units::Bytes;

/// From this many NICs on, a fabric's state is tens of megabytes that are read in no order.
const MANY_NICS: usize = 256;

/// Memory comes in small pages, until there is a fabric for which huge ones pay: they are two
/// megabytes each, of which a small run would use a part.
pub(crate) fn begin_with_small_pages() {
    huge_pages(false);
}

/// Memory for a fabric of this many NICs comes in pages that suit it.
pub(crate) fn suit(nics: usize) {
    if nics >= MANY_NICS {
        huge_pages(true);
    }
}

/// Whether the system may give huge pages from now on.
fn huge_pages(allowed: bool) {
    // Speed and memory may differ where the system refuses, results do not.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(!allowed);
    #[cfg(not(target_os = "linux"))]
    let _ = allowed;
}

/// The most memory this process has held at once; `None` where the system does not tell.
pub(crate) fn peak() -> Option<Bytes> {
    // Linux counts the resident pages' high-water mark. Elsewhere the file is not there.
    entry("VmHWM:", &status()?)
}

/// The memory this process holds now; `None` where the system does not tell.
pub(crate) fn now() -> Option<Bytes> {
    entry("VmRSS:", &status()?)
}

fn status() -> Option<String> {
    std::fs::read_to_string("/proc/self/status").ok()
}

fn entry(name: &str, status: &str) -> Option<Bytes> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_high_water_mark() {
        let status = "Name:\txoff\nVmPeak:\t  9 kB\nVmHWM:\t    2048 kB\nThreads:\t1\n";
        assert_eq!(entry("VmHWM:", status), Some(Bytes::new(2 << 20)));
        assert_eq!(entry("VmHWM:", "VmHWM:\t lots"), None);
        assert_eq!(entry("VmHWM:", ""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_uses_memory() {
        assert!(now().unwrap() > Bytes::new(100_000));
        assert!(peak().unwrap() >= now().unwrap());
    }
}
