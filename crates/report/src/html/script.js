"use strict";
(function () {
  var root = document.documentElement;
  var button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", function () {
    var set = root.getAttribute("data-theme");
    var dark = set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.setAttribute("data-theme", dark ? "light" : "dark");
  });
  addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (details) { details.open = true; });
  });
})();
