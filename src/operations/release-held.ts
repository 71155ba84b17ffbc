import type { HeldFilter, Release } from "../contract/operations.ts";
import type { Clock } from "../core/clock.ts";
import { findAlert } from "../core/find-alert.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";
import type { Dispatch } from "../core/ports/dispatch.ts";
import type { Destination } from "../core/rules.ts";
import { findNamed } from "./targets.ts";

export interface ReleaseDeps {
  store: Pick<AlertLog, "getAlert"> & Pick<Dispatch, "listHeld" | "rescheduleHeld">;
  destinations: Destination[];
  clock: Clock;
}

/** As many as the writing thread changes in some 10 ms; accepting alerts waits no longer. */
const batchSize = 400;

/** See `Operations.releaseHeld`. */
export async function releaseHeld(deps: ReleaseDeps, { destination, alertIds }: HeldFilter): Promise<Release[]> {
  const targets = targetsOf(deps, destination);
  const releases =
    alertIds === undefined ? await releaseAll(deps, targets) : await releaseAlerts(deps, alertIds, targets);
  return releases.filter(({ released }) => released > 0);
}

function targetsOf({ destinations }: ReleaseDeps, name: string | undefined): string[] {
  const names = destinations.map((destination) => destination.name);
  return name === undefined ? names : [findNamed(destinations, name).name];
}

async function releaseAll({ store, clock }: ReleaseDeps, targets: string[]): Promise<Release[]> {
  const now = clock.now();
  const releases: Release[] = [];
  for (const destination of targets) {
    let released = 0;
    let after = { dueAt: now, seq: Number.MAX_SAFE_INTEGER };
    for (;;) {
      const held = await store.listHeld(destination, after, batchSize);
      const deliveryIds = held.map(({ id }) => id);
      const why = releasedWords(now);
      const change = { destination, deliveryIds, now, dueAt: now, why, includesAmbiguous: false };
      released += await store.rescheduleHeld(change);
      const last = held.at(-1);
      if (last === undefined || held.length < batchSize) break;
      after = last;
    }
    releases.push({ destination, released });
  }
  return releases;
}

async function releaseAlerts({ store, clock }: ReleaseDeps, alertIds: string[], targets: string[]): Promise<Release[]> {
  const alerts: AlertDetail[] = [];
  for (const id of new Set(alertIds)) alerts.push(await findAlert(store, id));
  const now = clock.now();
  const held = alerts
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ state, dueAt }) => state === "held" && (dueAt === undefined || dueAt > now));
  const releases: Release[] = [];
  for (const destination of targets) {
    const deliveryIds = held.filter((delivery) => delivery.destination === destination).map(({ id }) => id);
    const why = releasedWords(now);
    const change = { destination, deliveryIds, now, dueAt: now, why, includesAmbiguous: true };
    releases.push({ destination, released: await store.rescheduleHeld(change) });
  }
  return releases;
}

function releasedWords(now: number): string {
  return `released manually at ${new Date(now).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
