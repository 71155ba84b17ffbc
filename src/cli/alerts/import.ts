import { createReadStream } from "node:fs";
import { join, resolve } from "node:path";
import type { AlertFacts } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { firstIdAt, idPattern, lastIdAt } from "../../core/id.ts";
import { describeRetention } from "../../core/ports/retention.ts";
import type { ExportedAlert, ImportedCount } from "../../store/sqlite/import-alerts.ts";
import type { AlertDetailOnWire } from "../relay/relay-client.ts";
import { countOf } from "../shell/amounts.ts";
import type { CliContext } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";

/** `tocsin alerts import`: what `alerts export --full` has written, into the log of a relay that does not run. */
export async function importExport(context: CliContext, output: Output, file: string): Promise<void> {
  const { loadConfig } = await import("../../config/load-config.ts");
  const { databaseFileName, lockDataFolder } = await import("../../store/sqlite/threaded-store.ts");
  const { importAlerts } = await import("../../store/sqlite/import-alerts.ts");
  const { z, alertDetailSchema, decisionSchema, deliveryDetailSchema } = await loadSchemas();
  // An old log may know channels and results that this Tocsin has no more.
  const schema = alertDetailSchema.extend({
    decisions: z.array(decisionSchema.extend({ result: z.string() })),
    deliveries: z.array(deliveryDetailSchema.extend({ channel: z.string() })),
  });
  const { requireSqlite } = await import("../relay/open-read-only.ts");
  const config = loadConfig({ env: context.env, cwd: context.cwd });
  const dataDir = requireSqlite(
    config,
    "unset DATABASE_URL to import into a log of SQLite, which can be moved into an empty PostgreSQL: tocsin move --to",
  );
  const { retention } = config;
  const path = resolve(context.cwd, file);
  const keptSince = retention.maxAgeMs === undefined ? 0 : context.now() - retention.maxAgeMs;
  let number = 0;
  const refuse = (why: string): never => {
    throw new AppError("invalid_request", `${path}, line ${number}: ${why}`, {
      hint: "only what `tocsin alerts export --format ndjson --full` has written can be imported; nothing was changed",
    });
  };
  const parse = (line: string): ExportedAlert => {
    const read = schema.safeParse(parseJson(line));
    if (!read.success) {
      const [issue] = read.error.issues;
      return refuse(issue === undefined ? "it is no alert" : `${issue.path.join(".") || "it"}: ${issue.message}`);
    }
    const why = whatIsWrong(read.data as AlertDetailOnWire);
    return why === undefined ? fromWire(read.data as AlertDetailOnWire) : refuse(why);
  };
  async function* lines(): AsyncGenerator<string> {
    for await (const line of linesOf(path)) {
      context.signal.throwIfAborted();
      number += 1;
      if (number % 10_000 === 0) await output.progress.update(`${countOf(number, "line")} read`);
      if (line === undefined) refuse("it is longer than any alert");
      else if (line.trim() !== "") yield line;
    }
  }
  const lock = lockDataFolder(dataDir);
  try {
    const count = await importAlerts(join(dataDir, databaseFileName), lines(), parse, keptSince).catch(
      (error: unknown) => {
        const code = (error as NodeJS.ErrnoException | null)?.code;
        if (error instanceof AppError || typeof code !== "string" || code.startsWith("SQLITE_")) throw error;
        throw new AppError("failed", `${path} cannot be read (${code})`, {
          hint: "name a file that is there and may be read",
        });
      },
    );
    const warning =
      count.old === 0
        ? undefined
        : `${countOf(count.old, "alert")} of them ${count.old === 1 ? "is" : "are"} removed again soon after the start: kept is ${describeRetention(retention)}. Set a longer retention.age before it`;
    await output.result({ file: path, dataDir, ...count }, () => describe(count, dataDir, output, warning));
  } finally {
    lock.release();
  }
}

async function loadSchemas() {
  const [schemas, { z }] = await Promise.all([import("../../web/api/schemas.ts"), import("@hono/zod-openapi")]);
  return { ...schemas, z };
}

function describe(
  { imported, present, unrouted, ended }: ImportedCount,
  dataDir: string,
  output: Output,
  warning: string | undefined,
): string {
  return output.fields([
    ["imported", `${countOf(imported, "alert")} into ${dataDir}`],
    ["left out", `${present} that are there already, ${unrouted} that were not routed yet where they were exported`],
    [
      "expired",
      `${ended.toLocaleString("en-US")} ${ended === 1 ? "delivery" : "deliveries"} that had not ended there; nothing is sent`,
    ],
    ...(warning === undefined ? [] : [["too old", warning] as [string, string]]),
    ["next", "start the relay; it takes up the search index by and by"],
  ]);
}

/** Far more than an alert takes whose body is as large as bodies may be, and that was tried for days. */
const longestLine = 32 * 1024 * 1024;

/** Undefined for one that is too long, behind which nothing comes: it may be a file without lines, of any size. */
async function* linesOf(path: string): AsyncGenerator<string | undefined> {
  let rest = "";
  let isFirst = true;
  for await (const chunk of createReadStream(path, "utf8")) {
    // Some editors put a mark before the first line that no JSON may have.
    const text: string = isFirst ? chunk.replace(/^\ufeff/, "") : chunk;
    isFirst = false;
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
    if (rest.length > longestLine) yield undefined;
  }
  yield rest;
}

/** An id says when its alert came, within what a clock that is set may be off; places and times are found by it. */
const mostApartMs = 3_600_000;

/** What the form alone does not say: a file may have been edited, or be another program's. */
function whatIsWrong({ id, receivedAt, request }: AlertDetailOnWire): string | undefined {
  if (!idPattern.test(id)) return "its id is none of Tocsin's";
  const at = Date.parse(receivedAt);
  if (!(id >= firstIdAt(at - mostApartMs) && id <= lastIdAt(at + mostApartMs)))
    return "its id is of another time than it";
  if (request === null) return undefined;
  const { item, items, bodyBytes, duplicates } = request;
  if (item < 1 || item > items || items > Math.max(1, bodyBytes))
    return `it cannot be alert ${item} of ${items} of its body`;
  return duplicates < 0 ? "its duplicates are less than none" : undefined;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function fromWire(alert: AlertDetailOnWire): ExportedAlert {
  const { title, severity, status, facts, request } = alert;
  const isRead = facts !== null && title !== null && severity !== null && status !== null;
  return {
    ...alert,
    receivedAt: Date.parse(alert.receivedAt),
    routedAt: alert.routedAt === null ? undefined : Date.parse(alert.routedAt),
    facts: isRead
      ? ({ ...facts, title, severity, status, occurredAt: toInstant(facts.occurredAt) } satisfies AlertFacts)
      : undefined,
    deliveries: alert.deliveries.map((delivery) => ({
      ...delivery,
      createdAt: Date.parse(delivery.createdAt),
      dueAt: toInstant(delivery.dueAt),
      finishedAt: toInstant(delivery.finishedAt),
      attempts: delivery.attempts.map((attempt) => ({ ...attempt, at: Date.parse(attempt.at) })),
    })),
    request:
      request === null
        ? undefined
        : {
            ...request,
            receivedAt: Date.parse(request.receivedAt),
            body: Buffer.from(request.body, request.bodyEncoding === "utf8" ? "utf8" : "base64"),
            item: request.item - 1,
          },
  };
}

const toInstant = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
