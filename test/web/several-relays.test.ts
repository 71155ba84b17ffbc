import { expect, it, onTestFinished } from "vitest";
import { loadOrCreateSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { silentLog } from "../../src/core/log.ts";
import { startRelay } from "../../src/start/relay.ts";
import { withKept } from "../../src/store/with-kept.ts";
import { postgresDatabaseOf, runSql } from "../support/postgres.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const token = "canary-admin-token-of-all-relays";

async function startOne(url: string) {
  const dataDir = makeTempFolder();
  const env = { DATA_DIR: dataDir, DATABASE_URL: url, PORT: "0", DRAIN_TIME: "0s", ADMIN_TOKEN: token };
  const config = loadConfig({ env, cwd: dataDir });
  const secrets = await withKept(config, (kept) => loadOrCreateSecrets(kept, config), { isExisting: false });
  const relay = await startRelay({ config, secrets, log: silentLog, readingThreadEntry });
  onTestFinished(() => relay.stop());
  const authorization = `Bearer ${token}`;
  return {
    logIn: (fields: Record<string, string>) =>
      fetch(`${relay.localUrl}/login`, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" }),
    get: (path: string) => fetch(`${relay.localUrl}${path}`, { headers: { authorization } }),
  };
}

it("wrong tokens count for all relays together, a flood asks the database for none, and the right one passes everywhere", async () => {
  const url = await postgresDatabaseOf(makeTempFolder());
  const [one, two] = [await startOne(url), await startOne(url)];
  const wrong = { token: "a-wrong-one" };
  const began = Date.now();
  for (let round = 0; round < 5; round += 1) {
    expect((await one.logIn(wrong)).status).toBe(403);
    expect((await two.logIn(wrong)).status).toBe(403);
  }
  const [counted] = await runSql<{ at: Date }>(
    url,
    `UPDATE allowances SET paid_off_at = paid_off_at + interval '1 minute' WHERE name LIKE '%127.0.0.1'
     RETURNING paid_off_at - interval '1 minute' AS at`,
  );
  expect(counted?.at.getTime()).toBeGreaterThanOrEqual(began + 10 * 6_000);
  for (const relay of [one, two, one, two]) {
    const refused = await relay.logIn(wrong);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(66);
  }
  await runSql(url, "UPDATE allowances SET paid_off_at = 'epoch'");
  expect((await two.logIn(wrong)).status).toBe(429);
  for (const relay of [one, two]) {
    expect((await relay.logIn({ token })).status).toBe(303);
    expect((await relay.get("/api/status")).status).toBe(200);
  }
});
