//! What a reader does with a page: opens folds, follows links, sorts, filters, points, zooms, copies.
//! Pointer and keys are those of the browser, not events that a script makes up.

use crate::devtools::Browser;
use serde_json::{Value, json};
use xoff_report::Unit;

/// What must be on the page: a gallery has everything, other pages have some of it by name, and what
/// else is there must work.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Expect {
    Everything,
    These(&'static [&'static str]),
}

impl Expect {
    fn includes(self, name: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::These(names) => names.contains(&name),
        }
    }
}

/// Tries everything and says what is wrong.
pub(crate) fn everything(browser: &mut Browser, address: &str, expect: Expect) -> Vec<String> {
    let mut wrong = Vec::new();
    let tries: [(&str, &str, Try); 11] = [
        ("fold", "passes are folded", folds),
        ("anchor", "a link opens what it leads to", anchors),
        ("sort", "a table is sorted", sorts),
        ("sort by key", "a table is sorted by key", sorts_by_key),
        ("filter", "a table is filtered", filters),
        ("hover", "a plot is read under the pointer", hovers),
        ("spot", "words of places in a picture", spots),
        ("zoom", "a plot is zoomed", zooms),
        ("copy", "code is copied", copies),
        ("no script", "it is read without a script", without_script),
        ("still", "nothing moves that should not", keeps_still),
    ];
    for (name, what, attempt) in tries {
        match attempt(browser, address) {
            Ok(true) => {}
            Ok(false) if expect.includes(name) => wrong.push(format!("nothing to try: {what}")),
            Ok(false) => println!("{address}: nothing to {name}"),
            Err(why) => {
                wrong.push(format!("{what}: {}", why.chars().take(300).collect::<String>()))
            }
        }
    }
    wrong
}

/// Something to try on the page at an address.
type Try = fn(&mut Browser, &str) -> Outcome;

/// Whether there was anything to try.
type Outcome = Result<bool, String>;

fn open(browser: &mut Browser, address: &str) {
    browser.events.retain(|event| event["method"] != "Page.loadEventFired");
    // A page that differs in its fragment only is not loaded again.
    browser.call("Page.navigate", json!({"url": "about:blank"}));
    browser.wait_for("Page.loadEventFired");
    browser.events.retain(|event| event["method"] != "Page.loadEventFired");
    browser.call("Page.navigate", json!({"url": address}));
    browser.wait_for("Page.loadEventFired");
}

fn ensure(right: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(why()) }
}

fn mouse(browser: &mut Browser, kind: &str, (x, y): (f64, f64), clicks: u32) {
    let held = u8::from(kind == "mousePressed" || clicks > 0 && kind == "mouseMoved");
    let event = json!({
        "type": kind, "x": x, "y": y, "clickCount": clicks, "buttons": held,
        "button": if clicks > 0 { "left" } else { "none" },
    });
    browser.call("Input.dispatchMouseEvent", event);
}

fn key(browser: &mut Browser, name: &str, text: &str) {
    let code = if name == "Enter" { 13 } else { 0 };
    for kind in ["keyDown", "keyUp"] {
        let mut event = json!({"type": kind, "key": name, "windowsVirtualKeyCode": code});
        if kind == "keyDown" && !text.is_empty() {
            event["text"] = json!(text);
        }
        browser.call("Input.dispatchKeyEvent", event);
    }
}

/// A place in the middle of the first visible element, scrolled into sight.
fn place(browser: &mut Browser, element: &str, across: f64, down: f64) -> Option<(f64, f64)> {
    let found = browser.value(&format!(
        "(async () => {{ const e = {element}; if (!e) return null; \
           for (let d = e; d; d = d.parentElement) if (d.localName === 'details') d.open = true; \
           e.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
           await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))); \
           const b = e.getBoundingClientRect(); \
           return [b.left + b.width * {across}, b.top + b.height * {down}]; }})()"
    ));
    Some((found[0].as_f64()?, found[1].as_f64()?))
}

