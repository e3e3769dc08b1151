// Shows the page of this address: asks for it with the page key, which browsers send nobody by themselves. Whoever has the cookie alone
// (every server at another port of this host is sent it) gets no further than this script.

const here = window.location.pathname + window.location.search;
const key = window.localStorage.getItem("page-key") ?? "";
const signIn = () => window.location.replace(`/sign-in?next=${encodeURIComponent(here)}`);

function idle() {
  const used = Number(window.localStorage.getItem("last-used")) || 0;
  return String(Math.max(0, Math.floor((Date.now() - used) / 1000)));
}

async function show() {
  const headers = { "X-CSRF-Token": key, "X-Console-Idle": idle() };
  const answer = await fetch(here, { headers, cache: "no-store" });
  if (answer.headers.get("X-Console") === "confirm") {
    window.location.replace(`/oidc/begin?silent=1&next=${encodeURIComponent(here)}`);
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

if (key) {
  show().catch(() => {
    document.getElementById("said").textContent = "The console cannot be reached. Is the gateway running?";
  });
} else {
  signIn();
}
