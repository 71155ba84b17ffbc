import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawAlertChart } from "../../src/charts/alert-chart.ts";
import { drawBars } from "../../src/charts/bars.ts";
import { drawLineChart } from "../../src/charts/line-chart.ts";
import { drawSparkLine } from "../../src/charts/spark-line.ts";
import { type ChartTheme, darkTheme, lightTheme, pageTheme } from "../../src/charts/theme.ts";
import { alertCharts, cases, pointsOf, start } from "./cases.ts";

const everyCase = Object.entries(cases).flatMap(([kind, drawings]) =>
  Object.entries(drawings).map(([name, draw]) => ({ kind, name, draw })),
);
const hostile = `</title><script>alert("x")</script>' onload='x&\u0000\u001b\u202egnp`;
const hour = 3_600_000;

/** One picture with its colours by name, so that themes can be compared. */
function withoutColours(svg: string, theme: ChartTheme): string {
  const colours = Object.values(theme).filter((colour): colour is string => typeof colour === "string");
  return colours.reduce((text, colour) => text.replaceAll(`"${colour}"`, '"-"'), svg);
}

describe("each picture", () => {
  it.each(everyCase)("$kind: $name is drawn as it was looked at", async ({ kind, name, draw }) => {
    const file = `./golden/${kind}-${name.replaceAll(/[^a-z]+/g, "-")}.svg`;
    await expect(draw(lightTheme).replaceAll("><", ">\n<")).toMatchFileSnapshot(file);
  });

  it.each(everyCase)("$kind: $name has a name, numbers for places, and other colours alone in the dark", ({ draw }) => {
    expect(withoutColours(draw(darkTheme), darkTheme)).toBe(withoutColours(draw(lightTheme), lightTheme));
    for (const theme of [lightTheme, darkTheme, pageTheme]) {
      const svg = draw(theme);
      expect(svg).not.toMatch(/NaN|Infinity|undefined|null/);
      expect(svg).not.toContain(" style=");
      if (svg !== "") expect(svg).toMatch(/^<svg [^>]*role="(?:img|group)"[^>]*><title>[^<]+<\/title>/);
    }
  });

  it("shows hostile text as text, whichever way it comes in", () => {
    const points = pointsOf(1, 2, 3);
    const pictures = [
      drawLineChart({ title: hostile, unit: hostile, emptyText: hostile, points }),
      drawLineChart({ title: hostile, emptyText: hostile, points: [], theme: lightTheme }),
      drawSparkLine({ title: hostile, unit: hostile, points }),
      drawBars({ title: hostile, buckets: [{ at: 0, info: 1 }], stepMs: 1, from: 0, to: 2, hrefOf: () => hostile }),
    ];
    for (const svg of pictures) {
      for (const part of ["<script", "\u0000", "\u001b", "\u202e"]) expect(svg).not.toContain(part);
      expect(svg).not.toMatch(/ onload='/);
      expect(svg.match(/<\/title>/g)).toHaveLength(svg.match(/<title>/g)?.length ?? 0);
    }
  });

  it("of whatever numbers there are has nothing but numbers for places, and stays small", () => {
    const value = fc.option(fc.oneof(fc.double(), fc.constantFrom(0, -0, 1e-18, 1e18, 1e308, 5e-324, -1e308)));
    const at = fc.oneof(fc.integer({ min: 0, max: start }), fc.double());
    const points = fc.array(fc.record({ at, value }), { maxLength: 300 });
    fc.assert(
      fc.property(points, fc.double(), fc.double(), (some, threshold, width) => {
        const size = Math.max(100, Math.min(2_000, Math.abs(width) || 100));
        const marks = some.map((point) => ({ at: point.at, kind: "firing" as const }));
        for (const svg of [
          drawLineChart({ title: "k", points: some, threshold, marks, width: size, dots: true }),
          drawSparkLine({ points: some, threshold }),
          drawAlertChart({ title: "k", points: some, threshold, value: width, at: start, marks, theme: lightTheme })
            .svg,
        ]) {
          expect(svg).not.toMatch(/NaN|Infinity|undefined|null/);
          expect(svg.length).toBeLessThan(60_000);
        }
      }),
    );
  });
});

describe("a line with axes", () => {
  it("never shows two numbers as the same one", () => {
    const svg = drawLineChart({
      title: "k",
      points: pointsOf(26e6, 24_999_998, 24_999_999.4),
      threshold: 25e6,
      unit: "USD",
      theme: lightTheme,
    });
    expect(svg).toContain(
      "last 24.999999 M USD (−3.8 %), lowest 24.999998 M USD, highest 26 M USD, threshold 25 M USD",
    );
    expect(svg).toContain(">24.999999 M USD</text>");
    expect(drawSparkLine({ points: pointsOf(1e6, 999_999.99), threshold: 1e6 })).toContain(
      "last 999,999.99, threshold 1 M",
    );
    expect(
      drawAlertChart({ title: "k", points: [], value: 0.99999, threshold: 1, at: start, theme: lightTheme }).alt,
    ).toContain("0.99999, threshold 1,");
  });

  it("tells of the values in it and of no others", () => {
    const points = pointsOf(9_000, 1, 2, 3, 9_000);
    const svg = drawLineChart({ title: "k", points, from: start + hour, to: start + 3 * hour, theme: lightTheme });
    expect(svg).toContain("last 3 (+200 %), lowest 1, highest 3");
    expect(svg).not.toContain("9,000");
    expect(drawLineChart({ title: "k", points, from: start + 9 * hour, to: start + 10 * hour })).toContain(
      "no values in this range",
    );
  });

  it("is drawn by time, in whatever order its values come", () => {
    const points = pointsOf(1, 5, 3);
    const reversed = points.toReversed();
    expect(drawLineChart({ title: "k", points: reversed })).toBe(drawLineChart({ title: "k", points }));
  });

  it("keeps both ends of a long title", () => {
    const title = `eth_token_total_tvl_${"0".repeat(200)}beef`;
    const svg = drawLineChart({ title, points: pointsOf(1), theme: lightTheme });
    const shown = /font-weight="bold"[^>]*>([^<]*)</.exec(svg)?.[1] ?? "";
    expect(shown).toMatch(/^eth_token_total_tvl_0+…0+beef$/);
    expect(shown.length).toBeLessThan(100);
  });

  it("of 100,000 values keeps the peak, and stays small", () => {
    const points = Array.from({ length: 100_000 }, (_, n) => ({ at: start + n, value: n === 51_234 ? 900 : n % 7 }));
    const svg = drawLineChart({ title: "k", points, width: 960 });
    expect(svg).toContain("highest 900");
    // The axis ends at 1,000 or so above 900: the peak stands in the upper tenth of the plot.
    const places = [...(/<path d="([^"]*)" fill="none"/.exec(svg)?.[1] ?? "").matchAll(/,([\d.]+)/g)].map(([, y]) =>
      Number(y),
    );
    expect(Math.min(...places)).toBeLessThan(60);
    expect(svg.length).toBeLessThan(80_000);
  });
});

