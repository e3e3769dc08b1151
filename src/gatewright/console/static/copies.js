// Copies what a button has in `data-copy`, and says so, also to whoever does not see it.

document.body.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

const labels = new WeakMap(); // what a button says at other times

async function copy(button) {
  const done = await copied(button.dataset.copy);
  if (!done) {
    const detail = `This browser lets nothing be copied here. By hand: ${button.dataset.copy}`;
    document.body.dispatchEvent(new CustomEvent("notice", { detail }));
  }
  document.getElementById("told").textContent = done ? "copied" : "";
  if (!labels.has(button)) labels.set(button, button.textContent);
  if (!done) return;
  button.textContent = "copied";
  window.setTimeout(() => (button.textContent = labels.get(button)), 1200);
}

/** Browsers give a clipboard to pages of TLS and of this machine alone; elsewhere what is selected can be copied. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const [field, focused] = [document.createElement("textarea"), document.activeElement];
    field.className = "visually-hidden";
    field.value = text;
    (focused?.closest("dialog") ?? document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return done;
  }
}
