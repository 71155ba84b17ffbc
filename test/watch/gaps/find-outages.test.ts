import { expect, it } from "vitest";
import { type Due, findOutages } from "../../../src/watch/gaps/find-outages.ts";
import type { GapRule } from "../../../src/watch/gaps/read-subscriptions.ts";
import type { Sighting } from "../../../src/watch/gaps/sightings.ts";

/** Of each rule one crossing a minute: `.` brought an alert, `x` did not. */
function crossingsOf(turns: string, rules: readonly string[]): Due[] {
  const dues = rules.map((metricKey) => {
    const rule = { metricKey, kind: "above", threshold: 1 } as GapRule;
    const [past, otherPast] = [
      { due: 0, answered: 0, unseen: 0 },
      { due: 0, answered: 0, unseen: 0 },
    ] as const;
    return [...turns].map((turn, index): Due => {
      const answer = turn === "." ? ({ at: index, receivedAt: index } as Sighting) : undefined;
      const [fromAt, toAt] = [index - 1, index];
      const shown = { holds: true, dueUntil: toAt, before: 0, after: 2, isBrief: false, mayBeUnseen: false };
      const crossing = { ...shown, fromAt, toAt, hasHole: false, answer };
      return { rule, crossing, past, otherPast, isClose: false };
    });
  });
  return dues.flat().sort((a, b) => a.crossing.toAt - b.crossing.toAt);
}

const well = ".".repeat(60);

it("what one rule loses behind an end that people were told is an outage of its own", () => {
  const dues = crossingsOf(`${well}xxx..xxxxxxxx`, ["a"]);
  const found = (at?: number) => {
    const ends = at === undefined ? [] : [{ at, rules: new Set(["a above 1"]) }];
    return findOutages(dues, ends).outages.map(({ lost, comesAgainAt }) => [lost.length, comesAgainAt]);
  };
  expect(found()).toEqual([[11, undefined]]);
  expect(found(63).at(-1)).toEqual([8, undefined]);
});

it("what the account loses behind such an end is an outage of its own, however soon", () => {
  const dues = crossingsOf(`${well}xxx..xxxx`, ["a", "b"]);
  expect(findOutages(dues).outages.map(({ lost }) => lost.length)).toEqual([14]);
  expect(findOutages(dues, [{ at: 63 }]).outages.map(({ lost }) => lost.length)).toEqual([6, 8]);
  // Of one rule alone it says nothing of the account.
  expect(findOutages(dues, [{ at: 63, rules: new Set(["a above 1"]) }]).outages).toHaveLength(1);
});
