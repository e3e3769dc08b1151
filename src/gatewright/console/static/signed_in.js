// Keeps the page key where no other port of this host gets it, as it gets the cookie, and goes on.

const { csrf, way } = document.body.dataset;
if (csrf) {
  window.localStorage.setItem("page-key", csrf);
  window.localStorage.setItem("last-used", String(Date.now()));
}
window.location.replace(way);
