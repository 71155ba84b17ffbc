import type { Client } from "../../contract/client.ts";
import type { AlertDetailView } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import {
  type DeliveriesContext,
  decisionsPanel,
  deliveriesPanel,
  fieldsPanel,
  headFacts,
  readFacts,
  requestFacts,
} from "../../panels/alert.ts";
import { factsOf, type Panel } from "../../panels/panel.ts";
import { urgencyCell, wordsOf } from "./alert-line.ts";
import { resolveId } from "./resolve-id.ts";

/** `tocsin alerts show`, in the words of the page. `headers`: with those of its request. */
export function alertPanel(
  alert: AlertDetailView,
  { headers, ...context }: DeliveriesContext & { headers?: boolean },
): Panel {
  const { severity, status, facts, request, url } = alert;
  return [
    { kind: "text", text: { bold: wordsOf(alert) } },
    factsOf([
      ["severity", urgencyCell(severity)],
      ["status", urgencyCell(status)],
      ...headFacts(alert),
      ...readFacts(alert),
      ...requestFacts(alert),
      ["page", url],
    ]),
    facts?.text !== undefined && { kind: "block", text: facts.text },
    deliveriesPanel(alert, context),
    decisionsPanel(alert),
    ...fieldsPanel(alert),
    headers &&
      request !== null && { kind: "table", columns: [{ title: "header" }, { title: "value" }], rows: request.headers },
  ];
}

/**
 * By its id, or by a part that no other id begins or ends with.
 * @throws AppError `not_found`, and `usage` for a part that may mean several.
 */
export async function findAlert(client: Client, idOrPart: string): Promise<AlertDetailView> {
  return client.findAlert({ id: await resolveId(client, idOrPart) });
}

/** @throws AppError `not_found` */
export function requireBody(alert: AlertDetailView): Buffer {
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
