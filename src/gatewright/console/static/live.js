// Live calls: the list is fetched anew at most once a second (sorted by anything but time every five, because all calls in memory are read for it), and not while somebody looks at a row; the chart asks every two seconds for what is over.

const list = document.getElementById("list");
const panel = document.getElementById("panel");
const EVERY_MS = Number(list.dataset.every);
const COUNTED_MS = 2000;

// -- the list

let pinned = false; // by the button or its key
let pointed = false; // the pointer, or the focus, is on it
let due = false;
let last = 0;
let timer = 0;
let total = 0;
let stoppedAt = 0;
const button = document.getElementById("pause");
const said = document.getElementById("paused");

const paused = () => pinned || pointed;

function refresh() {
  window.clearTimeout(timer);
  if (paused() || document.hidden) {
    due = true;
    return;
  }
  const wait = last + EVERY_MS - Date.now();
  if (wait > 0) {
    timer = window.setTimeout(refresh, wait);
    return;
  }
  due = false;
  last = Date.now();
  list.dispatchEvent(new CustomEvent("refresh"));
}

function tell() {
  button.setAttribute("aria-pressed", String(pinned));
  // Whoever looks at the list has it stand still: that is no press of theirs, and ends when they leave it.
  button.textContent = pinned ? "Go on" : paused() ? "Keep paused" : "Pause";
  if (!paused()) {
    said.textContent = "";
    if (due) refresh();
    return;
  }
  // Since what is shown, of which the list says how many calls there had been by then.
  const more = total - stoppedAt;
  said.textContent = `paused${more > 0 ? ` · ${more.toLocaleString("en")} ${more === 1 ? "call" : "calls"} since` : ""}`;
}

function stop(change) {
  const before = paused();
  change();
  if (!before && paused()) stoppedAt = Number(list.querySelector("[data-total]").dataset.total);
  tell();
}

document.body.addEventListener("changed-live", refresh);
const running = document.getElementById("running");
window.setInterval(() => {
  // A call that runs is in no record yet, so nothing tells of it.
  if (!document.hidden && !paused() && !running.matches(":hover, :focus-within")) running.dispatchEvent(new CustomEvent("again"));
}, COUNTED_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && due) refresh();
});
button.addEventListener("click", () => stop(() => (pinned = !pinned)));
list.addEventListener("pointerenter", () => stop(() => (pointed = true)));
list.addEventListener("pointerleave", () => stop(() => (pointed = list.contains(document.activeElement))));
list.addEventListener("focusin", () => stop(() => (pointed = true)));
list.addEventListener("focusout", (event) => stop(() => (pointed = list.contains(event.relatedTarget) || list.matches(":hover"))));
list.addEventListener("htmx:after:swap", () => {
  const sum = list.querySelector("[data-sum]");
  if (sum) document.getElementById("sum").textContent = sum.dataset.sum;
});

// -- one call

document.addEventListener("htmx:after:swap", (event) => {
  const link = event.detail.ctx?.sourceElement?.closest?.("[data-opens-item]");
  if (link && event.detail.ctx.target === panel) mark(link);
});

function mark(link) {
  for (const row of list.querySelectorAll("tr[aria-current]")) row.removeAttribute("aria-current");
  link?.closest("tr").setAttribute("aria-current", "true");
  window.history.replaceState(null, "", link ? link.getAttribute("href") : `/live${window.location.search}`);
}

/** By a key its row has the focus again, so that `j` and `k` go on from there; a mouse leaves the list to itself. */
function shut(byKey) {
  const row = list.querySelector("tr[aria-current] a[data-opens-item]");
  panel.replaceChildren();
  mark(null);
  if (byKey && row) row.focus();
  else document.activeElement?.blur();
}

panel.addEventListener("click", (event) => {
  if (!event.target.closest("[data-shut]")) return;
  event.preventDefault();
  shut(!event.detail);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (panel.firstElementChild) shut(true);
  else if (list.contains(document.activeElement)) document.activeElement.blur(); // and it goes on
});

// -- the chart

const chart = document.getElementById("chart");
const data = [[], [], [], []];
const KEPT = 900;
let plot = null;

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function drawn() {
  plot?.destroy();
  // Without the pointer on it the chart names its lines, and says nothing of any moment.
  const line = (label, name, dash) => ({ label, stroke: colour(name), width: 1.5, dash, points: { show: false }, value: (self, at) => (at == null ? "" : at) });
  const clock = (at, seconds) => new Date(at * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) });
  const axis = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 } };
  plot = new window.uPlot(
    {
      width: chart.clientWidth,
      height: 160,
      padding: [null, 44, null, null],
      series: [{ value: (self, at) => (at == null ? "" : clock(at, true)) }, line("calls / s", "accent"), line("refused / s", "bad", [6, 3]), line("errors / s", "warn", [2, 3])],
      axes: [{ ...axis, space: 76, values: (self, at, axis, space, step) => at.map((one) => clock(one, step < 60)) }, { ...axis, size: 48 }],
      scales: { y: { range: (self, low, high) => [0, Math.max(1, high)] } },
      cursor: { y: false },
    },
    data,
    chart,
  );
}

let asking = false; // the seconds behind the last ones would come twice
async function fetched() {
  if (asking) return;
  asking = true;
  await counted().finally(() => (asking = false));
}

async function counted() {
  const since = data[0].length ? data[0][data[0].length - 1] + 1 : 0;
  const answer = await fetch(`/api/v1/traffic?since=${since}`, { headers: window.consoleProof() }).catch(() => null);
  if (!answer?.ok) return;
  const more = await answer.json();
  ["time", "calls", "refused", "errors"].forEach((name, at) => {
    data[at].push(...more[name]);
    data[at].splice(0, data[at].length - KEPT);
  });
  total = more.total;
  if (paused()) tell();
  const said = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const minute = (at) => data[at].slice(-60).reduce((sum, one) => sum + one, 0);
  document.getElementById("chart-sum").textContent =
    `Last minute: ${said(minute(1), "call")}, ${minute(2).toLocaleString("en")} refused, ${said(minute(3), "error")}. ${total.toLocaleString("en")} since the gateway was started.`;
  // A range that somebody drew stays; a double click goes back to all of it.
  const { min, max } = plot.scales.x;
  const zoomed = min != null && (min > data[0][0] || max < data[0][data[0].length - 1] - 2);
  plot.setData(data, !zoomed);
}

drawn();
fetched();
window.setInterval(() => {
  if (!document.hidden) fetched();
}, COUNTED_MS);
new ResizeObserver(() => plot.setSize({ width: chart.clientWidth, height: 160 })).observe(chart);
new MutationObserver(drawn).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawn);
