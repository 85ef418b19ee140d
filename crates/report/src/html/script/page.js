// Light and dark, folds that open for links and print, and buttons that copy.
const root = document.documentElement;
const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const set = root.getAttribute("data-theme");
  const dark = set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.setAttribute("data-theme", dark ? "light" : "dark");
});

let shut = [];
addEventListener("beforeprint", () => {
  shut = [...document.querySelectorAll("details:not([open])")];
  for (const details of shut) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of shut) details.open = false;
  shut = [];
});

// What a link leads to is seen, however deep it is folded.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  target.scrollIntoView({ behavior: "instant" });
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();

async function copy(code) {
  const text = code.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Where the clipboard is not given to pages: what is selected can be copied by hand.
    getSelection().selectAllChildren(code);
    return document.execCommand("copy");
  }
  return true;
}
for (const code of document.querySelectorAll(".code code, .command code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    button.textContent = (await copy(code)) ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  (code.closest(".code") || code.parentElement).append(button);
}
