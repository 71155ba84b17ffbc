import { join } from "node:path";
import type { Command } from "commander";
import type { Lost } from "../store/sqlite/repair-database.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, type Output, openOutput } from "./shell/output.ts";
import { terminalText } from "./shell/terminal-text.ts";

/** `tocsin repair`: a damaged database written anew from what of it can be read. */
export function registerRepair(program: Command, context: CliContext): void {
  const command = program
    .command("repair")
    .description(
      "check the database; a damaged one is written anew from what can be read, and kept beside it; refused while a relay runs",
    )
    .action((_options: unknown, self: Command) => repair(context, openOutput(context, self)));
  addExamples(command, "tocsin repair");
}

async function repair(context: CliContext, output: Output): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { databaseFileName, lockDataFolder } = await import("../store/sqlite/threaded-store.ts");
  const { repairDatabase } = await import("../store/sqlite/repair-database.ts");
  const { dataDir } = loadConfig({ env: context.env, cwd: context.cwd });
  const path = join(dataDir, databaseFileName);
  const lock = lockDataFolder(dataDir);
  try {
    await output.progress.update(`checking ${path}`);
    const { found, kept, tables } = await repairDatabase(path, context.now());
    const data = { database: path, found, kept: kept ?? null, tables };
    if (kept === undefined) {
      await output.result(data, () => `${path} was checked: nothing is wrong\n`);
      return;
    }
    const lost = tables.filter((table) => table.lost.length > 0);
    await output.result(data, () =>
      output.fields([
        ["found", terminalText(found[0] ?? "")],
        ["saved", tables.map(({ name, rows }) => `${rows.toLocaleString("en-US")} ${name}`).join(", ")],
        [
          "lost",
          lost.length === 0 ? "nothing" : lost.map(({ name, lost }) => `${name} ${describeLost(lost)}`).join("; "),
        ],
        ["kept", kept],
        [
          "next",
          "start the relay; it makes the search index anew. What was lost may be in a backup: tocsin restore FILE",
        ],
      ]),
    );
  } finally {
    lock.release();
  }
}

function describeLost(lost: Lost[]): string {
  return lost
    .map(({ after, before }) =>
      before === undefined ? `behind position ${after}` : `between positions ${after} and ${before}`,
    )
    .join(", ");
}
