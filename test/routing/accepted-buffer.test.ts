import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import type { IncomingRequest } from "../../src/core/ports/inbox.ts";
import type { UnroutedRequest } from "../../src/core/ports/routing-desk.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { createAcceptedBuffer } from "../../src/routing/accepted-buffer.ts";
import { createLocalReader, createMemoryJournal } from "../support/reader.ts";
import { factsOf, startLoop } from "./loop-fixture.ts";

const incoming = (body: Uint8Array, count = 1): IncomingRequest => ({
  receivedAt: 1,
  headers: "[]",
  body,
  ids: Array.from({ length: count }, (_, index) => `id ${index}`),
  origin: "hook",
  dedupeWindowMs: 1,
});

function fill(options: Parameters<typeof createAcceptedBuffer>[0], sizes: number[]) {
  const buffer = createAcceptedBuffer(options);
  sizes.forEach((size, index) => {
    buffer.add(incoming(new Uint8Array(size)), {
      kind: "accepted",
      ids: ["id"],
      conflict: false,
      firstSeq: 11 + index,
    });
  });
  return buffer;
}

const seqsOf = (requests: UnroutedRequest[] | undefined) =>
  requests?.flatMap(({ alerts }) => alerts.map(({ seq }) => seq));

it("gives what came behind a position, whole requests, and says when something before it may be missing", () => {
  const buffer = fill({}, [1, 1, 1]);
  buffer.add(incoming(new Uint8Array(1), 3), { kind: "accepted", ids: [], conflict: false, firstSeq: 14 });
  expect(buffer.take(1, 9)).toBeUndefined();
  expect(seqsOf(buffer.take(1, 10))).toEqual([11]);
  expect(seqsOf(buffer.take(2, 12))).toEqual([13, 14, 15, 16]);
  expect(buffer.take(2, 16)).toEqual([]);
  expect(buffer.take(2, 12)).toBeUndefined();
});

it("follows over positions that are no alert of the hook", () => {
  const buffer = fill({}, [1]);
  expect(seqsOf(buffer.take(9, 10))).toEqual([11]);
  buffer.add(incoming(new Uint8Array(1)), { kind: "accepted", ids: [], conflict: false, firstSeq: 13 });
  expect(seqsOf(buffer.take(9, 11))).toEqual([13]);
});

it("keeps no duplicate, and knows nothing where positions do not follow each other", () => {
  const buffer = fill({}, [1]);
  buffer.add(incoming(new Uint8Array(1)), { kind: "duplicate", ids: ["id"] });
  expect(seqsOf(buffer.take(9, 10))).toEqual([11]);
  buffer.add(incoming(new Uint8Array(1)), { kind: "accepted", ids: ["id"], conflict: false });
  expect(buffer.take(9, 11)).toBeUndefined();
});

it("keeps nothing that was routed as it was accepted", () => {
  const buffer = fill({}, [1]);
  const routed = { alertSeq: 12, deliveries: [] };
  const accepted = { kind: "accepted", ids: ["id"], conflict: false, firstSeq: 12 } as const;
  buffer.add(incoming(new Uint8Array(1)), { ...accepted, ids: ["id"], recorded: [routed] });
  expect(seqsOf(buffer.take(9, 10))).toEqual([11]);
});

it.each([
  ["requests", { maxRequests: 2 }, [1, 1, 1]],
  ["bytes", { maxBytes: 10 }, [5, 5, 5]],
])("gives up the oldest when there are too many %s", (_, options, sizes) => {
  const buffer = fill(options, sizes);
  expect(buffer.take(9, 10)).toBeUndefined();
  expect(seqsOf(buffer.take(9, 11))).toEqual([12, 13]);
});

it("counts the block that a body keeps alive, and holds none that is larger than all its room", () => {
  const buffer = createAcceptedBuffer({ maxBytes: 100 });
  const window = new Uint8Array(new ArrayBuffer(101), 0, 1);
  buffer.add(incoming(window), { kind: "accepted", ids: ["id"], conflict: false, firstSeq: 1 });
  expect(buffer.take(9, 0)).toBeUndefined();
  expect(buffer.take(9, 1)).toEqual([]);
});

/** A loop with what it listed, read and recorded, in order. */
async function startWatched(options: Parameters<typeof startLoop>[0] = {}) {
  const lists: number[] = [];
  const recorded: number[] = [];
  const read: string[] = [];
  const loop = await startLoop({
    reader: createLocalReader((body) => {
      read.push(Buffer.from(body).toString());
      return [{ facts: factsOf(read.at(-1) ?? "") }];
    }),
    ...options,
    wrap: (store): Store => ({
      ...store,
      async listUnrouted(...args) {
        const listed = await store.listUnrouted(...args);
        lists.push(listed.length);
        return listed;
      },
      async recordRouting(records) {
        recorded.push(...records.map(({ alertSeq }) => alertSeq));
        return store.recordRouting(records);
      },
    }),
  });
  return { ...loop, lists, recorded, read };
}

