use super::*;
use crate::expand::{MOST_FLOWS, expand};
use crate::flow::Flow;
use crate::testing::{expand_text, files, refuse_file, refuse_text, star, tree, workloads};
use proptest::prelude::*;
use xoff_fabric::model::SwitchId;
use xoff_fabric::scenario::Operation;

fn read(file: &str) -> Vec<Flow> {
    let text = "kind='flows'\nfile='f.csv'\nstart='1us'\nclass=2\noperation='send'";
    expand(&workloads(text), &tree(), 1, &mut files(&[("f.csv", file)])).unwrap()
}

fn refuse(file: &str) -> String {
    refuse_file(&tree(), "kind='flows'\nfile='f.csv'", file)
}

#[test]
fn a_list_in_the_scenario() {
    let text = "kind='flows'\nstart='1us'\n\
        [[workload.list]]\nstart='2us'\nsource='n1'\ndestination=0\nsize='1MB'\nclass=5\n\
        [[workload.list]]\nsource=0\ndestination='n2'\nsize='1B'\n\
        path=['leaf0','spine1','leaf1']\nack-path=['leaf1','spine0','leaf0']";
    let flows = expand_text(&tree(), text, 1);
    assert_eq!(flows.len(), 2);
    assert_eq!((flows[0].source, flows[0].destination), (NicId(0), NicId(2)));
    let path = flows[0].path.as_ref().unwrap();
    assert_eq!(path.data, [SwitchId(0), SwitchId(3), SwitchId(1)]);
    assert_eq!(path.ack, [SwitchId(1), SwitchId(2), SwitchId(0)]);
    assert_eq!((flows[1].start.as_ps(), flows[1].class), (3_000_000, ClassId(5)));
    assert_eq!(flows[1].path, None);
}

#[test]
fn a_list_in_a_file() {
    let flows = read(
        "start,source,destination,bytes,class,path,ack_path\n\
         10us,n0,n3,1MiB,,leaf0>spine1>leaf1,\n\
         0,3,n1,1000,7,,\n\
         # both again, short\n\
         5us,2,0,1KB\n",
    );
    let seen: Vec<_> = flows
        .iter()
        .map(|f| {
            (f.start.as_ps() / 1_000_000, f.source.0, f.destination.0, f.bytes.get(), f.class.0)
        })
        .collect();
    assert_eq!(seen, [(1, 3, 1, 1000, 7), (6, 2, 0, 1000, 2), (11, 0, 3, 1 << 20, 2)]);
    assert!(flows.iter().all(|flow| flow.operation == Operation::Send));
    let path = flows[2].path.as_ref().unwrap();
    assert_eq!((path.data.len(), path.ack.len()), (3, 0));
}

#[test]
fn columns_in_any_order() {
    let flows = read("bytes,destination,source,start\n7,n1,n0,1ns\n");
    assert_eq!((flows[0].bytes, flows[0].source), (Bytes::new(7), NicId(0)));
}

#[test]
fn every_wrong_line_is_named() {
    let said = refuse(
        "start,source,destination,bytes,class,path,ack_path\n\
         1,n0,n1,1000\n\
         1us,n0,n9,1000\n\
         1us,n0,n0,1000\n\
         1us,n0,n1,0\n\
         1us,n0,n1,10 parsecs\n\
         1us,n0,n1,99999999999999999999\n\
         1us,n0,n1,1000,8\n\
         1us,n0,n1,1000,x\n\
         1us,,n1,1000\n\
         1us,4,n1,1000\n\
         1us,n0,n2,1000,,leaf0>leaf1\n\
         1us,n0,n2,1000,,leaf0>spine0>leaf1>>\n\
         1us,n0,n2,1000,,leaf1>spine0>leaf0\n\
         1us,n0,n2,1000,,,leaf1>spine0>leaf0\n\
         18446744s,n0,n1,1000\n\
         1us,leaf0,n1,1000\n",
    );
    let expected = [
        (2, "has no unit"),
        (3, "n9"),
        (4, "the same NIC"),
        (5, "at least one byte"),
        (6, "parsecs"),
        (7, "too many"),
        (8, "no class 8"),
        (9, "classes are 0 to 7"),
        (10, "`source` is empty"),
        (11, "no NIC 4"),
        (12, "from `leaf0` to `leaf1`"),
        (13, "no node"),
        (14, "from `n0` to `leaf1`"),
        (15, "needs one for data"),
        (17, "is a switch"),
    ];
    for (line, text) in expected {
        let found = said.lines().any(|said| {
            said.contains(&format!("workload 0, `f.csv` line {line}: ")) && said.contains(text)
        });
        assert!(found, "line {line} `{text}` in\n{said}");
    }
    assert_eq!(said.lines().count(), expected.len(), "{said}");
}

#[test]
fn several_mistakes_of_one_flow() {
    let said = refuse("start,source,destination,bytes\nnow,x,y,much\n");
    assert_eq!(said.lines().count(), 4, "{said}");
    let said = refuse_text(
        &tree(),
        "kind='flows'\n[[workload.list]]\nsource=0\ndestination=9\nsize='0B'\nclass=9",
    );
    assert_eq!(said.matches("workload 0, flow 0: ").count(), 3, "{said}");
}

#[test]
fn no_flows_and_no_file_are_mistakes() {
    assert!(refuse_text(&tree(), "kind='flows'").contains("`file` or a `list`"));
    let said = refuse_text(&tree(), "kind='flows'\nfile='nowhere.csv'");
    assert!(said.contains("`nowhere.csv`: "), "{said}");
    assert!(refuse("").contains("start,source,destination,bytes"));
}

#[test]
fn a_million_mistakes_end_soon() {
    let mut file = "start,source,destination,bytes\n".to_owned();
    (0..1_000_000).for_each(|_| file += "0,nobody,nowhere,1\n");
    let said = refuse(&file);
    assert!(said.lines().count() <= 102 && said.contains("not read"), "{}", said.lines().count());
}

#[test]
fn the_start_has_an_end() {
    let text = "kind='flows'\nstart='18446744s'\n[[workload.list]]\nstart='1s'\nsource=0\n\
                destination=1\nsize='1B'";
    assert!(refuse_text(&star(2), text).contains("213 days"));
    const { assert!(MOST_FLOWS < u32::MAX as u64) };
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused(
        rows in prop::collection::vec("[0-9a-z,>\"# ]{0,30}|(0|1us),n[0-4],[0-4],[0-9]{1,3}(,[0-9]?)?", 0..8),
    ) {
        let file = format!("start,source,destination,bytes,class,path\n{}", rows.join("\n"));
        let text = "kind='flows'\nfile='f.csv'";
        if let Ok(flows) = expand(&workloads(text), &tree(), 1, &mut files(&[("f.csv", &file)])) {
            prop_assert!(flows.len() <= rows.len());
            prop_assert!(flows.iter().all(|f| f.source != f.destination && !f.bytes.is_zero()));
        }
    }
}
