// Shows the page of this address: asks for it with the page key, which browsers send nobody by themselves. Whoever has the cookie alone
// (every server at another port of this host is sent it) gets no further than this script.

const here = window.location.pathname + window.location.search;
const said = document.getElementById("said");
const signIn = () => window.location.replace(`/sign-in?next=${encodeURIComponent(here)}`);

function idle() {
  const used = Number(window.localStorage.getItem("last-used")) || 0;
  return String(Math.max(0, Math.floor((Date.now() - used) / 1000)));
}

/** The page key; null where the browser gives this site no storage. */
function kept() {
  try {
    return window.localStorage.getItem("page-key") ?? "";
  } catch {
    return null;
  }
}
const key = kept();

async function show() {
  const headers = () => ({ "X-CSRF-Token": key, "X-Console-Idle": idle() });
  const answer = await fetch(here, { headers: headers(), cache: "no-store" });
  if (answer.headers.get("X-Console") === "confirm") {
    const anew = document.getElementById("anew");
    anew.firstElementChild.href = `/sign-in?next=${encodeURIComponent(here)}`;
    const ended = await window.consoleConfirm(
      here,
      headers,
      () => false,
      (text) => {
        anew.hidden = false;
        if (said.textContent !== text) said.textContent = text;
      },
    );
    if (ended === "confirmed") window.location.reload();
    else signIn();
  } else if (answer.status === 401) {
    signIn();
  } else if (answer.redirected) {
    window.location.replace(answer.url);
  } else {
    const page = await answer.text();
    document.open();
    document.write(page);
    document.close();
    const place = window.location.hash && document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (place) place.scrollIntoView();
  }
}

if (key === null) {
  said.textContent = "The console needs the storage of this site, which this browser does not give it: allow it to keep data for this address.";
} else if (key) {
  show().catch(() => {
    said.textContent = "The console cannot be reached. Is the gateway running?";
  });
} else {
  signIn();
}
