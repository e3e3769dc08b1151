// One event stream for all pages of a browser: browsers open six connections to one host, and a stream keeps one for as long as its page is
// there, so that with six pages no request of any of them would be sent any more. One page has the stream and tells the others what it hears;
// when it goes, or answers nobody any more (browsers put pages to sleep that nobody looks at), the next one has it. Where browsers know no
// locks (an address that is neither of TLS nor of this machine) each page has its own, while somebody can see it.

const [ASK_MS, ANSWER_MS] = [5000, 2500];

/** `topics` of a page as it was at change `since`; `key` is its page key. `on` is told: `changed` (a number, topics), `open`, `lost`, `over` (why), and
 * `refused` for a stream that the browser does not try again. */
window.consoleStream = (topics, since, key, on) => {
  const url = `/events?topics=all&since=${since}&key=${encodeURIComponent(key)}`;
  const name = `console-stream ${key}`;
  // Each with a stream of its own has nothing to tell the others: they would hear everything twice.
  const channel = navigator.locks ? new BroadcastChannel(name) : { addEventListener() {}, postMessage() {}, close() {} };
  const leaving = new AbortController();
  let waiting = new AbortController(); // for the stream of another page
  let release = () => {};
  let source = null;
  let answered = 0; // when the page that has the stream was heard last

  // Of the page that has the stream: since which change, and the last one of each topic.
  let from = since;
  const last = {};
  const standing = () => ({ kind: "standing", from, last, number: since, open: source?.readyState === EventSource.OPEN });

  function heard(said) {
    if (said.kind !== "asked") answered = performance.now();
    if (said.kind === "changed" || said.kind === "standing") {
      // What changed before the stream began was told to nobody.
      const news = (one) => (said.kind === "changed" ? said.topics.includes(one) : since < said.from || (said.last[one] ?? 0) > since);
      const mine = topics.filter(news);
      since = Math.max(since, said.number);
      if (mine.length) on.changed(since, mine);
      if (said.open) on.open();
    } else if (said.kind === "asked") {
      if (source) channel.postMessage(standing());
    } else {
      if (said.kind === "refused") close();
      on[said.kind](said.why);
    }
  }
  channel.addEventListener("message", (event) => heard(event.data));

  function tell(said) {
    channel.postMessage(said); // before it is heard here: whoever hears of an end closes the channel
    heard(said);
  }

  function begin() {
    from = since;
    source = new EventSource(`/events?topics=all&since=${since}&key=${encodeURIComponent(key)}`);
    source.addEventListener("open", () => {
      on.open();
      channel.postMessage(standing());
    });
    source.addEventListener("error", () => tell({ kind: source.readyState === EventSource.CLOSED ? "refused" : "lost" }));
    source.addEventListener("over", (event) => tell({ kind: "over", why: JSON.parse(event.data).why }));
    source.addEventListener("changed", (event) => {
      const number = Number(event.lastEventId);
      const changed = JSON.parse(event.data).changed;
      for (const one of changed) last[one] = number;
      tell({ kind: "changed", number, topics: changed });
    });
  }

  function end() {
    source?.close();
    source = null;
  }

  // -- whose turn it is

  function lead() {
    if (leaving.signal.aborted) return undefined;
    begin();
    channel.postMessage(standing()); // nobody else takes it meanwhile
    return new Promise((resolve) => (release = resolve));
  }

  function wait(options) {
    navigator.locks.request(name, options, lead).catch(() => {
      // Another page has taken the stream away from this one, which had not answered.
      if (leaving.signal.aborted || !source) return;
      end();
      queue();
    });
  }

  function queue() {
    waiting = new AbortController();
    wait({ signal: waiting.signal });
    channel.postMessage({ kind: "asked" });
  }

  /** A page that has the stream and sleeps says nothing, and all others would show for ever what they show. */
  function look() {
    const now = performance.now();
    if (source || now - answered < ASK_MS) return;
    channel.postMessage({ kind: "asked" });
    window.setTimeout(() => {
      if (source || leaving.signal.aborted || answered >= now) return;
      waiting.abort();
      wait({ steal: true });
    }, ANSWER_MS);
  }

  function seen() {
    if (navigator.locks) look();
    else if (document.hidden) end();
    else if (!source) begin();
  }

  function close() {
    leaving.abort();
    waiting.abort();
    window.clearInterval(looking);
    end();
    channel.close();
    release();
  }

  document.addEventListener("visibilitychange", seen, { signal: leaving.signal });
  const looking = navigator.locks ? window.setInterval(look, ASK_MS) : 0;
  if (navigator.locks) queue();
  else if (!document.hidden) begin();
  return { url, close };
};
