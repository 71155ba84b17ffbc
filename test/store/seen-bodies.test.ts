import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Acceptance, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { type DatabaseSession, openSession } from "../../src/store/sqlite/database-session.ts";
import { migrate, readMigrations } from "../../src/store/sqlite/migrate.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { hour, newId, noon, request } from "../conformance/store/scene-samples.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const pathInTemp = () => join(makeTempFolder(), "tocsin.db");

/** Closed when the test ends. */
function open(path: string): DatabaseSession {
  const session = openSession({ path, ballastBytes: 0 });
  onTestFinished(() => session.close());
  return session;
}

function read(path: string, sql: string): unknown {
  const db = new Sqlite(path, { readonly: true });
  try {
    return db.prepare(sql).pluck().get();
  } finally {
    db.close();
  }
}

const numbered = (index: number, changes: Partial<IncomingRequest> = {}) =>
  request({
    body: Buffer.from(`body ${index}`),
    // Of 53 bits, as real ones are.
    fingerprint: (index % 1_500) * 6_000_000_000_001,
    identical: "duplicate",
    ...changes,
  });

function accept(session: DatabaseSession, requests: IncomingRequest[]): Acceptance[] {
  const { results } = session.commit(
    requests.map((incoming) => ({ name: "acceptRequest", arguments: [incoming] })),
  );
  return results.map((result) => {
    if (!result.ok) throw result.error;
    return result.value as Acceptance;
  });
}

const at = (seconds: number) => ({ receivedAt: noon + seconds * 1_000 });

const kinds = (acceptances: Acceptance[]) => [...new Set(acceptances.map(({ kind }) => kind))];

