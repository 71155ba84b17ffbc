/** Keeps the reader's place in the list; writes instants in the reader's zone. */
export const pageScript = `"use strict";

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

function replaceLive(fresh, answer) {
  const known = new Set([...document.querySelectorAll(".mail-line")].map((element) => element.id));
  const threads = () => document.getElementById("threads");
  if (threads() === null && answer.redirected) {
    location.replace(answer.url);
    return;
  }
  const top = threads()?.scrollTop ?? 0;
  replaceMarked(fresh);
  for (const element of document.querySelectorAll(".mail-line")) {
    if (!known.has(element.id)) element.classList.add("new");
  }
  if (threads() !== null) threads().scrollTop = top;
  showInstants();
}

showInstants();
`;
