import { expect, it } from "vitest";
import { createFairTurns } from "../../src/ground/fair-turns.ts";

/** Work that ends when the test says so; `begun` has the names of what began, in order. */
function open() {
  const take = createFairTurns({ atOnce: 2, mostOfOne: 10 });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (party: string, name: string, size = 1) =>
    take(party, size, () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { take, begun, start, end };
}

it("gives each party one turn at a time, and the next to who had none for longest", async () => {
  const { begun, start, end } = open();
  for (const name of ["a1", "a2", "a3"]) void start("a", name);
  await new Promise(setImmediate);
  expect(begun).toEqual(["a1"]);
  for (const name of ["b1", "b2"]) void start("b", name);
  void start("c", "c1");
  await end("a1");
  expect(begun).toEqual(["a1", "b1", "c1"]);
  await end("c1");
  await end("b1");
  expect(begun).toEqual(["a1", "b1", "c1", "a2", "b2"]);
  for (const name of ["a2", "b2", "a3"]) await end(name);
  expect(begun).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

it("takes no more of one party than it may have waiting, and one piece of any size", async () => {
  const { start, end } = open();
  const first = start("a", "a1", 11);
  await new Promise(setImmediate);
  expect(start("a", "a2")).toBeUndefined();
  const other = start("b", "b1", 9);
  await new Promise(setImmediate);
  await end("a1");
  expect(await first).toBe("a1");
  expect(start("a", "a3")).toBeInstanceOf(Promise);
  await end("b1");
  expect(await other).toBe("b1");
});

it("goes on behind work that fails", async () => {
  const { take, begun, start } = open();
  await expect(take("a", 1, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  void start("a", "a1");
  await new Promise(setImmediate);
  expect(begun).toEqual(["a1"]);
});
