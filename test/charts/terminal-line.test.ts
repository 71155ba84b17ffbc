import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawTerminalLine } from "../../src/charts/terminal-line.ts";
import { pointsOf } from "./cases.ts";

describe("a line in a terminal", () => {
  it("leaves a gap where nothing is known", () => {
    expect(drawTerminalLine(pointsOf(1, 2, null, null, null, 2, 1), { width: 44, height: 6 })).toMatchSnapshot();
  });

  it("draws a flat line and a single point", () => {
    expect(drawTerminalLine(pointsOf(5, 5, 5), { width: 40, height: 5 })).toMatchSnapshot();
    expect(drawTerminalLine(pointsOf(5), { width: 40, height: 5 })).toMatchSnapshot();
  });

  it("is empty without values", () => {
    expect(drawTerminalLine(pointsOf(null, null), { width: 40, height: 5 })).toBe("");
  });

  it("fits its width and height whatever the values are", () => {
    const values = fc.array(fc.option(fc.double({ noNaN: true, min: -1e20, max: 1e20 })), {
      minLength: 1,
      maxLength: 200,
    });
    fc.assert(
      fc.property(values, fc.integer({ min: 40, max: 120 }), (values, width) => {
        const drawn = drawTerminalLine(pointsOf(...values), { width, height: 8 });
        if (drawn === "") return;
        const lines = drawn.split("\n");
        expect(lines).toHaveLength(11);
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});
