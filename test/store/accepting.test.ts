import { truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Acceptance, IncomingRequest } from "../../src/core/ports/inbox.ts";
import type { RecordedAlert, UnroutedRequest } from "../../src/core/ports/routing-desk.ts";
import { type DatabaseSession, openSession } from "../../src/store/sqlite/database-session.ts";
import type { Call } from "../../src/store/sqlite/group-commit.ts";
import { withSqlite } from "../../src/store/sqlite/sqlite-library.ts";
import { hour, newId, noon, planned, request, routed } from "../conformance/store/scene-samples.ts";
import { damageTable } from "../support/damage-table.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

let bodies = 0;

/** Each with a body of its own. */
function incoming(changes: Partial<IncomingRequest> = {}): IncomingRequest {
  bodies += 1;
  return request({ body: Buffer.from(`body ${bodies}`), ids: [newId()], ...changes });
}

const again = (sent: IncomingRequest): IncomingRequest => ({ ...sent, ids: [newId()] });

const run = async (session: DatabaseSession, calls: Call[]): Promise<unknown[]> =>
  (await session.commit(calls)).results.map((result) => {
    if (!result.ok) throw result.error;
    return result.value;
  });

async function accept(session: DatabaseSession, ...requests: IncomingRequest[]): Promise<Acceptance[]> {
  const calls = requests.map((one): Call => ({ name: "acceptRequest", arguments: [one] }));
  return (await run(session, calls)) as Acceptance[];
}

/** As if each body named its own event. Gives the ids that were taken for repeated. */
async function routeAll(session: DatabaseSession): Promise<string[]> {
  const [unrouted] = (await run(session, [{ name: "listUnrouted", arguments: [1_000, noon] }])) as [UnroutedRequest[]];
  const records = unrouted
    .flatMap(({ alerts }) => alerts)
    .map(({ seq }) => routed(seq, { deliveries: [planned("chat")], repeatWindowMs: hour }));
  const [recorded] = (await run(session, [{ name: "recordRouting", arguments: [records] }])) as [RecordedAlert[]];
  return recorded.flatMap(({ repeatOf }) => repeatOf ?? []);
}

function open(path: string): DatabaseSession {
  const session = openSession({ path, ballastBytes: 0 });
  onTestFinished(() => session.close());
  return session;
}

/** A database that knows a keyed, a keyless and 300 other requests, all routed, and then loses the page. */
async function openDamaged(name: string) {
  const path = join(makeTempFolder(), "tocsin.db");
  const before = openSession({ path, ballastBytes: 0 });
  const keyless = incoming();
  await accept(before, incoming({ dedupeKey: "evt-1" }), keyless, ...Array.from({ length: 300 }, () => incoming()));
  await routeAll(before);
  before.close();
  damageTable(path, name);
  return { session: open(path), keyless, path };
}

const count = (path: string, rows: string) =>
  withSqlite(path, { readonly: true }, (db) => db.prepare(`SELECT count(*) FROM ${rows}`).pluck().get());

it.each(["requests_by_key", "requests_by_key_and_body"])(
  "with a damaged part that finds earlier alerts, %s: alerts with a key are stored as new ones, whatever comes with them, and health says why",
  async (name) => {
    const { session, path } = await openDamaged(name);
    expect(session.health().damage).toBeUndefined();
    expect(await accept(session, incoming())).toMatchObject([{ kind: "accepted" }]);
    expect(session.health().damage).toBeUndefined();
    const all = [incoming({ dedupeKey: "evt-2" }), incoming({ dedupeKey: "evt-3" }), incoming()];
    const accepted = all.map(({ ids }) => ({ kind: "accepted", ids, conflict: false }));
    expect(await accept(session, ...all)).toMatchObject(accepted);
    expect(session.health()).toMatchObject({ writable: true, damage: expect.stringContaining("malformed") });
    expect(count(path, "alerts NOT INDEXED")).toBe(302 + 4);
  },
);

it("with a damaged part that finds earlier alerts, alerts_by_fingerprint: every alert is routed, and none is taken for a repeat", async () => {
  const { session, keyless, path } = await openDamaged("alerts_by_fingerprint");
  await accept(session, again(keyless), incoming());
  expect(await routeAll(session)).toEqual([]);
  expect(session.health().damage).toContain("malformed");
  expect(count(path, "deliveries")).toBe(302 + 2);
});

it("with a damaged part that finds earlier alerts, an alert of an earlier request that is not there: its resend is stored as new, without a conflict", async () => {
  const path = join(makeTempFolder(), "tocsin.db");
  const session = open(path);
  const sent = incoming({ dedupeKey: "evt-1", ids: [newId(), newId()] });
  await accept(session, sent);
  withSqlite(path, {}, (db) => db.exec("DELETE FROM alerts WHERE item = 0"));
  const resent = again(sent);
  expect(await accept(session, resent)).toMatchObject([{ kind: "accepted", ids: resent.ids, conflict: false }]);
  expect(await accept(session, again(sent))).toMatchObject([{ kind: "duplicate", ids: resent.ids }]);
});

it("a database whose file loses its end while it is open is closed, though its log cannot be emptied into it", async () => {
  const path = join(makeTempFolder(), "tocsin.db");
  const before = openSession({ path, ballastBytes: 0 });
  await accept(before, ...Array.from({ length: 300 }, () => incoming({ body: Buffer.alloc(2_000, "x") })));
  before.close();
  const session = openSession({ path, ballastBytes: 0 });
  await accept(session, incoming());
  truncateSync(path, 8_192);
  await expect(session.maintain(noon)).rejects.toThrow("SQLITE_CORRUPT");
  expect(() => session.close()).not.toThrow();
  expect(() => session.health()).toThrow("not open");
});
