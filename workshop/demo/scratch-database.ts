import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { AppError } from "../../src/core/errors.ts";
import { openClient, placeOf, toConnectionString } from "../../src/store/postgres/connect.ts";
import { toOpenError } from "../../src/store/postgres/store-error.ts";

const lookEveryMs = 200;

/**
 * Makes an empty database. The database of `serverUrl` stays unchanged.
 * @throws AppError `store_unavailable` when the server cannot be reached, `failed` when the role has no right,
 * `config_invalid` for a wrong address.
 */
export async function makeScratchDatabase(serverUrl: string, prefix: string) {
  const place = placeOf(serverUrl);
  const name = `${prefix}_${randomBytes(6).toString("hex")}`;

  async function withServer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
    const settings = { connectionString: toConnectionString(serverUrl), connectionTimeoutMillis: 5_000 };
    try {
      const client = await openClient(settings, place);
      await work(client).finally(() => client.end().catch(() => {}));
    } catch (error) {
      if ((error as { code?: unknown }).code !== "42501") throw toOpenError(error, place);
      throw new AppError("failed", `${place} lets this user make no other database on its server.`, {
        hint: "Let it: `ALTER ROLE … CREATEDB`, or name another user.",
      });
    }
  }

  await withServer((client) => client.query(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`));
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    /** Removes the database when nobody is connected any more, or after this long. */
    drop: (clientsHaveMs: number) =>
      withServer(async (client) => {
        for (let leftMs = clientsHaveMs; leftMs > 0; leftMs -= lookEveryMs) {
          const asked = "SELECT count(*)::int AS clients FROM pg_stat_activity WHERE datname = $1";
          const { rows } = await client.query<{ clients: number }>(asked, [name]);
          if (rows[0]?.clients === 0) break;
          await sleep(lookEveryMs);
        }
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      }),
  };
}
