// One event stream for all pages of a browser: browsers open six connections to one host, and a stream keeps one for as long as its page is
// there, so that with six pages no request of any of them would be sent any more. One page has the stream and tells the others what it hears;
// when it goes, the next one has it. Where browsers know no locks (an address that is neither of TLS nor of this machine) each page has its own.

/** `topics` of a page as it was at change `since`; `key` is its page key. `on` is told: `changed` (a number, topics), `open`, `lost`, `over` (why), and
 * `refused` for a stream that the browser does not try again. */
window.consoleStream = (topics, since, key, on) => {
  const url = `/events?topics=all&since=${since}&key=${encodeURIComponent(key)}`;
  const name = `console-stream ${key}`;
  // Each with a stream of its own has nothing to tell the others: they would hear everything twice.
  const channel = navigator.locks ? new BroadcastChannel(name) : { addEventListener() {}, postMessage() {}, close() {} };
  const leaving = new AbortController();
  let release = () => {};
  let source = null;

  // Of the page that has the stream: since which change, and the last one of each topic.
  let from = since;
  const last = {};
  const standing = () => ({ kind: "standing", from, last, number: since, open: source?.readyState === EventSource.OPEN });

  function heard(said) {
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

  function lead() {
    if (leaving.signal.aborted) return undefined;
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
    return new Promise((resolve) => (release = resolve));
  }

  function close() {
    leaving.abort();
    source?.close();
    channel.close();
    release();
  }

  channel.postMessage({ kind: "asked" });
  if (navigator.locks) navigator.locks.request(name, { signal: leaving.signal }, lead).catch(() => {});
  else lead();
  return { url, close };
};
