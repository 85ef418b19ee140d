// Tables: a click on a heading sorts, again the other way, again as it was; words in the box keep the
// rows that have all of them. Rows that the page does not hold come from the table's CSV.
const SHOWN = 200;
const byName = new Intl.Collator("en", { numeric: true });

function makeRow(heads, fields) {
  const row = document.createElement("tr");
  heads.forEach((head, at) => {
    const cell = row.insertCell(), text = fields[at] || "", unit = head.dataset.unit;
    cell.className = unit ? "number" : "";
    const number = unit && text !== "" ? Number(text) : undefined;
    if (Number.isFinite(number)) cell.dataset.v = number;
    cell.textContent = Number.isFinite(number) ? show(number, unit) : text;
  });
  return row;
}

function makeTable(figure) {
  const body = figure.querySelector("tbody"), heads = [...figure.querySelectorAll("thead th")];
  let rows = [...body.rows];
  if (rows.length < 2) return;
  let sorted = null, filter = null, out = null;
  const all = () => {
    if (rows.length < Number(figure.dataset.rows) && !figure.whole) {
      figure.whole = true;
      rows = rows.concat(rowsOf(figure).slice(rows.length).map((fields) => makeRow(heads, fields)));
    }
    return rows;
  };
  const value = (row, at) => {
    const cell = row.cells[at], text = cell.textContent;
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : text === "" ? null : text;
  };
  const order = (a, b) => {
    const [x, y] = [value(a, sorted.at), value(b, sorted.at)];
    // Cells without a value are last in both directions.
    if (x === null || y === null) return (x === null) - (y === null);
    const both = typeof x === "number" && typeof y === "number";
    return sorted.sign * (both ? x - y : byName.compare(String(x), String(y)));
  };
  const update = () => {
    const words = filter ? filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const has = (row) => {
      const text = row.textContent.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    let found = all().filter(has);
    if (sorted) found = found.slice().sort(order);
    body.replaceChildren(...found.slice(0, SHOWN));
    if (!out) return;
    const left = found.length > SHOWN ? `, the first ${SHOWN} shown` : "";
    out.textContent = words.length ? `${found.length} of ${rows.length} rows${left}` : "";
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      for (const other of heads) other.setAttribute("aria-sort", "none");
      const next = { none: "ascending", ascending: "descending", descending: "none" }[now];
      head.setAttribute("aria-sort", next);
      sorted = next === "none" ? null : { at, sign: next === "ascending" ? 1 : -1 };
      update();
    });
  });
  // Fewer rows are seen at a glance.
  if (rows.length < 12) return;
  const bar = document.createElement("div");
  bar.className = "filter";
  filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter rows";
  filter.setAttribute("aria-label", "Filter rows of " + figure.querySelector("caption").textContent);
  out = document.createElement("output");
  filter.addEventListener("input", update);
  bar.append(filter, out);
  figure.querySelector(".scroll").before(bar);
}
document.querySelectorAll("figure.table").forEach(makeTable);
