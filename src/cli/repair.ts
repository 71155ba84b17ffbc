import { join } from "node:path";
import type { Lost, Repair } from "../store/sqlite/repair-database.ts";
import { command, type Run } from "./command.ts";
import { countOf } from "./shell/amounts.ts";
import { terminalText } from "./shell/terminal-text.ts";

/** `tocsin repair`: a damaged database written anew from what of it can be read. */
export const repair = command({
  name: "repair",
  summary: "check the database, and fix a damaged one",
  says: "check the database; a damaged one is written anew from what can be read, and kept beside it; refused while a relay runs",
  examples: ["tocsin repair"],
  run: checkAndRepair,
});

async function checkAndRepair(_: unknown, { context, output }: Run): Promise<void> {
  const { loadConfig } = await import("../config/load-config.ts");
  const { databaseFileName, lockDataFolder } = await import("../store/sqlite/threaded-store.ts");
  const { repairDatabase } = await import("../store/sqlite/repair-database.ts");
  const { requireSqlite } = await import("../store/open-read-only.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const dataDir = requireSqlite(
    config,
    'check it with its own tools: pg_amcheck --install-missing --dbname="$DATABASE_URL"; what is damaged comes from a backup: pg_restore',
  );
  const path = join(dataDir, databaseFileName);
  const lock = lockDataFolder(dataDir);
  try {
    await output.progress.update(`checking ${path}`);
    const { found, kept, tables, leftOut } = await repairDatabase(path, context.now());
    const data = { database: path, found, kept: kept ?? null, tables, leftOut };
    if (kept === undefined) {
      await output.result(data, () => `${path} was checked: nothing is wrong\n`);
      return;
    }
    await output.result(data, () =>
      output.fields([
        ["found", terminalText(found[0] ?? "")],
        ["saved", tables.map(({ name, rows }) => `${rows.toLocaleString("en-US")} ${name}`).join(", ")],
        ["lost", describeLoss(tables, leftOut) || "nothing"],
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

function describeLoss(tables: Repair["tables"], leftOut: Repair["leftOut"]): string {
  const { deliveries, unsent, withoutBody, withoutDelivery } = leftOut;
  const lines = tables.flatMap(({ name, lost, unfit, withoutText }) => [
    ...lost.map((gap) => describeGap(name, gap)),
    ...(unfit > 0 ? [`${unfit.toLocaleString("en-US")} ${name} that were read and cannot be right`] : []),
    ...(withoutText > 0
      ? [`a damaged text in ${withoutText.toLocaleString("en-US")} ${name}, which are saved without it`]
      : []),
  ]);
  if (deliveries > 0) {
    const notSent = unsent > 0 ? `, ${unsent.toLocaleString("en-US")} of them not sent yet` : "";
    lines.push(`${deliveries.toLocaleString("en-US")} deliveries of lost alerts${notSent}`);
  }
  if (withoutDelivery > 0)
    lines.push(
      `${countOf(withoutDelivery, "alert")} without a delivery that was decided: whether it was sent is not known`,
    );
  if (withoutBody > 0) lines.push(`the bodies of ${countOf(withoutBody, "alert")}`);
  return lines.join("; ");
}

function describeGap(name: string, { after, before, fromAt, toAt }: Lost): string {
  if (after === undefined) return `some rows of ${name}`;
  const place =
    before === undefined
      ? `${name} behind position ${after}`
      : `up to ${(before - after - 1).toLocaleString("en-US")} ${name} between positions ${after} and ${before}`;
  const times = [
    ...(fromAt === undefined ? [] : [`after ${new Date(fromAt).toISOString()}`]),
    ...(toAt === undefined ? [] : [`until ${new Date(toAt).toISOString()}`]),
  ];
  return times.length === 0 ? place : `${place} (${times.join(" ")})`;
}
