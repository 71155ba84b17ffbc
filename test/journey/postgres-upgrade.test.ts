import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { migrate, readMigrations } from "../../src/store/postgres/migrate.ts";
import { createHookWorld } from "../support/journey-world.ts";
import { makePostgresDatabase, runSql } from "../support/postgres.ts";
import { keepPosting } from "../support/posting.ts";

/** What an additive migration may bring, to every table at once. */
const sqlOfNext = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' LOOP
    EXECUTE format('ALTER TABLE %s ADD COLUMN of_the_next integer NOT NULL DEFAULT 7, ADD COLUMN and_another text', one.name);
  END LOOP;
END $$;
CREATE TABLE of_the_next (alert_seq bigint PRIMARY KEY);
CREATE INDEX alerts_of_the_next ON alerts (of_the_next) WHERE routed_at IS NULL`;

it("goes on without an error while the next version changes the schema, and starts again on it", async () => {
  const url = await makePostgresDatabase();
  const { arrived, start } = await createHookWorld({ databaseUrl: url, longestMs: 30 });
  const relay = await start();
  const first = await relay.post('{"title":"first"}');
  const posting = keepPosting(
    relay,
    3,
    (sender, count) => `{"title":"before ${sender} ${count}","key":"${count % 5}"}`,
  );
  const refused: unknown[] = [];
  let isOver = false;
  const read = async (pathOf: (count: number) => string) => {
    for (let count = 0; !isOver; count += 1) {
      const path = pathOf(count);
      const answer = await relay.api(path).catch(() => undefined);
      await answer?.text();
      if (answer?.status !== 200) refused.push(`${path} ${answer?.status}`);
    }
  };
  const pages = ["/api/alerts?limit=20", "/api/status", "/api/mutes", "/api/destinations", "/?q=before"];
  const reading = [read((count) => pages[count % pages.length] as string), read(() => `/api/alerts/${first.ids[0]}`)];
  await posting.grow(100);

  const present = readMigrations();
  const number = present.length + 1;
  const tables = await runSql<{ name: string }>(
    url,
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname",
  );
  const locks = tables.map(({ name }) => name);
  const next = { number, name: "9999_next.sql", sql: sqlOfNext, oldestCode: present.length, locks };
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await migrate(client, { migrations: [...present, next] });
  await posting.grow(100);
  isOver = true;
  await Promise.all([...reading, posting.end()]);
  expect([...refused, ...posting.refused]).toEqual([]);

  expect(await relay.stop()).toBe(0);
  const again = await start();
  const { ids } = await again.post('{"title":"after"}');
  const accepted = [...first.ids, ...posting.accepted, ...ids];
  const missing = () => {
    const all = new Set(arrived());
    return accepted.filter((id) => !all.has(id)).length;
  };
  await expect.poll(missing).toBe(0);
  expect(arrived()).toHaveLength(new Set(arrived()).size);
  expect(await again.stop()).toBe(0);
  const problems = (relay.log() + again.log())
    .split("\n")
    .filter((line) => /"level":(50|60|"error"|"fatal")/.test(line));
  expect(problems).toEqual([]);
  const [stored] = await runSql<{ count: number }>(url, "SELECT count(*)::integer FROM alerts WHERE of_the_next = 7");
  expect(stored?.count).toBeGreaterThanOrEqual(accepted.length);
});
