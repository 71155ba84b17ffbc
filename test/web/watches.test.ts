import { expect, it } from "vitest";
import type { AccountView, WatchView } from "../../src/contract/operations.ts";
import { expectWords } from "../support/expect-words.ts";
import { createWebFixture } from "../support/web-fixture.ts";

const at = Date.UTC(2026, 10, 21, 11, 58);
const trouble: WatchView = {
  name: "account",
  verdict: "trouble",
  summary: "The account sends its alerts to https://other.example/… and no longer here",
  troubles: ["The account <b>sends</b> its alerts to https://other.example/… and no longer here. Put it back."],
  lookedAt: at,
};
const account: Partial<AccountView> = {
  serviceConfigured: true,
  canPutBack: true,
  answer: {
    at,
    id: "acc_1",
    name: "<script>Desk</script>",
    keyExpiresAt: at + 86_400_000,
    webhook: "elsewhere",
    webhookAddress: "https://other.example/…",
    messengerChannelId: null,
  },
};

it("the setup page shows what is wrong with the account, and a button puts it back", async () => {
  let calls = 0;
  const fixture = await createWebFixture({
    watches: [trouble],
    account,
    putBack: async () => {
      calls += 1;
      return "put-back";
    },
  });
  const page = await fixture.read("/setup");
  expectWords(page, ["The account &lt;b&gt;sends&lt;/b&gt; its alerts", "https://other.example/…, not to this relay"]);
  expect(page).toContain("&lt;script&gt;Desk&lt;/script&gt;");
  const answer = await fixture.post("/setup/put-back");
  expect([answer.status, answer.headers.get("location")]).toEqual([303, "/setup?done=put-back#watches-title"]);
  expect(calls).toBe(1);
  expect(await fixture.read("/setup?done=put-back")).toContain("the account sends here again");
  expect(await fixture.read("/setup?done=<b>")).not.toContain("<b>");
  expect((await fixture.post("/setup/put-back", { form_token: "another" })).status).toBe(403);
  expect(calls).toBe(1);
});

it("the setup page says of another address where this relay answers that it does", async () => {
  const answer = { ...account.answer, at, webhook: "answered" as const };
  const browser = await (await createWebFixture({ watches: [trouble], account: { ...account, answer } })).logIn();
  expect(await (await browser.get("/setup")).text()).toContain(
    "https://other.example/…, another address than the registered one; this relay answers there",
  );
});

it("the button is there only when there is something to put back, and no watch is shown where there is none", async () => {
  const well: WatchView = { name: "account", verdict: "well", summary: "the account sends here", troubles: [] };
  const fixture = await createWebFixture({ watches: [well], account: { ...account, canPutBack: false } });
  expectWords(await fixture.read("/setup"), "The account sends here.", { not: "put-back" });
  expect(await (await createWebFixture()).read("/setup")).not.toContain("What it watches");
});
