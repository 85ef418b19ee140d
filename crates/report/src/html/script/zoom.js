// Zoom along the horizontal axis: drag, Ctrl and the wheel, or + and -; a double click, 0 or Escape
// resets. A zoomed picture is drawn from the figure's CSV.
const INK = { muted: "#0A0003", grid: "#0A0004", mark: "#0A0009", shade: "#0A000B", series: "#0A01", heat: "#0A02" };
const inkOf = (shape) => {
  const stroke = shape.getAttribute("stroke");
  return (stroke && stroke !== "none" ? stroke : shape.getAttribute("fill")) || "";
};
const number = (shape, name) => Number(shape.getAttribute(name));

// The ends of a straight line, if it is upright.
function upright(shape) {
  let points = [];
  if (shape.localName === "line") points = [[number(shape, "x1")], [number(shape, "x2")]];
  if (shape.localName === "polyline")
    points = shape.getAttribute("points").trim().split(/\s+/).map((pair) => pair.split(",").map(Number));
  return points.length === 2 && points[0][0] === points[1][0] ? points[0][0] : null;
}

function zoom(plot, from, to) {
  const [least, most] = homeOf(plot.x);
  [from, to] = [Math.max(least, from), Math.min(most, to)];
  if (isNamed(plot.x)) [from, to] = [Math.round(from), Math.max(Math.round(to), Math.round(from) + 1)];
  const whole = shareOf(plot.x, to, [least, most]) - shareOf(plot.x, from, [least, most]);
  if (!(whole > 1e-5)) return;
  clear(plot);
  plot.view = [from, to];
  plot.home = plot.home || [...plot.svg.childNodes];
  const zoomed = whole < 0.9999;
  plot.reset.hidden = !zoomed;
  if (!zoomed) {
    plot.view = [least, most];
    plot.svg.replaceChildren(...plot.home);
    return;
  }
  plot.svg.replaceChildren(...redrawn(plot));
}

// The picture with its axis, and what hangs on it, for the view.
function redrawn(plot) {
  const [left, top, right, bottom] = plot.area, home = homeOf(plot.x);
  const place = (value) => left + shareOf(plot.x, value, plot.view) * (right - left);
  const moved = (x) => place(valueAt(plot.x, (x - left) / (right - left), home));
  const kept = [], moves = [];
  let grid = false, size = 24;
  for (const old of plot.home) {
    const shape = old.cloneNode(true), ink = old.nodeType === 1 ? inkOf(old) : "";
    if (ink === INK.muted && old.localName === "text" && number(old, "y") > bottom) {
      size = number(old, "font-size") || size;
      continue;
    }
    const x = ink === INK.grid || ink === INK.mark ? upright(old) : null;
    if (x !== null && ink === INK.grid && x > left + 1) {
      grid = grid || (x < right - 1 && old.getBBox().height > (bottom - top) / 2);
      continue;
    }
    if (ink.startsWith(INK.series)) continue;
    if (x !== null && ink === INK.mark && plot.kind === "cdf") {
      const to = moved(x);
      moves.push([x, to]);
      if (to < left || to > right) continue;
      shape.setAttribute("points", `${to},${bottom} ${to},${top}`);
    }
    if (ink === INK.mark && old.localName === "text" && plot.kind === "cdf") {
      const own = number(old, "x"), move = moves.find(([x]) => Math.abs(x - own) < 20);
      if (!move || move[1] < left || move[1] > right) continue;
      shape.setAttribute("x", own + move[1] - move[0]);
    }
    if (old.localName === "rect" && (ink === INK.shade || ink.startsWith(INK.heat))) {
      const from = Math.max(left, moved(number(old, "x")));
      const to = Math.min(right, moved(number(old, "x") + number(old, "width")));
      if (!(to > from)) continue;
      shape.setAttribute("x", from);
      shape.setAttribute("width", to - from);
    }
    kept.push(shape);
  }
  return [...kept, ...axisOf(plot, place, grid, size), ...drawn(plot, place)];
}

function axisOf(plot, place, grid, size) {
  const [left, top, right, bottom] = plot.area, made = [];
  const wide = plot.svg.classList.contains("wide");
  const longest = isNamed(plot.x) ? Math.max(...plot.x.names.map((name) => name.length)) : 10;
  let count = Math.max(2, Math.min(wide ? 8 : 3, Math.floor((right - left) / (longest * 16))));
  let ticks = ticksOf(plot.x, plot.view, count);
  // One tick alone is no scale.
  while (ticks.length < 2 && count < 12) ticks = ticksOf(plot.x, plot.view, ++count);
  for (const [value, words] of ticks) {
    const x = place(value);
    if (x < left - 1 || x > right + 1) continue;
    made.push(element("line", { stroke: INK.grid, "stroke-width": 2, x1: x, x2: x, y1: grid ? top : bottom, y2: bottom + 6 }));
    const text = element("text", { class: "tick", fill: INK.muted, x, y: bottom + 10 + size, "font-size": size, "text-anchor": "middle" });
    text.textContent = words;
    made.push(text);
  }
  return made;
}

function drawn(plot, place) {
  if (plot.kind === "heat") return [];
  return plot.kind === "timeline" ? drawnLanes(plot, place) : drawnSeries(plot, place);
}

