import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import type { Cell } from "../panels/panel.ts";
import { factsOf, paragraph, say } from "../panels/sections.ts";
import type { Lost, Repair } from "../store/sqlite/repair-database.ts";
import { command, type Run } from "./command.ts";
import { text } from "./options.ts";
import { readConfig } from "./relay/connect-relay.ts";
import type { CliContext } from "./shell/context.ts";

export const backup = command({
  name: "backup",
  summary: "copy the database, running or not",
  says: "copy the database consistently, while the relay runs or not; the copy is checked",
  args: { file: text("file to write; one that exists is refused") },
  examples: ["tocsin backup ./tocsin-backup.db"],
  run: copyDatabase,
});

export const restore = command({
  name: "restore",
  summary: "replace the database by a backup",
  says: "replace the database by a backup, and keep the former one next to it; refused while a relay runs",
  args: { file: text("file that `tocsin backup` made; it is checked first, and stays as it is") },
  examples: ["tocsin restore /var/backups/tocsin/2026-11-21.db"],
  run: putBack,
});

export const repair = command({
  name: "repair",
  summary: "check the database, and fix a damaged one",
  says: "check the database; write a damaged one anew from what can be read, and keep the old one next to it; refused while a relay runs",
  examples: ["tocsin repair"],
  run: checkAndRepair,
});

/** Reads in this process, so a large copy takes no time from the relay. */
async function copyDatabase({ file }: { file: string }, { context, output }: Run): Promise<void> {
  const { openReadOnly, requireSqlite } = await import("../store/open-read-only.ts");
  const config = await readConfig(context);
  const instead = 'back it up with its own tools: pg_dump --format=custom --file=tocsin.dump "$DATABASE_URL"';
  const dataDir = requireSqlite(config, instead);
  const store = await openReadOnly(config);
  try {
    const path = resolve(context.cwd, file);
    await output.progress.update(`copying the database of ${dataDir}`);
    await store.backup?.(path);
    const { size } = await stat(path);
    const { kept } = await store.countAlerts();
    // The store copies under another name, and renames only a copy that passed the check.
    const data = { file: path, bytes: size, integrity: "ok", alerts: kept };
    await output.result(data, () =>
      factsOf([
        ["backup", path],
        ["size", say`${size} bytes, ${kept} alerts`],
        ["integrity", "checked, ok"],
        ["to restore", say`stop the relay, then: ${{ code: "tocsin restore FILE" }}`],
        ["not in it", `the secrets in ${dataDir}/secrets and the configuration: keep copies of them too`],
      ]),
    );
  } finally {
    await store.close();
  }
}

/** Works on the database of SQLite while no relay can use it. `instead`: the tool for PostgreSQL. */
async function withDatabase(context: CliContext, instead: string, work: (path: string) => Promise<void>) {
  const { databaseFileName, lockDataFolder } = await import("../store/sqlite/threaded-store.ts");
  const { requireSqlite } = await import("../store/open-read-only.ts");
  const dataDir = requireSqlite(await readConfig(context), instead);
  const lock = lockDataFolder(dataDir);
  try {
    await work(join(dataDir, databaseFileName));
  } finally {
    lock.release();
  }
}

async function putBack({ file }: { file: string }, { context, output }: Run): Promise<void> {
  const { restoreDatabase } = await import("../store/sqlite/restore-database.ts");
  const instead =
    "stop every relay, and restore with its own tools: pg_restore --clean " +
    '--if-exists --no-owner --single-transaction --dbname="$DATABASE_URL" tocsin.dump';
  await withDatabase(context, instead, async (database) => {
    const from = resolve(context.cwd, file);
    await output.progress.update(`checking ${from}`);
    const { kept, alerts, lastReceivedAt: at, waiting } = await restoreDatabase(from, database, context.now());
    const lastReceivedAt = at === undefined ? null : new Date(at).toISOString();
    const data = { file: from, database, kept: kept ?? null, alerts, lastReceivedAt, waiting };
    await output.result(data, () =>
      factsOf([
        ["restored", `${database} from ${from}`],
        ["in it", say`${countOf(alerts, "alert")}${at !== undefined && say`, the last of ${{ at }}`}`],
        ["kept", kept ?? "nothing: there was no database"],
        ["waiting", waiting === 0 ? "nothing" : `${waiting}: sent when the relay starts, even if they were sent since`],
        [
          "next",
          say`start the relay, then: ${{ code: "tocsin status" }}. Alerts that came after the backup are in what was kept`,
        ],
      ]),
    );
  });
}

async function checkAndRepair(_: unknown, { context, output }: Run): Promise<void> {
  const { repairDatabase } = await import("../store/sqlite/repair-database.ts");
  const instead =
    'check it with its own tools: pg_amcheck --install-missing --dbname="$DATABASE_URL"; what is damaged comes from a backup: pg_restore';
  await withDatabase(context, instead, async (database) => {
    await output.progress.update(`checking ${database}`);
    const { found, kept, tables, leftOut } = await repairDatabase(database, context.now());
    const data = { database, found, kept: kept ?? null, tables, leftOut };
    await output.result(data, () => {
      if (kept === undefined) return paragraph`${database} was checked: nothing is wrong`;
      return factsOf([
        ["found", found[0]],
        ["saved", tables.map(({ name, rows }) => many(rows, name)).join(", ")],
        ["lost", describeLoss(tables, leftOut)],
        ["kept", kept],
        [
          "next",
          say`start the relay; it makes the search index anew. What was lost may be in a backup: ${{ code: "tocsin restore FILE" }}`,
        ],
      ]);
    });
  });
}

const many = (count: number, what: string) => `${groupThousands(count)} ${what}`;

function describeLoss(tables: Repair["tables"], leftOut: Repair["leftOut"]): Cell {
  const { deliveries, unsent, withoutBody, withoutDelivery } = leftOut;
  const notSent = unsent > 0 ? `, ${many(unsent, "of them not sent yet")}` : "";
  const lines = [
    ...tables.flatMap(({ name, lost, unfit, withoutText }) => [
      ...lost.map((gap) => describeGap(name, gap)),
      unfit > 0 && `${many(unfit, name)} that were read and cannot be right`,
      withoutText > 0 && `a damaged text in ${many(withoutText, name)}, which are saved without it`,
    ]),
    deliveries > 0 && `${many(deliveries, "deliveries")} of lost alerts${notSent}`,
    withoutDelivery > 0 &&
      `${countOf(withoutDelivery, "alert")} without a delivery that was decided: whether it was sent is not known`,
    withoutBody > 0 && `the bodies of ${countOf(withoutBody, "alert")}`,
  ];
  return lines.filter((line) => line !== false).join("; ") || "nothing";
}

function describeGap(name: string, { after, before, fromAt, toAt }: Lost): string {
  if (after === undefined) return `some rows of ${name}`;
  const place =
    before === undefined
      ? `${name} behind position ${after}`
      : `up to ${many(before - after - 1, name)} between positions ${after} and ${before}`;
  const times = Object.entries({ after: fromAt, until: toAt }).flatMap(([word, at]) =>
    at === undefined ? [] : [`${word} ${new Date(at).toISOString()}`],
  );
  return times.length === 0 ? place : `${place} (${times.join(" ")})`;
}
