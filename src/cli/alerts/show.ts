import type { Client } from "../../contract/client.ts";
import type { AlertDetailView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import {
  decisionsPanel,
  deliveriesPanel,
  fieldsPanel,
  headFacts,
  readFacts,
  requestFacts,
} from "../../panels/alert.ts";
import type { Cell, Panel, Tone } from "../../panels/panel.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { printAnswer } from "../relay/question.ts";
import { withClient } from "../relay/with-client.ts";
import { printRaw } from "../shell/raw-body.ts";
import { wordsOf } from "./alert-line.ts";
import { resolveId } from "./resolve-id.ts";

/** `tocsin alerts show`: all that is known of one alert, or the body it came with, byte for byte. */
export async function showAlert(
  run: RelayRun,
  id: string,
  { raw = false, headers = false }: { raw?: boolean; headers?: boolean },
): Promise<void> {
  const alert = await withClient(run, (client) => findAlert(client, id));
  if (raw) return printRaw(run, requireBody(alert));
  await printAnswer(run, "findAlert", alert, () => alertPanel(alert, { now: run.context.now(), headers }));
}

/** As the page says it, in the same words. `headers`: with those of its request. */
function alertPanel(alert: AlertDetailView, { now, headers }: { now: number; headers: boolean }): Panel {
  const { severity, status, facts, request, url } = alert;
  return [
    { kind: "text", text: { bold: wordsOf(alert) } },
    {
      kind: "facts",
      rows: [
        ["severity", urgencyCell(severity)],
        ["status", urgencyCell(status)],
        ...headFacts(alert),
        ...readFacts(alert),
        ...requestFacts(alert),
        ["page", url],
      ],
    },
    facts?.text !== undefined && { kind: "block", text: facts.text },
    deliveriesPanel(alert, { now }),
    decisionsPanel(alert),
    ...fieldsPanel(alert),
    headers &&
      request !== null && { kind: "table", columns: [{ title: "header" }, { title: "value" }], rows: request.headers },
  ];
}

function urgencyCell(word: string | null): Cell {
  if (word === null) return undefined;
  const tone = ({ critical: "bad", warning: "busy", resolved: "good" } as Record<string, Tone>)[word];
  return tone === undefined ? word : { chip: word, tone };
}

/**
 * By its id, or by a part that no other id begins or ends with.
 * @throws AppError `not_found`, and `usage` for a part that may mean several.
 */
export async function findAlert(client: Client, idOrPart: string): Promise<AlertDetailView> {
  return client.findAlert({ id: await resolveId(client, idOrPart) });
}

function requireBody(alert: AlertDetailView): Buffer {
  const body = bodyOf(alert);
  if (body !== undefined) return body;
  throw new AppError("not_found", `alert ${alert.id} has no request`, {
    hint: "Tocsin wrote it itself: a notice, or a test of one destination",
  });
}

/** The bytes of the request that brought it. Undefined for what Tocsin writes itself. */
export function bodyOf({ request }: AlertDetailView): Buffer | undefined {
  return request === null ? undefined : Buffer.from(request.body, request.bodyEncoding);
}
