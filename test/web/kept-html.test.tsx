import { expect, test } from "vitest";
import type { LearnedName } from "../../src/core/subject-name.ts";
import { expectWords } from "../support/expect-words.ts";
import { hour, minute } from "../support/test-clock.ts";
import { attempt, createWebFixture } from "../support/web-fixture.ts";

const address = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359";

async function openLog() {
  const names = new Map<string, LearnedName>();
  const fixture = await createWebFixture({ learnedName: ({ token }) => names.get(token ?? "") });
  const read = async (path = "/") => (await (await fixture.logIn()).get(path)).text();
  return { ...fixture, names, read };
}

test("the log is never as old as its parts when alerts come, their deliveries go on, and hours and days pass", async () => {
  const { addAlert, store, clock, read } = await openLog();
  await addAlert({ facts: { title: "The first", value: "12", threshold: "10", alertKey: "volume" } });
  await addAlert({ facts: { title: "Another", severity: "info", alertKey: "other" } });
  expect(await read()).toContain("queued");
  await attempt(store, "ops", clock.now(), {
    outcome: "retry",
    detail: "Too Many Requests",
    next: { state: "waiting", reason: "Too Many Requests", dueAt: clock.now() + 3 * hour },
  });
  expect(await read()).toContain("Too Many Requests");
  await clock.advance(minute);
  await addAlert({ facts: { title: "The second", value: "13", threshold: "10", alertKey: "volume" } });
  expectWords(await read(), "fired 2 times", { not: "The first" });
  await clock.advance(26 * hour);
  await addAlert({ facts: { title: "The third", value: "14", threshold: "10", alertKey: "volume" } });
  expect(await read()).toMatch(/fired 3 times[\s\S]*?26 h ago/);
  await clock.advance(hour);
  expect(await read()).toMatch(/fired 3 times[\s\S]*?27 h ago/);
  await clock.advance(40 * hour);
  expect(await read("/?span=7d")).toMatch(/fired 3 times[\s\S]*?2 d ago/);
  await addAlert({ facts: { title: "It is over", status: "resolved", alertKey: "volume" } });
  expect(await read()).toContain("over");
  expect(await read("/?q=third")).toContain("<mark>third</mark>");
  expect(await read("/?q=the")).toContain("<mark>The</mark> third");
});

test("the log is never as old as its parts when a name is learned, and learned anew", async () => {
  const { addAlert, names, read } = await openLog();
  await addAlert({ facts: { title: `${address} fell`, token: address } });
  expect(await read()).toContain(`${address} fell`);
  names.set(address, { kind: "token", address, chain: "eth", name: "USDC", learnedAt: 0 });
  expect(await read()).toContain("USDC fell");
  names.set(address, { kind: "token", address, chain: "eth", name: "USDC.e", learnedAt: 1 });
  expect(await read()).toContain("USDC.e fell");
  names.delete(address);
  expect(await read()).toContain(`${address} fell`);
});

test("the log is never as old as its parts when the bars get another span, zone or step of time", async () => {
  const { addAlert, clock, read } = await openLog();
  await addAlert();
  expect(await read()).toContain("1 alert, 1 critical");
  await addAlert({ facts: { severity: "info" }, decisions: [{ route: "all", result: "not_matched", reason: "no" }] });
  expect(await read()).toContain("2 alerts, 1 critical, 1 info");
  expect(await read("/?severity=info")).toContain("1 alert, 1 info");
  expect(await read("/?span=1h")).toContain("2 alerts, 1 critical, 1 info");
  await clock.advance(2 * hour);
  expect(await read("/?span=1h")).not.toContain("2 alerts, 1 critical, 1 info");
  expect(await read()).toContain("2 alerts, 1 critical, 1 info");
});
