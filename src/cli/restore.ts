import { join, resolve } from "node:path";
import { command, type Run } from "./command.ts";
import { text } from "./options.ts";
import { countOf, withAge } from "./shell/amounts.ts";

/** `tocsin restore`: a backup in the place of the database, which is kept. */
export const restore = command({
  name: "restore",
  summary: "put a backup in the place of the database",
  says: "put a backup in the place of the database, which is kept beside it; refused while a relay runs",
  args: { file: text("file that `tocsin backup` made; it is checked first, and stays as it is") },
  examples: ["tocsin restore /var/backups/tocsin/2026-11-21.db"],
  run: putBack,
});

async function putBack({ file }: { file: string }, { context, output }: Run): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { databaseFileName, lockDataFolder } = await import("../store/sqlite/threaded-store.ts");
  const { restoreDatabase } = await import("../store/sqlite/restore-database.ts");
  const { requireSqlite } = await import("../store/open-read-only.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const dataDir = requireSqlite(
    config,
    'stop every relay, and restore with its own tools: pg_restore --clean --if-exists --no-owner --single-transaction --dbname="$DATABASE_URL" tocsin.dump',
  );
  const from = resolve(context.cwd, file);
  const path = join(dataDir, databaseFileName);
  const lock = lockDataFolder(dataDir);
  try {
    await output.progress.update(`checking ${from}`);
    const { kept, alerts, lastReceivedAt, waiting } = await restoreDatabase(from, path, context.now());
    const last = lastReceivedAt === undefined ? null : new Date(lastReceivedAt).toISOString();
    const data = { file: from, database: path, kept: kept ?? null, alerts, lastReceivedAt: last, waiting };
    await output.result(data, () =>
      output.fields([
        ["restored", `${path} from ${from}`],
        [
          "in it",
          `${countOf(alerts, "alert")}${lastReceivedAt === undefined ? "" : `, the last of ${withAge(lastReceivedAt, context.now())}`}`,
        ],
        ["kept", kept ?? "nothing: there was no database"],
        ["waiting", waiting === 0 ? "nothing" : `${waiting}: sent when the relay starts, even if they were sent since`],
        ["next", "start the relay, then: tocsin status. Alerts that came after the backup are in what was kept"],
      ]),
    );
  } finally {
    lock.release();
  }
}
