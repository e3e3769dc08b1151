// Nobody presses what was not there when they began to: a button that an answer or a refresh has put at a key, under the pointer or into the focus
// does nothing for a moment, and says so. The keys of whoever was writing in something that has gone go nowhere.

const LOOK_MS = 600;
const BUTTONS = "button, input[type=submit]";
const FIELDS = "input, textarea, select";

// -- what a press would do

/** Of a button, in a text; of a field, what the form around it does. */
function meaning(one) {
  if (!one) return "";
  if (one.dataset.opens) return `opens ${one.dataset.opens}`;
  const form = one.form;
  if (!form) return one.dataset.copy ?? one.getAttribute("hx-get") ?? one.getAttribute("href") ?? one.id;
  const hidden = [...form.elements].filter((field) => field.type === "hidden").map((field) => `${field.name}=${field.value}`);
  return [form.getAttribute("hx-post") ?? form.getAttribute("action"), form.dataset.means, ...hidden].join("\n");
}

/** The same, and which of several buttons of a form it is. */
function press(one) {
  return one?.name ? `${meaning(one)}\n${one.name}=${one.value}` : meaning(one);
}

let at = null; // where the pointer is
for (const kind of ["pointermove", "pointerdown"]) {
  document.addEventListener(kind, (event) => (at = [event.clientX, event.clientY]), { capture: true, passive: true });
}

/** What a press would do now, by each way to press. */
function presses() {
  const found = new Map();
  for (const one of document.querySelectorAll("[data-key]")) {
    const way = `key ${one.dataset.key}`;
    if (!found.has(way)) found.set(way, press(one));
  }
  found.set("pointer", at ? press(document.elementFromPoint(...at)?.closest(BUTTONS)) : "");
  found.set("focus", meaning(document.activeElement?.closest(`${BUTTONS}, ${FIELDS}`)));
  return found;
}

/** Where each button is, by what a press of it would do. A finger comes from nowhere: what it meets is known when it is there. */
function places() {
  const found = new Map();
  if (!navigator.maxTouchPoints) return found;
  for (const one of document.querySelectorAll(BUTTONS)) {
    const { left, top, height } = one.getBoundingClientRect();
    if (height) found.set(press(one), { left, top, height });
  }
  return found;
}

function stays(now, before) {
  return before && Math.abs(now.top - before.top) < now.height / 2 && Math.abs(now.left - before.left) < now.height;
}

// -- what is out of sight

/** Whether a key would decide on more than the window shows, with the button somewhere behind it. */
function isBeyond(one) {
  const item = one.form && one.closest("[data-item]");
  if (!item || item.getBoundingClientRect().height <= window.innerHeight) return false;
  const { top, bottom } = one.getBoundingClientRect();
  return top < 0 || bottom > window.innerHeight;
}

/** Do not press it, and say why. */
function refuse(event, said) {
  event.preventDefault();
  event.stopImmediatePropagation();
  document.body.dispatchEvent(new CustomEvent("notice", { detail: said }));
}

// -- what has just come

const seen = new WeakMap(); // of a swap: what could be pressed, and where somebody wrote, before it
const fresh = new Map(); // by way: what a press would do that could not be done before, and since when
let quiet = 0; // until when keys do nothing
let timer = 0;

document.addEventListener("htmx:before:swap", (event) => {
  const { ctx } = event.detail;
  const [source, writing] = [ctx.sourceElement, document.activeElement?.closest(FIELDS)];
  const sent = source === document.body || (source !== ctx.target && source.contains(writing)); // what was written there is what is answered
  seen.set(ctx, { presses: presses(), places: places(), writing: sent ? null : writing });
});

document.addEventListener("htmx:after:swap", (event) => {
  const before = seen.get(event.detail.ctx);
  if (!before) return;
  seen.delete(event.detail.ctx);
  const since = performance.now();
  for (const [way, one] of fresh) if (since - one.since >= LOOK_MS) fresh.delete(way);
  const came = [...presses()].filter(([way, what]) => what && what !== before.presses.get(way));
  for (const [what, place] of places()) if (!stays(place, before.places.get(what))) came.push([`tap ${what}`, what]);
  for (const [way, what] of came) fresh.set(way, { what, since });
  if (came.length) {
    document.body.toggleAttribute("data-fresh", true);
    window.clearTimeout(timer);
    timer = window.setTimeout(() => document.body.removeAttribute("data-fresh"), LOOK_MS);
  }
  if (before.writing && !before.writing.isConnected) {
    quiet = performance.now() + LOOK_MS;
    document.getElementById("gone").showModal();
  }
});

document.addEventListener(
  "click",
  (event) => {
    const one = event.target.closest?.(BUTTONS);
    if (!one) return;
    // `console.js` clicks for a key; Enter and the space bar press what has the focus, or the button of the form around it.
    const pointer = event.pointerType === "touch" ? `tap ${press(one)}` : "pointer";
    const way = !event.isTrusted ? `key ${one.dataset.key}` : event.detail ? pointer : "focus";
    const found = fresh.get(way);
    if (!found || performance.now() - found.since >= LOOK_MS || found.what !== (way === "focus" ? meaning(one) : press(one))) {
      if (event.isTrusted || !isBeyond(one)) return;
      refuse(event, "Nothing was done: there is more of it than the window shows. Here it ends; look through it, and press the key again.");
      one.scrollIntoView({ block: "center" });
      return;
    }
    refuse(event, "Nothing was done: what stands there now came a moment ago. Look at it first.");
    // What somebody types behind a key that did nothing is no row of keys.
    if (!event.isTrusted) quiet = performance.now() + LOOK_MS;
  },
  true,
);

document.addEventListener(
  "keydown",
  (event) => {
    if (performance.now() >= quiet || event.key.length > 1 || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(FIELDS)) return;
    quiet = performance.now() + LOOK_MS;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);
