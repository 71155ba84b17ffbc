// This script is a convenience: without it each page shows the same after a reload.
import { offerAlarms } from "./alarms.ts";
import { offerKeys } from "./keys.ts";
import { followLive, wantRefresh } from "./live.ts";
import { showLog, showLogTimes } from "./log.ts";
import { offerZones, showTimes } from "./times.ts";

function offerCopying(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy ?? "");
      if (source) button.textContent = (await copy(source)) ? "Copied" : "Selected: press Ctrl+C";
    });
  }
}

/** Only https pages may use the clipboard. Elsewhere the text is selected for the reader to copy. */
async function copy(source: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection()?.selectAllChildren(source);
    return false;
  }
}

/** Fills the line next to the picture: the relay knows its text once the picture is loaded. */
function fillMarketLine(): void {
  const picture = document.querySelector<HTMLImageElement>("img.metric");
  if (!picture || document.querySelector('[data-live="market"]')?.childElementCount !== 0) return;
  if (picture.complete) wantRefresh();
  else picture.addEventListener("load", wantRefresh, { once: true });
}

offerZones(() => {
  showLogTimes();
  // The relay draws pictures and bars, so they are fetched again.
  wantRefresh();
});
showTimes();
setInterval(showTimes, 15_000);
offerCopying();
fillMarketLine();
showLog();
offerAlarms();
offerKeys();
followLive();
