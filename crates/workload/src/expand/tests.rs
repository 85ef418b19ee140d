use super::*;
use crate::testing::{expand_text, files, refuse_text, star, tree, workloads};
use proptest::prelude::*;

const MIXED: &str = "kind='poisson'\nload=0.3\nsizes='storage'\nfor='1ms'\nname='background'\n\
    [[workload]]\nkind='incast'\nsize='64KB'\nstart='500us'\n\
    [[workload]]\nkind='permutation'\nsize='1MB'\nclass=5\noperation='read'\n\
    [[workload]]\nkind='all-to-all'\nsize='4KB'";

#[test]
fn sorted_and_repeatable() {
    let fabric = star(8);
    let flows = expand_text(&fabric, MIXED, 1);
    assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.source)));
    assert_eq!(flows, expand_text(&fabric, MIXED, 1));
    assert_ne!(flows, expand_text(&fabric, MIXED, 2));
    let reads = flows.iter().filter(|flow| flow.operation == Operation::Read);
    assert!(reads.clone().all(|flow| flow.workload == 2 && flow.class == ClassId(5)));
    assert_eq!(reads.count(), 8);
    let others = flows.iter().filter(|flow| flow.workload != 2);
    assert!(others.into_iter().all(|flow| flow.class == fabric.data_class));
}

#[test]
fn another_workload_moves_no_other_draw() {
    let of = |text: &str| -> Vec<Flow> {
        let mut flows = expand_text(&star(8), text, 1);
        flows.retain(|flow| flow.workload < 4);
        flows
    };
    let more = format!("{MIXED}\n[[workload]]\nkind='permutation'\nsize='1KB'");
    assert_eq!(of(MIXED), of(&more));
}

#[test]
fn ports_depend_on_the_seed_and_are_dynamic() {
    let ports = |seed| -> Vec<u16> {
        expand_text(&star(64), "kind='permutation'\nsize='1MB'", seed)
            .iter()
            .map(|flow| flow.source_port)
            .collect()
    };
    let (one, two) = (ports(1), ports(2));
    assert!(one.iter().all(|&port| port >= 0xC000));
    let same = one.iter().zip(&two).filter(|(a, b)| a == b).count();
    assert!(same < 3, "{same}");
}

#[test]
fn labels_and_files() {
    let text = "kind='flows'\nfile='b.csv'\n[[workload]]\nkind='poisson'\nload=1\nsizes='a.csv'\n\
                for='1s'\n[[workload]]\nkind='flows'\nfile='b.csv'\nname='mine'";
    let workloads = workloads(text);
    assert_eq!(input_files(&workloads), ["a.csv", "b.csv"]);
    assert_eq!(workloads.iter().map(label).collect::<Vec<_>>(), ["flows", "poisson", "mine"]);
}

#[test]
fn files_are_found_beside_the_scenario() {
    let base = tempfile::tempdir().unwrap();
    let csv = "start,source,destination,bytes\n0,0,1,5\n";
    std::fs::write(base.path().join("trace.csv"), csv).unwrap();
    let workloads = workloads("kind='flows'\nfile='trace.csv'");
    let flows = expand(&workloads, &tree(), 1, &mut folder(base.path())).unwrap();
    assert_eq!(flows.len(), 1);
    let wrong = expand(&workloads, &tree(), 1, &mut folder(&base.path().join("no"))).unwrap_err();
    assert!(wrong[0].to_string().contains("trace.csv"), "{}", wrong[0]);
}

#[test]
fn never_is_no_start() {
    let text = "kind='incast'\nsize='1B'\nstart='18446744073709551615ps'\nclass=9";
    let said = refuse_text(&star(4), text);
    assert!(said.contains("213 days") && said.contains("no class 9"), "{said}");
}

#[test]
fn no_workloads_no_flows() {
    assert_eq!(expand(&[], &tree(), 1, &mut files(&[])), Ok(vec![]));
}

#[test]
fn workloads_share_one_limit() {
    let one = "kind='all-to-all'\nsize='1KB'";
    let text = format!("{one}\n[[workload]]\n{one}\n[[workload]]\nkind='incast'\nsize='1B'");
    let said = refuse_text(&star(5_001), &text);
    assert!(said.starts_with("workload 1: these would make 50010000 flows"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn patterns_on_any_fabric(
        nics in 0u32..40, senders in 0u32..42, target in 0u32..42, size in 0u64..3, seed in any::<u64>(),
    ) {
        let text = format!(
            "kind='incast'\nsize='{size}B'\nsenders={senders}\ntarget={target}\n\
             [[workload]]\nkind='permutation'\nsize='1B'\n[[workload]]\nkind='all-to-all'\nsize='1B'"
        );
        let sound = nics >= 2 && size > 0 && target < nics && senders > 0 && senders < nics;
        match expand(&workloads(&text), &star(nics), seed, &mut files(&[])) {
            Ok(flows) => {
                prop_assert!(sound);
                prop_assert_eq!(flows.len() as u32, senders + nics + nics * (nics - 1));
                prop_assert!(flows.iter().all(|flow| flow.source != flow.destination));
                let mut incast: Vec<_> =
                    flows.iter().filter(|f| f.workload == 0).map(|f| f.source).collect();
                incast.dedup();
                prop_assert_eq!(incast.len() as u32, senders);
            }
            Err(_) => prop_assert!(!sound),
        }
    }
}
