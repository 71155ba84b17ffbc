import { expect, test } from "vitest";
import type { SilenceView } from "../../src/contract/operations.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const id = "019aa5a0-7c3e-7d2a-9b1c-0242ac120002";

const silence: SilenceView[] = [
  {
    watch: "hook",
    of: "hook",
    state: "silent",
    since: noon - 1000 * hour,
    lastAt: noon - 9 * hour,
    lastId: id,
    quietMs: 8 * hour,
    usualMs: 4 * hour,
    toldAt: noon - hour,
    alertKey: "tocsin:silence:hook",
  },
  {
    watch: "source:<b>Pyth</b>",
    of: "source",
    name: "<b>Pyth</b>",
    state: "learning",
    since: noon - 72 * hour,
    quietMs: 72 * hour,
    learning: { days: 3, daysNeeded: 14, arrivals: 5, arrivalsNeeded: 30, isReading: false },
    alertKey: "tocsin:silence:source:<b>Pyth</b>",
  },
  {
    watch: "route:critical",
    of: "route",
    name: "critical",
    afterMs: 6 * hour,
    state: "watching",
    since: noon - 72 * hour,
    lastAt: noon - hour,
    lastId: id,
    quietMs: hour,
    tellsAt: noon + 5 * hour,
    alertKey: "tocsin:silence:route:critical",
  },
];

test("a watch is muted from its page, by the key of its own notices", async () => {
  const { logIn, operations } = await createWebFixture({ silence });
  const browser = await logIn();
  const answer = await browser.post("/silence/mute", { watch: "source:<b>Pyth</b>", for: "4h" });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/silence?done=muted"]);
  expect(await operations.listMutes()).toMatchObject([
    {
      matchers: [{ field: "alertKey", condition: { equals: ["tocsin:silence:source:<b>Pyth</b>"] } }],
      endsAt: noon + 4 * hour,
    },
  ]);
  expect((await browser.post("/silence/mute", { watch: "source:nobody", for: "4h" })).status).toBe(404);
  expect((await browser.post("/silence/mute", { watch: "hook", for: "ever" })).status).toBe(400);
});
