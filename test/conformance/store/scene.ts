import { describe, it, onTestFinished } from "vitest";
import type { AlertFacts } from "../../../src/core/alert.ts";
import type { PaceRecord } from "../../../src/core/destination-status.ts";
import type { AttemptRecord, FallbackCall, Untried } from "../../../src/core/ports/dispatch.ts";
import type { RoutingDraft } from "../../../src/core/ports/routing-desk.ts";
import type { Store } from "../../../src/core/ports/store.ts";
import type { Decision, PlannedDelivery } from "../../../src/core/rules.ts";
import { takeLane } from "../../support/lane.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";
import { attemptOf, factsOf, findUnrouted, newId, noon, planned, request, routed } from "./scene-samples.ts";

export * from "./scene-samples.ts";

/** Opens a store in a folder; the same folder again is the same store after a restart. */
export type OpenStore<S extends Store = Store> = (dataDir: string) => Promise<S>;

export type Scene<S extends Store = Store> = Awaited<ReturnType<typeof openScene<S>>>;

interface RouteOptions {
  to?: (string | PlannedDelivery)[];
  /** Default: to deliver or hold, for each of `to`. */
  decisions?: Decision[];
  facts?: Partial<AlertFacts>;
  receivedAt?: number;
  source?: string;
}

type AttemptChanges = Pick<AttemptRecord, "token"> & Partial<AttemptRecord>;

/** One store with short words for what tests do to it again and again. Closed when the test ends. */
export async function openScene<S extends Store>(open: OpenStore<S>) {
  const dataDir = makeTempFolder();
  let store = await open(dataDir);
  onTestFinished(() => store.close());
  const lane = await takeLane(store);
  const claimedBy = new Map<string, number[]>();
  const due = (destination: string, now = noon) => store.listDue(destination, now, 100);

  type ClaimChanges = { now?: number; leaseMs?: number; digestId?: string };
  async function claim(
    destination: string,
    token: string,
    { now = noon, leaseMs = 60_000, digestId }: ClaimChanges = {},
  ) {
    const deliverySeqs = (await due(destination, now)).map(({ seq }) => seq);
    const claimed = await store.claimDeliveries(lane, { token, deliverySeqs, leaseMs, digestId }, []);
    if (claimed === "lost") throw new Error("the lane is lost");
    claimedBy.set(
      token,
      claimed.map(({ seq }) => seq),
    );
    return claimed;
  }

  const attempt = ({ token, ...changes }: AttemptChanges, paces: PaceRecord[] = []) =>
    store.recordAttempt(lane, attemptOf(token, claimedBy.get(token) ?? [], changes), paces);

  return {
    ...{ dataDir, newId, due },
    /** Held when the test begins; what claims and attempts are made under. */
    lane,
    get store() {
      return store;
    },
    set store(next) {
      store = next;
    },
    /** Closes the store and opens it again. */
    async restart() {
      await store.close();
      store = await open(dataDir);
    },
    /** Stores one alert and routes it; its position and id. */
    async route({ to = ["chat"], decisions, facts = {}, receivedAt = noon, source }: RouteOptions = {}) {
      const incoming = request({ receivedAt, source });
      await store.acceptRequest(incoming);
      const { seq, id } = await findUnrouted(store, incoming.ids[0]);
      const deliveries = to.map((entry) => (typeof entry === "string" ? planned(entry) : entry));
      const decide = ({ destination, state }: PlannedDelivery): Decision => {
        const result = state === "held" ? "held" : "deliver";
        return { route: "everything", destination, result, reason: "it takes everything" };
      };
      const judged = { facts: factsOf(facts), decisions: decisions ?? deliveries.map(decide) };
      await store.recordRouting([routed(seq, { ...judged, deliveries, routedAt: receivedAt + 5 })]);
      return { seq, id };
    },
    /** Does what the store does by itself now and then, so that what was routed is found by searching. */
    maintain: async (now = noon) => store.maintain?.(now),
    /** Claims what is due at a destination, under this token. Attempts under it are of all that. */
    claim,
    attempt,
    /** Claims what is due at a destination, and records one attempt of it. */
    async send(
      destination: string,
      { claimedAt = noon, ...changes }: Partial<AttemptRecord & { claimedAt: number }> = {},
    ) {
      const token = newId();
      await claim(destination, token, { now: claimedAt });
      return attempt({ token, ...changes });
    },
    /** Ends or puts off, without an attempt. Default: at noon, without fallbacks. */
    finish: (seqs: number[], next: Untried, at = noon, fallbacks: FallbackCall[] = []) =>
      store.finishDeliveries(lane, seqs, next, at, fallbacks),
    /** The state of each delivery of an alert, in their order. */
    states: async (id: string) => (await store.getAlert(id))?.deliveries.map(({ state }) => state) ?? [],
  };
}

/** Stores an alert for each draft; routes all in one step, each in a step of its own, or each while it is stored. */
export async function routeDrafts(
  { store }: Pick<Scene, "store">,
  drafts: readonly RoutingDraft[],
  way: "one" | "many" | "arriving",
  turns: readonly number[] = [...drafts.keys()],
): Promise<string[]> {
  const ids = drafts.map(() => newId());
  for (const [index, draft] of drafts.entries()) {
    const incoming = request({ ids: ids.slice(index, index + 1), receivedAt: draft.routedAt });
    await store.acceptRequest(incoming, way === "arriving" ? [draft] : undefined);
  }
  if (way === "arriving") return ids;
  const found = await Promise.all(ids.map((id) => findUnrouted(store, id)));
  const records = turns.map((turn) => routed(found[turn]?.seq ?? 0, drafts[turn]));
  if (way === "one") await store.recordRouting(records);
  else for (const record of records) await store.recordRouting([record]);
  return ids;
}

/** Tests about one subject, for any store: each begins with a scene of its own. */
export function aboutScenes<S extends Store, Begun>(
  subject: string,
  begin: (open: OpenStore<S>) => Promise<Begun>,
  tests: (test: (name: string, act: (begun: Begun) => Promise<void>) => void, open: OpenStore<S>) => void,
) {
  return (open: OpenStore<S>): void => {
    describe(subject, () => tests((name, act) => it(name, async () => act(await begin(open))), open));
  };
}
