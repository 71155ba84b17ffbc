import { describe, expect, it } from "vitest";
import type { ChangeCursor } from "../../../src/core/ports/alert-log.ts";
import { noteChanges } from "../../../src/store/postgres/alert-changes.ts";
import { createChanges } from "../../../src/store/postgres/changes.ts";
import { createReading } from "../../../src/store/postgres/reading.ts";
import { makePostgresDatabase, openClient, runSql } from "../../support/postgres.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { openDatabase } from "./open-relays.ts";

async function openLog(alerts: number) {
  const url = await makePostgresDatabase();
  const database = await openDatabase(url);
  const made = "SELECT lpad(n::text, 36, '0'), 0, 'hook', n FROM generate_series(1, $1::int) n";
  await database.single.query(`INSERT INTO alerts (id, item, origin, received_at) ${made}`, [alerts]);
  const connect = async () => {
    const client = await openClient(url);
    // What is asked here is the order of commits, not whether they are on disk.
    await client.query("SET synchronous_commit = off");
    return client;
  };
  const changes = createChanges(createReading(database.read));
  const seqsAfter = async (after?: ChangeCursor, limit = 10) =>
    (await changes.list(after, limit)).map(({ seq }) => seq);
  return { url, changes, connect, seqsAfter };
}

type Client = Awaited<ReturnType<Awaited<ReturnType<typeof openLog>>["connect"]>>;

type Change = (client: Client, seqs: number[]) => Promise<unknown>;

/** As a relay does it, and as one of the version before does. */
const noted: Change = (client, seqs) =>
  noteChanges({ query: async (text, values) => client.query(text, values as unknown[]) as never }, seqs);
const update = "UPDATE alerts SET version = version + 1, changed_by = change_number() WHERE seq = ANY($1::bigint[])";
const inAlerts: Change = (client, seqs) => client.query(update, [seqs]);

describe.each([
  ["the changes of a log", noted],
  ["the changes that a relay of the version before makes", inAlerts],
])("%s", (_, change) => {
  it("are listed once they are committed, though earlier transactions still run, and those are listed when they have ended", async () => {
    const { changes, connect } = await openLog(9);
    const [slow, slower, quick] = await Promise.all([connect(), connect(), connect()]);
    await slow.query("BEGIN");
    await change(slow, [1, 2, 3]);
    await slower.query("BEGIN");
    await change(slower, [4]);
    await change(quick, [5]);
    let cursor: ChangeCursor | undefined;
    const expectNext = async (seqs: number[], limit = 10) => {
      const listed = await changes.list(cursor, limit);
      expect(listed.map(({ seq }) => seq)).toEqual(seqs);
      cursor = listed.at(-1)?.cursor ?? cursor;
      expect(await changes.knows(cursor as ChangeCursor)).toBe(true);
      expect(cursor).toMatch(/^\d[\w.-]{0,99}$/);
    };
    await expectNext([5]);
    expect(await changes.latest()).toBe(cursor);
    await slow.query("COMMIT");
    await change(quick, [6]);
    await expectNext([1, 2], 2);
    await expectNext([3, 6]);
    await slower.query("COMMIT");
    await expectNext([4]);
    await expectNext([]);
    // A transaction that is rolled back has none.
    await slow.query("BEGIN");
    await change(slow, [7]);
    await change(quick, [8]);
    await expectNext([8]);
    await slow.query("ROLLBACK");
    await expectNext([]);
  });

  it("wait where more transactions than a cursor can name run before them, and go on when some have ended", async () => {
    const { changes, connect, seqsAfter } = await openLog(20);
    const held = await Promise.all(Array.from({ length: 12 }, connect));
    for (const [index, client] of held.entries()) {
      await client.query("BEGIN");
      await change(client, [index + 1]);
    }
    await change(await connect(), [20]);
    expect(await changes.list(undefined, 10)).toEqual([]);
    const latest = await changes.latest();
    for (const client of held) await client.query("COMMIT");
    const seqs = [...held.map((_, index) => index + 1), 20];
    expect(await seqsAfter(undefined, 20)).toEqual(seqs);
    // Those that were committed by then are no more than listed twice.
    expect(await seqsAfter(latest, 20)).toEqual(seqs);
  });

  it("are held up by no transaction of another database on the server", async () => {
    const { changes, connect } = await openLog(2);
    const stranger = await openClient(await makePostgresDatabase());
    await stranger.query("BEGIN");
    await stranger.query("CREATE TABLE notes (text text)");
    await change(await connect(), [1]);
    const [listed] = await changes.list(undefined, 10);
    expect(listed?.cursor).toMatch(/^\d+\.1$/);
    expect(await changes.latest()).toBe(listed?.cursor);
  });

  it("are not known where the log was put back from a copy that has fewer", async () => {
    const { changes, connect } = await openLog(2);
    expect(await changes.knows(await changes.latest())).toBe(true);
    const client = await connect();
    await change(client, [1]);
    const before = await changes.latest();
    await change(client, [2]);
    const after = await changes.latest();
    await client.query("UPDATE alerts SET changed_by = NULL WHERE seq = 2");
    await client.query("DELETE FROM alert_changes WHERE seq = 2");
    expect(await changes.knows(before)).toBe(true);
    expect(await changes.knows(after)).toBe(false);
  });

  it("go on behind those that came with a dump, whose transactions were another server's", async () => {
    const { url, changes, connect, seqsAfter } = await openLog(3);
    const client = await connect();
    await change(client, [1]);
    await client.query("UPDATE alerts SET changed_by = '5000000000000' WHERE changed_by IS NOT NULL");
    await client.query("UPDATE alert_changes SET changed_by = '5000000000000'");
    const seen = await changes.latest();
    await openDatabase(url, "another");
    await change(client, [2]);
    await client.query("BEGIN");
    await change(client, [3]);
    await change(await connect(), [1]);
    const [first, second, ...others] = await changes.list(seen, 10);
    expect([first?.seq, second?.seq, others]).toEqual([2, 1, []]);
    await client.query("COMMIT");
    expect(await seqsAfter(second?.cursor)).toEqual([3]);
    expect(await changes.knows(seen)).toBe(true);
  });
});

