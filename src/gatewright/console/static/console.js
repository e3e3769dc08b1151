// Behaviour that every page of the console has: one event stream, keys, copies, relative times. Screens add theirs in files of their own.
// Nothing here builds markup out of text: what servers and agents wrote reaches the page as text, escaped by the console itself.

const body = document.body;
const csrf = body.dataset.csrf ?? "";

// -- requests of parts

// When a person last did something here, in any page of the console: what pages ask for by themselves keeps no session alive.
const USED = "last-used";
let noted = 0;
for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"]) {
  window.addEventListener(
    kind,
    (event) => {
      if (!event.isTrusted || Date.now() - noted < 1000) return;
      noted = Date.now();
      window.localStorage.setItem(USED, String(noted));
    },
    { capture: true, passive: true },
  );
}

/** What every request has to bring besides the cookie. */
function proof() {
  const used = Number(window.localStorage.getItem(USED)) || 0;
  return { "X-CSRF-Token": csrf, "X-Console-Idle": String(Math.max(0, Math.floor((Date.now() - used) / 1000))) };
}
window.consoleProof = proof;

body.addEventListener("htmx:config:request", (event) => {
  Object.assign(event.detail.ctx.request.headers, proof());
});
// What a dialog asked for is done, or a notice says why not, which would stand behind it.
body.addEventListener("htmx:after:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.response?.raw.headers.get("X-Console") === "confirm") {
    if (ctx.request.method.toUpperCase() !== "GET") within(event.target.closest?.("dialog[open]"), UNSENT);
    reconfirm();
    return;
  }
  event.target.closest?.("dialog")?.querySelector("[data-says]")?.remove();
  if (!event.target.closest?.("[data-stays]")) event.target.closest?.("dialog")?.close();
});
body.addEventListener("htmx:error", (event) => {
  const asks = (event.detail.ctx?.request?.method ?? "GET").toUpperCase() === "GET";
  const said = asks ? "The console cannot be reached." : "No answer came: whether it was done is not known.";
  within(event.target.closest?.("dialog[open]"), `${said} Is the gateway running?`);
});

function notice(text) {
  const box = document.createElement("div");
  box.className = "notice bad";
  box.setAttribute("role", "alert");
  box.textContent = text;
  document.getElementById("notices")?.replaceChildren(box);
}

const UNSENT =
  "Not sent: the issuer has to confirm who you are first. Open the console in another tab, and send this again; or copy what you wrote, and load this page anew.";

/** In the dialog that is open, where what was written stays: a notice would stand behind it. */
function within(dialog, text) {
  if (!dialog) {
    notice(text);
    return;
  }
  const said = dialog.querySelector("[data-says]") ?? document.createElement("p");
  said.className = "notice bad";
  said.dataset.says = "";
  said.setAttribute("role", "alert");
  said.textContent = text;
  if (!said.isConnected) dialog.append(said);
}

// When somebody last wrote: a field that has the focus alone keeps nothing waiting.
const [FIELDS, WRITES_MS] = ["input:not([type=hidden]):not([type=search]), textarea, select", 60_000];
let wrote = -WRITES_MS;
for (const kind of ["keydown", "input"]) {
  window.addEventListener(
    kind,
    (event) => {
      if (event.isTrusted && event.target.closest?.("input, textarea, select")) wrote = performance.now();
    },
    { capture: true, passive: true },
  );
}

function writes() {
  if (document.querySelector("dialog[open]") || performance.now() - wrote < WRITES_MS) return true;
  const shown = [...document.querySelectorAll(FIELDS)].filter((one) => one.getClientRects().length && (one.form?.matches("[method=post], [hx-post]") ?? one.type === "checkbox"));
  return shown.some(isWritten);
}

/** Whether a field says something else than when the page came. */
function isWritten(one) {
  if (one.type === "checkbox" || one.type === "radio") return one.checked !== one.defaultChecked;
  if (!one.options) return one.value !== one.defaultValue;
  const said = [...one.options].map((option) => option.defaultSelected);
  // Where none is named the first counts, unless several may.
  if (!one.multiple && !said.includes(true)) said[0] = true;
  return [...one.options].some((option, at) => option.selected !== said[at]);
}

