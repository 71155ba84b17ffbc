import { expect, it } from "vitest";
import type { DestinationView, HealthView } from "../../src/contract/operations.ts";
import { describeHealth, healthPanel } from "../../src/panels/health.ts";
import { createWebFixture } from "../support/web-fixture.ts";
import { draw, now } from "./draw.ts";

const account = (verdict: HealthView["watches"][number]["verdict"], name = "account") => ({
  ...{ name, verdict, summary: "", troubles: [], lookedAt: now },
});
const verdicts = (...all: ("proven" | "untried" | "failing")[]) =>
  all.map((verdict) => ({ verdict }) as DestinationView);
const well: HealthView = {
  troubles: [],
  destinations: verdicts("proven", "proven"),
  watches: [account("well")],
  lastAlertAt: now - 8_000,
};

const drawn = (health: Partial<HealthView>) => draw(healthPanel({ ...well, ...health }), 200).trim();

it("the line of health is green where all was looked at and is well", () => {
  expect(drawn({})).toBe("✓ 2 destinations work · account sends here · last alert 8 s ago");
  expect(describeHealth(well).tone).toBe("good");
});

it.each<[string, Partial<HealthView>]>([
  ["1 of 2 destinations work, 1 never tried", { destinations: verdicts("proven", "untried") }],
  ["1 destination: 1 never tried", { destinations: verdicts("untried") }],
  ["1 of 3 destinations work, 1 fails, 1 never tried", { destinations: verdicts("proven", "untried", "failing") }],
  ["no destination is configured", { destinations: [] }],
  ["destinations were not looked at", { destinations: undefined }],
  ["account not watched", { watches: [] }],
  ["account not asked yet", { watches: [{ ...account("unknown"), lookedAt: undefined }] }],
  ["account cannot be judged", { watches: [account("unknown")] }],
  ["account not registered here", { watches: [account("idle")] }],
  ["1 of 2 accounts send here", { watches: [account("well"), account("unknown", "account:desk")] }],
  ["no alert yet", { lastAlertAt: null }],
  ["last alert not known", { lastAlertAt: undefined }],
])("the line of health says no more than was looked at: %s", (words, health) => {
  expect(drawn(health)).toContain(words);
  expect(drawn(health)).toMatch(/^–/);
  expect(describeHealth({ ...well, ...health }).tone).not.toBe("good");
});

it("the line of health says first what is wrong, and how to mend it", () => {
  const trouble = { kind: "destination", level: "bad", what: "desk is dead", name: "desk", failed: 3 } as const;
  const line = drawn({ troubles: [{ ...trouble, since: now - 60_000, notes: ["3 not delivered"] }] });
  expect(line).toBe(
    "✕ desk is dead since 2026-11-21T11:59:00Z (1 min ago) · 3 not delivered → npx tocsin destinations try desk",
  );
});

it("the line of health stands on a page in the same words, each part a link", async () => {
  const watches = [{ ...account("well"), summary: "the account sends its alerts here" }];
  const { read, addAlert, clock } = await createWebFixture({ watches });
  await addAlert();
  await clock.advance(8_000);
  const page = await read("/mutes");
  const line = /data-live="health">(.*?)<\/div>/s.exec(page)?.[1] ?? "";
  const destinations = verdicts("untried", "untried");
  expect(
    line
      .replaceAll(/<[^>]+>/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  ).toBe(drawn({ destinations }));
  expect([...line.matchAll(/href="([^"]+)"/g)].map(([, to]) => to)).toEqual([
    "/destinations",
    "/setup#watches-title",
    "/",
  ]);
});