it("while relays of two versions run a change is written where each of them looks, under one number", async () => {
  const { url, changes, connect, seqsAfter } = await openLog(3);
  const client = await connect();
  const before = "SELECT seq::int FROM alerts WHERE changed_by IS NOT NULL ORDER BY changed_by, seq";
  const ofVersionBefore = async () => (await runSql<{ seq: number }>(url, before)).map(({ seq }) => seq);
  await noted(client, [1]);
  expect(await ofVersionBefore()).toEqual([]);
  const announce = "INSERT INTO relays (id, name, version, configuration, started_at, seen_at, gone_at) VALUES";
  const at = "clock_timestamp() - interval '50 minutes'";
  await client.query(`${announce} ('old', 'old', '0.1.0', 'a', 1, ${at}, ${at})`);
  await noted(client, [1, 2]);
  await inAlerts(client, [3]);
  await noted(client, [2]);
  expect(await ofVersionBefore()).toEqual([1, 3, 2]);
  const listed = await changes.list(undefined, 10);
  expect(listed.map(({ seq }) => seq)).toEqual([1, 3, 2]);
  const numbers = "SELECT a.changed_by = c.changed_by AS same FROM alerts a JOIN alert_changes c USING (seq)";
  expect(await runSql(url, numbers)).toEqual([{ same: true }, { same: true }]);
  await client.query("UPDATE relays SET gone_at = gone_at - interval '1 hour'");
  await noted(client, [3]);
  expect(await ofVersionBefore()).toEqual([1, 3, 2]);
  expect(await seqsAfter(listed.at(-1)?.cursor)).toEqual([3]);
});

it("while relays of two versions run all changes are seen, of 3,000 commits beside transactions that are held open", async () => {
  const alerts = 400;
  const commits = 3_000;
  const { changes, connect } = await openLog(alerts);
  const { below } = createSeededRandom(20261122);
  const writers = 10;
  let committed = 0;
  /** Transactions that are held open, until so many have committed. */
  const held = new Map<() => void, number>();
  /** What the log says of each alert, as far as it was followed. */
  const seen = new Map<number, number>();
  let cursor: ChangeCursor | undefined;
  let longest = 0;

  function countCommit(): void {
    committed += 1;
    for (const [goOn, until] of held) if (committed >= until && held.delete(goOn)) goOn();
  }

  async function holdOpen(): Promise<void> {
    if (held.size > writers - 3) return;
    const until = Math.min(commits, committed + below(below(10) === 0 ? 1_000 : 50));
    if (committed < until) await new Promise<void>((goOn) => held.set(goOn, until));
  }

  /** Each changes alerts of its own, so that none waits for another's transaction. */
  async function write(share: number): Promise<void> {
    const client = await connect();
    const own = Array.from({ length: alerts / writers }, (_, index) => index * writers + share + 1);
    while (committed < commits) {
      const some = Array.from({ length: 1 + below(3) }, () => own[below(own.length)] as number);
      const change = below(2) === 0 ? noted : inAlerts;
      if (below(5) > 0) await change(client, some);
      else {
        await client.query("BEGIN");
        await change(client, some.slice(0, 1));
        await holdOpen();
        await change(client, some);
        await client.query(below(10) > 0 ? "COMMIT" : "ROLLBACK");
      }
      countCommit();
    }
  }

  let isWritten = false;
  async function follow(): Promise<void> {
    for (let isLast = false; ; ) {
      const listed = await changes.list(cursor, 1 + below(50));
      for (const { seq, cursor: next, ...row } of listed) {
        // The same once more where both versions have changed it.
        const version = row.version ?? 0;
        expect(version).toBeGreaterThanOrEqual(seen.get(seq) ?? 1);
        seen.set(seq, version);
        longest = Math.max(longest, next.length);
        cursor = next;
      }
      if (listed.length > 0) isLast = false;
      else if (isLast) return;
      else isLast = isWritten;
    }
  }
  const following = follow();
  await Promise.all(Array.from({ length: writers }, (_, share) => write(share)));
  isWritten = true;
  await following;
  const all = await changes.list(undefined, alerts * 2);
  expect(all.length).toBeGreaterThan(alerts * 0.9);
  const versions = all.map(({ seq, version }) => [seq, version]);
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(versions));
  expect(longest).toBeLessThanOrEqual(100);
  expect(committed).toBeGreaterThanOrEqual(commits);
});
