import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Acceptance, IncomingRequest } from "../../src/core/ports/inbox.ts";
import { type DatabaseSession, openSession } from "../../src/store/sqlite/database-session.ts";
import { Sqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { newId, noon, request } from "../conformance/store/scene-samples.ts";
import { damageTable } from "../support/damage-table.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

let bodies = 0;

/** Each with a body of its own. */
function incoming(changes: Partial<IncomingRequest> = {}): IncomingRequest {
  bodies += 1;
  return request({
    body: Buffer.from(`body ${bodies}`),
    fingerprint: bodies * 6_000_000_001,
    identical: "duplicate",
    ids: [newId()],
    ...changes,
  });
}

/** The same, sent once more. */
const again = (sent: IncomingRequest, changes: Partial<IncomingRequest> = {}): IncomingRequest => ({
  ...sent,
  ids: [newId()],
  ...changes,
});

function accept(session: DatabaseSession, ...requests: IncomingRequest[]): Acceptance[] {
  const { results } = session.commit(requests.map((one) => ({ name: "acceptRequest", arguments: [one] })));
  return results.map((result) => {
    if (!result.ok) throw result.error;
    return result.value as Acceptance;
  });
}

function open(path: string): DatabaseSession {
  const session = openSession({ path, ballastBytes: 0 });
  onTestFinished(() => session.close());
  return session;
}

/** A database that knows a keyed and a keyless request and 2,100 others, and then loses the page. */
function openDamaged(name: string) {
  const path = join(makeTempFolder(), "tocsin.db");
  const before = openSession({ path, ballastBytes: 0 });
  const keyed = incoming({ dedupeKey: "evt-1" });
  const keyless = incoming();
  accept(before, keyed, keyless, ...Array.from({ length: 2_100 }, () => incoming()));
  before.close();
  damageTable(path, name);
  const session = open(path);
  const count = () => {
    const db = new Sqlite(path, { readonly: true });
    try {
      return db.prepare("SELECT count(*) FROM alerts").pluck().get();
    } finally {
      db.close();
    }
  };
  return { path, session, keyed, keyless, count };
}

const malformed = { kind: "accepted", unchecked: expect.stringContaining("malformed") };
const asNew = expect.not.objectContaining({ unchecked: expect.anything() });
const later = { receivedAt: noon + 61_000 };

describe("with a part of the database damaged that finds resends", () => {
  it.each(["request_bodies", "request_bodies_cursor"])(
    "%s: alerts without a key are stored and say that they were not checked, those with one are checked",
    (name) => {
      const { session, keyed, count } = openDamaged(name);
      expect(accept(session, incoming())).toMatchObject([malformed]);
      expect(accept(session, incoming(), incoming({ dedupeKey: "evt-2" }))).toMatchObject([malformed, asNew]);
      expect(accept(session, again(keyed))).toMatchObject([{ kind: "duplicate", ids: keyed.ids }]);
      expect(accept(session, incoming({ dedupeKey: "evt-2" }))).toMatchObject([{ conflict: true }]);
      accept(session, ...Array.from({ length: 2_100 }, () => incoming()));
      expect(accept(session, incoming(later), incoming(later))).toMatchObject([malformed, malformed]);
      expect(count()).toBe(2_102 + 1 + 2 + 1 + 2_100 + 2);
    },
  );

  it.each(["requests_by_key", "requests_by_key_and_body"])(
    "%s: alerts with a key are stored and say that they were not checked, those without are checked",
    (name) => {
      const { session, keyless, count } = openDamaged(name);
      expect(accept(session, incoming({ dedupeKey: "evt-3" }))).toMatchObject([malformed]);
      expect(accept(session, incoming({ dedupeKey: "evt-4" }), again(keyless))).toMatchObject([
        malformed,
        { kind: "duplicate", ids: keyless.ids },
      ]);
      expect(accept(session, incoming({ dedupeKey: "evt-5", ...later }))).toMatchObject([malformed]);
      expect(count()).toBe(2_102 + 3);
    },
  );

  it("requests_repeated: resends are known all the same, and only not counted", () => {
    const { session, keyed, keyless, count } = openDamaged("requests_repeated");
    expect(accept(session, again(keyed))).toMatchObject([{ kind: "duplicate", ids: keyed.ids }]);
    expect(accept(session, again(keyless), incoming())).toMatchObject([
      { kind: "duplicate", ids: keyless.ids },
      asNew,
    ]);
    expect(count()).toBe(2_103);
  });

  it("alerts of an earlier request that are not there: its resend is stored as new", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    const session = open(path);
    const sent = incoming({ dedupeKey: "evt-1" });
    accept(session, sent);
    const db = new Sqlite(path);
    db.exec("DELETE FROM alerts");
    db.close();
    const resent = again(sent);
    expect(accept(session, resent, incoming({ dedupeKey: "evt-2" }))).toMatchObject([
      { kind: "accepted", unchecked: "not all alerts of request 1 are there" },
      asNew,
    ]);
    expect(accept(session, again(sent))).toMatchObject([{ kind: "duplicate", ids: resent.ids }]);
  });

  it("only writing keys fails: alerts are stored without them, and say so", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    const session = open(path);
    const other = new Sqlite(path);
    onTestFinished(() => void other.close());
    other.exec(
      `CREATE TRIGGER refused BEFORE INSERT ON requests WHEN NEW.dedupe_key IS NOT NULL
       BEGIN SELECT RAISE(ABORT, 'refused'); END`,
    );
    const refused = { kind: "accepted", unchecked: "refused" };
    expect(accept(session, incoming({ dedupeKey: "a" }))).toMatchObject([refused]);
    expect(accept(session, incoming(), incoming({ dedupeKey: "b" }))).toMatchObject([asNew, refused]);
  });

  it("all parts at once: a lone alert is stored all the same", () => {
    const { path, session } = openDamaged("requests_by_key");
    const other = new Sqlite(path);
    onTestFinished(() => void other.close());
    other.exec(
      "CREATE TRIGGER refused BEFORE INSERT ON request_bodies BEGIN SELECT RAISE(ABORT, 'refused'); END",
    );
    // The next is the 2,048th that is not laid down.
    for (let fresh = 2_102 - 2_048; fresh < 2_047; fresh += 1) accept(session, incoming());
    expect(accept(session, incoming({ dedupeKey: "evt-9" }))).toMatchObject([malformed]);
  });

  it("only laying bodies down fails: alerts are stored, and are known again when it works again", () => {
    const path = join(makeTempFolder(), "tocsin.db");
    const session = open(path);
    const other = new Sqlite(path);
    onTestFinished(() => void other.close());
    other.exec(
      "CREATE TRIGGER refused BEFORE INSERT ON request_bodies BEGIN SELECT RAISE(ABORT, 'refused'); END",
    );
    const many = Array.from({ length: 2_100 }, () => incoming());
    for (let from = 0; from < many.length; from += 100) accept(session, ...many.slice(from, from + 100));
    expect(accept(session, incoming())).toMatchObject([{ kind: "accepted", unchecked: "refused" }]);
    other.exec("DROP TRIGGER refused");
    const resent = accept(session, ...many.map((sent) => again(sent, later)));
    expect(resent.map(({ kind, ids: [id] }, index) => `${kind} ${id === many[index]?.ids[0]}`)).toEqual(
      many.map(() => "duplicate true"),
    );
  });
});
