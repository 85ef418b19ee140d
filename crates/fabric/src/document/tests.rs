use super::*;

fn parse(text: &str, origin: Origin) -> Document {
    let (document, errors) = Document::parse(text, Some(origin));
    assert!(errors.is_empty(), "{errors:?}");
    document
}

#[test]
fn every_syntax_error_is_reported() {
    let (_, errors) = Document::parse("a = \nb = [1\n\nc = 1\nd == 2\n", Some(Origin::Fabric));
    assert!(errors.len() >= 2, "{errors:?}");
    assert!(errors.iter().all(|e| e.code == code::SYNTAX));
}

#[test]
fn places_point_at_the_value() {
    let text = "[ecn]\nkmin = '1KB'\n";
    let document = parse(text, Origin::Fabric);
    let mut report = Report::new(&document, Origin::Fabric);
    report.error(code::IMPOSSIBLE, keys!["ecn", "kmin"], "x", "");
    report.error(code::IMPOSSIBLE, keys!["ecn", "kmax"], "x", "");
    report.error(code::IMPOSSIBLE, keys!["nowhere"], "x", "");
    let shown: Vec<&str> = report.diagnostics.iter().map(|d| &text[d.span.clone()]).collect();
    assert_eq!(shown, ["'1KB'", "ecn", ""]);
}

#[test]
fn layers_merge_and_remember_their_files() {
    let mut lower = parse(
        "[[class]]\nid = 3\nname = 'rdma'\n[links]\ndelay = '1us'\n[t.congestion]\nkind = 'a'\ng = 1\n",
        Origin::Fabric,
    );
    let upper = parse(
        "[[class]]\nid = 3\nlossless = true\n[[class]]\nid = 4\n[links]\nlength = '3m'\n\
         [t.congestion]\nkind = 'b'\n",
        Origin::Scenario,
    );
    lower.overlay(upper.root);
    let has = |path: &Path<'_>| lower.get(path).is_some();
    assert!(has(keys!["class", 0, "name"]) && has(keys!["class", 0, "lossless"]));
    assert!(has(keys!["class", 1, "id"]));
    assert!(has(keys!["links", "length"]) && !has(keys!["links", "delay"]));
    assert!(!has(keys!["t", "congestion", "g"]));
    let mut report = Report::new(&lower, Origin::Fabric);
    report.error(code::IMPOSSIBLE, keys!["class", 0, "lossless"], "x", "");
    report.error(code::IMPOSSIBLE, keys!["class", 0, "name"], "x", "");
    let origins: Vec<Origin> = report.diagnostics.iter().map(|d| d.origin).collect();
    assert_eq!(origins, [Origin::Scenario, Origin::Fabric]);
}

#[test]
fn deep_nesting_is_refused_or_read() {
    for text in [
        format!("{}1", "a.".repeat(20_000) + "b = "),
        format!("a = {}", "[".repeat(50_000)),
        format!("a = {}", "{b = ".repeat(50_000)),
        format!("[{}a]", "a.".repeat(20_000)),
        "[[a]]\n".repeat(20_000),
    ] {
        let (document, _) = Document::parse(&text, Some(Origin::Fabric));
        let _ = document.root.plain();
    }
}
