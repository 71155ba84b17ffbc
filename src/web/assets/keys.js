// One key for what is done often, on every page; behind page.js. "?" says which.

const places = { a: "/", d: "/destinations", r: "/routes", m: "/mutes", w: "/setup", s: "/system" };
const keyHelp = [
  ["/", "search"],
  ["j k", "next and previous alert"],
  ["Enter", "open it"],
  ["r", "resend it, after a question"],
  ["m", "mute alerts like it, on its page"],
  ["g a, g d, g r, g m, g w, g s", "alerts, destinations, routes, mutes, watch, system"],
  ["?", "this list"],
];

let goesSomewhere = false;

const alertLinks = () => [...document.querySelectorAll("#rows .what > a")];
const focusedAlert = () => document.activeElement?.closest?.("#rows tr")?.querySelector(".what > a") ?? alertLinks()[0];

function moveBy(step) {
  const links = alertLinks();
  const row = document.activeElement?.closest?.("#rows tr");
  const at = links.findIndex((link) => row?.contains(link));
  const next = links[at === -1 ? 0 : at + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function goToAlert(ending) {
  const own = document.body.dataset.alert;
  const path = own ? `/alerts/${own}` : focusedAlert()?.getAttribute("href");
  if (path) location.assign(`${path}${ending}`);
}

function search() {
  const field = document.querySelector("input[type=search]");
  if (!field) location.assign("/");
  field?.focus();
  field?.select();
}

function press(key) {
  if (goesSomewhere) {
    goesSomewhere = false;
    if (places[key]) location.assign(places[key]);
    return places[key] !== undefined;
  }
  switch (key) {
    case "/":
      search();
      return true;
    case "j":
      moveBy(1);
      return true;
    case "k":
      moveBy(-1);
      return true;
    case "r":
      goToAlert("/resend");
      return true;
    case "m":
      goToAlert("#mute");
      return true;
    case "g":
      goesSomewhere = true;
      setTimeout(() => {
        goesSomewhere = false;
      }, 1_500);
      return true;
    default:
      return false;
  }
}

function showKeys() {
  const dialog = document.getElementById("key-help") ?? makeKeyHelp();
  if (!dialog.open) dialog.showModal();
}

function makeKeyHelp() {
  const dialog = document.createElement("dialog");
  dialog.id = "key-help";
  const head = document.createElement("h2");
  head.id = "key-help-title";
  head.textContent = "Keys";
  dialog.setAttribute("aria-labelledby", head.id);
  const list = document.createElement("dl");
  for (const [keys, words] of keyHelp) {
    const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = keys;
    meaning.textContent = words;
    list.append(term, meaning);
  }
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = wish("keys") !== "off";
  box.addEventListener("change", () => keepWish("keys", box.checked ? undefined : "off"));
  label.append(box, " Keys are on (? always is)");
  const close = document.createElement("button");
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.append(head, list, label, close);
  document.body.append(dialog);
  return dialog;
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (target.matches?.("input, textarea, select, [contenteditable]") || document.querySelector("dialog[open]")) return;
  if (key === "?") showKeys();
  else if (wish("keys") === "off" || !press(key)) return;
  event.preventDefault();
});

const keysButton = document.getElementById("keys");
if (keysButton) {
  keysButton.hidden = false;
  keysButton.addEventListener("click", showKeys);
}

// "m" on a row leads to the form, which is closed until somebody wants it. The browser gives the focus to where an address
// leads by itself, and takes it from anything else.
if (location.hash === "#mute") {
  const summary = document.getElementById("mute");
  if (summary?.parentElement) summary.parentElement.open = true;
  summary?.focus();
}