describe("the picture in a message", () => {
  const at = start + 168 * hour;
  const drawn = (name: string, more: object = {}) =>
    drawAlertChart({ ...(alertCharts[name] as (typeof alertCharts)[string]), at, theme: lightTheme, ...more });

  it("says in words what is to be seen, on one line and not endlessly", () => {
    for (const part of ["\n", "\u0000", "\u202e"]) expect(drawn("hostile").alt).not.toContain(part);
    expect(drawn("hostile", { title: "x".repeat(5_000) }).alt.length).toBeLessThanOrEqual(500);
  });

  it("ends at the moment of the alert, with the value that the alert has brought", () => {
    const later = [...(alertCharts.usual?.points ?? []), { at: at + hour, value: 99_000_000 }];
    expect(drawn("usual", { points: later }).svg).toBe(drawn("usual").svg);
    expect(drawn("usual", { value: undefined }).alt).toContain(": 26.2 M USD,");
  });

  it("says of when a value is that is not of the moment, and no change to it from another time", () => {
    expect(drawn("an older week").alt).not.toContain("%");
    expect(drawn("an older week", { value: 8 }).alt).toContain("8 USD, 27 Nov 2026, 12:00:00 UTC. 7 d: −20.0 %");
  });

  it("says no share of what was nothing or less, nor of a share", () => {
    expect(drawn("negative").alt).not.toMatch(/(?:24 h|7 d): [+−]/);
    expect(drawn("negative", { unit: undefined }).alt).not.toMatch(/(?:24 h|7 d): [+−]/);
  });
});
