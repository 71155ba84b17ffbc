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

let goesSomewhere = false;

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

/** Whether the key says something. */
function press(key: string): boolean {
  if (goesSomewhere) {
    goesSomewhere = false;
    const place = places[key];
    if (place) location.assign(place);
    return place !== undefined;
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

function showKeys(): void {
  const dialog = document.querySelector<HTMLDialogElement>("#key-help") ?? makeKeyHelp();
  if (!dialog.open) dialog.showModal();
}

function makeKeyHelp(): HTMLDialogElement {
  const dialog = document.createElement("dialog");
  dialog.id = "key-help";
  const head = document.createElement("h2");
  head.id = "key-help-title";
  head.textContent = "Keys";
  dialog.setAttribute("aria-labelledby", head.id);
  const list = document.createElement("dl");
  list.className = "facts";
  for (const [keys, words] of keyHelp) {
    const [term, meaning] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = keys;
    meaning.textContent = words;
    list.append(term, meaning);
  }
  const label = document.createElement("label");
  label.className = "check";
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