body.addEventListener("notice", (event) => notice(event.detail));

// -- one stream a page: what changed is fetched again by whatever shows it (hx-trigger="changed-inbox from:body")

const topics = body.dataset.topics ?? "";
const [PAUSE_MS, LONGEST_PAUSE_MS] = [5000, 60000];
const LOST = "Connection lost. Trying again…";
let pause = PAUSE_MS;

let stream = null;
window.addEventListener("pagehide", () => stream?.close());
window.addEventListener("pageshow", (event) => {
  if (event.persisted && topics) listen(); // it was kept as it was, without its stream
});

function listen() {
  const connection = document.getElementById("connection");
  stream?.close();
  let lost = 0;
  const mine = window.consoleStream(topics.split(",").filter(Boolean), Number(body.dataset.since), csrf, {
    open() {
      window.clearTimeout(lost);
      if (!connection.hidden) document.getElementById("told").textContent = "";
      connection.hidden = true;
      body.dataset.listens = "yes";
      connection.textContent = LOST;
      pause = PAUSE_MS;
    },
    lost() {
      window.clearTimeout(lost);
      lost = window.setTimeout(() => {
        if (stream === mine) tell(connection.textContent); // or the next one has taken its place
      }, 500);
    },
    refused() {
      this.lost();
      window.setTimeout(() => {
        if (stream === mine) again(mine.url, connection);
      }, pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    },
    over(why) {
      mine.close();
      over(why);
    },
    changed(number, news) {
      body.dataset.since = String(number);
      for (const topic of news) body.dispatchEvent(new CustomEvent(`changed-${topic}`));
    },
  });
  stream = mine;
}

/** The page is asked for anew where nobody is signed in any more, and for no other reason: what is wrong may be wrong with the next one as well. */
async function again(url, connection) {
  const looking = new AbortController();
  const answer = await fetch(url, { signal: looking.signal }).catch(() => null);
  const why = answer?.status === 401 ? (await answer.json().catch(() => ({}))).code : "";
  looking.abort();
  if (why === "confirm") {
    reconfirm();
    return;
  }
  if (answer && (answer.status === 401 || answer.redirected)) {
    anew();
    return;
  }
  const crowded = answer?.status === 503;
  if (crowded) tell("Too many pages are open: this one does not hear of changes. Close some.");
  else connection.textContent = LOST;
  listen();
}

// -- the end of the session: the page says so, and shows nothing any more

const ENDS = {
  idle: "Nobody did anything here for a while.",
  long: "It lasted as long as a session may.",
  person: "Whoever was signed in here may not be any more.",
  ended: "Somebody signed out, or ended this session.",
};

function over(why) {
  const here = encodeURIComponent(window.location.pathname + window.location.search);
  if (why === "confirm") {
    reconfirm();
    return;
  }
  // Whoever signed in anew in this browser has ended the session before: its pages go on with the next. Its key comes a moment later.
  if (why === "ended" && !renewed()) {
    window.setTimeout(() => (renewed() ? anew() : end(why, here)), 1500);
    return;
  }
  if (why === "ended") anew();
  else end(why, here);
}

const renewed = () => (window.localStorage.getItem("page-key") ?? csrf) !== csrf;

/** The page is asked for anew, once nobody writes in it. */
function anew() {
  if (!writes()) {
    window.location.reload();
    return;
  }
  tell("This page does not hear of changes: somebody signed in or out in this browser. It is loaded anew when you have finished writing.");
  window.setTimeout(anew, 1000);
}

/** For those, too, who hear the page: what comes into sight is not read out everywhere, what changes in sight is. */
function tell(text) {
  const [connection, told] = ["connection", "told"].map((id) => document.getElementById(id));
  if (connection.textContent !== text) connection.textContent = text;
  if (told.textContent !== text) told.textContent = text;
  connection.hidden = false;
}

/** The same, with the way to sign in anew: an issuer that knows nobody any more confirms nobody. Another page, so that what is written stays. */
function tellAndLead(text) {
  const connection = document.getElementById("connection");
  if (connection.dataset.said === text && !connection.hidden && connection.firstElementChild) return;
  tell(`${text} `);
  const link = document.createElement("a");
  link.href = "/sign-in";
  link.target = "_blank";
  link.textContent = "Sign in in another tab";
  connection.dataset.said = text;
  connection.append(link);
}

/** The issuer is asked, which shows nothing and comes back here; by one page for all. */
let confirming = false;
async function reconfirm() {
  if (confirming) return;
  confirming = true;
  stream?.close();
  const ended = await window.consoleConfirm(window.location.pathname + window.location.search, proof, writes, tellAndLead);
  confirming = false;
  if (ended === "over") {
    anew();
    return;
  }
  document.getElementById("connection").hidden = true;
  for (const topic of topics.split(",").filter(Boolean)) body.dispatchEvent(new CustomEvent(`changed-${topic}`)); // what was refused meanwhile
  if (topics) listen();
}

function end(why, here) {
  const said = document.createElement("div");
  said.className = "empty";
  said.setAttribute("role", "alert");
  const title = document.createElement("h2");
  title.textContent = "Your session has ended";
  const reason = document.createElement("p");
  reason.textContent = ENDS[why] ?? "";
  const link = document.createElement("a");
  link.className = "button primary";
  link.href = `/sign-in?next=${here}`;
  link.textContent = "Sign in again";
  said.append(title, reason, link);
  for (const one of document.querySelectorAll("dialog[open]")) one.close();
  document.getElementById("main").replaceChildren(said);
  document.getElementById("screens").replaceChildren();
  link.focus();
}

// -- relative times, by the gateway's clock: that of this machine may be another, and nobody has as much time left as it says

const ahead = Number(body.dataset.now) ? Date.now() - Number(body.dataset.now) * 1000 : 0;

function ago(seconds, lasts) {
  const size = Math.abs(seconds);
  const [unit, by] = size >= 86400 ? ["d", 86400] : size >= 3600 ? ["h", 3600] : size >= 60 ? ["min", 60] : ["s", 1];
  const said = `${Math.floor(size / by)} ${unit}`;
  if (lasts) return said;
  return seconds <= -1 ? `in ${said}` : `${said} ago`;
}
window.setInterval(() => {
  for (const one of document.querySelectorAll("time[datetime]")) {
    const said = ago((Date.now() - ahead - Date.parse(one.dateTime)) / 1000, "lasts" in one.dataset);
    if (one.textContent !== said) one.textContent = said;
  }
}, 1000);

// -- on a narrow screen the screens stand in a row that is wider than it

function showHere() {
  const here = document.querySelector("nav.main [aria-current]");
  const row = document.querySelector("nav.main");
  if (here && row.scrollWidth > row.clientWidth) row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}
showHere();
body.addEventListener("htmx:after:swap", (event) => {
  if (event.detail.ctx.target === body) showHere(); // a form was answered with another page
});

// -- dialogs, and the theme

body.addEventListener("click", (event) => {
  const closer = event.target.closest("[data-close]");
  if (closer) closer.closest("dialog")?.close();
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  const theme = event.target.closest("[data-switch-theme]");
  if (theme) switchTheme();
});

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
  if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) {
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
      document.querySelector("footer.page [data-copy]")?.click();
      return;
    case "j":
    case "k":
      move(event.key === "j" ? 1 : -1);
      return;
    default: {
      // A key that is held down is one word, not thirty a second.
      if (event.repeat) return;
      // Whatever has the focus is what Enter presses.
      if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
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

// From here on keys, buttons and parts do what they say: htmx begins with the same event, before this.
document.addEventListener("DOMContentLoaded", () => {
  performance.mark("interactive");
  body.dataset.ready = "";
  if (topics) listen(); // before this nothing would fetch what has changed
});
