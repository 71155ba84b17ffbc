import { expect, test } from "vitest";
import { describePreview } from "../../src/panels/mutes.ts";

test.each([
  [{ matched: 0, looked: 0, complete: true }, "No alert came in the last 24 h, so nothing shows what it would mute."],
  [{ matched: 1, looked: 1, complete: true }, "It would have muted the one alert of the last 24 h."],
  [{ matched: 0, looked: 1, complete: true }, "It does not match the one alert of the last 24 h."],
  [{ matched: 1, looked: 4, complete: true }, "It would have muted 1 of the 4 alerts of the last 24 h."],
  [{ matched: 1_204, looked: 1_204, complete: true }, "It would have muted all 1,204 alerts of the last 24 h."],
  [{ matched: 0, looked: 2, complete: true }, "It matches none of the 2 alerts of the last 24 h."],
  [
    { matched: 500, looked: 500, complete: false },
    "It would have muted 500 of the newest 500 alerts of the last 24 h.",
  ],
])("what a mute would have held is said as people say it: %o", (preview, words) => {
  expect(describePreview(preview)).toBe(words);
});
