import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createIdSource } from "../../src/core/id.ts";
import { openSession } from "../../src/store/sqlite/database-session.ts";
import type { Call, CallResult } from "../../src/store/sqlite/group-commit.ts";
import { keepAnswers } from "../../src/store/sqlite/kept-answers.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { fromWireResult } from "../../src/store/sqlite/thread-protocol.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";
import { addAlert, attempt } from "../support/web-fixture.ts";

const minute = 60_000;

/** A store that is written, and another connection that reads it: keeping answers, and counting what it reads. */
function openBoth() {
  const clock = createTestClock();
  const newId = createIdSource(clock.now);
  const path = join(makeTempFolder(), "tocsin.db");
  const store = openLocalStore({ path, ballastBytes: 0, now: clock.now });
  const reader = openSession({ path, readOnly: true, now: clock.now });
  onTestFinished(async () => {
    reader.close();
    await store.close();
  });
  const answerKept = keepAnswers(reader.dataVersion);
  const read: string[] = [];
  const readAnew = async (call: Call) => (await reader.commit([call])).results[0] as CallResult;
  const readAndNote = (call: Call) => {
    read.push(call.name);
    return readAnew(call);
  };
  const ask = async (call: Call) => fromWireResult(await answerKept(call, () => readAndNote(call)), call);
  return { clock, store, read, ask, readAnew, add: (input = {}) => addAlert(store, clock.now(), newId, input) };
}

const listed = (query = {}): Call => ({ name: "listAlertsWithin", arguments: [{ limit: 51, ...query }, 60_000] });

it("answers of the reading thread are given again while nothing is committed, each to its own question, and an error never", async () => {
  const { ask, add, read } = openBoth();
  const { id } = await add();
  expect(await ask(listed())).toMatchObject({ ok: true, value: { alerts: [{ id }] } });
  expect(await ask(listed())).toEqual(await ask(listed()));
  expect(await ask(listed({ severity: "info" }))).toMatchObject({ ok: true, value: { alerts: [] } });
  expect(await ask(listed({ newestOfKey: true }))).toMatchObject({ value: { alerts: [{ id, run: { count: 1 } }] } });
  expect(read).toHaveLength(3);
  const wrong: Call = { name: "neighbours", arguments: [{}] };
  for (const time of [4, 5]) expect([(await ask(wrong)).ok, read.length]).toEqual([false, time]);
});

it("answers of the reading thread are those of the latest commit, whatever it has changed", async () => {
  const { clock, store, ask, add, readAnew } = openBoth();
  const first = await add();
  const steps = { fromAt: clock.now() - 10 * minute, stepMs: minute, steps: 20 };
  const questions: Call[] = [
    listed(),
    listed({ newestOfKey: true }),
    listed({ state: "failed" }),
    listed({ state: "unrouted" }),
    { name: "countOverTime", arguments: [steps, 60_000] },
    { name: "countMatches", arguments: [{ limit: 100, severity: "critical" }, 60_000] },
    { name: "countByDestination", arguments: [] },
    { name: "neighbours", arguments: [first.id] },
    { name: "keyHistory", arguments: [first.id, 60] },
  ];
  let before = "";
  const answersOf = async (read: (call: Call) => Promise<CallResult>) => {
    const answers: CallResult[] = [];
    for (const question of questions) answers.push(await read(question));
    return JSON.stringify(answers);
  };
  const expectNew = async () => {
    const fresh = await answersOf(readAnew);
    expect(await answersOf(ask)).toBe(fresh);
    expect(await answersOf(ask)).toBe(fresh);
    expect(fresh).not.toBe(before);
    before = fresh;
  };
  await expectNew();
  await clock.advance(minute);
  const fail = { outcome: "rejected", detail: "no chat", next: { state: "failed", reason: "no chat" } } as const;
  for (const change of [
    () => add({ unrouted: true }),
    () => add({ facts: { severity: "info", alertKey: "other" } }),
    () => attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } }),
    () => add(),
    () => attempt(store, "ops", clock.now(), fail),
    () => store.removeAlerts({ receivedBefore: clock.now(), limit: 100 }),
  ]) {
    await change();
    await expectNew();
  }
});

it("answers of the reading thread are not kept where the time was over before all was looked at, or where the clock is asked", async () => {
  const { ask, add, read, clock } = openBoth();
  for (let number = 0; number < 3; number += 1) await add();
  const steps = { fromAt: clock.now() - minute, stepMs: minute, steps: 2 };
  for (const call of [
    { name: "countOverTime", arguments: [steps, -1] },
    { name: "countAlerts", arguments: [] },
    { name: "listFacts", arguments: [{ fromAt: 0, limit: 5 }] },
    { name: "routeStatistics", arguments: [clock.now()] },
  ] as Call[]) {
    for (let time = 0; time < 2; time += 1) await ask(call);
  }
  expect(read).toHaveLength(8);
});
