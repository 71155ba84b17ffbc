import { keepWish, wish } from "./wishes.ts";

const told = new Set<string>();

/** Sounds and notifies, as the reader chose, for the first alert in each row of the log. */
export function alarm(rows: readonly HTMLTableRowElement[]): void {
  const idOf = ({ dataset }: HTMLTableRowElement) => dataset.alert ?? "";
  const [first, ...more] = rows.filter((row) => !told.has(idOf(row)));
  for (const row of rows) told.add(idOf(row));
  if (first === undefined) return;
  if (wish("sound") === "on") beep();
  if (wish("notify") !== "on" || !document.hidden || !("Notification" in window)) return;
  const title = first.querySelector(".what > a")?.textContent ?? "";
  const notification = new Notification(more.length === 0 ? "New alert" : `${more.length + 1} new alerts`, {
    body: more.length === 0 ? title : `${title}, and ${more.length} more`,
    tag: "tocsin",
  });
  notification.addEventListener("click", () => {
    focus();
    notification.close();
  });
}

let audio: AudioContext | undefined;

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

/** Acts when the reader switches an alarm on. Returns the reason where that cannot work. */
async function begin(name: string): Promise<string | undefined> {
  if (name === "sound") return void beep();
  if (!("Notification" in window)) return "This browser has none here.";
  const answer = await Notification.requestPermission();
  return answer === "granted" ? undefined : "The browser does not allow it for this site.";
}

export function offerAlarms(): void {
  const menu = document.getElementById("alarms");
  if (!menu) return;
  menu.hidden = false;
  for (const box of menu.querySelectorAll("input")) {
    const text = box.parentElement?.querySelector("span");
    const words = text?.textContent ?? "";
    box.checked = wish(box.name) === "on";
    box.addEventListener("change", async () => {
      const problem = box.checked ? await begin(box.name) : undefined;
      if (problem) box.checked = false;
      if (text) text.textContent = problem ?? words;
      keepWish(box.name, box.checked ? "on" : undefined);
    });
  }
}
