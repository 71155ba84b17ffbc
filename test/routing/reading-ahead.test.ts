import { expect, it } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { createLocalReader, createMemoryJournal } from "../support/reader.ts";
import { factsOf, startLoop } from "./loop-fixture.ts";

async function acceptAll(accept: (body: string) => Promise<unknown>, count: number): Promise<void> {
  for (const index of upTo(count)) await accept(`alert ${index}`);
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

it("routes what came before the start and what came since, each once and in order", async () => {
  const recorded: number[] = [];
  const read: string[] = [];
  const { accept, clock, store } = await startLoop({
    reader: createLocalReader((body) => {
      read.push(Buffer.from(body).toString());
      return [{ facts: factsOf(read.at(-1) ?? "") }];
    }),
    before: (_, accept) => acceptAll(accept, 250),
    async recording(records, record) {
      recorded.push(...records.map(({ alertSeq }) => alertSeq));
      return record(records);
    },
  });
  await acceptAll(accept, 250);
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
    async recording(records, record) {
      const kept = records.filter(({ facts }) => facts.title !== "passed by" || passedBy !== undefined);
      if (kept.length < records.length) passedBy = records.find(({ facts }) => facts.title === "passed by")?.alertSeq;
      return record(kept);
    },
  });
  const { accept, isRouted, send } = loop;
  const [failing = ""] = await accept("fails once");
  const [missed = ""] = await accept("passed by");
  for (let ms = 0; ms < 9_000; ms += 400) {
    await send("stream", 400);
    broken = false;
  }
  expect([await isRouted(failing), await isRouted(missed)]).toEqual([true, true]);
});

it("begins with the oldest again while the store is away, so that nothing overtakes it, and notes all that it reads", async () => {
  let away = true;
  const routed: number[] = [];
  const journal = createMemoryJournal();
  const { clock } = await startLoop({
    journal,
    before: (_, accept) => acceptAll(accept, 350),
    async recording(records, record) {
      // Nothing is read ahead before the first round is over.
      if (away && routed.length > 0) throw new AppError("store_unavailable", "the disk is full");
      routed.push(...records.map(({ alertSeq }) => alertSeq));
      return record(records);
    },
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
    async recording(records, record) {
      const kept = routed.length === 0 ? records.filter(({ alertSeq }) => alertSeq !== 7) : records;
      routed.push(...kept.map(({ alertSeq }) => alertSeq));
      if (routed.length < 1_200) {
        loop.shift(300);
        await acceptAll(loop.accept, 100);
      }
      return record(kept);
    },
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
    async recording(records, record) {
      if (records[0]?.alertSeq !== 1) stopped ??= loop.stop();
      return record(records);
    },
  });
  await loop.clock.settle();
  await stopped;
  expect(journal.notes).toContainEqual(upTo(300).slice(100));
  expect(journal.notes.at(-1)).toEqual([]);
});

it("leaves no note of what has failed when its failure could not be stored at once", async () => {
  const journal = createMemoryJournal();
  let away = true;
  const { clock, send } = await startLoop({
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
  await send("bad", 100);
  away = false;
  await clock.advance(10_000);
  expect(journal.notes.at(-1)).toEqual([]);
});
