//! The style sheet: the page's own rules, and what colour each ink has in light and dark.

use crate::draw::Ink;

const RULES: &str = include_str!("style.css");

/// The whole sheet.
pub(super) fn sheet() -> String {
    let light = variables(Ink::light);
    let dark = variables(Ink::dark);
    let mut out = format!(
        ":root{{color-scheme:light;{light}}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n\
         :root[data-theme=dark]{{color-scheme:dark;{dark}}}\n\
         @media print{{:root,:root[data-theme=dark],:root:not([data-theme=light]){{color-scheme:light;{light}}}}}\n"
    );
    out += RULES;
    let ramp: Vec<String> =
        (0..Ink::HEAT).map(|step| format!("var(--{})", Ink::Heat(step).name())).collect();
    out += &format!(".legend .ramp{{background:linear-gradient(90deg,{})}}\n", ramp.join(","));
    let (mark, down) = (Ink::Mark.drawn(), Ink::Down.drawn());
    // Thresholds and what is broken are also shown by dashes; names on lines have a halo.
    out += &format!(
        "[stroke=\"{mark}\"]{{stroke-dasharray:12 8}}\n[stroke=\"{down}\"]{{stroke-dasharray:10 7}}\n\
          polyline{{stroke-linejoin:round}}\n"
    );
    for ink in Ink::all() {
        let (name, drawn) = (ink.name(), ink.drawn());
        out += &format!(".legend .{name}{{border-color:var(--{name})}}");
        out += &format!("[fill=\"{drawn}\"]{{fill:var(--{name})}}");
        out += &format!("[stroke=\"{drawn}\"]{{stroke:var(--{name})}}\n");
    }
    out
}

fn variables(colour: impl Fn(Ink) -> String) -> String {
    let all = Ink::all().map(|ink| format!("--{}:{};", ink.name(), colour(ink)));
    all.collect::<String>()
}
