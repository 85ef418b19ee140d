//! A report in a real browser: wide and narrow, light and dark, on screen and in print, and in the
//! hands of a reader. Needs Chromium, so it is run by name:
//! `cargo test -p xoff-report --test browser -- --ignored`.
//!
//! `XOFF_PAGE` names a page to look at instead of the gallery, `XOFF_SCREENSHOTS` a folder for its pictures.

mod devtools;
#[path = "../../examples/gallery.rs"]
#[allow(dead_code, reason = "an example has a main of its own")]
mod gallery;
mod interact;

use devtools::{Browser, bytes, find};
use interact::Expect;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Widths and heights of windows: a desk and a hand.
const WINDOWS: [(&str, u32, u32); 2] = [("1280", 1280, 900), ("390", 390, 844)];

/// No page is larger, in bytes: it is mailed and opened on telephones.
const LARGEST: u64 = 2_000_000;

/// The page of a validation in which everything passes is not higher, in pixels.
const PASSING: f64 = 4_500.0;

/// What a reader must be able to do with the pages that the script `pages` makes, by their folders.
const PAGES: [(&str, &[&str]); 9] = [
    ("storm", &["anchor", "copy", "hover", "sort", "spot", "zoom"]),
    ("deadlock", &["anchor", "copy", "hover", "sort", "spot", "zoom"]),
    ("step", &["copy", "hover", "sort", "spot", "zoom"]),
    ("pass", &["anchor", "copy", "fold", "no script", "sort by key", "spot"]),
    (
        "fail",
        &["anchor", "copy", "filter", "fold", "hover", "no script", "sort by key", "spot", "zoom"],
    ),
    ("compare", &["copy", "fold", "hover", "no script", "sort", "zoom"]),
    ("plan-8192", &["copy", "filter", "hover", "sort", "spot", "zoom"]),
    ("validate-8192", &["anchor", "copy", "filter", "fold", "no script", "sort by key", "spot"]),
    ("8192", &["copy", "hover", "sort", "spot", "zoom"]),
];

#[test]
#[ignore = "needs Chromium: ./test runs it where there is one"]
fn a_report_is_drawn_in_a_browser() {
    let program = find().expect("no chromium on this machine; XOFF_CHROMIUM may name one");
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let shots =
        std::env::var_os("XOFF_SCREENSHOTS").map_or_else(|| place.join("shots"), PathBuf::from);
    fs::create_dir_all(&shots).unwrap();
    let profile = place.join(format!("profile-{}", std::process::id()));
    fs::create_dir_all(&profile).unwrap();
    let page = page(&place);
    let size = fs::metadata(&page).unwrap().len();
    assert!(size < LARGEST, "{}: {size} bytes", page.display());
    let mut browser = Browser::start(&program, &profile);
    let mut wrong = Vec::new();
    for (name, width, height) in WINDOWS {
        for theme in ["light", "dark"] {
            show(&mut browser, &page, (width, height), theme);
            // As readers see it first, and with everything open.
            picture(&mut browser, &shots.join(format!("{name}-{theme}.png")), width);
            wrong.extend(too_long(&mut browser, &page, name));
            let found = look(&mut browser, theme);
            wrong.extend(found.into_iter().map(|what| format!("{name} {theme}: {what}")));
            picture(&mut browser, &shots.join(format!("{name}-{theme}-open.png")), width);
        }
        let expect = expected(&page);
        let address = format!("file://{}", page.display());
        let found = interact::everything(&mut browser, &address, expect);
        wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
        if interact::in_use(&mut browser, &address) {
            let shot = browser.call("Page.captureScreenshot", json!({"format": "png"}));
            let shot = bytes(shot["data"].as_str().unwrap_or_default());
            fs::write(shots.join(format!("{name}-in-use.png")), shot).unwrap();
        }
    }
    show(&mut browser, &page, (1280, 900), "light");
    wrong.extend(look(&mut browser, "light").into_iter().map(|what| format!("again: {what}")));
    wrong.extend(toggles(&mut browser));
    wrong.extend(downloads(&mut browser, &place.join("downloads")));
    let print = json!({"printBackground": false, "preferCSSPageSize": false});
    let sheet = browser.call("Page.printToPDF", print);
    fs::write(shots.join("print.pdf"), bytes(sheet["data"].as_str().unwrap_or_default())).unwrap();
    wrong.extend(complaints(&browser, &page));
    drop(browser);
    let _ = fs::remove_dir_all(&profile);
    assert!(wrong.is_empty(), "{}:\n{}", page.display(), wrong.join("\n"));
}

