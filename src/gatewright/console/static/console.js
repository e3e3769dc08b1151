// Behaviour that every page of the console has: one event stream, keys, copies, relative times. Screens add theirs in files of their own.
// Nothing here builds markup out of text: what servers and agents wrote reaches the page as text, escaped by the console itself.

const body = document.body;
const csrf = body.dataset.csrf ?? "";

// -- requests of parts

body.addEventListener("htmx:config:request", (event) => {
  event.detail.ctx.request.headers["X-CSRF-Token"] = csrf;
});
// What a dialog asked for is done, or a notice says why not, which would stand behind it.
body.addEventListener("htmx:after:request", (event) => {
  if (!event.target.closest?.("[data-stays]")) event.target.closest?.("dialog")?.close();
});
body.addEventListener("htmx:error", () => notice("The console cannot be reached. Is the gateway running?"));

function notice(text) {
  const box = document.createElement("div");
  box.className = "notice bad";
  box.setAttribute("role", "alert");
  box.textContent = text;
  document.getElementById("notices")?.replaceChildren(box);
}

// -- one stream a page: what changed is fetched again by whatever shows it (hx-trigger="changed-inbox from:body")

const topics = body.dataset.topics ?? "";
if (topics) {
  const connection = document.getElementById("connection");
  const stream = new EventSource(`/events?topics=${encodeURIComponent(topics)}&since=${body.dataset.since}`);
  let lost = 0;
  stream.addEventListener("open", () => {
    window.clearTimeout(lost);
    connection.hidden = true;
    body.dataset.listens = "yes";
  });
  stream.addEventListener("error", () => {
    window.clearTimeout(lost);
    lost = window.setTimeout(() => {
      connection.hidden = false;
    }, 500);
    // Signed out, or refused: the browser does not try again by itself.
    if (stream.readyState === EventSource.CLOSED) window.setTimeout(() => window.location.reload(), 5000);
  });
  stream.addEventListener("changed", (event) => {
    for (const topic of JSON.parse(event.data).changed) {
      body.dispatchEvent(new CustomEvent(`changed-${topic}`));
    }
  });
  window.addEventListener("pagehide", () => stream.close());
}

// -- relative times

function ago(seconds, lasts) {
  const size = Math.abs(seconds);
  const [unit, by] = size >= 86400 ? ["d", 86400] : size >= 3600 ? ["h", 3600] : size >= 60 ? ["min", 60] : ["s", 1];
  const said = `${Math.floor(size / by)} ${unit}`;
  if (lasts) return said;
  return seconds < 0 ? `in ${said}` : `${said} ago`;
}
window.setInterval(() => {
  for (const one of document.querySelectorAll("time[datetime]")) {
    const said = ago((Date.now() - Date.parse(one.dateTime)) / 1000, "lasts" in one.dataset);
    if (one.textContent !== said) one.textContent = said;
  }
}, 1000);

// -- on a narrow screen the screens stand in a row that is wider than it

const here = document.querySelector("nav.main [aria-current]");
const row = document.querySelector("nav.main");
if (here && row.scrollWidth > row.clientWidth) row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;

// -- copies

body.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
  const closer = event.target.closest("[data-close]");
  if (closer) closer.closest("dialog")?.close();
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  const theme = event.target.closest("[data-switch-theme]");
  if (theme) switchTheme();
});

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  const said = button.textContent;
  button.textContent = "copied";
  window.setTimeout(() => {
    button.textContent = said;
  }, 1200);
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
}

// -- keys: `g` + letter, `/`, `j` `k` Enter Esc, `.`, `?`; and what a page says of itself (data-key on a button or a link)

let leading = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const dialog = document.querySelector("dialog[open]");
  if (event.target.closest("input, textarea, select, [contenteditable]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (dialog) return;
  if (leading) {
    leading = false;
    const link = document.querySelector(`nav.main [data-go="${CSS.escape(event.key)}"]`);
    if (link) link.click();
    return;
  }
  switch (event.key) {
    case "g":
      leading = true;
      return;
    case "/": {
      const field = document.querySelector("input[type=search]");
      if (field) {
        event.preventDefault();
        field.focus();
      }
      return;
    }
    case "?":
      document.getElementById("help")?.showModal();
      return;
    case ".":
      document.querySelector("[data-copy]")?.click();
      return;
    case "j":
    case "k":
      move(event.key === "j" ? 1 : -1);
      return;
    default: {
      // A key that is held down is one word, not thirty a second.
      if (event.repeat) return;
      const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (button && !button.disabled) {
        event.preventDefault();
        button.click();
      }
    }
  }
});

function move(by) {
  const items = [...document.querySelectorAll("[data-item]")];
  if (!items.length) return;
  const at = items.findIndex((one) => one.contains(document.activeElement) || one.matches("[aria-current]"));
  const next = items[Math.max(0, Math.min(items.length - 1, at < 0 ? 0 : at + by))];
  const link = next.matches("a, button") ? next : (next.querySelector("a[data-opens-item]") ?? next.querySelector("summary, a, button"));
  link?.focus();
  // What opens in place opens at once; what leads elsewhere waits for Enter.
  if (link?.matches("[data-opens-item][hx-get]")) link.click();
}
