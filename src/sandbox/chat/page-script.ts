/** The page's own script: asks for the page again when something changed, and puts its live parts in place. */
export const pageScript = `"use strict";
const state = document.getElementById("live-state");
const list = () => document.querySelector(".messages");
let loading = false;
let again = false;

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

async function refresh() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const before = list();
    const known = new Set([...document.querySelectorAll(".message")].map((element) => element.id));
    const open = [...document.querySelectorAll("details[open]")].map((element) => element.id);
    const focused = document.activeElement?.id ?? "";
    const stay = before !== null && !nearEnd(before);
    const top = before === null ? 0 : before.scrollTop;
    for (const element of document.querySelectorAll("[data-live]")) {
      const replacement = fresh.getElementById(element.id);
      if (replacement !== null) element.replaceWith(replacement);
    }
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const element of document.querySelectorAll(".message")) {
      if (known.size > 0 && !known.has(element.id)) element.classList.add("new");
    }
    if (focused !== "") document.getElementById(focused)?.focus({ preventScroll: true });
    formatInstants();
    const after = list();
    if (after !== null) after.scrollTop = stay ? top : after.scrollHeight;
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(refresh, 100);
    }
  }
}

formatInstants();
if (list() !== null && location.hash === "") list().scrollTop = list().scrollHeight;
const events = new EventSource("/events");
let first = true;
events.addEventListener("change", () => {
  state.textContent = "Live";
  state.className = "";
  if (!first) refresh().catch(() => {});
  first = false;
});
events.addEventListener("error", () => {
  state.textContent = "Connection lost, trying again";
  state.className = "lost";
  first = false;
});
`;
