"use strict";
// Each table can be saved as CSV. The text is made from the table itself, so the page holds every number once.
function csv(table) {
  const quote = (text) => (/[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
  return [...table.rows].map((row) => [...row.cells].map((cell) => quote(cell.textContent)).join(",")).join("\r\n") + "\r\n";
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
// On paper nothing can be unfolded, so small tables are printed open.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) {
    const table = details.querySelector("table");
    if (!table || table.rows.length <= 30) details.open = true;
  }
});
