// The grid of access by keys: `j` and `k` go from agent to agent, the arrows from cell to cell. One cell of each row is reached by Tab: there may
// be a thousand.

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

document.getElementById("grid").addEventListener("keydown", (event) => {
  const [cell, step] = [event.target.closest("a.cell"), STEPS[event.key]];
  if (!cell || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = cell.closest("td");
  const row = at.parentElement;
  const rows = [...row.parentElement.rows];
  const next = rows[rows.indexOf(row) + step[0]]?.cells[at.cellIndex + step[1]]?.querySelector("a.cell");
  event.preventDefault(); // the page does not scroll away under it
  next?.focus();
});

// Where the cell is that is open: on a narrow screen it stands beside what is in sight.
document.querySelector("a.cell[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
