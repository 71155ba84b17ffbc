import { join } from "node:path";
import { expect, it } from "vitest";
import type { Acceptance, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { openSession } from "../../src/store/sqlite/database-session.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { newId, noon, request } from "../conformance/store/scene-samples.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** What looking for resends reads and writes fails while one of these is in force; one on a table at a time. */
const faults = [
  {
    table: "request_bodies",
    make: "ALTER TABLE request_bodies RENAME TO elsewhere",
    undo: "ALTER TABLE elsewhere RENAME TO request_bodies",
  },
  {
    table: "request_bodies",
    make: "CREATE TRIGGER no_bodies BEFORE INSERT ON request_bodies BEGIN SELECT RAISE(ABORT, 'no bodies'); END",
    undo: "DROP TRIGGER no_bodies",
  },
  {
    table: "request_bodies_cursor",
    make: "ALTER TABLE request_bodies_cursor RENAME TO elsewhere_cursor",
    undo: "ALTER TABLE elsewhere_cursor RENAME TO request_bodies_cursor",
  },
  {
    table: "requests",
    make: `CREATE TRIGGER no_keys BEFORE INSERT ON requests WHEN NEW.dedupe_key IS NOT NULL
           BEGIN SELECT RAISE(ABORT, 'no keys'); END`,
    undo: "DROP TRIGGER no_keys",
  },
  {
    table: "requests.duplicates",
    make: "CREATE TRIGGER no_counts BEFORE UPDATE OF duplicates ON requests BEGIN SELECT RAISE(ABORT, 'no counts'); END",
    undo: "DROP TRIGGER no_counts",
  },
];
type Fault = (typeof faults)[number];

it.each([1, 2, 3, 4, 5, 6])(
  "stores every alert once, and calls none new that is a resend without saying that it was not checked (seed %i)",
  (seed) => {
    const { below, pick } = createSeededRandom(seed);
    const path = join(makeTempFolder(), "tocsin.db");
    const open = () => openSession({ path, ballastBytes: 0 });
    let session = open();
    const other = new Sqlite(path);
    const inForce = new Set<Fault>();
    let now = noon;
    /** Ids under which a body (and key) is stored so that it is to be found again. */
    const stored = new Map<string, string[][]>();
    let expected = 0;
    const taken = newId();
    session.commit([{ name: "acceptRequest", arguments: [request({ ids: [taken] })] }]);

    const nameOf = ({ body, dedupeKey }: IncomingRequest) => `${Buffer.from(body)} ${dedupeKey}`;
    function draw(): IncomingRequest {
      const number = below(1_500);
      return request({
        receivedAt: now,
        body: Buffer.from(`body ${number}`),
        fingerprint: (number % 700) * 6_000_000_000_001,
        dedupeKey: number % 5 === 0 ? `key ${number}` : undefined,
        identical: "duplicate",
        ids: Array.from({ length: 1 + below(2) }, newId),
      });
    }

    function check(one: IncomingRequest, acceptance: Acceptance): void {
      const known = stored.get(nameOf(one)) ?? [];
      if (acceptance.kind === "accepted") {
        expected += one.ids.length;
        if (acceptance.unchecked === undefined) expect(known, nameOf(one)).toEqual([]);
        // While keys fail, it is stored without its own.
        else if (one.dedupeKey !== undefined) return;
        stored.set(nameOf(one), [...known, one.ids]);
      } else expect(known).toContainEqual(acceptance.ids);
    }

    for (let step = 0; step < 160; step += 1) {
      now += below(20_000);
      const fault = pick(faults);
      if (below(8) === 0 && [...inForce].every(({ table }) => table !== fault.table)) {
        other.exec(fault.make);
        inForce.add(fault);
      }
      for (const one of inForce) {
        if (below(6) > 0) continue;
        other.exec(one.undo);
        inForce.delete(one);
      }
      // A relay that is started while its tables are missing cannot be meant.
      if (below(10) === 0 && inForce.size === 0) {
        session.close();
        session = open();
      }
      const batch = Array.from({ length: 1 + below(60) }, draw);
      const bad = below(6) === 0 ? below(batch.length) : undefined;
      if (bad !== undefined) (batch[bad] as IncomingRequest).ids = [taken];
      const { results } = session.commit(batch.map((one) => ({ name: "acceptRequest", arguments: [one] })));
      results.forEach((result, index) => {
        const one = batch[index] as IncomingRequest;
        if (result.ok) check(one, result.value as Acceptance);
        else expect(index).toBe(bad);
      });
    }
    expect(other.prepare("SELECT count(*) FROM alerts").pluck().get()).toBe(expected + 1);
    other.close();
    session.close();
  },
);
