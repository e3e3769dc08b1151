// Notifications of the browser for whoever asked for them: that something more waits. They say how much, and nothing that others wrote.

const KEY = "notify";
const nav = document.getElementById("screens");
const supported = "Notification" in window;

function waiting() {
  return Number(nav.querySelector('[data-go="i"] .chip')?.firstChild?.data ?? 0);
}

function wanted() {
  return supported && Notification.permission === "granted" && window.localStorage.getItem(KEY) === "on";
}

let before = waiting();
nav.addEventListener("htmx:after:swap", () => {
  const now = waiting();
  if (now > before && wanted() && !document.hasFocus()) {
    // One tag: several open pages are one notification.
    const said = new Notification(`${now} waiting in Gatewright`, { body: "Open the inbox to look at it and decide.", tag: "gatewright-inbox" });
    said.addEventListener("click", () => {
      window.focus();
      window.location.assign("/inbox");
    });
  }
  before = now;
});

const button = document.querySelector("[data-notify]");
function tell() {
  button.hidden = !supported;
  if (!supported) return;
  const blocked = Notification.permission === "denied";
  button.disabled = blocked;
  button.textContent = blocked ? "notifications are blocked by this browser" : wanted() ? "stop notifying me" : "notify me in this browser";
  button.setAttribute("aria-pressed", String(wanted()));
}
if (button) {
  tell();
  button.addEventListener("click", async () => {
    if (wanted()) {
      window.localStorage.removeItem(KEY);
    } else if ((await Notification.requestPermission()) === "granted") {
      window.localStorage.setItem(KEY, "on");
    }
    tell();
  });
}
