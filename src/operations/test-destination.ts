import type { DestinationTest, Operations } from "../contract/operations.ts";
import type { AlertFacts, Severity } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { isSettled } from "../core/delivery.ts";
import { findAlert } from "../core/find-alert.ts";
import type { NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import { ownFacts } from "../core/own-facts.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";
import type { RoutingDesk } from "../core/ports/routing-desk.ts";
import { type Destination, planDeliveries } from "../core/rules.ts";
import { recipientsOf } from "../vendors/index.ts";
import { findNamed } from "./targets.ts";

export interface DestinationTestDeps {
  store: Pick<RoutingDesk, "recordNotice"> & Pick<AlertLog, "getAlert">;
  destinations: Destination[];
  clock: Clock;
  newId: NewId;
  log: Log;
}

/** The pause between tests: a test takes the place of an alert in a chat's pace, and rings. */
const leastGapMs = 10_000;

/** Memory alone knows the last test: after a restart one more may be on its way. */
export function createDestinationTests(deps: DestinationTestDeps): Operations["testDestination"] {
  const { store, destinations, clock, newId, log } = deps;
  const last = new Map<string, string>();
  /** Callers at the same time get the same test. */
  const asked = new Map<string, Promise<DestinationTest>>();

  async function send(destination: Destination, severity: Severity): Promise<DestinationTest> {
    const { name } = destination;
    const lastId = last.get(name);
    const before = lastId === undefined ? undefined : await store.getAlert(lastId);
    const now = clock.now();
    if (before !== undefined && isEnough(before, now)) return { isNew: false, alert: before };
    const id = newId();
    await store.recordNotice({
      origin: "test",
      id,
      at: now,
      facts: factsOf(name, severity),
      decisions: [{ route: "test", destination: name, result: "deliver", reason: why }],
      deliveries: planDeliveries(destination, recipientsOf(destination), {
        route: "test",
        state: "queued",
        reason: why,
        dueAt: now,
        updates: "new",
      }),
    });
    last.set(name, id);
    log.info("destination.test_sent", { destination: name, alert: id });
    return { isNew: true, alert: await findAlert(store, id) };
  }

  return (name, severity = "info") => {
    const underWay = asked.get(name);
    if (underWay !== undefined) return underWay;
    const sending = Promise.resolve()
      .then(() => send(findNamed(destinations, name), severity))
      .finally(() => asked.delete(name));
    asked.set(name, sending);
    return sending;
  };
}

/** The test is on its way, or has just arrived. A clock that was set back delays no test. */
function isEnough({ deliveries, receivedAt }: AlertDetail, now: number): boolean {
  const goneMs = now - receivedAt;
  return !deliveries.every(isSettled) || (goneMs >= 0 && goneMs < leastGapMs);
}

const why = "a test, straight to this destination: no route was asked";

function factsOf(name: string, severity: Severity): AlertFacts {
  return ownFacts({
    title: `Test of ${name}`,
    text: "Sent straight to this destination, whatever the routes, mutes and quiet hours say.",
    severity,
    status: "firing",
    // All tests of a destination have one key, so they join one incident where a vendor makes incidents.
    key: `test:${name}`,
  });
}
