//! The pages in `docs/rules` say what the rules say. `XOFF_BLESS=1 cargo test -p xoff-config --test
//! rules` writes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use xoff_config::audit::RULES;

#[test]
fn every_rule_has_its_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
    let bless = std::env::var_os("XOFF_BLESS").is_some();
    let mut names = BTreeSet::new();
    for rule in RULES {
        let path = folder.join(format!("{}.md", rule.id));
        if bless {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, rule.page()).unwrap();
        }
        let page = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(page, rule.page(), "{} is not what the rule says", path.display());
        names.insert(format!("{}.md", rule.id));
    }
    let there = fs::read_dir(&folder).unwrap();
    let strange: Vec<String> = there
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !names.contains(name))
        .collect();
    assert!(strange.is_empty(), "pages of no rule: {strange:?}");
}
