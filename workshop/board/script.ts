/** Fetches the page after a change and puts news in place. The reader's position, open parts and the focus stay. */
export const boardScript = `"use strict";
const state = document.getElementById("live-state");
const list = () => document.querySelector(".messages");
let loading = false;
let again = false;

const forms = {
  clock: { timeStyle: "medium" },
  time: { timeStyle: "short" },
  "date and time": { dateStyle: "long", timeStyle: "short" },
};

function showInstants() {
  for (const element of document.querySelectorAll("time")) {
    const form = forms[element.dataset.form ?? "clock"];
    element.textContent = new Date(element.dateTime).toLocaleString([], { ...form, hour12: false });
  }
}

function put(fresh) {
  const known = new Set([...document.querySelectorAll(".message")].map((element) => element.id));
  const { scrollHeight, scrollTop, clientHeight } = list();
  const stays = scrollHeight - scrollTop - clientHeight > 120;
  const beforeAttributeUpdated = (name) => name !== "open";
  for (const element of document.querySelectorAll("[data-live]")) {
    Idiomorph.morph(element, fresh.getElementById(element.id), { callbacks: { beforeAttributeUpdated } });
  }
  for (const element of document.querySelectorAll(".message")) {
    if (known.size > 0 && !known.has(element.id)) element.classList.add("new");
  }
  showInstants();
  if (!stays) list().scrollTop = list().scrollHeight;
}

async function refresh() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    put(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } finally {
    loading = false;
    if (again) {
      again = false;
      setTimeout(refresh, 100);
    }
  }
}

showInstants();
if (location.hash === "") list().scrollTop = list().scrollHeight;
const events = new EventSource("/events");
// The first comes at the connection: something may have changed since the page was made.
events.addEventListener("change", () => {
  state.textContent = "Live";
  state.className = "";
  refresh().catch(() => {});
});
events.addEventListener("error", () => {
  state.textContent = "Connection lost, trying again";
  state.className = "lost";
});
`;
