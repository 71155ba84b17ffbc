/** For pages that show messages: keeps the reader's place, what is open and what has the focus; writes instants in the reader's zone. */
export const messagesScript = `"use strict";
const list = () => document.querySelector(".messages");

function nearEnd(element) {
  return element.scrollHeight - element.scrollTop - element.clientHeight < 120;
}

function formatInstant(element) {
  const at = new Date(element.dateTime);
  if (element.classList.contains("clock")) {
    element.textContent = at.toLocaleTimeString([], { hour12: false });
    return;
  }
  const format = element.dataset.format;
  if (format === "r") {
    const seconds = Math.round((at - Date.now()) / 1000);
    const steps = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
    const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? steps[3];
    element.textContent = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.trunc(seconds / size), unit);
    return;
  }
  const options = {};
  if (format.includes("w")) options.weekday = "long";
  if (format.includes("d")) Object.assign(options, { day: "2-digit", month: "2-digit", year: "numeric" });
  if (format.includes("D")) Object.assign(options, { day: "numeric", month: "long", year: "numeric" });
  if (/t/i.test(format)) Object.assign(options, { hour: "2-digit", minute: "2-digit", hour12: false });
  if (format.includes("T")) options.second = "2-digit";
  if (Object.keys(options).length > 0) element.textContent = at.toLocaleString([], options);
}

function formatInstants() {
  document.querySelectorAll("time").forEach(formatInstant);
}

function replaceLive(fresh) {
  const before = list();
  const known = new Set([...document.querySelectorAll(".message")].map((element) => element.id));
  const open = [...document.querySelectorAll("details[open]")].map((element) => element.id);
  const focused = document.activeElement?.id ?? "";
  const stay = before !== null && !nearEnd(before);
  const top = before === null ? 0 : before.scrollTop;
  replaceMarked(fresh);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const element of document.querySelectorAll(".message")) {
    if (known.size > 0 && !known.has(element.id)) element.classList.add("new");
  }
  if (focused !== "") document.getElementById(focused)?.focus({ preventScroll: true });
  formatInstants();
  const after = list();
  if (after !== null) after.scrollTop = stay ? top : after.scrollHeight;
}

formatInstants();
if (list() !== null && location.hash === "") list().scrollTop = list().scrollHeight;
`;