describe("bodies that were seen before", () => {
  it("are found whether they are laid down or still in memory, newest first, and after a restart", () => {
    const path = pathInTemp();
    const session = openSession({ path, ballastBytes: 0 });
    const first = Array.from({ length: 3_000 }, (_, index) => numbered(index));
    for (let from = 0; from < first.length; from += 500)
      expect(kinds(accept(session, first.slice(from, from + 500)))).toEqual(["accepted"]);
    expect(read(path, "SELECT count(*) FROM request_bodies")).toBe(2_048);
    const again = (from: DatabaseSession) =>
      accept(
        from,
        first.map((_, index) => numbered(index)),
      ).map(({ kind, ids }, index) => kind === "duplicate" && ids[0] === first[index]?.ids[0]);
    expect(again(session).every(Boolean)).toBe(true);
    session.close();
    expect(again(open(path)).every(Boolean)).toBe(true);
  });

  it("are laid down early when they are large", () => {
    const path = pathInTemp();
    const session = open(path);
    const large = (index: number) => numbered(index, { body: Buffer.alloc(1024 * 1024, `${index}`) });
    accept(
      session,
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((index) => large(index)),
    );
    expect(read(path, "SELECT count(*) FROM request_bodies")).toBe(8);
    expect(kinds(accept(session, [large(1), large(9)]))).toEqual(["duplicate"]);
  });

  it("are known after a transaction that was undone while it laid them down", () => {
    const path = pathInTemp();
    const session = open(path);
    const taken = newId();
    accept(session, [numbered(0, { ids: [taken] })]);
    const many = Array.from({ length: 2_047 }, (_, index) => numbered(index + 1));
    const { results } = session.commit(
      [...many, numbered(9_999, { ids: [taken] })].map((incoming) => ({
        name: "acceptRequest",
        arguments: [incoming],
      })),
    );
    expect(results.filter(({ ok }) => !ok)).toHaveLength(1);
    const repeats = [0, ...many.keys()].map((index) => numbered(index));
    expect(kinds(accept(session, repeats))).toEqual(["duplicate"]);
    expect(kinds(accept(session, [numbered(9_999)]))).toEqual(["accepted"]);
  });

  it("are laid down behind requests with keys, too, so that a start reads few", () => {
    const path = pathInTemp();
    const session = open(path);
    accept(session, [numbered(0)]);
    const keyed = Array.from({ length: 2_100 }, (_, index) =>
      numbered(index + 1, { dedupeKey: `evt-${index}` }),
    );
    accept(session, keyed);
    expect(read(path, "SELECT request_seq FROM request_bodies_cursor")).toBe(2_048);
    expect(read(path, "SELECT count(*) FROM request_bodies")).toBe(1);
    expect(kinds(accept(session, [numbered(0)]))).toEqual(["duplicate"]);
  });

  it("of a call that failed are forgotten alone, however many calls fail", () => {
    const session = open(pathInTemp());
    const taken = newId();
    accept(session, [numbered(0, { ids: [taken] }), numbered(1)]);
    const bad = Array.from({ length: 64 }, (_, index) => numbered(100 + index, { ids: [taken] }));
    const { results } = session.commit(
      [...bad, numbered(2)].map((incoming) => ({ name: "acceptRequest", arguments: [incoming] })),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    expect(kinds(accept(session, [numbered(0), numbered(1), numbered(2)]))).toEqual(["duplicate"]);
    expect(
      kinds(
        accept(
          session,
          bad.map((_, index) => numbered(100 + index)),
        ),
      ),
    ).toEqual(["accepted"]);
  });

  it("that were stored again alone, without being looked for, are remembered once and can be laid down", () => {
    const path = pathInTemp();
    const session = open(path);
    const taken = newId();
    accept(session, [numbered(0, { ids: [taken] })]);
    const repeats = [1, 1, 2].map((index) => numbered(index, { identical: "store" }));
    const { results } = session.commit(
      [...repeats, numbered(3, { ids: [taken] })].map((incoming) => ({
        name: "acceptRequest",
        arguments: [incoming],
      })),
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true, false]);
    const many = Array.from({ length: 2_100 }, (_, index) => numbered(index + 10));
    expect(kinds(accept(session, many))).toEqual(["accepted"]);
    expect(read(path, "SELECT count(*) FROM request_bodies")).toBe(2_048);
    expect(read(path, "SELECT count(DISTINCT request_seq) FROM request_bodies")).toBe(2_048);
    expect(kinds(accept(session, [numbered(1), numbered(2), numbered(10)]))).toEqual(["duplicate"]);
  });

  it("are looked for in every part that reaches into the window, and in none before it", () => {
    const path = pathInTemp();
    openSession({ path, ballastBytes: 0 }).close();
    const db = new Sqlite(path);
    const insert = db.prepare(
      `INSERT INTO requests (seq, received_at, headers, body, fingerprint, items) VALUES (?, ?, '[]', ?, ?, 1)`,
    );
    const insertAlert = db.prepare(
      "INSERT INTO alerts (id, request_seq, item, origin, received_at) VALUES (?, ?, 0, 'hook', ?)",
    );
    const place = (seq: number, receivedAt: number, body: string, fingerprint: number) => {
      insert.run(seq, receivedAt, Buffer.from(body), fingerprint);
      insertAlert.run(newId(), seq, receivedAt);
      db.prepare("INSERT INTO request_bodies VALUES (?, ?, ?)").run(seq >> 16, fingerprint, seq);
    };
    place(65_535, noon - 30 * hour, "end of the first part", 1);
    place(65_536, noon - 20 * hour, "a", 2);
    place(131_071, noon - 10 * hour, "end of the second part", 3);
    place(131_072, noon - hour, "b", 4);
    db.prepare("UPDATE request_bodies_cursor SET request_seq = 131072").run();
    db.close();
    const session = open(path);
    const ask = (body: string, fingerprint: number, dedupeWindowMs = 24 * hour) =>
      accept(session, [
        request({ body: Buffer.from(body), fingerprint, identical: "ask", dedupeWindowMs }),
      ])[0]?.kind;
    expect(ask("b", 4)).toBe("identical");
    expect(ask("a", 2)).toBe("identical");
    expect(ask("end of the first part", 1, 40 * hour)).toBe("identical");
    expect(ask("end of the first part", 1)).toBe("accepted");
    expect(ask("a", 2, hour)).toBe("accepted");
  });

  it("that came while none could be looked for are found later, with those before them, after a restart too", () => {
    const path = pathInTemp();
    const session = openSession({ path, ballastBytes: 0 });
    const many = (from: number, length: number, at = {}) =>
      Array.from({ length }, (_, index) => numbered(from + index, at));
    accept(session, many(0, 100));
    const other = new Sqlite(path);
    other.exec("ALTER TABLE request_bodies RENAME TO elsewhere");
    accept(session, many(90_000, 2_000));
    const unchecked = { kind: "accepted", unchecked: expect.stringContaining("request_bodies") };
    expect(accept(session, [numbered(100)])).toMatchObject([unchecked]);
    other.exec("ALTER TABLE elsewhere RENAME TO request_bodies");
    other.close();
    for (let from = 101; from < 9_000; from += 500) accept(session, many(from, 500, at(30)));
    expect(accept(session, [numbered(5, at(59))])).toMatchObject([unchecked]);
    session.close();
    const again = open(path);
    const known = Array.from({ length: 93 }, (_, index) => numbered(index * 97 + 6, at(61)));
    expect(kinds(accept(again, known.slice(-20)))).toEqual(["duplicate"]);
    expect(kinds(accept(again, known))).toEqual(["duplicate"]);
    expect(kinds(accept(again, many(90_000, 2_000, at(61))))).toEqual(["duplicate"]);
    expect(kinds(accept(again, many(20_000, 10, at(61))))).toEqual(["accepted"]);
  });

  it("are read a stretch at a time where very many are missing, and an alert says so that comes meanwhile", () => {
    const path = pathInTemp();
    openSession({ path, ballastBytes: 0 }).close();
    const db = new Sqlite(path);
    const insertRequest = db.prepare(
      `INSERT INTO requests (seq, received_at, headers, body, fingerprint, items) VALUES (?, ${noon}, '[]', ?, ?, 1)`,
    );
    const insertAlert = db.prepare(
      `INSERT INTO alerts (id, request_seq, item, origin, received_at) VALUES (?, ?, 0, 'hook', ${noon})`,
    );
    const count = 30_000;
    db.transaction(() => {
      for (let seq = 1; seq <= count; seq += 1) {
        insertRequest.run(seq, Buffer.from(`body ${seq}`), BigInt(numbered(seq).fingerprint));
        insertAlert.run(newId(), seq);
      }
    })();
    db.close();
    const session = open(path);
    expect(accept(session, [numbered(count + 1, { dedupeKey: "evt-1" })])).toMatchObject([
      { kind: "accepted", conflict: false },
    ]);
    const stillReading = { kind: "accepted", unchecked: expect.stringContaining("still being read") };
    expect(accept(session, [numbered(count + 2)])).toMatchObject([stillReading]);
    const known = Array.from({ length: 300 }, (_, index) => numbered(count - index * 99));
    expect(kinds(accept(session, [numbered(count + 2), ...known]))).toEqual(["duplicate"]);
    expect(kinds(accept(session, [numbered(count + 3)]))).toEqual(["accepted"]);
    expect(read(path, "SELECT count(*) - count(DISTINCT request_seq) FROM request_bodies")).toBe(0);
    expect(read(path, "SELECT request_seq FROM request_bodies_cursor")).toBeGreaterThan(count - 2_048);
  });

  it("are known to a database that version 1 wrote", () => {
    const path = pathInTemp();
    const db = new Sqlite(path);
    migrate(db, readMigrations().slice(0, 1));
    const id = newId();
    db.prepare(
      `INSERT INTO requests (received_at, headers, body, fingerprint, items, dedupe_key)
       VALUES (?, '[]', ?, 5, 1, ?)`,
    ).run(noon, Buffer.from("old"), null);
    db.prepare(
      "INSERT INTO alerts (id, request_seq, item, origin, received_at) VALUES (?, 1, 0, 'hook', ?)",
    ).run(id, noon);
    db.close();
    const repeat = request({ body: Buffer.from("old"), fingerprint: 5, identical: "duplicate" });
    expect(accept(open(path), [repeat])).toEqual([{ kind: "duplicate", ids: [id] }]);
  });
});
