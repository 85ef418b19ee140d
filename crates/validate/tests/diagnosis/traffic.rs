//! Sound fabrics, and what is sent on them all the time.

use super::case::Draw;
use super::fault::Fault;

/// Half as much rate to the spines as to the servers.
const NARROW: &str = "[cluster]\ngpus = 32\ngpus-per-server = 4\nnic = 'generic-200g'\n[fabric]\nkind = 'leaf-spine'\n\
    leaves = 4\nspines = 4\nleaf = 'tomahawk-4'\n[links.leaf-spine]\nrate = '200Gbps'\n";

/// A sound fabric.
pub(crate) fn fabric(draw: &mut Draw, fault: Fault) -> String {
    let balancing = draw.one(&[
        "",
        "[switch.balancing]\nkind = 'dlb'\nper = 'packet'\n[transport]\nrecovery = 'selective-repeat'\n\
         reorder-window = 256\n",
        "[switch.balancing]\nkind = 'spray'\n[transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n",
    ]);
    let shape = draw.one(&[
        "[cluster]\ngpus = 32\ngpus-per-server = 4\nnic = 'generic-200g'\n[fabric]\nkind = 'leaf-spine'\nleaves = 4\n\
         spines = 4\nleaf = 'tomahawk-4'\n[links.leaf-spine]\nrate = '400Gbps'\n",
        "[cluster]\nhosts = 24\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'trident-4'\nleaves = 3\n\
         spines = 4\n[links.leaf-spine]\nrate = '200Gbps'\n",
        "[cluster]\ngpus = 32\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n",
        "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = 'fat-tree'\nk = 4\nleaf = 'ideal'\n",
    ]);
    let shape = match fault {
        // Where both tenants fit, neither hurts the other.
        Fault::NoisyTenant => NARROW,
        _ => shape,
    };
    let classes = match fault {
        Fault::StorageBurst => {
            let weight = draw.one(&[20, 50]);
            format!("[[class]]\nid = 4\nname = 'storage'\nlossless = true\nscheduling = {weight}\n")
        }
        _ => String::new(),
    };
    format!("{shape}[switch.watchdog]\nenabled = true\n{balancing}{classes}")
}

/// What is sent all the time.
pub(crate) fn traffic(draw: &mut Draw, fault: Fault) -> String {
    if fault == Fault::LateRanks {
        // What is usual is over when ranks begin to come late.
        let (size, usual) = draw.one(&[("256KiB", 3), ("1MiB", 1)]);
        let late = draw.one(&["100us", "200us"]);
        let job = format!("[[workload]]\nkind = 'all-reduce'\nname = 'train'\nsize = '{size}'\n");
        return format!("{job}repeat = {usual}\n{job}repeat = 2\nstart = '1ms'\nlate = '{late}'\n");
    }
    if fault == Fault::NoisyTenant {
        // On every second server.
        let gpus: Vec<String> =
            (0..32).filter(|gpu| gpu / 4 % 2 == 0).map(|gpu| gpu.to_string()).collect();
        let size = draw.one(&["1MiB", "2MiB"]);
        let job = format!(
            "[[workload]]\nkind = 'all-reduce'\nname = 'train'\nsize = '{size}'\nplacement = [{}]\n",
            gpus.join(", ")
        );
        return format!("{job}repeat = 4\n{job}repeat = 4\nstart = '1ms'\n");
    }
    let (size, others) = draw.one(&[("16MB", 1), ("8MB", 2), ("4MB", 4)]);
    let usual = format!(
        "[[workload]]\nkind = 'permutation'\nsize = '{size}'\ndestinations = {others}\nqueue-pairs = 4\n"
    );
    // A second wave begins when the first is nearly done.
    let again = format!("{usual}start = '1ms'\n");
    let crowd = match fault {
        Fault::PfcOff | Fault::ShortHeadroom => {
            "[[workload]]\nkind = 'incast'\nsize = '16MB'\nstart = '1ms'\ntarget = 3\n\
             [[workload]]\nkind = 'incast'\nsize = '1MB'\ntarget = 3\n"
        }
        Fault::EcnOff | Fault::EcnEarly | Fault::NoCongestionControl | Fault::NoNotifications => {
            "[[workload]]\nkind = 'incast'\nsize = '1MB'\nstart = '1ms'\ntarget = 3\n\
             [[workload]]\nkind = 'incast'\nsize = '1MB'\ntarget = 3\n"
        }
        _ => "",
    };
    // Without congestion control queues grow until something has to stop them.
    let unruly = match fault {
        Fault::PfcOff | Fault::ShortHeadroom => {
            "[override.transport]\ncongestion = { kind = 'none' }\n"
        }
        _ => "",
    };
    format!("{usual}{again}{crowd}{unruly}")
}
