// What is wrong with the page as it is shown now: a list of sentences.
(() => {
  const wrong = [];
  const say = (what) => { if (wrong.length < 40) wrong.push(what); };
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) {
    say(`the page is ${root.scrollWidth} wide in a window of ${innerWidth}`);
    for (const e of document.querySelectorAll("main *")) {
      if (!e.closest("svg, .scroll, pre") && e.getBoundingClientRect().right > innerWidth + 1) {
        say(`  too wide: <${e.tagName} class="${e.className}"> ${e.textContent.slice(0, 40)}`);
        break;
      }
    }
  }
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) {
    if (ids.has(e.id)) say(`two elements have the id ${e.id}`);
    ids.add(e.id);
  }
  for (const name of ["aria-labelledby", "aria-describedby"])
    for (const e of document.querySelectorAll(`[${name}]`))
      for (const id of e.getAttribute(name).split(" "))
        if (!ids.has(id)) say(`nothing has the id ${id}`);
  for (const a of document.querySelectorAll("a[href^='#']"))
    if (!ids.has(a.getAttribute("href").slice(1))) say(`a link leads nowhere: ${a.href}`);
  for (const dd of document.querySelectorAll(".tiles dd"))
    if (dd.scrollWidth > dd.clientWidth + 1) say(`a tile is too narrow for "${dd.innerText}"`);
  if (document.scripts.length !== 1) say(`${document.scripts.length} scripts`);
  if (document.querySelector("[onload],[onclick],[onerror],iframe,object,embed,link,img"))
    say("an element that the report does not write");
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  for (const code of document.querySelectorAll(".code")) {
    const button = code.querySelector(".copy"), words = document.createRange();
    if (!button) continue;
    words.selectNodeContents(code.querySelector("code"));
    const b = button.getBoundingClientRect();
    for (const line of words.getClientRects())
      if (line.right > b.left && line.left < b.right && line.bottom > b.top && line.top < b.bottom) {
        say(`a button covers code: ${code.innerText.slice(0, 60)}`);
        break;
      }
  }
  const figures = document.querySelectorAll("figure.plot");
  for (const figure of figures) {
    const seen = [...figure.querySelectorAll("svg")].filter((s) => s.getClientRects().length);
    if (seen.length !== 1) { say(`${figure.id}: ${seen.length} pictures are seen`); continue; }
    const svg = seen[0], box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    if (box.width < 200 || box.height < 50) say(`${figure.id}: ${box.width} x ${box.height}`);
    if (!svg.getAttribute("aria-label") || !svg.querySelector("desc")) say(`${figure.id}: no words`);
    const shapes = svg.querySelectorAll("polyline, rect, circle, text, line");
    if (shapes.length < 3) say(`${figure.id}: ${shapes.length} shapes`);
    for (const shape of shapes) {
      const style = getComputedStyle(shape);
      for (const paint of [style.fill, style.stroke])
        if (paint.startsWith("rgb(10, ")) say(`${figure.id}: ink without a colour ${paint}`);
    }
    const texts = [...svg.querySelectorAll("text")].map((t) => [t.textContent.trim(), t.getBBox(), t]);
    const scale = box.width / view.width;
    texts.forEach(([text, b, element], at) => {
      if (!text) return;
      const size = parseFloat(getComputedStyle(element).fontSize) * scale;
      if (size < 10) say(`${figure.id}: "${text}" is ${size.toFixed(1)} pixels high`);
      if (b.x < -2 || b.y < -2 || b.x + b.width > view.width + 2 || b.y + b.height > view.height + 2)
        say(`${figure.id}: "${text}" is cut off`);
      for (const [other, o] of texts.slice(at + 1)) {
        const wide = Math.min(b.x + b.width, o.x + o.width) - Math.max(b.x, o.x);
        const high = Math.min(b.y + b.height, o.y + o.height) - Math.max(b.y, o.y);
        if (other && wide > 2 && high > 6) say(`${figure.id}: "${text}" and "${other}" overlap`);
      }
    });
  }
  return { wrong, figures: figures.length };
})()
