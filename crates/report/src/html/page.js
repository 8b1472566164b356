"use strict";
// Each table can be saved as CSV. The text is made from the table itself, so the page holds every number once.
function csv(table) {
  const number = /^[+-]?[0-9.]*(e[+-]?[0-9]+)?[ x%]*$/i;
  // A spreadsheet would compute what begins like this; an apostrophe makes it text.
  const inert = (text) => (/^[=@+\-\t\r]/.test(text) && !number.test(text) ? "'" + text : text);
  const quote = (text) => (/[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
  return [...table.rows].map((row) => [...row.cells].map((cell) => quote(inert(cell.textContent))).join(",")).join("\r\n") + "\r\n";
}
for (const button of document.querySelectorAll("button[data-table]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(document.getElementById(button.dataset.table))], { type: "text/csv" }));
    link.download = button.dataset.table + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}
// The slider of a film: each mark knows its level in every slice, and the bars know the slices in words.
for (const slider of document.querySelectorAll(".film input[type=range]")) {
  const film = slider.closest("figure");
  const marks = [...film.querySelectorAll("[data-k]")];
  const bars = [...film.querySelectorAll(".slice")];
  const show = () => {
    const now = slider.value - 1;
    for (const mark of marks) mark.setAttribute("class", mark.getAttribute("class").split(" ")[0] + " k" + mark.dataset.k[now]);
    bars.forEach((bar, i) => bar.setAttribute("class", i === now ? "slice now" : "slice"));
    const text = bars[now].querySelector("title").textContent;
    film.querySelector("output").textContent = text;
    film.querySelector("desc").textContent = text + ". The tables have the numbers of all slices.";
    slider.setAttribute("aria-valuetext", text);
  };
  slider.closest(".slider").hidden = false;
  slider.addEventListener("input", show);
  bars.forEach((bar, i) => bar.addEventListener("click", () => { slider.value = i + 1; show(); }));
}
// On paper nothing can be unfolded, so small tables are printed open.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) {
    const table = details.querySelector("table");
    if (!table || table.rows.length <= 30) details.open = true;
  }
});
