import { expect, it } from "vitest";
import { silentLog } from "../../src/core/log.ts";
import { createPictureNotes } from "../../src/operations/picture-notes.ts";
import { keepStates } from "../support/kept-states.ts";
import { runDuty } from "../support/run-duty.ts";
import { createTestClock, minute } from "../support/test-clock.ts";

const joined = (id: string, destination = "desk") => ({ destination, id });

function open({
  kept = new Map<string, unknown>(),
  clock = createTestClock(),
  destinations = ["desk", "phone"],
  isShared = false,
} = {}) {
  const { store, writes, behaviour: state } = keepStates({ clock, kept });
  const notes = createPictureNotes({ store, isShared, destinations, clock, log: silentLog });
  const end = runDuty(notes);
  return { ...notes, clock, kept, writes, state, end };
}

it("what became of pictures is known after a restart, and what came before the store was read as well", async () => {
  const first = open();
  await first.clock.settle();
  first.note(joined("a"), { result: "joined", afterMs: 1_300 });
  first.note(joined("b", "phone"), { result: "refused", reason: "no pictures here" });
  await first.clock.advance(minute);
  first.note(joined("c"), { result: "late" });
  await first.end();
  await first.save();

  const second = open({ kept: first.kept, clock: first.clock });
  second.note(joined("d"), { result: "stopped" });
  await second.clock.settle();
  expect(["a", "c", "d"].map((id) => second.find(joined(id))?.result)).toEqual(["joined", "late", "stopped"]);
  expect(second.find(joined("b", "phone"))).toEqual({ result: "refused", reason: "no pictures here" });
  expect(second.find(joined("b"))).toBeUndefined();
  expect(second.counts()).toMatchObject({ joined: 0, stopped: 1 });
});

it("what became of pictures is written once a minute at most, for the destinations of which something is new", async () => {
  const { note, clock, writes } = open();
  await clock.settle();
  expect(writes).toEqual([]);
  for (let n = 0; n < 500; n += 1) note(joined(String(n)), { result: "joined" });
  await clock.advance(minute);
  expect(writes).toEqual(["pictures:desk"]);
  await clock.advance(10 * minute);
  expect(writes).toHaveLength(1);
});

it("what became of pictures is written when the store takes it again, and costs nothing meanwhile", async () => {
  const { note, clock, writes, state } = open();
  state.isFailing = true;
  note(joined("a"), { result: "joined" });
  await clock.advance(2 * minute);
  state.isFailing = false;
  await clock.advance(minute);
  expect(writes).toEqual(["pictures:desk"]);
});

it("what became of pictures is kept of the latest 200 of each destination, and of no other", async () => {
  const { note, find } = open();
  for (let n = 0; n < 201; n += 1) note(joined(String(n)), { result: "joined", afterMs: n });
  note(joined("x", "gone"), { result: "joined" });
  expect(["0", "1", "200"].map((id) => find(joined(id))?.afterMs)).toEqual([undefined, 1, 200]);
  expect(find(joined("x", "gone"))).toBeUndefined();
});

it("what became of pictures is, of an address, how often it was fetched, and how long after it was given", async () => {
  const { noteLinked, noteFetched, find, counts, ofDelivery, clock } = open();
  const message = joined("alert", "phone");
  noteLinked(message);
  expect(find(message)).toEqual({ result: "linked" });
  await clock.advance(2_000);
  noteFetched(message);
  // It was written again for a second try.
  noteLinked(message);
  await clock.advance(9_000);
  noteFetched(message);
  expect(find(message)).toEqual({ result: "fetched", times: 2, afterMs: 2_000 });
  expect(counts()).toMatchObject({ linked: 1, fetched: 1 });
  noteFetched(joined("before", "phone"));
  expect(find(joined("before", "phone"))).toEqual({ result: "fetched", times: 1 });
  const delivery = { id: "delivery", destination: "phone", state: "sent" as const };
  expect(ofDelivery(delivery, "alert")).toMatchObject({ times: 2 });
  expect(ofDelivery({ ...delivery, state: "failed" }, "alert")).toBeUndefined();
  expect(ofDelivery({ ...delivery, destination: "desk" }, "alert")).toBeUndefined();
});

it("what became of pictures is known to all relays, whichever has noted it, and each fetch of an address counts once", async () => {
  const clock = createTestClock();
  const kept = new Map<string, unknown>();
  const [one, two] = [open({ clock, kept, isShared: true }), open({ clock, kept, isShared: true })];
  await clock.settle();
  // So long that the other reads the same meanwhile.
  for (const { state } of [one, two]) state.readingTakesMs = 1;
  one.note(joined("a"), { result: "joined", afterMs: 900 });
  two.note(joined("b"), { result: "late" });
  one.noteLinked(joined("alert"));
  await clock.advance(4_000);
  // Both before they have heard of each other.
  two.noteFetched(joined("alert"));
  one.noteFetched(joined("alert"));
  one.noteFetched(joined("alert"));
  await clock.advance(2 * minute);
  two.noteFetched(joined("alert"));
  await clock.advance(2 * minute);
  for (const relay of [one, two]) {
    expect(["a", "b"].map((id) => relay.find(joined(id))?.result)).toEqual(["joined", "late"]);
    expect(relay.find(joined("alert"))).toEqual({ result: "fetched", times: 4, afterMs: 4_000 });
  }
  const writes = one.writes.length + two.writes.length;
  await clock.advance(5 * minute);
  expect(one.writes.length + two.writes.length).toBe(writes);
  for (const { state } of [one, two]) state.readingTakesMs = 0;
});
