import { parseArgs } from "node:util";
import { createScope } from "../relays/scope.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { compareStores } from "../support/store-comparison.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** Both stores have to answer the same random calls alike: see `compareStores`. */
export async function run(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      steps: { type: "string", default: "10000" },
      seed: { type: "string", default: String(Date.now() % 1e9) },
    },
  });
  const scope = createScope();
  try {
    const server = await startPostgresServer();
    scope.atEnd(() => server.end());
    const made = await compareStores(
      makeTempFolder(scope.atEnd),
      server.url,
      Number(values.seed),
      Number(values.steps),
    );
    console.table(made);
    console.log(`Seed ${values.seed}: SQLite and PostgreSQL answered alike, and keep the same rows.`);
    return true;
  } catch (error) {
    console.error(error);
    return false;
  } finally {
    await scope.end();
  }
}
