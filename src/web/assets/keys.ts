// One key for what is done often, on every page. "?" says which.
import { keepWish, wish } from "./wishes.ts";

const places: Readonly<Record<string, string>> = {
  a: "/",
  d: "/destinations",
  r: "/routes",
  m: "/mutes",
  w: "/setup",
  s: "/system",
};
const keyHelp = [
  ["/", "search"],
  ["j k", "next and previous alert"],
  ["Enter", "open it"],
  ["r", "resend it, after a question"],
  ["m", "mute alerts like it, on its page"],
  ["g a, g d, g r, g m, g w, g s", "alerts, destinations, routes, mutes, watch, system"],
  ["?", "this list"],
] as const;

const alertLinks = () => [...document.querySelectorAll<HTMLAnchorElement>("#rows .what > a")];
const focusedRow = () => document.activeElement?.closest("#rows tr");
const focusedAlert = () => focusedRow()?.querySelector(".what > a") ?? alertLinks()[0];

function moveBy(step: number): void {
  const links = alertLinks();
  const row = focusedRow();
  const at = links.findIndex((link) => row?.contains(link) === true);
  const next = links[at === -1 ? 0 : at + step];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function goToAlert(ending: string): void {
  const own = document.body.dataset.alert;
  const path = own ? `/alerts/${own}` : focusedAlert()?.getAttribute("href");
  if (path) location.assign(`${path}${ending}`);
}

function search(): void {
  const field = document.querySelector<HTMLInputElement>("input[type=search]");
  if (!field) location.assign("/");
  field?.focus();
  field?.select();
}

let goesSomewhere = false;

const acts: Readonly<Record<string, () => void>> = {
  "/": search,
  j: () => moveBy(1),
  k: () => moveBy(-1),
  r: () => goToAlert("/resend"),
  m: () => goToAlert("#mute"),
  g() {
    goesSomewhere = true;
    setTimeout(() => {
      goesSomewhere = false;
    }, 1_500);
  },
};

/** Whether the key says something. */
function press(key: string): boolean {
  const place = goesSomewhere ? places[key] : undefined;
  const act = goesSomewhere ? undefined : acts[key];
  goesSomewhere = false;
  if (place) location.assign(place);
  act?.();
  return (place ?? act) !== undefined;
}

function showKeys(): void {
  const dialog = document.querySelector<HTMLDialogElement>("#key-help") ?? makeKeyHelp();
  if (!dialog.open) dialog.showModal();
}

function makeKeyHelp(): HTMLDialogElement {
  const dialog = document.createElement("dialog");
  dialog.id = "key-help";
  dialog.setAttribute("aria-labelledby", "key-help-title");
  dialog.innerHTML = `<h2 id="key-help-title">Keys</h2>
    <dl class="facts">${keyHelp.map(([keys, words]) => `<dt>${keys}</dt><dd>${words}</dd>`).join("")}</dl>
    <label class="check"><input type="checkbox"> Keys are on (? always is)</label>
    <form method="dialog"><button>Close</button></form>`;
  const box = dialog.querySelector("input");
  if (box) {
    box.checked = wish("keys") !== "off";
    box.addEventListener("change", () => keepWish("keys", box.checked ? undefined : "off"));
  }
  document.body.append(dialog);
  return dialog;
}

export function offerKeys(): void {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target instanceof Element && target.matches("input, textarea, select, [contenteditable]")) return;
    if (document.querySelector("dialog[open]")) return;
    if (key === "?") showKeys();
    else if (wish("keys") === "off" || !press(key)) return;
    event.preventDefault();
  });
  const button = document.getElementById("keys");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", showKeys);
  }
  openMuteForm();
}

/**
 * "m" on a row leads to the form, which is closed until somebody wants it. The browser gives the focus to where an address
 * leads by itself, and takes it from anything else.
 */
function openMuteForm(): void {
  if (location.hash !== "#mute") return;
  const summary = document.getElementById("mute");
  const form = summary?.parentElement;
  if (form instanceof HTMLDetailsElement) form.open = true;
  summary?.focus();
}
