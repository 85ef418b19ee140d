// Axes: values to places in a picture and back, and round ticks.
const isNamed = (axis) => Array.isArray(axis.names);
const homeOf = (axis) => (isNamed(axis) ? [0, axis.names.length] : [axis.from, axis.to]);

function shareOf(axis, value, [from, to]) {
  return axis.log ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
}

function valueAt(axis, share, [from, to]) {
  return axis.log ? from * Math.pow(to / from, share) : from + share * (to - from);
}

function niceStep(step) {
  const power = Math.pow(10, Math.floor(Math.log10(step)));
  return power * ([1, 2, 2.5, 5].find((part) => part * power >= step * 0.9999) || 10);
}

// Values and words of about so many ticks.
function ticksOf(axis, [from, to], count) {
  if (isNamed(axis)) {
    const every = Math.max(1, Math.ceil((to - from) / count)), ticks = [];
    for (let at = Math.ceil(from / every) * every; at + 0.5 < to; at += every)
      if (at + 0.5 >= from) ticks.push([at + 0.5, axis.names[at]]);
    return ticks;
  }
  const ticks = [];
  if (axis.log && to / from > 20) {
    for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++)
      if (Math.pow(10, power) >= from * 0.999) ticks.push(Math.pow(10, power));
  } else {
    const scale = units[axis.unit] ? unitSize(axis.unit, to) : 1;
    const step = niceStep((to - from) / scale / count) * scale;
    for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at++) ticks.push(at * step);
  }
  return ticks.map((value) => [value, tickWords(value, axis.unit, to, to - from)]);
}

const unitSize = (unit, value) =>
  units[unit].reduce((size, step) => (Math.abs(value) >= step[0] * 0.9995 ? step[0] : size), units[unit][0][0]);

// All digits that tell a tick from its neighbours.
function tickWords(value, unit, largest, width) {
  if (unit === "count") return grouped(Math.abs(value) < width * 1e-9 ? 0 : Number(value.toPrecision(12)));
  if (!units[unit]) return String(Number(value.toPrecision(6)));
  const size = unitSize(unit, largest), name = units[unit].find((step) => step[0] === size)[1];
  const number = Math.abs(value) < width * 1e-9 ? 0 : value / size;
  const text = String(Number(number.toPrecision(6)));
  return name ? text + " " + name : text;
}
