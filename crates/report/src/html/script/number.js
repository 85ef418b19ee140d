// Numbers as the page shows them, with the prefixes that it carries, and the CSV of a figure.
const units = JSON.parse(document.body.dataset.units);

function digits(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(2).replace("e+", "e");
  const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 || size === 0 ? 2
    : size >= 0.00995 ? 3 : 4;
  return value.toFixed(places).replace(/\.0+$/, "");
}

function grouped(value) {
  const [whole, part] = (Number.isInteger(value) ? value.toFixed(0) : digits(value)).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
}

function show(value, unit) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0 && unit !== "share") return "0";
  if (unit === "count") return grouped(value);
  let [size, name] = unit.startsWith(":") ? [1, unit.slice(1)] : units[unit][0];
  for (const step of units[unit] || []) if (Math.abs(value) >= step[0] * 0.9995) [size, name] = step;
  const whole = size === 1 && Number.isInteger(value) && Math.abs(value) < 1e15;
  const number = whole ? value.toFixed(0) : digits(value / size);
  return name ? number + " " + name : number;
}

// The rows of a figure's CSV without its heading; the same every time.
function rowsOf(figure) {
  if (figure.rows) return figure.rows;
  const href = figure.querySelector("a.csv").getAttribute("href");
  const text = decodeURIComponent(href.slice(href.indexOf(",") + 1));
  const rows = [];
  let row = [], field = "", quoted = false;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (quoted && c === '"' && text[at + 1] === '"') { field += c; at++; }
    else if (c === '"') quoted = !quoted;
    else if (!quoted && c === ",") { row.push(field); field = ""; }
    else if (!quoted && c === "\n") { row.push(field); rows.push(row); row = []; field = ""; }
    else if (quoted || c !== "\r") field += c;
  }
  // Names that a spreadsheet would take for formulas have an apostrophe in front.
  const plain = (text) => text.replace(/^'(?=[=+\-@\t\r])/, "");
  figure.rows = rows.slice(1).map((row) => row.map(plain));
  return figure.rows;
}