fn folds(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let shut = "document.querySelectorAll('details.fold:not([open])').length";
    if browser.value(shut) == 0 {
        return Ok(false);
    }
    let open_pass = "[...document.querySelectorAll('article.check.pass')]\
                     .filter(a => !a.closest('details.fold:not([open])')).length";
    ensure(browser.value(open_pass) == 0, || "a pass is not folded".to_owned())?;
    browser.value("document.querySelector('details.fold > summary').focus()");
    key(browser, "Enter", "\r");
    let opened = "document.querySelector('details.fold').open";
    ensure(browser.value(opened) == true, || "Enter does not open a fold".to_owned())?;
    // In print everything is open, and afterwards as it was.
    open(browser, address);
    let before = browser.value(shut);
    browser.value("dispatchEvent(new Event('beforeprint'))");
    ensure(browser.value(shut) == 0, || "a fold is closed in print".to_owned())?;
    browser.value("dispatchEvent(new Event('afterprint'))");
    ensure(browser.value(shut) == before, || "print leaves folds open".to_owned())?;
    Ok(true)
}

fn anchors(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let deep = "(document.querySelector('details.fold:not([open]) article.check') \
                || document.querySelector('article.check') || {}).id";
    let Some(id) = browser.value(deep).as_str().map(str::to_owned) else { return Ok(false) };
    let own = browser.value("document.querySelectorAll('article.check h3 a.anchor').length");
    let all = browser.value("document.querySelectorAll('article.check').length");
    ensure(own == all, || format!("{own} links to {all} checks"))?;
    open(browser, &format!("{address}#{id}"));
    let seen = format!(
        "(() => {{ const e = document.getElementById('{id}'); const b = e.getBoundingClientRect(); \
           return e.matches(':target') && b.height > 0 && b.top >= -2 && b.top < innerHeight; }})()"
    );
    ensure(browser.value(&seen) == true, || format!("#{id} is not seen"))?;
    Ok(true)
}

/// The longest table, and the values of one of its columns as they are shown.
const TABLE: &str = "[...document.querySelectorAll('figure.table')]\
    .sort((a, b) => b.dataset.rows - a.dataset.rows)[0]";

fn column(browser: &mut Browser, at: u64) -> Vec<Value> {
    let read = format!(
        "[...{TABLE}.querySelectorAll('tbody tr')].map(r => r.cells[{at}]).map(c => \
         c.dataset.v === undefined ? (c.textContent || null) : Number(c.dataset.v))"
    );
    browser.value(&read).as_array().cloned().unwrap_or_default()
}

fn is_sorted(values: &[Value], up: bool) -> bool {
    let numbers: Vec<f64> = values.iter().filter_map(Value::as_f64).collect();
    numbers.is_sorted_by(|a, b| if up { a <= b } else { a >= b })
}

fn sorts(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let heads = format!("[...({TABLE} || document.body).querySelectorAll('thead th')]");
    let number = browser.value(&format!("{heads}.findIndex(h => h.dataset.unit)"));
    let Some(at) = number.as_u64() else { return Ok(false) };
    let before = column(browser, at);
    if before.len() < 2 {
        return Ok(false);
    }
    for (word, up) in [("ascending", true), ("descending", false)] {
        let Some(button) =
            place(browser, &format!("{heads}[{at}].querySelector('button')"), 0.5, 0.5)
        else {
            return Err("a heading without a button".to_owned());
        };
        for kind in ["mousePressed", "mouseReleased"] {
            mouse(browser, kind, button, 1);
        }
        let said = browser.value(&format!("{heads}[{at}].getAttribute('aria-sort')"));
        ensure(said == word, || format!("aria-sort is {said}, not {word}"))?;
        let now = column(browser, at);
        ensure(now.len() == before.len(), || format!("{} rows of {}", now.len(), before.len()))?;
        ensure(is_sorted(&now, up), || format!("{word}: {now:?}"))?;
        ensure_numbers(browser)?;
    }
    Ok(true)
}

/// Numbers that the script writes are written as those of the page.
fn ensure_numbers(browser: &mut Browser) -> Result<(), String> {
    let cells = browser.value(
        "[...document.querySelectorAll('td.number[data-v]')].map(c => [c.textContent, c.dataset.v, \
         c.closest('table').querySelectorAll('thead th')[c.cellIndex].dataset.unit])",
    );
    for cell in cells.as_array().into_iter().flatten() {
        let [text, value, unit] = [0, 1, 2].map(|at| cell[at].as_str().unwrap_or_default());
        let value: f64 = value.parse().map_err(|error| format!("{value}: {error}"))?;
        let unit = match unit {
            "plain" => Unit::Plain,
            "count" => Unit::Count,
            "seconds" => Unit::Seconds,
            "bytes" => Unit::Bytes,
            "bits-per-second" => Unit::BitsPerSecond,
            "bytes-per-second" => Unit::BytesPerSecond,
            "share" => Unit::Share,
            "large" => Unit::Large,
            "watts" => Unit::Watts,
            _ => continue,
        };
        // A column may hold numbers of its own units; then its heading says nothing.
        let expected = [unit, Unit::Count].map(|unit| unit.show(value));
        ensure(expected.contains(&text.to_owned()), || {
            format!("{value} {unit:?} is shown as {text}")
        })?;
    }
    Ok(())
}

