import type { Client } from "../../contract/client.ts";
import { encode } from "../../contract/encode.ts";
import type { AlertDetailView, DeliveryDetailView } from "../../contract/operations.ts";
import { alertDetailView } from "../../contract/views.ts";
import { describeArrival, hashBody } from "../../core/arrived-body.ts";
import { type DeliveryState, isSettled } from "../../core/delivery.ts";
import { AppError } from "../../core/errors.ts";
import type { DeliveriesContext } from "../../panels/alert.ts";
import type { Cell, Section } from "../../panels/panel.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { type RelayClient, unlessMissing } from "../relay/relay-client.ts";
import type { Output } from "../shell/output.ts";

const pollMs = 250;

export function hasReached({ state }: { state: DeliveryState }): boolean {
  return state === "sent" || state === "digested";
}

export interface Settling {
  /** The alert as it was seen last. */
  alert: AlertDetailView;
  /** The deliveries that were waited for. */
  deliveries: DeliveryDetailView[];
  timedOut: boolean;
}

interface SettleOptions {
  timeoutMs: number;
  /** Which deliveries to wait for. */
  isWanted(delivery: DeliveryDetailView): boolean;
}

/** Looks at an alert until it is routed and all wanted deliveries are settled, or the time has run out. */
export async function waitUntilSettled(
  { context, output }: RelayRun,
  client: RelayClient,
  id: string,
  { timeoutMs, isWanted }: SettleOptions,
): Promise<Settling | undefined> {
  const endAt = context.now() + timeoutMs;
  for (;;) {
    const alert = await unlessMissing(client.findAlert({ id })).catch(goesOn(id));
    if (alert === undefined) return undefined;
    const deliveries = alert.deliveries.filter(isWanted);
    const open = deliveries.filter((delivery) => !isSettled(delivery));
    if (alert.routedAt !== null && open.length === 0) return { alert, deliveries, timedOut: false };
    if (context.now() >= endAt) return { alert, deliveries, timedOut: true };
    await output.progress.update(
      alert.routedAt === null
        ? "waiting for the alert to be routed"
        : `waiting for ${open.map(({ destination, state }) => `${destination} (${state})`).join(", ")}`,
    );
    await context.sleep(Math.min(pollMs, Math.max(1, endAt - context.now())), context.signal).catch(goesOn(id));
  }
}

/** In words how a test that was stored differs from what was posted; undefined: it does not, or its body is gone. */
export function describeStored({ request }: AlertDetailView, posted: unknown): string | undefined {
  if (request === null) return undefined;
  const sha256 = hashBody(Buffer.from(request.body, request.bodyEncoding));
  return describeArrival(Buffer.from(JSON.stringify(posted)), { bytes: request.bodyBytes, sha256 });
}

/** Whoever stops waiting has not stopped what is on its way. */
function goesOn(id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AppError) || error.code !== "cancelled") throw error;
    throw new AppError("cancelled", error.message, {
      hint: `the relay goes on sending; see: tocsin alerts show ${id}`,
    });
  };
}

/** For `--json`, as the API gives them. */
export function toDeliveries(deliveries: DeliveryDetailView[]): unknown {
  return encode(alertDetailView.shape.deliveries, deliveries);
}

/** With where each destination is configured, so that what helps is said of what fails, as on the page. */
export async function outcomeContext(client: Pick<Client, "listDestinations">, { now }: Output) {
  const destinations = await client.listDestinations();
  const configured = (name: string) => destinations.find((one) => one.name === name);
  return { now: now(), configured } satisfies DeliveriesContext;
}

export const verdictNote = (ok: boolean, text: Cell): Section => ({ kind: "note", note: ok ? "done" : "failed", text });
