import { expect, it } from "vitest";
import { type BodyPlace, BodyRoom } from "../../../src/ground/net/body-room.ts";
import { GatheredBody } from "../../../src/ground/net/gathered-body.ts";

const mib = 1024 * 1024;
const kib = 1024;

function openRoom({ all = 20 * mib, large = 16 * mib } = {}) {
  const room = new BodyRoom({ all, large });
  const ended: string[] = [];
  return {
    room,
    ended,
    /** A body that has begun, and holds so much of it if it may. */
    begin(name: string, bytes: number, { to = "account", from = "one" } = {}): BodyPlace {
      const place = room.enter({ to, network: () => from });
      place.onEnded = () => void ended.push(name);
      expect(room.grow(place, bytes), name).toBe(true);
      return place;
    },
    mayBegin: (bytes: number) => room.grow(room.enter({ to: "account", network: () => "one" }), bytes),
  };
}

it("ends the body that is longest under way where all come from one address to one hook", () => {
  const { begin, ended } = openRoom();
  for (let index = 0; index < 20; index += 1) begin(`${index}`, mib);
  expect(ended).toEqual(["0", "1", "2", "3", "4"].slice(0, ended.length));
  expect(ended.length).toBeGreaterThanOrEqual(4);
});

it("ends bodies for a hook that holds too much before older ones for another, from however many addresses", () => {
  const { begin, ended } = openRoom();
  begin("slow but honest", mib);
  for (let index = 0; index < 40; index += 1)
    begin(`stalled ${index}`, mib, { to: "source", from: `address ${index}` });
  expect(ended).not.toContain("slow but honest");
  // As many as there was no room for, and some room to spare.
  expect(ended.length).toBeGreaterThanOrEqual(25);
  expect(ended.length).toBeLessThan(28);
});

it("ends bodies from an address that holds too much before older ones from another to the same hook", () => {
  const { begin, ended } = openRoom();
  begin("slow but honest", mib, { from: "elsewhere" });
  for (let index = 0; index < 40; index += 1) begin(`stalled ${index}`, mib);
  expect(ended).not.toContain("slow but honest");
});

it("lets one sender have all room while nobody else needs it", () => {
  const { begin, ended } = openRoom();
  for (let index = 0; index < 16; index += 1) begin(`${index}`, mib);
  expect(ended).toEqual([]);
});

it("keeps room that large bodies cannot take, and ends none for a small one in it", () => {
  const { room, begin, mayBegin, ended } = openRoom();
  for (let index = 0; index < 16; index += 1) room.finish(begin(`stored ${index}`, mib));
  expect(mayBegin(mib)).toBe(false);
  for (let index = 0; index < 64; index += 1) room.finish(begin(`small ${index}`, 64 * kib));
  expect(mayBegin(64 * kib)).toBe(false);
  expect(ended).toEqual([]);
});

it("ends tiny bodies where they hold the room, and no more than that takes", () => {
  const { begin, ended } = openRoom();
  for (let index = 0; index < 5_120; index += 1) begin("tiny", 1, { from: `address ${index}` });
  expect(ended).toEqual([]);
  begin("small", 30 * kib);
  expect(ended.length).toBeGreaterThanOrEqual(7);
  expect(ended.length).toBeLessThan(200);
});

it("counts a body without a length as small for as long as what came of it is", () => {
  const body = new GatheredBody(mib);
  const sizes = [20_000, 20_000, 20_000, 20_000].map((bytes) => {
    const size = body.sizeWith(Buffer.alloc(bytes));
    body.add(Buffer.alloc(bytes));
    return size;
  });
  expect(sizes).toEqual([20_000, 64 * kib, 64 * kib, 160_000]);
});

it("ends requests that send nothing but a head, by what it takes", () => {
  const { room, ended, begin } = openRoom();
  for (let index = 0; index < 400; index += 1) {
    const rawHeaders = Array.from({ length: 1_000 }, () => "x".repeat(16));
    const place = room.enter({ to: "account", network: () => "one" }, { url: "/login", rawHeaders });
    place.onEnded = () => void ended.push("silent");
    expect(room.grow(place, 0)).toBe(true);
  }
  // 20 MiB hold 218 of 96,006 bytes.
  expect(ended.length).toBeGreaterThanOrEqual(182);
  expect(ended.length).toBeLessThan(190);
  room.finish(begin("large", mib));
  expect(new Set(ended)).toEqual(new Set(["silent"]));
});

it("never ends a body that came whole, and gives its room back when it was processed", () => {
  const { room, begin, mayBegin, ended } = openRoom({ all: 5 * mib, large: 4 * mib });
  const whole = [0, 1, 2, 3].map((index) => begin(`${index}`, mib));
  for (const place of whole) room.finish(place);
  expect(mayBegin(mib)).toBe(false);
  expect(ended).toEqual([]);
  for (const place of whole) room.leave(place);
  expect(mayBegin(mib)).toBe(true);
});
