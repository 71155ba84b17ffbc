import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../../src/core/ports/store.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { newId, noon, planned, request, routed } from "../../conformance/store/scene-samples.ts";
import { postgresDatabaseOf, runSql } from "../../support/postgres.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

/** Relays on one database, each a process of its own as far as that knows. */
async function openRelays(...names: string[]) {
  const url = await postgresDatabaseOf(makeTempFolder());
  const relays = await Promise.all(
    names.map(async (relayName) => {
      const store = await openPostgresStore({ url, relayName });
      onTestFinished(() => store.close());
      return store;
    }),
  );
  return { url, relays };
}

const accept = async (store: Store, count: number) => {
  await Promise.all(Array.from({ length: count }, () => store.acceptRequest(request({ ids: [newId()] }))));
};

const list = async (store: Store, after?: number, limit = 10_000) =>
  (await store.listUnrouted(limit, noon, after)).flatMap(({ alerts }) => alerts.map(({ seq }) => seq));

/** Its time to route them is over, by the database's clock. */
const endLeases = (url: string) => runSql(url, "UPDATE alerts SET routing_until = clock_timestamp()");

describe("routing by several relays", () => {
  it("gives an alert to the relay that has accepted it, and after its time to another", async () => {
    const { url, relays } = await openRelays("one", "other");
    const [one, other] = relays as [Store, Store];
    await accept(one, 3);
    expect(await list(other)).toEqual([]);
    const seqs = await list(one);
    expect(seqs).toHaveLength(3);
    await endLeases(url);
    expect(await list(other)).toEqual(seqs);
    expect(await list(one)).toEqual([]);
    // The first was only slow: what it has decided comes too late.
    await other.recordRouting(seqs.map((seq) => routed(seq, { deliveries: [planned("chat")] })));
    expect(await one.recordRouting(seqs.map((seq) => routed(seq, { deliveries: [planned("chat")] })))).toEqual([]);
    expect(await one.listDue("chat", noon, 10)).toHaveLength(3);
  });

  it("leaves what a relay has not routed to the others as soon as that ends", async () => {
    const { url, relays } = await openRelays("other");
    const [other] = relays as [Store];
    const ending = await openPostgresStore({ url, relayName: "ending" });
    await accept(ending, 3);
    const seqs = await list(ending);
    expect(await list(other)).toEqual([]);
    await ending.close();
    expect(await list(other)).toEqual(seqs);
  });

  it("extends the time of what it gives out again, so that nobody else begins with it", async () => {
    const { url, relays } = await openRelays("one", "other");
    const [one, other] = relays as [Store, Store];
    await accept(one, 2);
    await endLeases(url);
    const seqs = await list(one);
    expect(seqs).toHaveLength(2);
    expect(await list(other)).toEqual([]);
  });

  it("gives what a dead relay has left to one of the others, whoever asks at once", async () => {
    const { url, relays } = await openRelays("dead", "one", "two", "three");
    const [dead, ...others] = relays as [Store, Store, Store, Store];
    await accept(dead, 1_500);
    await endLeases(url);
    const taken: number[] = [];
    for (let before = -1; taken.length !== before; ) {
      before = taken.length;
      const lists = await Promise.all(others.map((store) => list(store)));
      for (const [index, seqs] of lists.entries()) {
        taken.push(...seqs);
        await others[index]?.recordRouting(seqs.map((seq) => routed(seq)));
      }
    }
    expect(taken).toHaveLength(1_500);
    expect(new Set(taken).size).toBe(1_500);
  });

  it("takes over what has failed elsewhere, at its time and with why", async () => {
    const { url, relays } = await openRelays("one", "other");
    const [one, other] = relays as [Store, Store];
    await accept(one, 1);
    const seqs = await list(one);
    await one.recordRoutingFailure(seqs, "it broke", noon);
    expect(await list(other)).toEqual([]);
    await endLeases(url);
    const [taken] = await other.listUnrouted(10, noon);
    expect(taken?.alerts).toMatchObject([{ seq: seqs[0], failures: 1, error: "it broke" }]);
    expect(await list(one)).toEqual([]);
  });

  it("gives out what becomes visible behind a later position, and that once", async () => {
    const { url, relays } = await openRelays("one");
    const [one] = relays as [Store];
    await accept(one, 1);
    const [first] = await list(one);
    // As a transaction that was given its position first and is committed last.
    await accept(one, 2);
    await runSql(url, "UPDATE alerts SET routed_by = 'nobody', routing_until = 'infinity' WHERE seq = $1", [
      (first ?? 0) + 1,
    ]);
    expect(await list(one, first)).toEqual([(first ?? 0) + 2]);
    await runSql(url, "UPDATE alerts SET routed_by = 'one' WHERE seq = $1", [(first ?? 0) + 1]);
    expect(await list(one, (first ?? 0) + 2)).toEqual([(first ?? 0) + 1]);
    expect(await list(one, (first ?? 0) + 2)).toEqual([]);
    // Whoever begins anew is given all.
    expect(await list(one)).toHaveLength(3);
  });

  it("sends a body once that two relays route at the same moment", async () => {
    const { relays } = await openRelays("one", "other");
    const seqs: number[][] = [];
    for (const store of relays) {
      await accept(store, 20);
      seqs.push(await list(store));
    }
    const recorded = await Promise.all(
      relays.map((store, index) =>
        store.recordRouting(
          (seqs[index] ?? []).map((seq) => routed(seq, { deliveries: [planned("chat")], repeatWindowMs: 3_600_000 })),
        ),
      ),
    );
    const firsts = recorded.flat().filter(({ repeatOf }) => repeatOf === undefined);
    expect([recorded.flat().length, firsts.length]).toEqual([40, 1]);
    expect(await relays[0]?.listDue("chat", noon, 100)).toHaveLength(1);
    expect(await relays[0]?.countDuplicates()).toBe(39);
  });
});
