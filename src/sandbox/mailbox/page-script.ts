/** The page's own script: asks for the page again when something changed, and puts its live parts in place. */
export const pageScript = `"use strict";
const state = document.getElementById("live-state");
let loading = false;
let again = false;

function showInstants() {
  for (const element of document.querySelectorAll("time")) {
    const at = new Date(element.dateTime);
    const isToday = at.toDateString() === new Date().toDateString();
    element.title = at.toString();
    element.textContent = isToday
      ? at.toLocaleTimeString([], { hour12: false })
      : at.toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false });
  }
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
    const known = new Set([...document.querySelectorAll(".mail-line")].map((element) => element.id));
    const hadList = document.getElementById("threads") !== null;
    if (!hadList && answer.redirected) {
      location.replace(answer.url);
      return;
    }
    const top = document.getElementById("threads")?.scrollTop ?? 0;
    for (const element of document.querySelectorAll("[data-live]")) {
      const replacement = fresh.getElementById(element.id);
      if (replacement !== null) element.replaceWith(replacement);
    }
    for (const element of document.querySelectorAll(".mail-line")) {
      if (!known.has(element.id)) element.classList.add("new");
    }
    const list = document.getElementById("threads");
    if (list !== null) list.scrollTop = top;
    showInstants();
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(refresh, 100);
    }
  }
}

showInstants();
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