/// Zooms the first plot and points at it, to be looked at.
pub(crate) fn in_use(browser: &mut Browser, address: &str) -> bool {
    open(browser, address);
    let Some(first) = plots(browser).first().copied() else { return false };
    let (from, to) = (within(browser, first, 0.2, 0.5), within(browser, first, 0.6, 0.5));
    mouse(browser, "mousePressed", from, 1);
    mouse(browser, "mouseMoved", ((from.0 + to.0) / 2.0, to.1), 1);
    mouse(browser, "mouseMoved", to, 1);
    mouse(browser, "mouseReleased", to, 1);
    mouse(browser, "mouseMoved", from, 0);
    true
}

fn sorts_by_key(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let button = format!("({TABLE} || document.body).querySelector('thead th button')");
    if browser.value(&format!("!!{button}")) != true {
        return Ok(false);
    }
    let before = column(browser, 0);
    browser.value(&format!("{button}.focus()"));
    for _ in 0..3 {
        key(browser, "Enter", "\r");
    }
    let said = browser.value(&format!("{button}.parentElement.getAttribute('aria-sort')"));
    ensure(said == "none", || format!("after three times aria-sort is {said}"))?;
    ensure(column(browser, 0) == before, || "the first order does not come back".to_owned())?;
    Ok(true)
}

fn filters(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let input = format!("({TABLE} || document.body).querySelector('.filter input')");
    if browser.value(&format!("!!{input}")) != true {
        return Ok(false);
    }
    // A row that the page does not show at first is found, too.
    let wanted = browser.value(&format!(
        "(() => {{ const f = {TABLE}; const t = decodeURIComponent(f.querySelector('a.csv').href); \
           return t.trim().split('\\r\\n').pop().split(',')[0].replace(/^\"|\"$/g, ''); }})()"
    ));
    browser.value(&format!("{input}.focus()"));
    browser.call("Input.insertText", json!({"text": wanted}));
    let left = column(browser, 0);
    let text = wanted.as_str().unwrap_or_default().to_lowercase();
    let has = |row: &Value| row.as_str().is_some_and(|row| row.to_lowercase().contains(&text));
    ensure(!left.is_empty() && left.iter().any(has), || format!("{wanted} is not in {left:?}"))?;
    let all = browser.value(&format!("Number({TABLE}.dataset.rows)"));
    let words = browser.value(&format!("{TABLE}.querySelector('.filter output').textContent"));
    ensure(words.as_str().is_some_and(|words| words.contains(" of ")), || format!("{words}"))?;
    browser.value(&format!(
        "{input}.value = 'no such row'; {input}.dispatchEvent(new Event('input'))"
    ));
    ensure(column(browser, 0).is_empty(), || format!("rows are left of {all}"))?;
    Ok(true)
}

/// The pictures with axes that are seen, as their numbers among all.
fn plots(browser: &mut Browser) -> Vec<u64> {
    let seen = "[...document.querySelectorAll('svg[data-plot]')].map((s, i) => [s, i])\
        .filter(([s]) => { for (let d = s; d; d = d.parentElement) if (d.localName === 'details') \
        d.open = true; return s.getClientRects().length; })\
        .filter(([s]) => s.querySelectorAll('[stroke^=\"#0A01\"],[fill^=\"#0A01\"],[fill^=\"#0A02\"]').length)\
        .map(([, i]) => i)";
    let seen = browser.value(seen);
    seen.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

fn svg(at: u64) -> String {
    format!("document.querySelectorAll('svg[data-plot]')[{at}]")
}

/// A place within the axes of a picture.
fn within(browser: &mut Browser, at: u64, across: f64, down: f64) -> (f64, f64) {
    let found = browser.value(&format!(
        "(async () => {{ const s = {}, p = JSON.parse(s.dataset.plot); \
           s.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
           await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))); \
           const b = s.getBoundingClientRect(), k = b.width / s.viewBox.baseVal.width; \
           const [l, t, r, o] = p.area; \
           return [b.left + (l + (r - l) * {across}) * k, b.top + (t + (o - t) * {down}) * k]; }})()",
        svg(at)
    ));
    (found[0].as_f64().unwrap_or(0.0), found[1].as_f64().unwrap_or(0.0))
}

