import { setImmediate as nextTurn } from "node:timers/promises";
import { type AlertFilters, type AlertPage, type ExportFormat, listAlertPage } from "../contract/alert-query.ts";
import { exportLines } from "../contract/export-lines.ts";
import { viewAlert } from "../contract/make-views.ts";
import { AppError } from "../core/errors.ts";
import type { AlertLog, Position } from "../core/ports/alert-log.ts";
import { turns } from "../ground/turns.ts";
import { toAppError } from "./error-answer.ts";
import type { WebDeps } from "./web-deps.ts";
import type { WebContext } from "./web-env.ts";

export interface ExportDeps extends Pick<WebDeps, "publicUrl" | "learnedName" | "clock" | "log"> {
  store: Pick<AlertLog, "listAlertsWithin">;
}

/** The most exports at once. Each holds one piece of the log in memory. */
const mostAtOnce = 10;
const alertsInPiece = 50;

/** @throws AppError when the first page cannot be read, or too many exports are under way */
export type AnswerExport = (request: ExportRequest) => Promise<Response>;

export interface ExportRequest {
  filters: AlertFilters;
  format: ExportFormat;
  newestOfKey?: boolean;
  /** Adds a byte order mark for spreadsheets, which otherwise read a CSV in a local encoding. Default false. */
  isForPeople?: boolean;
  /** Ends the connection after the written part, before the end of the answer. */
  breakOff?: () => void;
}

const contentTypes = { csv: "text/csv; charset=utf-8; header=present", ndjson: "application/x-ndjson; charset=utf-8" };

/**
 * Exports all matching alerts, newest first, at the reader's speed, so a long log needs the memory of one piece. When
 * the log cannot be read further, a last line says so and the connection breaks: no client takes the file for complete.
 */
export function createExports(deps: ExportDeps): AnswerExport {
  const read = new Set<ExportRequest>();
  return async (request) => {
    if (read.size >= mostAtOnce) {
      throw new AppError("store_unavailable", `${mostAtOnce} exports are being read at this moment.`, {
        hint: "Try again when one of them has ended.",
        retryAfterMs: 10_000,
      });
    }
    read.add(request);
    try {
      return await answerExport(deps, request, read);
    } finally {
      // Taken again when the reader pulls. The reader of a HEAD never does.
      read.delete(request);
    }
  };
}

async function answerExport(
  { store, publicUrl, learnedName, clock, log }: ExportDeps,
  request: ExportRequest,
  read: Set<ExportRequest>,
): Promise<Response> {
  const { filters, format, newestOfKey, isForPeople = false, breakOff } = request;
  async function readPage(cursor?: Position): Promise<AlertPage> {
    await turns.take();
    return listAlertPage(store, filters, { limit: alertsInPiece, cursor, newestOfKey });
  }
  const write = ({ alerts }: AlertPage) =>
    alerts.map((alert) => exportLines[format].write(viewAlert(alert, { publicUrl, learnedName }))).join("");
  // Read before the answer begins, so an early failure gets its own answer.
  let page = await readPage();

  async function* pieces() {
    read.add(request);
    let count = page.alerts.length;
    try {
      yield `${isForPeople && format === "csv" ? "\u{feff}" : ""}${exportLines[format].head}${write(page)}`;
      while (page.nextCursor !== undefined) {
        page = await readPage(page.nextCursor);
        count += page.alerts.length;
        yield write(page);
      }
    } catch (thrown) {
      log.error("web.failed", { path: "export", alerts: count, error: String(thrown) });
      yield cutLines[format](count, toAppError(thrown).message);
      // After this turn the last line is on its way.
      await nextTurn();
      if (breakOff === undefined) throw thrown;
      breakOff();
    } finally {
      read.delete(request);
    }
  }

  const day = new Date(clock.now()).toISOString().slice(0, 10);
  return new Response(ReadableStream.from(encoded(pieces())), {
    headers: {
      "content-type": contentTypes[format],
      "content-disposition": `attachment; filename="tocsin-alerts-${day}.${format}"`,
    },
  });
}

/** Where few alerts pass, a piece may be empty. */
async function* encoded(texts: AsyncIterable<string>) {
  const encoder = new TextEncoder();
  for await (const text of texts) if (text !== "") yield encoder.encode(text);
}

export function breakOffOf(c: WebContext): ExportRequest["breakOff"] {
  const socket = c.env?.incoming?.socket;
  return socket && (() => socket.destroySoon());
}

const cutLines: Record<ExportFormat, (count: number, why: string) => string> = {
  csv: (count, why) => `"NOT COMPLETE: the export broke off after ${count} alerts. ${why.replaceAll('"', "'")}"\r\n`,
  ndjson: (count, why) =>
    `${JSON.stringify({ error: { code: "failed", message: `The export broke off after ${count} alerts. ${why}` } })}\n`,
};
