// The form of a call: its fields become the JSON text of the arguments, which is what is sent and what a person can still change.

const form = document.getElementById("try");
const whole = form?.querySelector("[data-assembled]");

function assemble() {
  const members = [];
  for (const field of form.querySelectorAll("[data-argument]")) {
    const text = field.value;
    field.setCustomValidity("");
    if (!text && !("needed" in field.dataset)) continue;
    let value = JSON.stringify(text);
    if (field.dataset.kind === "json") {
      try {
        JSON.parse(text);
        value = text.trim();
      } catch {
        field.setCustomValidity("This is no JSON.");
        continue;
      }
    }
    // As text: numbers keep the digits that were typed.
    members.push(`${JSON.stringify(field.dataset.argument)}: ${value}`);
  }
  whole.value = `{${members.join(", ")}}`;
}

if (whole) {
  form.addEventListener("input", (event) => {
    if (event.target !== whole) assemble();
  });
  assemble();
}
