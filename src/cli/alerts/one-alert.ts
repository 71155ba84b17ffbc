import type { Client } from "../../contract/client.ts";
import { encode } from "../../contract/encode.ts";
import type { AlertDetailView, DeliveryDetailView } from "../../contract/operations.ts";
import { alertDetailView } from "../../contract/views/alerts.ts";
import { describeArrival, hashBody } from "../../core/arrived-body.ts";
import { type DeliveryState, isSettled } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import { idPattern } from "../../core/id.ts";
import { toSeconds } from "../../ground/time/time-format.ts";
import type { DeliveriesContext } from "../../panels/alert.ts";
import { wordsOf } from "../../panels/log.ts";
import type { Cell, Section } from "../../panels/panel.ts";
import { type RelayClient, type RelayRun, unlessMissing } from "../relay/connect-relay.ts";
import { fitText, type Output } from "../shell/output.ts";

const longestTitle = 60;

/** Asks the relay only for a part of an id. @throws AppError `not_found`, and `usage` with the alerts that match */
export async function resolveId(client: Pick<Client, "findByIdPart">, part: string): Promise<string> {
  if (idPattern.test(part)) return part;
  const { data: alerts, meta } = await client.findByIdPart({ part });
  const [found, ...others] = alerts;
  if (found === undefined) {
    const { searchedTo } = meta;
    const within = searchedTo === undefined ? "" : `, of those received since ${toSeconds(searchedTo)}`;
    throw new AppError("not_found", `there is no alert whose id begins or ends with ${part}${within}`, {
      hint: "copy its id from: tocsin alerts list. The whole one is found at any age: tocsin alerts list --json",
    });
  }
  if (others.length === 0) return found.id;
  const lines = alerts.map(
    (alert) => `  ${alert.id}  ${toSeconds(alert.receivedAt)}  ${fitText(wordsOf(alert), longestTitle)}`,
  );
  throw new AppError("usage", [`${part} matches several alerts:`, ...lines].join("\n"), {
    hint: "give more of the id, from its end or its beginning",
  });
}

/** @throws AppError `not_found`, and `usage` for a part with several matches */
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

/** The bytes of the request that brought the alert. Undefined for Tocsin's own alerts. */
export function bodyOf({ request }: AlertDetailView): Buffer | undefined {
  return request === null ? undefined : Buffer.from(request.body, request.bodyEncoding);
}

const pollMs = 250;

export function hasReached({ state }: { state: DeliveryState }): boolean {
  return state === "sent" || state === "digested";
}

export type Settling = NonNullable<Awaited<ReturnType<typeof waitUntilSettled>>>;

/**
 * Waits until the alert is routed and the `isWanted` deliveries (default: all) have ended, or the time is over.
 * @returns the last state of the alert, and those deliveries. Undefined: the alert was removed
 */
export async function waitUntilSettled(
  { context, output }: RelayRun,
  client: RelayClient,
  id: string,
  { timeoutMs, isWanted = () => true }: { timeoutMs: number; isWanted?(delivery: DeliveryDetailView): boolean },
) {
  const endAt = context.now() + timeoutMs;
  for (;;) {
    // The clock is read before the alert is fetched, so the alert is fetched once more after the time is over.
    const timedOut = context.now() >= endAt;
    const alert = await unlessMissing(client.findAlert({ id })).catch(goesOn(id));
    if (alert === undefined) return undefined;
    const deliveries = alert.deliveries.filter(isWanted);
    const open = deliveries.filter((delivery) => !isSettled(delivery));
    if (alert.routedAt !== null && open.length === 0) return { alert, deliveries, timedOut: false };
    if (timedOut) return { alert, deliveries, timedOut };
    await output.progress.update(
      alert.routedAt === null
        ? "waiting for the alert to be routed"
        : `waiting for ${open.map(({ destination, state }) => `${destination} (${state})`).join(", ")}`,
    );
    await context.sleep(Math.min(pollMs, Math.max(1, endAt - context.now())), context.signal).catch(goesOn(id));
  }
}

/** How a stored test differs from the posted one. Undefined: not at all, or its body is gone. */
export function describeStored({ request }: AlertDetailView, posted: unknown): string | undefined {
  if (request === null) return undefined;
  const sha256 = hashBody(Buffer.from(request.body, request.bodyEncoding));
  return describeArrival(Buffer.from(JSON.stringify(posted)), { bytes: request.bodyBytes, sha256 });
}

/** The wait has ended, but the deliveries continue. */
function goesOn(id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AppError) || error.code !== "cancelled") throw error;
    throw new AppError("cancelled", error.message, { hint: `the relay still sends; see: tocsin alerts show ${id}` });
  };
}

export function toDeliveries(deliveries: DeliveryDetailView[]): unknown {
  return encode(alertDetailView.shape.deliveries, deliveries);
}

/** Adds the place where each destination is configured, so failures get the same help as on the page. */
export async function outcomeContext(client: Pick<Client, "listDestinations">, { now }: Output) {
  const destinations = await client.listDestinations();
  const configured = (name: string) => destinations.find((one) => one.name === name);
  return { now: now(), configured } satisfies DeliveriesContext;
}

export const verdictNote = (ok: boolean, text: Cell): Section => ({ kind: "note", note: ok ? "done" : "failed", text });
