import { expect, it } from "vitest";
import { type PositionReader, type Row, rescueByPosition } from "../../src/store/sqlite/rescue-rows.ts";

it("reads a page from below too, where a damaged cell hides those behind it", () => {
  const positions = [1, 2, 3, 4, 5, 6];
  const refuse = (): never => {
    throw new Error("database disk image is malformed");
  };
  function* walk(order: number[]): Generator<Row> {
    for (const position of order) yield position === 3 ? refuse() : [position];
  }
  const behind = (after: number) => (after === 3 ? refuse() : walk(positions.filter((one) => one > after)));
  const reader = {
    behind: { iterate: behind, get: (after: number) => behind(after).next().value },
    downwards: {
      iterate: (after: number, upTo: number) =>
        walk(positions.filter((one) => one > after && one <= upTo).toReversed()),
    },
    at: { get: (position: number) => (position === 3 || position === 4 ? refuse() : [position]) },
  } as unknown as PositionReader;
  const taken: Row[] = [];
  const unread = rescueByPosition(reader, (row) => taken.push(row));
  expect(taken.flat()).toEqual([1, 2, 4, 5, 6]);
  expect(unread).toEqual([{ after: 2, before: 4 }]);
});

it("says what is missing where a damaged position has moved a row to a free one", () => {
  const stored = [1, 2, 9_000, 4, 5, 1, 7, 8];
  const reader = { behind: { iterate: () => stored.map((position) => [position])[Symbol.iterator]() } };
  const taken: Row[] = [];
  const unread = rescueByPosition(reader as unknown as PositionReader, (row) => taken.push(row));
  expect(taken.flat()).toEqual([1, 2, 4, 5, 7, 8, 9_000, 1]);
  expect(unread).toEqual([
    { after: 2, before: 4 },
    { after: 5, before: 7 },
  ]);
});
