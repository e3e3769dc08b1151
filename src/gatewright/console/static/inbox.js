// The inbox: the URL follows what is open, several requests are selected and decided together, and a person may be notified.

const list = document.getElementById("list");
const batch = document.getElementById("batch");

// -- what is open

list.addEventListener("htmx:after:swap", () => {
  const open = list.querySelector("#seen [name=open]")?.value;
  const path = open ? `/inbox/${open}` : "/inbox";
  const query = new URLSearchParams();
  for (const name of ["agent", "server", "risk", "sort", "after"]) {
    const value = list.querySelector(`#seen [name=${name}]`)?.value;
    if (value && value !== "oldest") query.set(name, value);
  }
  const url = query.size ? `${path}?${query}` : path;
  if (url !== window.location.pathname + window.location.search) {
    window.history.replaceState(null, "", url);
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }
  count();
});

// -- what a person does here is answered with the list: no look that began before it may come after, or show what was open before

const own = new Set(); // the requests that run
let missed = false;
const isOwn = (event) => event.detail.ctx.target === list && event.detail.ctx.sourceElement !== list;

document.addEventListener("htmx:before:request", (event) => {
  if (isOwn(event)) {
    own.add(event.detail.ctx);
    list.dispatchEvent(new CustomEvent("htmx:abort"));
  } else if (event.detail.ctx.target === list && own.size) {
    missed = true;
    event.preventDefault();
  }
});
document.addEventListener("htmx:finally:request", (event) => {
  if (own.delete(event.detail.ctx) && !own.size && missed) {
    missed = false;
    list.dispatchEvent(new CustomEvent("again"));
  }
});

// -- nobody decides on what another answer is about to replace: the second click of a double click, `a` behind a `j` that is still on its way

// In a dialog nobody decides by chance: it was opened for the request that is meant.
const DECIDES = { click: "#list form:not(dialog form) button:not([type=button])", submit: "#list form:not(dialog form)" };
for (const kind of Object.keys(DECIDES)) {
  document.addEventListener(
    kind,
    (event) => {
      if (!own.size || !event.target.closest(DECIDES[kind])) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    true,
  );
}

// -- several

function picked() {
  return [...list.querySelectorAll(".pick:checked")];
}

function count() {
  const number = picked().length;
  batch.hidden = number === 0;
  batch.querySelector(".n").textContent = `${number} selected`;
}

list.addEventListener("change", (event) => {
  if (event.target.matches(".pick")) count();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog[open]")) return;
  const box = list.querySelector("[data-item][aria-current] .pick");
  if (!box) return;
  box.checked = !box.checked;
  count();
});

batch.addEventListener("click", async (event) => {
  const what = event.target.closest("[data-batch]")?.dataset.batch;
  if (what === "none") {
    for (const one of picked()) one.checked = false;
    count();
  }
  if (what !== "look") return;
  const of = picked().map((one) => one.dataset.pick).join(" ");
  const shown = document.getElementById("batch-body");
  shown.replaceChildren(); // where no answer comes, what was looked at before is not what is selected now
  await window.htmx.ajax("GET", `/inbox/batch?${new URLSearchParams({ of })}`, { target: "#batch-body", swap: "innerHTML" });
  if (shown.firstElementChild) document.getElementById("batch-dialog").showModal();
});
