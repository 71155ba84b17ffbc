import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { command, type Run } from "./command.ts";
import { text } from "./options.ts";

/** `tocsin backup`: a consistent copy of the database, whether the relay runs or not. */
export const backup = command({
  name: "backup",
  summary: "copy the database, running or not",
  says: "copy the database consistently, while the relay runs or not; the copy is checked",
  args: { file: text("file to write; one that exists is refused") },
  examples: ["tocsin backup ./tocsin-backup.db"],
  run: copyDatabase,
});

/** Reads in this process, so that a large copy takes no time from the relay. */
async function copyDatabase({ file }: { file: string }, { context, output }: Run): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { openReadOnly, requireSqlite } = await import("../store/open-read-only.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const dataDir = requireSqlite(
    config,
    'back it up with its own tools: pg_dump --format=custom --file=tocsin.dump "$DATABASE_URL"',
  );
  const store = await openReadOnly(config);
  try {
    const path = resolve(context.cwd, file);
    await output.progress.update(`copying the database of ${dataDir}`);
    await store.backup?.(path);
    const { size } = await stat(path);
    const { kept } = await store.countAlerts();
    // The store copies under another name, and gives the name only to a copy that passed.
    const data = { file: path, bytes: size, integrity: "ok", alerts: kept };
    await output.result(data, () =>
      output.fields([
        ["backup", path],
        ["size", `${size.toLocaleString("en-US")} bytes, ${kept.toLocaleString("en-US")} alerts`],
        ["integrity", "checked, ok"],
        ["to restore", "stop the relay, then: tocsin restore FILE"],
        ["not in it", `the secrets in ${dataDir}/secrets and the configuration: keep copies of them too`],
      ]),
    );
  } finally {
    await store.close();
  }
}
