// Has the issuer confirm a session: one page of the browser goes there, the others wait for it. What an attempt came to stands in the storage
// of this site, so that the next is made later, by whichever page is first.

const [AFTER, TRIES, DONE, WHY] = ["confirm-after", "confirm-tries", "confirmed", "unconfirmed"];
const [PAUSE_MS, LONGEST_PAUSE_MS, LOOK_MS] = [20_000, 900_000, 1000];

const later = () => new Promise((resolve) => window.setTimeout(resolve, LOOK_MS));
const number = (name) => Number(window.localStorage.getItem(name)) || 0;

/** Where to go, or why not: `{ url }`, `{ over: true }` for a session that is none any more, `{ why }`. */
async function ask(here, headers) {
  const answer = await fetch(`/oidc/again?next=${encodeURIComponent(here)}`, { method: "POST", headers }).catch(() => null);
  if (!answer) {
    // Also what a page fetches that is being left fails so: it says nothing of the issuer, and is not there any more a moment later.
    await later();
    return { why: "the console cannot be reached" };
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  if (answer.status === 401 || said.code === "csrf") return { over: true };
  return { why: said.message ?? `HTTP ${answer.status}` };
}

/** One attempt, where it is this page's turn: what `ask` gives; null where it is another's. After it nobody tries for a while, a longer one each
 * time. Whoever leaves in the middle of one has had no turn: the lock goes with the page. */
function attempt(here, headers) {
  const go = async (lock) => {
    const now = Date.now();
    // A time further away than any pause is of a clock that has been set.
    if (!lock || (now < number(AFTER) && number(AFTER) <= now + LONGEST_PAUSE_MS)) return null;
    const said = await ask(here, headers());
    if (said.over) return said;
    const tries = number(TRIES);
    window.localStorage.setItem(TRIES, String(tries + 1));
    window.localStorage.setItem(AFTER, String(Date.now() + Math.min(PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)));
    if (said.why) window.localStorage.setItem(WHY, said.why);
    return said;
  };
  // Browsers have locks at addresses of TLS and of this machine alone; elsewhere two pages may go at once, which is no harm.
  return navigator.locks ? navigator.locks.request("console-confirm", { ifAvailable: true }, go) : go(true);
}

/** Ends with "confirmed" once any page has been at the issuer for this session, with "over" where there is no session any more; not at all
 * where this page goes to the issuer itself. `headers` are what a request brings, `writes` says whether somebody writes here, `say` shows a text. */
window.consoleConfirm = async (here, headers, writes, say) => {
  const began = Date.now();
  for (;;) {
    if (number(DONE) >= began) return "confirmed";
    if (writes()) {
      say("The issuer has to confirm who you are: this page does not hear of changes until you have finished writing, or have opened another.");
    } else {
      const said = await attempt(here, headers);
      if (said?.over) return "over";
      if (said?.url) {
        // Whatever the address is like, and nobody else has to keep it.
        window.sessionStorage.setItem("confirm-way", here + window.location.hash);
        window.location.replace(said.url);
        return new Promise(() => {});
      }
      const why = window.localStorage.getItem(WHY);
      const last = why ? `The issuer has not confirmed who you are: ${why}.` : "The issuer is asked who you are.";
      say(`${last} Nothing can be done here meanwhile; it is asked again from time to time.`);
    }
    await later();
  }
};
