import { expect, it } from "vitest";
import { createWebFixture } from "../support/web-fixture.ts";

const plain = (page: string) => page.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");

it("says what runs, what was accepted, how the disk goes on, and how each part is", async () => {
  const fixture = await createWebFixture({
    configuration: { file: "/etc/tocsin/tocsin.yaml", hash: "0123456789ab", onDisk: "same" },
    watches: [{ name: "account", verdict: "trouble", summary: "the webhook is off", troubles: ["x"] }],
  });
  await fixture.addAlert();
  const page = plain(await (await (await fixture.logIn()).get("/system")).text());
  expect(page).toContain("Last minute 1 Last hour 1 Last day 1");
  expect(page).toContain(`Node.js ${process.versions.node}`);
  expect(page).toContain("/etc/tocsin/tocsin.yaml (0123456789ab), the same as on disk");
  expect(page).toMatch(/✓ store commits; /);
  expect(page).toMatch(/✕ watch account the webhook is off/);
  expect(page).toMatch(/Forecast not known yet: that takes 1,000 alerts/);
});

it("warns when the configuration on disk is another one, or gone", async () => {
  const file = "/etc/tocsin/tocsin.yaml";
  const look = async (onDisk: "differs" | "gone") => {
    const { logIn } = await createWebFixture({ configuration: { file, hash: "0123456789ab", onDisk } });
    return plain(await (await (await logIn()).get("/system")).text());
  };
  expect(await look("differs")).toContain("has changed since the start and is not in force");
  expect(await look("gone")).toContain("the next start fails");
});

it("requests that were turned away at the door are counted on the page of refused ones, with what helps", async () => {
  const doorRefusals = [
    { reason: "unknown_secret", total: 1_204, day: 3, lastAt: Date.UTC(2026, 10, 21, 11) },
    { reason: "too_large", total: 0, day: 0 },
  ] as const;
  const { logIn } = await createWebFixture({ doorRefusals: [...doorRefusals] });
  const page = plain(await (await (await logIn()).get("/refused")).text());
  expect(page).toContain("Wrong address (404) : 3 in 24 h, 1,204 since the start");
  expect(page).toContain("A sender has an old secret, or somebody guesses.");
  expect(page).not.toContain("Too large");
});
