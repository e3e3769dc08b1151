"""`flaws`: what is wrong with how a page is laid out: wider than the window, texts upon each other, something over what a person presses."""

from __future__ import annotations

from playwright.sync_api import Page

__all__ = ["flaws"]

_LOOK = """
() => {
  const found = [];
  const root = document.documentElement;
  const name = (one) => {
    const of = one.nodeType === Node.TEXT_NODE ? one.parentElement : one;
    const text = (one.textContent || of.getAttribute("aria-label") || of.value || "").trim().slice(0, 30);
    return `${of.tagName.toLowerCase()}${of.id ? "#" + of.id : ""}.${[...of.classList].join(".")} ${JSON.stringify(text)}`;
  };
  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth - root.clientWidth} px wider than the window`);

  // Of what stands in an element, the part of the window in which it is seen: what an element around it cuts off, or scrolls, is not there.
  const known = new Map([[document.body, [-Infinity, Infinity, -Infinity, Infinity]]]);
  const place = (of) => {
    if (known.has(of)) return known.get(of);
    const style = getComputedStyle(of);
    const around = of.parentElement && place(of.parentElement);
    const hidden = style.position === "fixed" || style.clipPath !== "none" || of.matches(".skip, .u-legend, .batch");
    let found = hidden || !around || !of.checkVisibility({ visibilityProperty: true }) ? null : [...around];
    if (found && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      const box = of.getBoundingClientRect();
      if (style.overflowX !== "visible") found = [Math.max(found[0], box.left), Math.min(found[1], box.right), found[2], found[3]];
      if (style.overflowY !== "visible") found = [found[0], found[1], Math.max(found[2], box.top), Math.min(found[3], box.bottom)];
    }
    known.set(of, found);
    return found;
  };
  const seen = (rect, of) => {
    const inside = place(of);
    if (!inside) return null;
    const [left, right] = [Math.max(rect.left, inside[0]), Math.min(rect.right, inside[1])];
    const [top, bottom] = [Math.max(rect.top, inside[2]), Math.min(rect.bottom, inside[3])];
    return right - left > 1 && bottom - top > 1 ? { left, right, top, bottom } : null;
  };

  const boxes = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.textContent.trim() || node.parentElement.closest("script, noscript, option, textarea, title, svg")) continue;
    const shut = node.parentElement.closest("details:not([open])");
    if (shut && !node.parentElement.closest("summary")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].slice(0, 40);
    for (const line of lines) {
      const box = seen(line, node.parentElement);
      if (box) boxes.push({ node, own: node.parentElement, ...box });
    }
  }
  for (const one of document.querySelectorAll("input, select, textarea, button, .button, meter, progress, svg")) {
    const box = one.checkVisibility() && seen(one.getBoundingClientRect(), one.parentElement);
    if (box) boxes.push({ node: one, own: one, ...box });
  }
  for (const one of boxes) {
    if (one.right > root.clientWidth + 1) found.push(`beyond the window: ${name(one.node)}`);
  }
  boxes.sort((a, b) => a.top - b.top);
  for (let at = 0; at < boxes.length; at += 1) {
    const one = boxes[at];
    for (let other = at + 1; other < boxes.length && boxes[other].top < one.bottom - 5; other += 1) {
      const two = boxes[other];
      if (one.node === two.node || one.own.contains(two.own) || two.own.contains(one.own)) continue;
      const [wide, high] = [Math.min(one.right, two.right) - Math.max(one.left, two.left), Math.min(one.bottom, two.bottom) - two.top];
      if (wide > 3 && high > 5) found.push(`upon each other, ${Math.round(wide)} x ${Math.round(high)}: ${name(one.node)} and ${name(two.node)}`);
    }
  }

  const places = [root, ...document.querySelectorAll("*")].map((one) => [one, one.scrollLeft, one.scrollTop]);
  const open = document.querySelector("dialog[open]");
  for (const one of (open ?? document.body).querySelectorAll("button, a[href], input:not([type=hidden]), select, textarea, summary")) {
    if (!one.getClientRects().length || one.matches(":disabled, .skip") || one.closest(".visually-hidden, svg") || !one.checkVisibility()) continue;
    one.scrollIntoView({ block: "center", inline: "center" });
    const box = one.getClientRects()[0];
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const hit = document.elementFromPoint(x, y);
    const sheet = hit?.closest("aside.panel");
    if (sheet && !sheet.contains(one) && getComputedStyle(sheet).position === "fixed") continue; // what is open lies over the rest, until it is closed
    const label = one.closest("label");
    if (!hit || !(one.contains(hit) || hit.contains(one) || label?.contains(hit))) found.push(`nobody can press ${name(one)}: ${hit ? name(hit) : "nothing"} is there`);
  }
  for (const [one, left, top] of places) [one.scrollLeft, one.scrollTop] = [left, top];
  return [...new Set(found)].slice(0, 12);
}
"""


def flaws(page: Page) -> list[str]:
    """Of the page as it is now, in its window; empty where it is well."""
    found: list[str] = page.evaluate(_LOOK)
    return found
