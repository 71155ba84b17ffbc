import { join, resolve } from "node:path";
import type { Command } from "commander";
import { countOf, withAge } from "./shell/amounts.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, type Output, openOutput } from "./shell/output.ts";

/** `tocsin restore`: a backup in the place of the database, which is kept. */
export function registerRestore(program: Command, context: CliContext): void {
  const command = program
    .command("restore")
    .description("put a backup in the place of the database, which is kept beside it; refused while a relay runs")
    .argument("<file>", "file that `tocsin backup` made; it is checked first, and stays as it is")
    .action((file: string, _options: unknown, self: Command) => restore(file, context, openOutput(context, self)));
  addExamples(command, "tocsin restore /var/backups/tocsin/2026-11-21.db");
}

async function restore(file: string, context: CliContext, output: Output): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { databaseFileName, lockDataFolder } = await import("../store/sqlite/threaded-store.ts");
  const { restoreDatabase } = await import("../store/sqlite/restore-database.ts");
  const { requireSqlite } = await import("./relay/open-read-only.ts");
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
    const last = lastReceivedAt === undefined ? undefined : new Date(lastReceivedAt).toISOString();
    const data = { file: from, database: path, kept: kept ?? null, alerts, lastReceivedAt: last ?? null, waiting };
    await output.result(data, () =>
      output.fields([
        ["restored", `${path} from ${from}`],
        [
          "in it",
          `${countOf(alerts, "alert")}${last === undefined ? "" : `, the last of ${withAge(last, context.now())}`}`,
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
