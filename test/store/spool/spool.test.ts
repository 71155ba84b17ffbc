import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { AppError } from "../../../src/core/errors.ts";
import type { Acceptance, Inbox, IncomingRequest } from "../../../src/core/ports/inbox.ts";
import type { SpoolOptions } from "../../../src/store/spool/spool.ts";
import { newId, request } from "../../conformance/store/scene-samples.ts";
import { changeBody, openTestSpool } from "../../support/spool.ts";
import { createTestClock } from "../../support/test-clock.ts";

const away = () => new AppError("store_unavailable", "The database does not answer (ECONNREFUSED).");

/** A store that is well, away, silent, or refuses what it is asked; it keeps what it has stored. */
function createInbox() {
  const stored: IncomingRequest[] = [];
  const silent: (() => void)[] = [];
  let state: "well" | "away" | "silent" = "well";
  let asked = 0;
  const poison = new Set<string>();
  const store = (one: IncomingRequest): Acceptance => {
    const isKnown = stored.some(({ ids }) => ids[0] === one.ids[0]);
    if (isKnown && !one.mayBeStored) throw new Error("duplicate key value violates unique constraint");
    if (!isKnown) stored.push(one);
    return { kind: "accepted", ids: one.ids, conflict: false };
  };
  const inbox: Inbox = {
    async acceptRequest(one) {
      asked += 1;
      if (poison.has(one.ids[0] ?? "")) throw new Error("invalid byte sequence");
      if (state === "away") throw away();
      if (state === "silent") await new Promise<void>((resolve) => silent.push(resolve));
      return store(one);
    },
  };
  return {
    ...inbox,
    poison,
    ids: () => stored.map(({ ids }) => ids[0]),
    asked: () => asked,
    become(next: typeof state) {
      state = next;
      if (next !== "silent") for (const answer of silent.splice(0)) answer();
    },
  };
}

const first = (acceptance: Acceptance) => acceptance.ids[0];

/** A spool before a store in this state, at a clock that a test moves. */
async function openScene(state: "well" | "away" | "silent" = "away", options: Partial<SpoolOptions> = {}) {
  const [inbox, clock] = [createInbox(), createTestClock()];
  const spool = await openTestSpool({ inbox, clock, ...options });
  inbox.become(state);
  const accept = async (changes: Partial<IncomingRequest> = {}) => first(await spool.acceptRequest(request(changes)));
  const isEmpty = () => expect.poll(spool.waiting).toBe(0);
  return { inbox, clock, spool, accept, isEmpty };
}

it("a spool before a store is not to be noticed while the store takes requests, and hands on what else it says", async () => {
  const { inbox, spool } = await openScene("well");
  const [one, bad] = [request(), request()];
  expect(await spool.acceptRequest(one)).toEqual({ kind: "accepted", ids: one.ids, conflict: false });
  inbox.poison.add(bad.ids[0] ?? "");
  await expect(spool.acceptRequest(bad)).rejects.toThrow("invalid byte");
  expect(spool.view().bytes).toBe(0);
  expect(spool.lines).toEqual([]);
});

it("a spool before a store keeps what the store does not take, with what comes behind it, and hands all over in order", async () => {
  const { inbox, clock, spool, accept, isEmpty } = await openScene();
  const ids: (string | undefined)[] = [];
  for (let count = 0; count < 300; count += 1) ids.push(await accept());
  expect(spool.view()).toMatchObject({ alerts: 300, oldestAt: expect.any(Number), problem: undefined, stuck: 0 });
  expect(inbox.ids()).toEqual([]);
  inbox.become("well");
  // The store takes requests again, and this one waits behind those that are on disk.
  ids.push(await accept());
  await clock.advance(2_000);
  await isEmpty();
  expect(inbox.ids()).toEqual(ids);
  const behind = await accept();
  expect(inbox.ids().at(-1)).toBe(behind);
  expect(spool.lines).toEqual(["spool.begun", "spool.handed_over"]);
  await expect.poll(() => spool.view().bytes).toBe(0);
});

it("a spool before a store answers whoever waits too long for the store, and stores that once", async () => {
  const { inbox, clock, spool, accept, isEmpty } = await openScene("silent", { spoolAfterMs: 3_000 });
  const answered = vi.fn();
  const asked = accept().finally(answered);
  await clock.advance(2_900);
  expect(answered).not.toHaveBeenCalled();
  await clock.advance(200);
  const ids = [await asked, await accept()];
  expect(spool.waiting()).toBe(2);
  inbox.become("well");
  await clock.advance(2_000);
  await isEmpty();
  expect(inbox.ids()).toEqual(ids);
  // Once more when the first try had ended just before: the store knows the ids.
  expect(inbox.asked()).toBeLessThanOrEqual(3);
});

