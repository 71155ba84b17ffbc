import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Batching, createBatching } from "../../src/store/batching.ts";

/** A thread that answers when the test says so. */
function createScene(cores: number, mostPerBatch = 1_000, waitsForOthers = false) {
  const sent: number[][] = [];
  const answers: (() => void)[] = [];
  const batching: Batching<number> = createBatching({
    cores,
    waitsForOthers,
    sizeOf: (waiting) => Math.min(waiting.length, mostPerBatch),
    send: (batch, answered) => {
      sent.push(batch);
      return new Promise((resolve) => {
        answers.push(() => {
          answered();
          resolve();
        });
      });
    },
  });
  let added = 0;
  return {
    batching,
    sizes: () => sent.map((batch) => batch.length),
    order: () => sent.flat(),
    add(count: number) {
      for (let index = 0; index < count; index += 1) {
        batching.add(added);
        added += 1;
      }
    },
    answer: () => answers.shift()?.(),
    async someTurns() {
      for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    },
  };
}

describe("calls on their way to the thread", () => {
  it("leave at once when nothing is under way, and together when something is", async () => {
    const { add, answer, sizes, someTurns } = createScene(1);
    add(1);
    expect(sizes()).toEqual([1]);
    add(3);
    expect(sizes()).toEqual([1]);
    answer();
    await someTurns();
    expect(sizes()).toEqual([1, 3]);
    answer();
    await someTurns();
    add(1);
    expect(sizes()).toEqual([1, 3, 1]);
  });

  it("leave together where they are made in one go, if they are to wait for each other", async () => {
    const { batching, add, answer, sizes, order, someTurns } = createScene(1, 1_000, true);
    add(2);
    add(1);
    expect(sizes()).toEqual([]);
    await someTurns();
    expect(sizes()).toEqual([3]);
    add(1);
    answer();
    add(1);
    await someTurns();
    expect(sizes()).toEqual([3, 2]);
    answer();
    await someTurns();
    add(1);
    void batching.settled();
    await someTurns();
    expect(sizes()).toEqual([3, 2, 1]);
    expect(order()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it("let those join behind a batch that come in the same moment, while they are few", async () => {
    const { add, answer, sizes, someTurns } = createScene(1);
    add(1);
    add(2);
    answer();
    add(2);
    await someTurns();
    expect(sizes()).toEqual([1, 4]);
    add(20);
    answer();
    expect(sizes()).toEqual([1, 4, 20]);
  });

  it("are handed over one batch ahead when the thread has a core of its own, and never by twos and threes", () => {
    const { add, answer, sizes } = createScene(2);
    add(1);
    add(7);
    expect(sizes()).toEqual([1]);
    add(1);
    expect(sizes()).toEqual([1, 8]);
    add(100);
    expect(sizes()).toEqual([1, 8]);
    answer();
    expect(sizes()).toEqual([1, 8, 100]);
    answer();
    add(40);
    expect(sizes()).toEqual([1, 8, 100]);
    add(20);
    expect(sizes()).toEqual([1, 8, 100, 49]);
  });

  it("are not handed over ahead on a single core, where the batches would only become smaller", () => {
    const { add, sizes } = createScene(1);
    add(1);
    add(500);
    expect(sizes()).toEqual([1]);
  });

  it("are handed over ahead when they fill a batch, however many more there were before, and though nothing new comes", () => {
    const { add, answer, sizes } = createScene(2, 100);
    add(2_000);
    expect(sizes()).toEqual([1, 8]);
    for (let batch = 3; batch <= 20; batch += 1) {
      answer();
      expect(sizes()).toHaveLength(batch);
    }
  });

  it.each([1, 2])("keep their order and are all sent, with %i cores", async (cores) => {
    const { add, answer, batching, order, someTurns } = createScene(cores, 30);
    for (let round = 0; round < 200; round += 1) {
      add((round * 7) % 23);
      if (round % 3 === 0) answer();
      if (round % 5 === 0) await someTurns();
    }
    let isSettled = false;
    const settled = batching.settled().then(() => {
      isSettled = true;
    });
    for (let round = 0; round < 200 && !isSettled; round += 1) {
      answer();
      await someTurns();
    }
    await settled;
    expect(order()).toEqual(order().map((_, index) => index));
    expect(order()).toHaveLength(Array.from({ length: 200 }, (_, r) => (r * 7) % 23).reduce((a, b) => a + b));
  });
});