/// A validation in which everything passes is read at a glance: what passes is folded.
fn too_long(browser: &mut Browser, page: &Path, window: &str) -> Option<String> {
    let folder = page.parent()?.file_name()?.to_str()?;
    if std::env::var_os("XOFF_PAGE").is_none() || !["pass", "validate-8192"].contains(&folder) {
        return None;
    }
    let height = browser.value("document.documentElement.scrollHeight").as_f64()?;
    (height > PASSING).then(|| format!("{window}: {height} pixels of passes"))
}

/// What a reader can do with this page.
fn expected(page: &Path) -> Expect {
    if std::env::var_os("XOFF_PAGE").is_none() {
        return Expect::Everything;
    }
    let folder = page.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let known = PAGES.iter().find(|(name, _)| folder == Some(name));
    Expect::These(known.map_or(&[], |(_, what)| what))
}

/// The page to look at.
fn page(place: &Path) -> PathBuf {
    if let Some(named) = std::env::var_os("XOFF_PAGE") {
        return fs::canonicalize(named).unwrap();
    }
    let page = place.join("gallery.html");
    fs::write(&page, gallery::report().html()).unwrap();
    page
}

/// Opens the page.
fn show(browser: &mut Browser, page: &Path, window: (u32, u32), theme: &str) {
    let media = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
    browser.call("Emulation.setEmulatedMedia", media);
    let metrics = json!({
        "width": window.0, "height": window.1, "deviceScaleFactor": 1, "mobile": window.0 < 700,
    });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    browser.events.retain(|event| event["method"] != "Page.loadEventFired");
    browser.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
    browser.wait_for("Page.loadEventFired");
}

/// Opens every fold and says what is wrong with the page.
fn look(browser: &mut Browser, theme: &str) -> Vec<String> {
    let found = browser.value(include_str!("checks.js"));
    let mut wrong: Vec<String> = serde_json::from_value(found["wrong"].clone()).unwrap();
    if found["figures"] == 0 {
        wrong.push("no figures".to_owned());
    }
    let dark = browser.value("getComputedStyle(document.body).backgroundColor");
    let dark = dark.as_str().unwrap_or_default().starts_with("rgb(15, ");
    if dark != (theme == "dark") {
        wrong.push("the page has the other theme".to_owned());
    }
    wrong
}

fn picture(browser: &mut Browser, file: &Path, width: u32) {
    let height = browser.value("document.documentElement.scrollHeight").as_f64().unwrap_or(900.0);
    let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
    let shot = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
    let shot = browser.call("Page.captureScreenshot", shot);
    fs::write(file, bytes(shot["data"].as_str().unwrap_or_default())).unwrap();
}

/// The button turns light to dark.
fn toggles(browser: &mut Browser) -> Option<String> {
    let colour = "getComputedStyle(document.body).backgroundColor";
    let before = browser.value(colour);
    browser.value("document.getElementById('theme').click()");
    let after = browser.value(colour);
    (before == after).then(|| "the button does not change the theme".to_owned())
}

/// Every figure and table has its CSV, and one of them is downloaded.
fn downloads(browser: &mut Browser, folder: &Path) -> Vec<String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).unwrap();
    let mut wrong = Vec::new();
    let bare = "[...document.querySelectorAll('figure')]\
                .filter(f => !f.querySelector('a.csv[download][href^=\"data:text/csv\"]')).length";
    if browser.value(bare) != 0 {
        wrong.push("a figure without its CSV".to_owned());
    }
    browser.call("Page.setDownloadBehavior", json!({"behavior": "allow", "downloadPath": folder}));
    browser.events.clear();
    let name = browser.value(
        "(() => { const a = document.querySelector('a.csv'); \
                              a.click(); return a.download; })()",
    );
    browser.wait_for("Page.downloadProgress");
    while !browser.events.iter().any(|event| event["params"]["state"] == "completed") {
        browser.events.clear();
        browser.wait_for("Page.downloadProgress");
    }
    let file = folder.join(name.as_str().unwrap_or_default());
    match fs::read_to_string(&file) {
        Ok(text) if text.lines().count() > 1 => {}
        other => wrong.push(format!("{}: {other:?}", file.display())),
    }
    wrong
}

/// What the browser itself did not like: errors, dialogs, and anything asked of the network.
fn complaints(browser: &Browser, page: &Path) -> Vec<String> {
    let own = format!("file://{}", page.display());
    let bad = browser.events.iter().filter(|event| match event["method"].as_str() {
        Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => true,
        Some("Log.entryAdded" | "Page.javascriptDialogOpening") => true,
        Some("Network.requestWillBeSent") => {
            let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
            let url = url.split('#').next().unwrap_or_default();
            url != own && url != "about:blank" && !url.starts_with("data:")
        }
        _ => false,
    });
    bad.map(|event| event.to_string().chars().take(400).collect()).collect()
}