async function acceptAll(accept: (body: string) => Promise<unknown>, count: number): Promise<void> {
  for (const index of upTo(count)) await accept(`alert ${index}`);
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

it("routes a lone alert without a look into the store", async () => {
  const { accept, clock, lists, store } = await startWatched();
  await accept("the first");
  await clock.advance(500);
  const before = lists.length;
  const [id = ""] = await accept("alone");
  await clock.settle();
  expect((await store.getAlert(id))?.routedAt).toBeDefined();
  expect(lists.length).toBe(before);
});

it("routes what came before the start, what did not fit, and what came since, each once and in order", async () => {
  const { accept, clock, recorded, read, store } = await startWatched({
    maxRequests: 30,
    async before(_, accept) {
      for (const index of upTo(250)) await accept(`before ${index}`);
    },
  });
  for (const index of upTo(250)) await accept(`since ${index}`);
  await clock.advance(5_000);
  expect(recorded).toEqual(upTo(500));
  expect(read).toHaveLength(500);
  expect((await store.health()).unrouted).toBe(0);
});

it("finds in a second, in an endless stream too, what it passed by, and what has failed", async () => {
  let passedBy: number | undefined;
  let broken = true;
  const titles: string[] = [];
  const loop = await startLoop({
    reader: createLocalReader((body) => {
      const title = Buffer.from(body).toString();
      if (title === "fails once" && broken) throw new Error("a bad moment");
      titles.push(title);
      return [{ facts: factsOf(title) }];
    }),
    wrap: (store) => ({
      ...store,
      async recordRouting(records) {
        const kept = records.filter(({ facts }) => facts.title !== "passed by" || passedBy !== undefined);
        if (kept.length < records.length) passedBy = records.find(({ facts }) => facts.title === "passed by")?.alertSeq;
        return store.recordRouting(kept);
      },
    }),
  });
  const { accept, clock, store } = loop;
  const [failing = ""] = await accept("fails once");
  const [missed = ""] = await accept("passed by");
  for (let ms = 0; ms < 9_000; ms += 400) {
    await accept("stream");
    await clock.advance(400);
    broken = false;
  }
  expect((await store.getAlert(failing))?.routedAt).toBeDefined();
  expect((await store.getAlert(missed))?.routedAt).toBeDefined();
});

it("begins with the oldest again while the store is away, so that nothing overtakes it, and notes all that it reads", async () => {
  let away = true;
  const routed: number[] = [];
  const journal = createMemoryJournal();
  const { clock } = await startLoop({
    journal,
    before: (_, accept) => acceptAll(accept, 350),
    wrap: (real) => ({
      ...real,
      async recordRouting(records) {
        // Nothing is read ahead before the first round is over.
        if (away && routed.length > 0) throw new AppError("store_unavailable", "the disk is full");
        routed.push(...records.map(({ alertSeq }) => alertSeq));
        return real.recordRouting(records);
      },
    }),
  });
  await clock.advance(100);
  expect(journal.notes).toContainEqual(upTo(100));
  expect(journal.notes).toContainEqual(upTo(300).slice(100));
  expect(journal.notes.at(-1)).toEqual([]);
  away = false;
  await clock.advance(5_000);
  expect(routed).toEqual(upTo(350));
  expect(journal.notes.at(-1)).toEqual([]);
});

it("looks for what it passed by while full batches come without end", async () => {
  const routed: number[] = [];
  const loop = await startLoop({
    before: (_, accept) => acceptAll(accept, 300),
    wrap: (real) => ({
      ...real,
      async recordRouting(records) {
        const kept = routed.length === 0 ? records.filter(({ alertSeq }) => alertSeq !== 7) : records;
        routed.push(...kept.map(({ alertSeq }) => alertSeq));
        if (routed.length < 1_200) {
          loop.shift(300);
          await acceptAll(loop.accept, 100);
        }
        return real.recordRouting(kept);
      },
    }),
  });
  await loop.clock.advance(5_000);
  expect(routed.toSorted((one, other) => one - other)).toEqual(upTo(routed.length));
  expect(routed.indexOf(7)).toBeLessThan(1_000);
});

it("leaves no note of what it read ahead when it is stopped", async () => {
  const journal = createMemoryJournal();
  let stopped: Promise<void> | undefined;
  const loop = await startLoop({
    journal,
    before: (_, accept) => acceptAll(accept, 350),
    wrap: (real) => ({
      ...real,
      async recordRouting(records) {
        if (records[0]?.alertSeq !== 1) stopped ??= loop.stop();
        return real.recordRouting(records);
      },
    }),
  });
  await loop.clock.settle();
  await stopped;
  expect(journal.notes).toContainEqual(upTo(300).slice(100));
  expect(journal.notes.at(-1)).toEqual([]);
});

it("leaves no note of what has failed when its failure could not be stored at once", async () => {
  const journal = createMemoryJournal();
  let away = true;
  const { accept, clock } = await startLoop({
    journal,
    reader: createLocalReader((body) => {
      if (Buffer.from(body).toString() === "bad") throw new Error("a bad moment");
      return [{ facts: factsOf("good") }];
    }),
    wrap: (real) => ({
      ...real,
      async recordRoutingFailure(...args) {
        if (away) throw new AppError("store_unavailable", "the disk is full");
        return real.recordRoutingFailure(...args);
      },
    }),
  });
  await accept("bad");
  await clock.advance(100);
  away = false;
  await clock.advance(10_000);
  expect(journal.notes.at(-1)).toEqual([]);
});
