import { expect, it, onTestFinished } from "vitest";
import { checkDatabase } from "../../src/cli/doctor/check-machine.ts";
import type { RelayRun } from "../../src/cli/relay/connect-relay.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { createFailingProxy } from "../support/failing-proxy.ts";
import { createHookWorld } from "../support/journey-world.ts";
import { runSql } from "../support/postgres.ts";
import { type PostgresServer, startPostgresServer } from "../support/postgres-server.ts";
import { keepPosting } from "../support/posting.ts";
import { waitUntil } from "../support/relay-process.ts";

/** Commits of the one wait until the other has them on its disk. */
async function startPair(): Promise<{ primary: PostgresServer; standby: PostgresServer }> {
  const primary = await startPostgresServer();
  onTestFinished(primary.end);
  // Copied while it is stopped, since the package has no pg_basebackup.
  await primary.stop("SIGINT");
  const { port } = new URL(primary.url);
  const conninfo = `host=127.0.0.1 port=${port} user=postgres application_name=standby`;
  const standby = await startPostgresServer(
    { primary_conninfo: conninfo, wal_retrieve_retry_interval: "200ms" },
    undefined,
    primary,
  );
  onTestFinished(standby.end);
  await primary.start();
  const stateIs = (state: string) =>
    expect
      .poll(() => runSql(primary.url, "SELECT state || ' ' || sync_state AS state FROM pg_stat_replication"))
      .toEqual([{ state }]);
  await stateIs("streaming async");
  await runSql(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  await runSql(primary.url, "SELECT pg_reload_conf()");
  await stateIs("streaming sync");
  return { primary, standby };
}

it("loses nothing that was answered, and doubles nothing, when the primary is killed and its standby promoted", async () => {
  const { primary, standby } = await startPair();
  const proxy = await createFailingProxy(primary.url);
  const { arrived, dataDir, start } = await createHookWorld({ databaseUrl: proxy.url, longestMs: 5 });
  const relay = await start();
  const config = loadConfig({ env: { DATABASE_URL: proxy.url }, cwd: dataDir });
  const findings = await checkDatabase({} as RelayRun, config);
  expect(findings).toContainEqual(expect.objectContaining({ check: "failover", verdict: "ok" }));

  const { accepted, refused, ...posting } = keepPosting(
    relay,
    3,
    (sender, count) => `{"title":"alert ${count} of ${sender}"}`,
  );
  await posting.grow(100);
  await primary.stop("SIGKILL");
  proxy.leadTo(standby.url);
  // It is a standby yet, which no relay uses.
  await expect.poll(() => refused.length).toBeGreaterThan(0);
  await runSql(standby.url, "SELECT pg_promote()");
  await posting.grow(100);
  await posting.end();

  await waitUntil(
    arrived,
    (all) => {
      const ids = new Set(all);
      return accepted.every((id) => ids.has(id));
    },
    "all that was taken at the webhook",
  );
  expect(arrived()).toHaveLength(new Set(arrived()).size);
  expect(await relay.stop()).toBe(0);
});
