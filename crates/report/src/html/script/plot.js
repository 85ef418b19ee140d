// The value under the pointer, or under the cursor that the arrow keys move: read from the figure's
// CSV, not from the picture. Places that carry words of their own show those.
const SVG = (document.querySelector("figure.plot svg") || {}).namespaceURI;
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;
document.body.append(tip);

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  return made;
}

function showTip(lines, x, y) {
  tip.replaceChildren(...lines.map((line, at) => {
    const row = document.createElement("div");
    if (at === 0) row.className = "head";
    if (line.ink !== undefined) {
      const key = document.createElement("i");
      key.style.background = `var(--s${line.ink})`;
      row.append(key);
    }
    row.append(line.text === undefined ? line : line.text);
    return row;
  }));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - box.width - 16 : x + 16;
  tip.style.left = Math.max(4, Math.min(left, innerWidth - box.width - 4)) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 4)) + "px";
}

// Runs of rows with the same first field, as the CSV has them.
function runs(rows) {
  const all = [];
  for (const row of rows) {
    if (!all.length || all[all.length - 1].name !== row[0]) all.push({ name: row[0], rows: [] });
    all[all.length - 1].rows.push(row);
  }
  return all;
}

// The data behind a picture, by series, lane or row.
function dataOf(plot) {
  if (plot.data) return plot.data;
  const all = runs(rowsOf(plot.figure));
  if (plot.kind === "timeline" || plot.kind === "heat") {
    // Rows without data are not in the CSV: names are met in order.
    plot.data = [];
    const fold = plot.kind === "heat" ? plot.fold[0] : 1;
    const names = plot.kind === "heat" && fold > 1 ? all.map((run) => run.name) : plot.y.names;
    let next = 0;
    for (const name of names)
      plot.data.push(next < all.length && all[next].name === name ? all[next++].rows : []);
  } else {
    const fits = (text, axis) => text !== "" && !(axis.log && Number(text) <= 0);
    const numbers = (run) => run.rows.filter((row) => fits(row[1], plot.x) && fits(row[2], plot.y))
      .map((row) => [Number(row[1]), Number(row[2])]);
    plot.data = all.slice(0, 8).map((run) => ({ name: run.name, points: numbers(run) }));
  }
  return plot.data;
}

// The last of a series' points that is not right of a value, or -1.
function before(points, value) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function nearest(points, value) {
  const at = before(points, value), next = points[at + 1];
  if (at < 0) return next;
  return next && next[0] - value < value - points[at][0] ? next : points[at];
}

function readChart(plot, at) {
  const value = valueAt(plot.x, at.x, plot.view), series = dataOf(plot);
  const steps = plot.kind !== "lines";
  let where = value;
  if (!steps) {
    const near = series.map((own) => nearest(own.points, value)).filter(Boolean);
    if (!near.length) return null;
    near.sort((a, b) => Math.abs(shareOf(plot.x, a[0], plot.view) - at.x)
      - Math.abs(shareOf(plot.x, b[0], plot.view) - at.x));
    where = near[0][0];
  }
  const lines = [`${plot.x.label}${plot.kind === "cdf" ? " up to" : ""} ${show(where, plot.x.unit)}`];
  const dots = [];
  series.forEach((own, ink) => {
    const index = before(own.points, where);
    const point = steps ? own.points[index] : own.points.find((point) => point[0] === where);
    if (!point && plot.kind !== "cdf") return;
    const reached = point ? point[1] : 0;
    lines.push({ ink, text: `${own.name}: ${show(reached, plot.y.unit)}` });
    dots.push([where, reached, ink]);
  });
  return { lines, where: shareOf(plot.x, where, plot.view), dots };
}

