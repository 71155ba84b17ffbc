import { keepWish, wish } from "./wishes.ts";

/** Of which alerts the reader was told, so that each is once. */
const told = new Set<string>();

/** By sound and notification, as the reader wished. */
export function alarm(alerts: readonly { id: string; title: string }[]): void {
  const [first, ...more] = alerts.filter(({ id }) => !told.has(id));
  for (const { id } of alerts) told.add(id);
  if (first === undefined) return;
  if (wish("sound") === "on") beep();
  if (wish("notify") !== "on" || !document.hidden || !("Notification" in window)) return;
  const notification = new Notification(more.length === 0 ? "New alert" : `${more.length + 1} new alerts`, {
    body: more.length === 0 ? first.title : `${first.title}, and ${more.length} more`,
    tag: "tocsin",
  });
  notification.addEventListener("click", () => {
    focus();
    notification.close();
  });
}

let audio: AudioContext | undefined;

/** Two short tones. */
function beep(): void {
  audio ??= new AudioContext();
  for (const [index, pitch] of [880, 660].entries()) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    const at = audio.currentTime + index * 0.18;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.12, at);
    volume.gain.exponentialRampToValueAtTime(0.001, at + 0.16);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + 0.17);
  }
}

export function offerAlarms(): void {
  const menu = document.getElementById("alarms");
  if (!menu) return;
  menu.hidden = false;
  const note = document.createElement("p");
  note.className = "soft";
  note.textContent = "Of what this view shows, while the page is open.";
  menu.querySelector("div")?.append(
    checkbox("Notification of the browser", "notify", async () => {
      if (!("Notification" in window)) return "This browser has none here.";
      const answer = await Notification.requestPermission();
      return answer === "granted" ? undefined : "The browser does not allow it for this site.";
    }),
    checkbox("Sound", "sound", async () => {
      beep();
      return undefined;
    }),
    note,
  );
}

/** @param begin what is done when it is switched on; says why it cannot be. */
function checkbox(words: string, name: string, begin: () => Promise<string | undefined>): HTMLLabelElement {
  const label = document.createElement("label");
  label.className = "check";
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = wish(name) === "on";
  const text = document.createElement("span");
  text.textContent = words;
  box.addEventListener("change", async () => {
    const problem = box.checked ? await begin() : undefined;
    if (problem) box.checked = false;
    text.textContent = problem ?? words;
    keepWish(name, box.checked ? "on" : undefined);
  });
  label.append(box, text);
  return label;
}
