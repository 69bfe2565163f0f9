// Lets the tables be sorted. Without it they stand in the order of the report.
"use strict";
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const said = (cell) => {
    const given = cell.dataset.v;
    return given === undefined ? cell.textContent.trim() : given === "" ? -Infinity : Number(given);
  };
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isNumber = body.rows[0].cells[place].dataset.v !== undefined;
      const before = head.getAttribute("aria-sort");
      const isDown = before ? before === "ascending" : isNumber;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      const sorted = [...body.rows].sort((one, other) => {
        const a = said(one.cells[place]), b = said(other.cells[place]);
        return (typeof a === "number" ? a - b || 0 : a.localeCompare(b)) * (isDown ? -1 : 1);
      });
      body.append(...sorted);
    });
  });
}