function readLane(plot, at) {
  const lane = Math.min(plot.y.names.length - 1, Math.floor(at.y * plot.y.names.length));
  const time = valueAt(plot.x, at.x, plot.view), rows = dataOf(plot)[lane] || [];
  // As wide as a stretch is drawn at least.
  const near = (plot.view[1] - plot.view[0]) / 300;
  const held = rows.find((row) => Number(row[2]) - near <= time && (row[3] === "" || time <= Number(row[3]) + near));
  const lines = [plot.y.names[lane], `${plot.x.label} ${show(time, plot.x.unit)}`];
  if (held) {
    const [from, to] = [Number(held[2]), held[3] === "" ? plot.x.to : Number(held[3])];
    lines.push(`${held[1] ? held[1] + ": " : ""}from ${show(from, plot.x.unit)} to ${show(to, plot.x.unit)}, for ${show(to - from, plot.x.unit)}`);
  }
  return { lines, where: at.x };
}

function readCell(plot, at) {
  const [down, across, , columns] = plot.fold;
  const column = Math.min(plot.x.names.length - 1, Math.floor(valueAt(plot.x, at.x, plot.view)));
  const row = Math.min(plot.y.names.length - 1, Math.floor(at.y * plot.y.names.length));
  let most = null;
  for (const cells of dataOf(plot).slice(row * down, (row + 1) * down))
    for (let each = column * across; each < Math.min(columns, (column + 1) * across); each++) {
      const full = cells.length === columns ? cells[each] : undefined;
      const cell = full || (across === 1 && cells.length < columns && cells.find((cell) => cell[1] === plot.x.names[column]));
      if (cell && (most === null || Number(cell[2]) > most)) most = Number(cell[2]);
    }
  const value = most === null ? "no value" : show(most, plot.value.unit);
  const lines = [plot.y.names[row], `${plot.x.label} ${plot.x.names[column]}`];
  lines.push(`${plot.value.label}: ${value}${down * across > 1 ? ", the greatest of neighbours" : ""}`);
  return { lines, where: at.x };
}

const readers = { lines: readChart, steps: readChart, cdf: readChart, timeline: readLane, heat: readCell };

// Shows what is at a place within the axes, each coordinate from 0 to 1.
function point(plot, at) {
  clear(plot);
  const read = readers[plot.kind](plot, at);
  if (!read) return;
  plot.cursor = at;
  const [left, top, right, bottom] = plot.area, x = left + read.where * (right - left);
  plot.marks = [element("line", { class: "cursor", x1: x, x2: x, y1: top, y2: bottom })];
  for (const [where, value, ink] of read.dots || []) {
    const share = shareOf(plot.y, value, homeOf(plot.y));
    if (!(share >= 0 && share <= 1)) continue;
    const cx = left + shareOf(plot.x, where, plot.view) * (right - left);
    const cy = bottom - share * (bottom - top);
    plot.marks.push(element("circle", { class: "cursor", cx, cy, r: 7, style: `fill:var(--s${ink})` }));
  }
  plot.svg.append(...plot.marks);
  const box = plot.svg.getBoundingClientRect(), scale = box.width / plot.svg.viewBox.baseVal.width;
  showTip(read.lines, box.left + x * scale, box.top + (top + at.y * (bottom - top)) * scale);
}

function clear(plot) {
  for (const mark of plot.marks || []) mark.remove();
  plot.marks = [];
  tip.hidden = true;
}

// Where in the axes the pointer is, or nothing.
function placeOf(plot, event) {
  const box = plot.svg.getBoundingClientRect(), scale = plot.svg.viewBox.baseVal.width / box.width;
  const [left, top, right, bottom] = plot.area;
  const x = ((event.clientX - box.left) * scale - left) / (right - left);
  const y = ((event.clientY - box.top) * scale - top) / (bottom - top);
  return x >= 0 && x <= 1 && y >= 0 && y <= 1 ? { x, y } : null;
}

function spots(svg) {
  for (const spot of svg.querySelectorAll(".spot")) {
    const words = spot.querySelector("title");
    const lines = words.textContent.split("\n");
    // The browser's own words would come on top.
    words.remove();
    spot.addEventListener("pointermove", (event) => showTip(lines, event.clientX, event.clientY));
    spot.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
}
document.querySelectorAll("figure.plot svg").forEach(spots);
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });
