import { expect, it } from "vitest";
import { hour, minute } from "../../support/test-clock.ts";
import { day, simulateAccount } from "./simulated-account.ts";

const begin = 12 * day + 9 * hour;
const outages = [{ from: begin, to: begin + 3 * hour }];
const late = [{ from: 0, to: 20 * day, ms: 50 * minute }];

/** The short form of `npm run test:long -- gaps`: the hours around each fault, with one seed. */

it("while 1 % of the alerts of sixty rules are lost all the time, the watch reports a loss of everything for three hours within 45 minutes, once, and its end once", async () => {
  const watched = [12.3, 12.6] as const;
  const found = await simulateAccount({ noise: 0.01, outages }, { seed: 1, watched });
  expect(found.firstAfterMs[0]).toBeLessThanOrEqual(45 * minute);
  expect(found.told).toBeGreaterThanOrEqual(0.9 * found.lost);
  expect(found).toMatchObject({ notices: 1, ends: 1, falseSure: 0, falseNotices: 0 });
});

it("while 1 % of the alerts of sixty rules are lost all the time, the watch reports a rule that falls silent within a day", async () => {
  const silent = [{ from: begin, to: begin + 2 * day, rules: 1 }];
  const watched = [12.3, 13.4] as const;
  const found = await simulateAccount({ noise: 0.01, silent }, { seed: 1, rules: 20, watched });
  expect(found.firstAfterMs[0]).toBeLessThanOrEqual(day);
  expect(found).toMatchObject({ falseSure: 0, falseNotices: 0 });
});

it("while 1 % of the alerts of sixty rules are lost all the time, the watch says no end of a loss of everything before the alerts that wait to be read are read", async () => {
  const backlogs = [{ from: begin + 2.9 * hour, to: begin + 5 * hour }];
  const found = await simulateAccount({ noise: 0.01, outages, backlogs }, { seed: 1, watched: [12.3, 12.8] });
  expect(found).toMatchObject({ notices: 1, ends: 1, falseSure: 0, falseNotices: 0, falseEnds: 0 });
});

it("while 1 % of the alerts of sixty rules are lost all the time, the watch takes nothing for lost of a sender that is 50 minutes late", async () => {
  const found = await simulateAccount({ noise: 0.01, late }, { seed: 2, rules: 20, watched: [12, 12.7] });
  expect(found).toMatchObject({ notices: 0, falseSure: 0 });
});