it("a spool before a store hands over what an earlier process has left, which had the folder", async () => {
  const { inbox, spool: killed } = await openScene("away", { clock: systemClock });
  const sent = [request(), request({ ids: [newId(), newId()] })];
  for (const one of sent) await killed.acceptRequest(one);
  await killed.end();
  expect(killed.lines).toContain("spool.left");
  inbox.become("well");
  const next = await openTestSpool({ inbox, dir: killed.dir });
  await expect.poll(next.waiting).toBe(0);
  expect(inbox.ids()).toEqual(sent.map(({ ids }) => ids[0]));
  expect(next.lines).toEqual(["spool.found", "spool.handed_over"]);
});

it("a spool before a store knows a resend by its key while the first waits, by its bytes, and hands both over to be counted", async () => {
  const { spool } = await openScene();
  const one = await spool.acceptRequest(request({ dedupeKey: "k" }));
  expect(await spool.acceptRequest(request({ dedupeKey: "k" }))).toEqual({ kind: "duplicate", ids: one.ids });
  const late = { receivedAt: request().receivedAt + 25 * 3_600_000 };
  for (const changes of [{ body: Buffer.from("other") }, late]) {
    const other = request({ dedupeKey: "k", ...changes });
    expect(await spool.acceptRequest(other)).toMatchObject({ kind: "accepted", ids: other.ids });
  }
  expect(spool.waiting()).toBe(4);
});

it("a spool before a store lets nothing wait behind what the store refuses for what it is, and tries that again", async () => {
  const { inbox, clock, spool, accept, isEmpty } = await openScene();
  const [one, bad = "", other] = [await accept(), await accept(), await accept()];
  inbox.poison.add(bad);
  inbox.become("well");
  await clock.advance(2_000);
  await expect.poll(spool.waiting).toBe(1);
  expect(spool.view().stuck).toBe(1);
  expect(spool.lines).toEqual(["spool.begun", "spool.stuck"]);
  const direct = await accept();
  expect(inbox.ids()).toEqual([one, other, direct]);
  inbox.poison.clear();
  await clock.advance(61_000);
  await isEmpty();
  expect(inbox.ids()).toContain(bad);
});

it("a spool before a store says what it cannot read back, and asks the store again once the rest is handed over", async () => {
  const { inbox, clock, spool, accept, isEmpty } = await openScene();
  const ids = [await accept(), await accept(), await accept({ ids: [newId(), newId()] })];
  const path = join(spool.dir, "spool.db");
  changeBody(path, ids[2]);
  inbox.become("well");
  await clock.advance(10_000);
  await isEmpty();
  expect(inbox.ids()).toEqual(ids.slice(0, 2));
  expect(spool.view()).toMatchObject({ alerts: 0, since: undefined, oldestAt: undefined, unreadable: 2 });
  await expect.poll(() => spool.view().damagedFiles).toEqual([expect.stringContaining(`${path}.before-damage-`)]);
  expect(spool.lines).toEqual(["spool.begun", "spool.unreadable", "spool.handed_over"]);
  const asked = inbox.asked();
  const next = await accept();
  expect([inbox.asked() - asked, spool.view().bytes]).toEqual([1, 0]);
  expect(inbox.ids().at(-1)).toBe(next);
  // What waits from now on lies in another file.
  inbox.become("away");
  const behind = await accept();
  inbox.become("well");
  await clock.advance(2_000);
  await isEmpty();
  expect(inbox.ids().at(-1)).toBe(behind);
});

it("a spool before a store refuses what neither the store nor the disk takes, and says so once", async () => {
  const refusedFor: string[] = [];
  const onRefused = ({ message }: AppError) => void refusedFor.push(message);
  const options = { maxBytes: 60_000, onRefused, clock: systemClock };
  const { inbox, spool, accept, isEmpty } = await openScene("away", options);
  const refusals: AppError[] = [];
  for (let count = 0; count < 5; count += 1)
    await accept({ body: Buffer.alloc(30_000) }).catch((error: AppError) => refusals.push(error));
  expect(refusals.at(-1)).toMatchObject({ code: "store_unavailable", message: expect.stringContaining("is full") });
  expect(spool.view()).toMatchObject({ alerts: 1, problem: expect.stringContaining("is full") });
  expect(spool.lines).toEqual(["spool.begun", "spool.refuses"]);
  // The log sums up the refusals that have one of these reasons.
  expect(refusals.map(({ message }) => message)).toEqual(refusedFor);
  expect(refusals).toHaveLength(4);
  inbox.become("well");
  await isEmpty();
  await accept();
  expect(inbox.ids()).toHaveLength(2);
  inbox.become("away");
  await accept({ body: Buffer.alloc(30_000) });
  expect(spool.view()).toMatchObject({ alerts: 1, problem: undefined });
});
