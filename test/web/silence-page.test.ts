import { expect, test } from "vitest";
import type { SilenceView } from "../../src/contract/operations.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const noon = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const silence: SilenceView[] = ["hook", "source:<b>Pyth</b>"].map((watch) => ({
  ...{ watch, of: "source", state: "silent", since: 0, quietMs: 8 * hour, alertKey: `tocsin:silence:${watch}` },
}));

test("a watch is muted from its page, by the key of its own notices", async () => {
  const { post, operations } = await createWebFixture({ silence });
  const answer = await post("/silence/mute", { watch: "source:<b>Pyth</b>", for: "4h" });
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/silence?done=muted"]);
  expect(await operations.listMutes()).toMatchObject([
    {
      matchers: [{ field: "alertKey", condition: { equals: ["tocsin:silence:source:<b>Pyth</b>"] } }],
      endsAt: noon + 4 * hour,
    },
  ]);
  expect((await post("/silence/mute", { watch: "source:nobody", for: "4h" })).status).toBe(404);
  expect((await post("/silence/mute", { watch: "hook", for: "ever" })).status).toBe(400);
});
