import { createReadStream } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { AlertFacts } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { idPattern } from "../../core/id.ts";
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
  const { dataDir } = loadConfig({ env: context.env, cwd: context.cwd });
  const path = resolve(context.cwd, file);
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
    if (!idPattern.test(read.data.id)) return refuse("its id is none of Tocsin's");
    return fromWire(read.data as AlertDetailOnWire);
  };
  async function* lines(): AsyncGenerator<string> {
    const input = createReadStream(path, "utf8");
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      context.signal.throwIfAborted();
      number += 1;
      if (number % 10_000 === 0) await output.progress.update(`${countOf(number, "line")} read`);
      if (line.trim() !== "") yield line;
    }
  }
  const lock = lockDataFolder(dataDir);
  try {
    const count = await importAlerts(join(dataDir, databaseFileName), lines(), parse).catch((error: unknown) => {
      const code = (error as NodeJS.ErrnoException | null)?.code;
      if (error instanceof AppError || typeof code !== "string" || code.startsWith("SQLITE_")) throw error;
      throw new AppError("failed", `${path} cannot be read (${code})`, {
        hint: "name a file that is there and may be read",
      });
    });
    await output.result({ file: path, dataDir, ...count }, () => describe(count, dataDir, output));
  } finally {
    lock.release();
  }
}

async function loadSchemas() {
  const [schemas, { z }] = await Promise.all([import("../../web/api/schemas.ts"), import("@hono/zod-openapi")]);
  return { ...schemas, z };
}

function describe({ imported, present, unrouted, ended }: ImportedCount, dataDir: string, output: Output): string {
  return output.fields([
    ["imported", `${countOf(imported, "alert")} into ${dataDir}`],
    ["left out", `${present} that are there already, ${unrouted} that had not been routed where they come from`],
    [
      "expired",
      `${ended.toLocaleString("en-US")} ${ended === 1 ? "delivery" : "deliveries"} that had not ended there; nothing is sent`,
    ],
    ["next", "start the relay; it takes up the search index by and by"],
  ]);
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
