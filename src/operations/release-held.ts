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

/** The writing thread changes this many in some 10 ms, the longest wait for an accepted alert. */
const batchSize = 400;

export async function releaseHeld(
  { store, destinations, clock }: ReleaseDeps,
  { destination: asked, alertIds }: HeldFilter,
): Promise<Release[]> {
  const targets = asked === undefined ? destinations : [findNamed(destinations, asked)];
  const named = alertIds && (await heldOf(store, alertIds, clock.now()));
  const now = clock.now();
  const at = new Date(now).toISOString().slice(0, 16).replace("T", " ");
  const change = { now, dueAt: now, why: `released manually at ${at} UTC` };
  const releases: Release[] = [];
  for (const { name: destination } of targets) {
    const own = named?.filter((delivery) => delivery.destination === destination).map(({ id }) => id);
    const released =
      own === undefined
        ? await releaseAll(store, destination, change)
        : await store.rescheduleHeld({ ...change, destination, deliveryIds: own, isNamed: true });
    if (released > 0) releases.push({ destination, released });
  }
  return releases;
}

type Change = Omit<Parameters<Dispatch["rescheduleHeld"]>[0], "destination" | "deliveryIds" | "isNamed">;

async function releaseAll(store: ReleaseDeps["store"], destination: string, change: Change): Promise<number> {
  let released = 0;
  for (let after = { dueAt: change.now, seq: Number.MAX_SAFE_INTEGER }; ; ) {
    const held = await store.listHeld(destination, after, batchSize);
    const deliveryIds = held.map(({ id }) => id);
    released += await store.rescheduleHeld({ ...change, destination, deliveryIds, isNamed: false });
    const last = held.at(-1);
    if (last === undefined || held.length < batchSize) return released;
    after = last;
  }
}

async function heldOf(store: ReleaseDeps["store"], alertIds: string[], now: number) {
  const alerts: AlertDetail[] = [];
  for (const id of new Set(alertIds)) alerts.push(await findAlert(store, id));
  return alerts
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ state, dueAt }) => state === "held" && (dueAt === undefined || dueAt > now));
}