const TIP: &str =
    "document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').innerText";

fn hovers(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let plots = plots(browser);
    for at in &plots {
        let middle = within(browser, *at, 0.5, 0.3);
        mouse(browser, "mouseMoved", middle, 0);
        let words = browser.value(TIP);
        let said = words.as_str().unwrap_or_default();
        let name = browser.value(&format!("{}.closest('figure').id", svg(*at)));
        // Nothing is said of a plot without a value there, but then no plot may be like that.
        ensure(said.lines().count() >= 2, || format!("{name}: the tip says {words}"))?;
        let label = browser.value(&format!("JSON.parse({}.dataset.plot).x.label", svg(*at)));
        let label = label.as_str().unwrap_or_default().to_owned();
        ensure(said.contains(&label), || format!("{name}: no {label} in {words}"))?;
        mouse(browser, "mouseMoved", (2.0, 2.0), 0);
        ensure(browser.value(TIP) == "", || format!("{name}: the tip stays"))?;
        // The same with keys.
        browser.value(&format!("{}.focus()", svg(*at)));
        key(browser, "ArrowRight", "");
        ensure(browser.value(TIP) != "", || format!("{name}: no tip for the arrow keys"))?;
        browser.value("document.activeElement.blur()");
    }
    Ok(!plots.is_empty())
}

fn spots(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let seen = "[...document.querySelectorAll('g.spot rect:first-of-type, rect.spot')].filter(s => \
                s.closest('svg').getClientRects().length)[0]";
    let Some(middle) = place(browser, seen, 0.5, 0.5) else { return Ok(false) };
    mouse(browser, "mouseMoved", middle, 0);
    let said = browser.value(TIP);
    ensure(said.as_str().is_some_and(|said| !said.is_empty()), || format!("the tip says {said}"))?;
    let left = browser.value("document.querySelectorAll('.spot title').length");
    ensure(left == 0, || "the browser's own words come on top".to_owned())?;
    Ok(true)
}

fn zooms(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let plots = plots(browser);
    let resets =
        "[...document.querySelectorAll('.reset')].filter(b => b.getClientRects().length).length";
    ensure(browser.value(resets) == 0, || "a way back from no zoom is shown".to_owned())?;
    for at in &plots {
        let name = browser.value(&format!("{}.closest('figure').id", svg(*at)));
        let shapes = format!("{}.innerHTML", svg(*at));
        let before = browser.value(&shapes);
        let narrow = format!("JSON.parse({}.dataset.plot).x.names?.length < 8", svg(*at));
        if browser.value(&narrow) == true {
            continue;
        }
        let (from, to) = (within(browser, *at, 0.3, 0.5), within(browser, *at, 0.7, 0.5));
        mouse(browser, "mousePressed", from, 1);
        mouse(browser, "mouseMoved", ((from.0 + to.0) / 2.0, to.1), 1);
        mouse(browser, "mouseMoved", to, 1);
        mouse(browser, "mouseReleased", to, 1);
        let zoomed = browser.value(&shapes);
        ensure(zoomed != before, || format!("{name}: a drag does nothing"))?;
        let ticks = format!("{}.querySelectorAll('text.tick').length", svg(*at));
        ensure(browser.value(&ticks).as_u64() >= Some(2), || format!("{name}: no ticks"))?;
        let odd = "[...document.querySelectorAll('svg *')].filter(e => \
            [...e.attributes].some(a => a.value.includes('NaN') || a.value.includes('Infinity'))).length";
        ensure(browser.value(odd) == 0, || format!("{name}: a place is not a number"))?;
        let reset = format!(
            "[...{}.closest('figure').querySelectorAll('.reset')]\
                             .filter(b => b.getClientRects().length).length",
            svg(*at)
        );
        ensure(browser.value(&reset) == 1, || format!("{name}: no way back is shown"))?;
        mouse(browser, "mouseMoved", (2.0, 2.0), 0);
        for clicks in [1, 2] {
            mouse(browser, "mousePressed", to, clicks);
            mouse(browser, "mouseReleased", to, clicks);
        }
        mouse(browser, "mouseMoved", (2.0, 2.0), 0);
        ensure(browser.value(&shapes) == before, || {
            format!("{name}: a double click does not reset")
        })?;
        browser.value(&format!("{}.focus()", svg(*at)));
        key(browser, "+", "+");
        ensure(browser.value(&shapes) != before, || format!("{name}: + does nothing"))?;
        key(browser, "0", "0");
        browser.value("document.activeElement.blur()");
        ensure(browser.value(&shapes) == before, || format!("{name}: 0 does not reset"))?;
    }
    Ok(!plots.is_empty())
}

