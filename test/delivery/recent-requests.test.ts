import { expect, it } from "vitest";
import type { IncomingRequest } from "../../src/core/ports/inbox.ts";
import { createRecentRequests } from "../../src/delivery/memory/recent-requests.ts";

function open(mostBytes?: number) {
  const asked: number[][] = [];
  const recent = createRecentRequests(
    {
      async findRequests(seqs) {
        asked.push(seqs);
        return [];
      },
    },
    mostBytes,
  );
  const add = (firstSeq: number | undefined, bytes: number, alerts = 1) => {
    const request: IncomingRequest = {
      receivedAt: 1,
      contentType: "application/json",
      headers: "[]",
      body: new Uint8Array(bytes).fill(firstSeq ?? 0),
      ids: Array.from({ length: alerts }, (_, index) => `id ${index}`),
      origin: "hook",
      dedupeWindowMs: 1,
    };
    recent.add(request, { kind: "accepted", ids: request.ids, conflict: false, firstSeq });
    return request;
  };
  return { recent, add, asked };
}

it("gives what was accepted last without the store, each request once, in the order of the alerts", async () => {
  const { recent, add, asked } = open();
  const [one, batch] = [add(5, 10), add(6, 20, 3)];
  expect(await recent.findRequests([8, 5, 6], 1_000)).toEqual([
    {
      contentType: "application/json",
      body: batch.body,
      alerts: [
        { seq: 8, item: 2 },
        { seq: 6, item: 0 },
      ],
    },
    { contentType: "application/json", body: one.body, alerts: [{ seq: 5, item: 0 }] },
  ]);
  expect(asked).toEqual([]);
});

it("keeps to the bound of the caller as the store does: the first whatever its size", async () => {
  const { recent, add } = open();
  add(1, 100);
  add(2, 100);
  expect(await recent.findRequests([1, 2], 50)).toHaveLength(1);
  expect(await recent.findRequests([1, 2], 200)).toHaveLength(2);
});

it("asks the store for all when one of them is not here", async () => {
  const { recent, add, asked } = open();
  add(2, 10);
  await recent.findRequests([2, 1], 1_000);
  expect(asked).toEqual([[2, 1]]);
});

it("gives up the oldest for the newest, by the blocks that bodies keep alive", async () => {
  const { recent, add, asked } = open(100);
  add(1, 60);
  add(2, 60);
  await recent.findRequests([2], 1_000);
  expect(asked).toEqual([]);
  await recent.findRequests([1], 1_000);
  expect(asked).toEqual([[1]]);
  // Three alerts of one body of 60 bytes count as 180: more than there is room for.
  add(3, 60, 3);
  await recent.findRequests([3], 1_000);
  await recent.findRequests([2], 1_000);
  expect(asked).toEqual([[1], [3], [2]]);
});

it("keeps nothing of a duplicate, nor where positions are not known", async () => {
  const { recent, add, asked } = open();
  const request = add(undefined, 10);
  recent.add(request, { kind: "duplicate", ids: ["id 0"] });
  await recent.findRequests([0], 1_000);
  expect(asked).toEqual([[0]]);
});
