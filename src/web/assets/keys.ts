// Keyboard shortcuts on every page. "?" lists them.
import { keepWish, wish } from "./wishes.ts";

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

const goTo = (path: string) => () => location.assign(path);

/** Enter is the browser's own. Two letters are pressed one after the other. */
const keys: readonly (readonly [keys: string, words: string, act?: () => void])[] = [
  ["/", "search", search],
  ["j", "next alert", () => moveBy(1)],
  ["k", "previous alert", () => moveBy(-1)],
  ["Enter", "open it"],
  ["r", "resend it, after a question", () => goToAlert("/resend")],
  ["m", "mute alerts like it, on its page", () => goToAlert("#mute")],
  ["g a", "alerts", goTo("/")],
  ["g d", "destinations", goTo("/destinations")],
  ["g r", "routes", goTo("/routes")],
  ["g m", "mutes", goTo("/mutes")],
  ["g w", "watch", goTo("/setup")],
  ["g s", "system", goTo("/system")],
  ["?", "this list"],
];

let begun = "";

/** Returns whether the key has a meaning. */
function press(key: string): boolean {
  const pressed = `${begun}${key}`;
  begun = pressed === "g" ? "g " : "";
  if (begun) setTimeout(() => (begun = ""), 1_500);
  const act = keys.find(([own]) => own === pressed)?.[2];
  act?.();
  return act !== undefined || begun !== "";
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
    <dl class="facts">${keys.map(([own, words]) => `<dt>${own}</dt><dd>${words}</dd>`).join("")}</dl>
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

/** "m" on a row leads to the mute form, which is closed at first. */
function openMuteForm(): void {
  if (location.hash !== "#mute") return;
  const summary = document.getElementById("mute");
  const form = summary?.parentElement;
  if (form instanceof HTMLDetailsElement) form.open = true;
  summary?.focus();
}