fn copies(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    // The longest, or else the command at the top.
    let code = "([...document.querySelectorAll('.code')].sort((a, b) => \
                b.innerText.split('\\n').length - a.innerText.split('\\n').length)[0] || \
                document.querySelector('button.copy')?.parentElement)";
    if browser.value(&format!("!!{code}")) != true {
        return Ok(false);
    }
    // Copying is watched where it happens: what is on the machine's clipboard is not touched.
    browser.value(
        "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }",
    );
    let Some(button) = place(browser, &format!("{code}.querySelector('button.copy')"), 0.5, 0.5)
    else {
        return Err("code without a button".to_owned());
    };
    for kind in ["mousePressed", "mouseReleased"] {
        mouse(browser, kind, button, 1);
    }
    let (copied, shown) = (
        browser.value("window.copied"),
        browser.value(&format!("{code}.querySelector('code').textContent")),
    );
    ensure(copied == shown, || format!("{copied} is copied of {shown}"))?;
    let said = browser.value(&format!("{code}.querySelector('button').textContent"));
    ensure(said == "Copied", || format!("the button says {said}"))?;
    Ok(true)
}

/// Without a script folds open, print shows what they hold, and nothing offers what it cannot do.
fn without_script(browser: &mut Browser, address: &str) -> Outcome {
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    let result = bare(browser, address);
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    browser.call("Emulation.setEmulatedMedia", json!({"media": "", "features": []}));
    result
}

fn bare(browser: &mut Browser, address: &str) -> Outcome {
    open(browser, address);
    let buttons = "[...document.querySelectorAll('button, input')].filter(b => \
                   b.getClientRects().length).length";
    ensure(browser.value(buttons) == 0, || "a button that does nothing".to_owned())?;
    let titles = browser.value("document.querySelectorAll('.spot title').length");
    let spots = browser.value("document.querySelectorAll('.spot').length");
    ensure(titles == spots, || format!("{spots} places, {titles} with words"))?;
    let fold = "document.querySelector('details.fold')";
    if browser.value(&format!("!!{fold}")) != true {
        return Ok(false);
    }
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.value(&format!("{fold}.querySelector('summary').focus()"));
    key(browser, "Enter", "\r");
    ensure(browser.value(&format!("{fold}.open")) == true, || "a fold does not open".to_owned())?;
    open(browser, address);
    let shut = printed(browser);
    let marked = "for (const d of document.querySelectorAll('details:not([open])')) { d.open = true; \
                  d.className += ' shut'; }";
    browser.value(marked);
    let all = printed(browser);
    browser.value("for (const d of document.querySelectorAll('.shut')) d.open = false");
    // A document that leaves nothing out is as long; opening changes its markers by some bytes.
    ensure(shut.abs_diff(all) < 2_000, || {
        format!("print leaves out what is folded: {shut} bytes of {all}")
    })?;
    Ok(true)
}

/// The length of the page in print.
fn printed(browser: &mut Browser) -> usize {
    let sheet = browser.call("Page.printToPDF", json!({"printBackground": false}));
    sheet["data"].as_str().map_or(0, str::len)
}

/// For readers who asked for less motion.
fn keeps_still(browser: &mut Browser, address: &str) -> Outcome {
    let less = json!({"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]});
    browser.call("Emulation.setEmulatedMedia", less);
    open(browser, address);
    let scroll = browser.value("getComputedStyle(document.documentElement).scrollBehavior");
    browser.call("Emulation.setEmulatedMedia", json!({"media": "", "features": []}));
    ensure(scroll == "auto", || format!("the page scrolls {scroll}"))?;
    Ok(true)
}
