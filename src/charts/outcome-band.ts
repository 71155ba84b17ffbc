import { drawPicture, escapeXml, pixel } from "./svg.ts";
import { type ChartTheme, pageTheme } from "./theme.ts";

/** `good` arrived, `bad` did not, `busy` is not decided, `off` was kept back on purpose. */
export type OutcomeTone = "good" | "bad" | "busy" | "off";

export interface Outcome {
  tone: OutcomeTone;
  /** A tooltip: `21 Nov 2026, 14:02:05 UTC: sent in 210 ms`. */
  title?: string;
}

export interface OutcomeBand {
  /** Oldest first; of more than `slots` the newest are shown. */
  outcomes: readonly Outcome[];
  /** How many have room. Default 50; those that there are not yet stand empty on the left. */
  slots?: number;
  /** What they are of. Default `Outcomes`. */
  title?: string;
  /** Pixels. Default 6 for each slot by 20. */
  width?: number;
  height?: number;
  /** Default: the page's. */
  theme?: ChartTheme;
}

/** Share of the height: what went wrong is told apart by its shape as well. */
const heights: Record<OutcomeTone, number> = { good: 0.6, bad: 1, busy: 0.4, off: 0.25 };
const words: Record<OutcomeTone, string> = { good: "sent", bad: "failed", busy: "on the way", off: "kept back" };

/** The last outcomes side by side, newest on the right; failures are red and stand out in height. SVG. */
export function drawOutcomeBand(band: OutcomeBand): string {
  const { slots = 50, title = "Outcomes", theme = pageTheme } = band;
  const { width = slots * 6, height = 20 } = band;
  const shown = band.outcomes.slice(-slots);
  const step = width / slots;
  const gap = step > 3 ? Math.min(2, step / 3) : 0;
  const firstSlot = slots - shown.length;
  const bars = shown.map(({ tone, title: tip }, index) => {
    const tall = heights[tone] * height;
    const place = `x="${pixel((firstSlot + index) * step)}" y="${pixel(height - tall)}" width="${pixel(step - gap)}" height="${pixel(tall)}" rx="1"`;
    return tip === undefined
      ? `<rect ${place} fill="${theme[tone]}"/>`
      : `<rect ${place} fill="${theme[tone]}"><title>${escapeXml(tip)}</title></rect>`;
  });
  const empty = Array.from(
    { length: firstSlot },
    (_, index) =>
      `<rect x="${pixel(index * step)}" y="${pixel(height * 0.9)}" width="${pixel(step - gap)}" height="${pixel(height * 0.1)}" fill="${theme.grid}"/>`,
  );
  const description = shown.length === 0 ? "none yet" : `the last ${shown.length}, newest last: ${countsOf(shown)}`;
  const name = `${title}: ${description}`;
  return drawPicture({ width, height, title: name, theme, className: "band" }, [...empty, ...bars].join(""));
}

function countsOf(outcomes: readonly Outcome[]): string {
  return (["good", "bad", "busy", "off"] as const)
    .map((tone) => ({ tone, count: outcomes.filter((outcome) => outcome.tone === tone).length }))
    .filter(({ count }) => count > 0)
    .map(({ tone, count }) => `${count} ${words[tone]}`)
    .join(", ");
}
