// Keeps the page key where no other port of this host gets it, as it gets the cookie, and goes on.

const { csrf, way, unconfirmed } = document.body.dataset;
try {
  if (csrf) {
    window.localStorage.setItem("page-key", csrf);
    window.localStorage.setItem("last-used", String(Date.now()));
  }
  // What `confirm.js` reads, also in the other pages.
  if (unconfirmed) {
    window.localStorage.setItem("unconfirmed", unconfirmed);
  } else {
    for (const one of ["unconfirmed", "confirm-after", "confirm-tries"]) window.localStorage.removeItem(one);
    window.localStorage.setItem("confirmed", String(Date.now()));
  }
  // A confirmation leads back to where this very page was, as far as the console keeps no long addresses.
  const back = csrf ? null : window.sessionStorage.getItem("confirm-way");
  window.sessionStorage.removeItem("confirm-way");
  window.location.replace(back ?? way);
} catch {
  document.querySelector("h1").textContent = "The console cannot be shown";
  document.getElementById("said").textContent =
    "The console needs the storage of this site, which this browser does not give it: allow it to keep data for this address, and sign in again.";
}
