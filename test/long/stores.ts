import { parseArgs } from "node:util";
import { inScope } from "../relays/scope.ts";
import { startPostgresServer } from "../support/postgres-server.ts";
import { compareStores } from "../support/store-comparison.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** Both stores have to answer the same random calls alike: see `compareStores`. */
export const run = (args: readonly string[]): Promise<boolean> =>
  inScope(async ({ atEnd }) => {
    const usual = (value: string) => ({ type: "string", default: value }) as const;
    const options = { steps: usual("10000"), seed: usual(String(Date.now() % 1e9)) };
    const { values } = parseArgs({ args: [...args], options });
    const server = await startPostgresServer();
    atEnd(server.end);
    const [seed, steps] = [Number(values.seed), Number(values.steps)];
    console.table(await compareStores(makeTempFolder(atEnd), server.url, seed, steps));
    console.log(`Seed ${seed}: SQLite and PostgreSQL answered alike, and keep the same rows.`);
    return true;
  });
