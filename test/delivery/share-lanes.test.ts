import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareLanes } from "../../src/delivery/plan/share-lanes.ts";

const groups = ["a", "b", "c", "d", "e"];
const relay = (...lanes: string[]) => ({ lanes });

describe("the share of a relay", () => {
  it("is all where it is alone", () => {
    expect(shareLanes(groups, 0, [])).toEqual({ most: 5, handOver: 0 });
    expect(shareLanes([], 0, [])).toEqual({ most: 0, handOver: 0 });
  });

  it("is no more than what the others leave, while one of them has too few", () => {
    expect(shareLanes(groups, 5, [relay()])).toEqual({ most: 2, handOver: 2 });
    expect(shareLanes(groups, 0, [relay(...groups)])).toEqual({ most: 3, handOver: 0 });
    expect(shareLanes(groups, 2, [relay("a", "b")])).toEqual({ most: 3, handOver: 0 });
  });

  it("stays as it is when there are more relays than groups", () => {
    expect(shareLanes(["a"], 1, [relay(), relay()])).toEqual({ most: 1, handOver: 0 });
  });

  it("does not count what another has of groups that this configuration does not know", () => {
    expect(shareLanes(groups, 5, [relay("x", "y")])).toEqual({ most: 2, handOver: 2 });
  });

  it("becomes even from any beginning, and then nothing moves any more", () => {
    const beginning = fc.record({
      names: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 12 }),
      owners: fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
      relays: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(beginning, ({ names, owners, relays }) => {
        const held = Array.from({ length: relays }, () => new Set<string>());
        names.forEach((name, index) => {
          held[(owners[index] ?? 0) % (relays + 1)]?.add(name);
        });
        const free = () => names.filter((name) => !held.some((its) => its.has(name)));
        let moved = true;
        for (let round = 0; moved; round += 1) {
          expect(round).toBeLessThan(20);
          moved = false;
          for (const mine of held) {
            const others = held.filter((its) => its !== mine).map((its) => ({ lanes: [...its] }));
            const { most, handOver } = shareLanes(names, mine.size, others);
            for (const name of [...mine].slice(0, handOver)) moved = mine.delete(name);
            for (const name of free().slice(0, Math.max(0, most - mine.size))) {
              mine.add(name);
              moved = true;
            }
          }
        }
        const sizes = held.map((its) => its.size);
        expect(free()).toEqual([]);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
