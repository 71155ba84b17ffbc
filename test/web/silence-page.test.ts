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

test("the page shows each watch of silence with its state, what it has learned and when it would tell", async () => {
  const { logIn } = await createWebFixture({ silence });
  const page = await (await (await logIn()).get("/silence")).text();
  expect(page).toContain("Usual longest gap now</dt><dd><bdi>4 h");
  expect(page).toContain(`<a href="/alerts/${id}">`);
  expect(page).toMatch(/Learning since .*needs 14 days with Tocsin running \(so far 3\)/);
  expect(page).toMatch(/Notice due<\/dt><dd>.*in 5 h/);
  expect(page).toContain("<bdi>&lt;b&gt;Pyth&lt;/b&gt;</bdi>");
  expect(page).not.toContain("<b>Pyth");
});

test("without any the page says how to have one", async () => {
  const { logIn } = await createWebFixture();
  expect(await (await (await logIn()).get("/silence")).text()).toContain("silence: auto");
});

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

test("the status of the API has them, without what is only for pages", async () => {
  const { api } = await createWebFixture({ silence });
  const { data } = (await (await api("/api/status")).json()) as { data: { silence: unknown[] } };
  expect(data.silence[0]).toEqual({
    watch: "hook",
    of: "hook",
    state: "silent",
    since: new Date(noon - 1000 * hour).toISOString(),
    lastAt: new Date(noon - 9 * hour).toISOString(),
    lastId: id,
    quietMs: 8 * hour,
    usualMs: 4 * hour,
    toldAt: new Date(noon - hour).toISOString(),
  });
});