function drawnSeries(plot, place) {
  const [, top, , bottom] = plot.area, steps = plot.kind !== "lines", [from, to] = plot.view;
  const height = (value) => bottom - Math.max(0, Math.min(1, shareOf(plot.y, value, homeOf(plot.y)))) * (bottom - top);
  return dataOf(plot).map((own, ink) => {
    const points = [], all = own.points;
    const between = (a, b, x) => {
      const share = shareOf(plot.x, x, [a[0], b[0]]);
      return valueAt(plot.y, share, [a[1], b[1]]);
    };
    const put = (x, y) => points.push(`${place(x).toFixed(1)},${height(y).toFixed(1)}`);
    const begin = before(all, from), end = before(all, to);
    let last = begin >= 0 ? all[begin] : plot.kind === "cdf" ? [from, 0] : null;
    if (last && steps) put(from, last[1]);
    else if (last && all[begin + 1]) put(from, between(last, all[begin + 1], from));
    for (const at of all.slice(begin + 1, end + 1)) {
      if (steps && last) put(at[0], last[1]);
      put(at[0], at[1]);
      last = at;
    }
    const next = all[end + 1];
    if (last && steps && (next || plot.kind === "cdf")) put(to, last[1]);
    else if (last && next && end >= 0) put(to, between(all[end], next, to));
    return element("polyline", { fill: "none", stroke: INK.series + "0" + ink, "stroke-width": 3, points: points.join(" ") });
  });
}

function drawnLanes(plot, place) {
  const [left, top, right, bottom] = plot.area, rows = plot.y.names.length, inset = plot.inset || 0;
  const height = (bottom - top) / rows, groups = [], made = [];
  dataOf(plot).forEach((stretches, lane) => {
    for (const [, group, begin, end] of stretches) {
      if (!groups.includes(group)) groups.push(group);
      const from = Math.max(left, place(Number(begin)));
      const to = Math.min(right, end === "" ? right : place(Number(end)));
      if (!(to >= left && from <= right) || made.length > 4000) continue;
      const ink = INK.series + "0" + (groups.indexOf(group) % 8);
      const y = top + (lane + inset + 0.14 * (1 - inset)) * height;
      made.push(element("rect", { fill: ink, x: from, y, width: Math.max(2, to - from), height: 0.72 * (1 - inset) * height }));
    }
  });
  return made;
}

function keys(plot, event) {
  const [from, to] = plot.view, at = plot.cursor || { x: 0.5, y: 0.5 / ((plot.y.names || [1]).length) };
  const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const within = (value) => Math.max(0, Math.min(1, value));
  if (move && (move[1] === 0 || isNamed(plot.y))) {
    const wide = isNamed(plot.x) ? 1 / (to - from) : event.shiftKey ? 0.1 : 0.01;
    const high = isNamed(plot.y) ? 1 / plot.y.names.length : 0;
    point(plot, { x: within(at.x + move[0] * wide), y: Math.min(0.999, within(at.y + move[1] * high)) });
  } else if (event.key === "+" || event.key === "=") around(plot, at.x, 0.5);
  else if (event.key === "-") around(plot, at.x, 2);
  else if (event.key === "0" || event.key === "Escape") zoom(plot, ...homeOf(plot.x));
  else return;
  event.preventDefault();
}

// Makes the view so many times as wide, around a place that stays.
function around(plot, share, times) {
  const at = (part) => valueAt(plot.x, part, plot.view);
  zoom(plot, at(share - share * times), at(share + (1 - share) * times));
}

function drags(plot) {
  const { svg, area: [left, top, right, bottom] } = plot;
  let begin = null, box = null;
  svg.addEventListener("pointerdown", (event) => {
    const at = event.button === 0 && placeOf(plot, event);
    if (!at) return;
    begin = at;
    // So that nothing is selected on the way.
    if (event.pointerType === "mouse") event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    svg.focus({ preventScroll: true });
  });
  svg.addEventListener("pointermove", (event) => {
    const at = placeOf(plot, event);
    if (!begin) { if (at) point(plot, at); else clear(plot); return; }
    if (!at) return;
    clear(plot);
    if (!box) box = element("rect", { class: "chosen", y: top, height: bottom - top });
    const [from, to] = [Math.min(begin.x, at.x), Math.max(begin.x, at.x)];
    box.setAttribute("x", left + from * (right - left));
    box.setAttribute("width", (to - from) * (right - left));
    box.ends = [from, to];
    svg.append(box);
  });
  const end = (event) => {
    const ends = box && box.ends;
    if (box) box.remove();
    [begin, box] = [null, null];
    if (event.type === "pointerup" && ends && ends[1] - ends[0] > 0.01)
      zoom(plot, valueAt(plot.x, ends[0], plot.view), valueAt(plot.x, ends[1], plot.view));
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
  svg.addEventListener("pointerleave", () => clear(plot));
}

for (const svg of document.querySelectorAll("svg[data-plot]")) {
  const plot = Object.assign(JSON.parse(svg.dataset.plot), { svg, figure: svg.closest("figure") });
  plot.view = homeOf(plot.x);
  plot.reset = document.createElement("button");
  Object.assign(plot.reset, { type: "button", className: "reset " + svg.classList[0], hidden: true, textContent: "Reset zoom" });
  plot.reset.addEventListener("click", () => zoom(plot, ...homeOf(plot.x)));
  plot.figure.querySelector("h4").append(plot.reset);
  plot.figure.classList.add("live");
  drags(plot);
  svg.addEventListener("dblclick", () => zoom(plot, ...homeOf(plot.x)));
  svg.addEventListener("keydown", (event) => keys(plot, event));
  svg.addEventListener("blur", () => clear(plot));
  svg.addEventListener("wheel", (event) => {
    const at = (event.ctrlKey || event.metaKey) && placeOf(plot, event);
    if (!at) return;
    event.preventDefault();
    around(plot, at.x, event.deltaY < 0 ? 0.8 : 1.25);
  }, { passive: false });
}
