import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timeTicks, valueTicks } from "../../src/cli/upstream/axis.ts";
import { drawCurveSvg } from "../../src/cli/upstream/curve-svg.ts";
import { svgToPng } from "../../src/cli/upstream/svg-to-png.ts";
import { drawTerminalCurve } from "../../src/cli/upstream/terminal-curve.ts";

const start = Date.UTC(2026, 10, 20, 12);
const hour = 3_600_000;
const curveOf = (...values: (number | null)[]) => values.map((value, n) => ({ at: start + n * hour, value }));
const labels = (ticks: { label: string }[]) => ticks.map(({ label }) => label);

describe("the value axis", () => {
  it.each([
    [0, 100, ["0", "20", "40", "60", "80", "100"]],
    [1_000_000, 1_235_000, ["1.00M", "1.05M", "1.10M", "1.15M", "1.20M", "1.25M"]],
    [0.9998, 1.0003, ["0.9998", "0.9999", "1.0000", "1.0001", "1.0002", "1.0003"]],
    [-2, 3, ["-2", "-1", "0", "1", "2", "3"]],
    [1e-8, 3e-8, ["1.0e-8", "1.5e-8", "2.0e-8", "2.5e-8", "3.0e-8"]],
    [91_000, 91_400, ["91.0k", "91.1k", "91.2k", "91.3k", "91.4k"]],
    [5, 5, ["4.94", "4.96", "4.98", "5.00", "5.02", "5.04", "5.06"]],
  ])("from %d to %d has round labels that differ", (low, high, expected) => {
    expect(labels(valueTicks(low, high, 6))).toEqual(expected);
  });

  it("covers whatever values there are with labels that differ", () => {
    const value = fc.double({ noNaN: true, min: -1e14, max: 1e14 });
    fc.assert(
      fc.property(value, fc.double({ noNaN: true, min: 1e-4, max: 10 }), (low, share) => {
        const high = low + Math.max(Math.abs(low), 1e-3) * share;
        const ticks = valueTicks(low, high, 5);
        const room = Math.abs(high - low) * 1e-6;
        expect(ticks.length).toBeGreaterThan(1);
        expect(ticks.length).toBeLessThan(12);
        expect(ticks[0]?.value).toBeLessThanOrEqual(low + room);
        expect(ticks.at(-1)?.value).toBeGreaterThanOrEqual(high - room);
        expect(new Set(labels(ticks)).size).toBe(ticks.length);
      }),
    );
  });
});

describe("the time axis", () => {
  it("names hours within a day, and the day at midnight", () => {
    expect(labels(timeTicks(start, start + 24 * hour, 5))).toEqual(["12:00", "18:00", "Nov 21", "06:00", "12:00"]);
  });

  it("names days over a week", () => {
    expect(labels(timeTicks(start, start + 7 * 24 * hour, 4))).toEqual(["Nov 21", "Nov 23", "Nov 25", "Nov 27"]);
  });
});

describe("the curve in a terminal", () => {
  it("leaves a gap where nothing is known", () => {
    expect(drawTerminalCurve(curveOf(1, 2, null, null, null, 2, 1), { width: 44, height: 6 })).toMatchSnapshot();
  });

  it("draws a flat line and a single point", () => {
    expect(drawTerminalCurve(curveOf(5, 5, 5), { width: 40, height: 5 })).toMatchSnapshot();
    expect(drawTerminalCurve(curveOf(5), { width: 40, height: 5 })).toMatchSnapshot();
  });

  it("is empty without values", () => {
    expect(drawTerminalCurve(curveOf(null, null), { width: 40, height: 5 })).toBe("");
  });

  it("fits its width and height whatever the values are", () => {
    const values = fc.array(fc.option(fc.double({ noNaN: true, min: -1e20, max: 1e20 })), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(values, fc.integer({ min: 40, max: 120 }), (values, width) => {
        const drawn = drawTerminalCurve(curveOf(...values), { width, height: 8 });
        if (drawn === "") return;
        const lines = drawn.split("\n");
        expect(lines).toHaveLength(11);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

describe("the curve as SVG", () => {
  it("shows a hostile key as text", () => {
    const svg = drawCurveSvg(curveOf(1, 2), { title: `</title><script>alert("x")</script>&\u0000\u001b` });
    expect(svg).not.toContain("<script");
    expect(svg).toContain("&lt;script&gt;");
    expect(svg).toContain("&amp;\ufffd\ufffd");
  });

  it("keeps both ends of a long key in its title", () => {
    const key = `eth_token_total_tvl_${"0".repeat(200)}beef`;
    const shown = /font-weight="bold"[^>]*>([^<]*)</.exec(drawCurveSvg(curveOf(1), { title: key }))?.[1] ?? "";
    expect(shown).toMatch(/^eth_token_total_tvl_0+…0+beef$/);
    expect(shown.length).toBeLessThan(100);
  });

  it("draws one line for each unbroken stretch, and a dot for a lone point", () => {
    const svg = drawCurveSvg(curveOf(1, 2, null, 3, null, 4, 5), { title: "k" });
    expect(svg.match(/<path d="[^"]*" fill="none"/g)).toHaveLength(2);
    expect(svg.match(/<circle/g)).toHaveLength(2);
  });

  it("says so without values", () => {
    expect(drawCurveSvg([], { title: "k" })).toContain("no records in this range");
  });

  it("never places anything outside of numbers", () => {
    expect(drawCurveSvg(curveOf(5), { title: "k" })).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe("the curve as PNG", () => {
  it("says how to get the renderer where it is not installed", async () => {
    const importRenderer = () => Promise.reject(new Error("Cannot find package"));
    await expect(svgToPng("<svg/>", { importRenderer })).rejects.toMatchObject({
      message: expect.stringContaining("@resvg/resvg-js"),
      hint: expect.stringContaining("npm install"),
    });
  });

  it("is refused without any font, instead of written without its text", async () => {
    const parts = { fontFiles: [], loadSystemFonts: false };
    await expect(svgToPng(drawCurveSvg(curveOf(1, 2), { title: "k" }), parts)).rejects.toMatchObject({
      hint: expect.stringContaining("npm install"),
    });
  });
});
