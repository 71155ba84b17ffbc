import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { severities, statuses } from "../../src/core/alert.ts";
import { attemptOutcomes, type DeliveryPurpose } from "../../src/core/delivery.ts";
import type { NextStep } from "../../src/core/delivery-job.ts";
import { createIdSource } from "../../src/core/id.ts";
import type { ChangeCursor, FailedQuery } from "../../src/core/ports/alert-log.ts";
import type { AttemptRecord, ClaimInput, FallbackCall } from "../../src/core/ports/dispatch.ts";
import type { Acceptance } from "../../src/core/ports/inbox.ts";
import type { LaneFence } from "../../src/core/ports/lanes.ts";
import type { RecordedAlert, RoutingRecord } from "../../src/core/ports/routing-desk.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { RingRule } from "../../src/core/ring.ts";
import type { PlannedDelivery } from "../../src/core/rules.ts";
import { openPostgresStore } from "../../src/store/postgres/store.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { openDatabase } from "../../src/store/sqlite/open-database.ts";
import { type Column, columnNames, type TableName, tables } from "../../src/store/tables.ts";
import { factsOf, hour, noon, planned, request, routed, thread } from "../conformance/store/scene-samples.ts";
import { createSeededRandom, type SeededRandom } from "./seeded-random.ts";

interface Side {
  store: Store;
  /** Rows of its database, for a statement that both have. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** For each group: the fence that is held, and those that were lost. */
  lanes: Map<string, LaneFence[]>;
  /** Ids that the store has made, by their order. */
  names: Map<string, string>;
  after: ChangeCursor | undefined;
}

type Lane = (side: Side) => LaneFence;
type Call<Name extends keyof Store> = Extract<Store[Name], (...given: never) => unknown>;
type Answer<Name extends keyof Store> = Awaited<ReturnType<Call<Name>>>;
type Caller<Name extends keyof Store> = (...given: unknown[]) => Promise<Answer<Name>>;
type BehindLane<Given extends unknown[]> = Given extends [LaneFence, ...infer Rest] ? Rest : never;

/** A database that is late on a busy machine has not answered otherwise. */
const patientMs = 240_000;
/** How long a call may be on its way to PostgreSQL. */
const longestWayMs = 20_000;
const destinations = ["chat", "mail", "pager", "gone"] as const;
const groups = ["bot", "smtp"] as const;
const groupOf = (destination: string) => (destination === "mail" ? "smtp" : "bot");
const ringRules: readonly RingRule[] = [
  { flapping: true },
  { flapping: false, again: { furtherBy: { percent: 5 } }, rearm: { backBy: { absolute: 2 } } },
  { flapping: true, cooldownMs: 600_000, editsForMs: 60_000 },
];
const purposes: readonly DeliveryPurpose[] = ["alert", "alert", "alert", "test", "notice", "resend", "bulk_resend"];
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

/**
 * Makes the same random calls on a new store of each database, one behind the other, and compares every answer, which alerts each call has
 * changed, and in the end every row of the tables that both have. The same seed makes the same calls.
 *
 * @param folder where SQLite lies
 * @param url of an empty database
 * @returns how often each call was made
 * @throws an error that names the seed, the step and the call, because of what was found there
 */
export async function compareStores(folder: string, url: string, seed: number, steps: number) {
  const path = join(folder, "tocsin.db");
  const getTypeParser = (oid: number) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid));
  const sqlite = openLocalStore({ path, ballastBytes: 0 });
  const postgres = await openPostgresStore({ url, relayName: "one", answerWithinMs: patientMs });
  const db = openDatabase({ path, readOnly: true });
  const client = new pg.Client({ connectionString: url, types: { getTypeParser } as pg.CustomTypesConfig });
  await client.connect();
  const toSide = (store: Store, rows: Side["rows"]): Side => {
    return { store, rows, lanes: new Map(groups.map((group) => [group, []])), names: new Map(), after: undefined };
  };
  const told = (what: string, work: Promise<unknown>) =>
    work.catch((cause) => {
      throw new Error(`seed ${seed}, ${what}`, { cause });
    });
  try {
    const sides = [
      toSide(sqlite, async (sql) => db.prepare<[], Record<string, unknown>>(sql).all()),
      toSide(postgres, async (sql) => (await client.query<Record<string, unknown>>(sql)).rows),
    ] as const;
    const comparison = new Comparison(sides, createSeededRandom(seed));
    const made = Object.fromEntries(Object.keys(weights).map((name) => [name, 0]));
    await comparison.acquire();
    for (let step = 0; step < steps; step += 1) {
      const name = comparison.pickCall();
      made[name] = (made[name] as number) + 1;
      await told(
        `step ${step}, ${name}`,
        comparison[name]().then(() => comparison.compareChanges()),
      );
    }
    await told(`the rows after ${steps} steps`, comparison.compareRows());
    return made;
  } finally {
    db.close();
    await Promise.all([client.end(), sqlite.close(), postgres.close()]);
  }
}

const recordedOf = (acceptance: Acceptance): RecordedAlert[] =>
  acceptance.kind === "accepted" ? (acceptance.recorded ?? []) : [];

const weights = {
  ...{ accept: 10, route: 12, claim: 14, claimRuns: 8, record: 18, recordTogether: 8, finish: 3, release: 3 },
  ...{ fallBack: 4, hold: 4, resend: 4, addDeliveries: 3, notice: 3, acquire: 2 },
  ...{ failRouting: 2, remove: 2, look: 6 },
};
type CallName = keyof typeof weights;
const deck = (Object.entries(weights) as [CallName, number][]).flatMap(([name, count]) =>
  Array<CallName>(count).fill(name),
);

type Claim = { token: string; destination: string; deliverySeqs: number[] };

class Comparison {
  #at = noon;
  /** The time of each call, ascending. */
  #instants = [noon];
  #count = 0;
  #newId = createIdSource(() => this.#at);
  #claims: Claim[] = [];
  #alertIds: string[] = [];
  #alertSeqs = new Set<number>();
  #deliverySeqs: number[] = [];

  constructor(
    private readonly sides: readonly [Side, Side],
    private readonly random: SeededRandom,
  ) {}

  pickCall(): CallName {
    this.#at += longestWayMs + this.random.below(2 * 60_000);
    this.#instants.push(this.#at);
    return this.random.pick(deck);
  }

  /** The answer of SQLite, once that of PostgreSQL is the same. */
  async #both<T>(call: (side: Side) => Promise<T>): Promise<T> {
    const [one, other] = await Promise.allSettled(this.sides.map(call));
    const [expected, found] = [one, other].map((answer, index) => this.#comparable(answer, this.sides[index] as Side));
    assert.deepEqual(found, expected);
    if (one?.status === "rejected") throw one.reason;
    return (one as PromiseFulfilledResult<Awaited<T>>).value;
  }

  #ask = <Name extends keyof Store>(name: Name, ...given: Parameters<Call<Name>>) =>
    this.#both(({ store }) => (store[name] as Caller<Name>)(...given));

  #askFor = <Name extends keyof Store>(lane: Lane, name: Name, ...given: BehindLane<Parameters<Call<Name>>>) =>
    this.#both((side) => (side.store[name] as Caller<Name>)(lane(side), ...given));

  /**
   * The call's own instant of one that PostgreSQL has moved: an alert whose way there took half a second, as on a busy machine, was
   * routed so much later.
   */
  #instantOf(at: number): number {
    const before = this.#instants.findLast((one) => one <= at) ?? at;
    return at - before < longestWayMs ? before : at;
  }

  /** Without what each makes in its own way: ids, fences, places among the changes, U+0000 that PostgreSQL cannot keep. */
  #comparable(value: unknown, side: Side): unknown {
    const text = JSON.stringify(value, (name, part: unknown) => {
      if (name === "fence" || name === "cursor" || name === "version") return undefined;
      if (typeof part === "number" && part > noon) return this.#instantOf(part);
      if (part instanceof Error) return part.message;
      if (part instanceof Map) return [...part];
      // Buffers are objects already when they come here.
      const ofBuffer = part as { type?: string; data?: number[] } | null;
      const bytes = ofBuffer?.type === "Buffer" ? Uint8Array.from(ofBuffer.data ?? []) : part;
      if (bytes instanceof Uint8Array) return createHash("sha1").update(bytes).digest("hex");
      if (part !== null && typeof part === "object" && !Array.isArray(part))
        return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
      return part;
    });
    return JSON.parse(
      (text ?? "null").replaceAll("\\u0000", "\ufffd").replaceAll(uuid, (id) => this.#nameOf(id, side)),
    ) as unknown;
  }

  #nameOf(id: string, { names }: Side): string {
    const name = names.get(id) ?? `id ${names.size}`;
    names.set(id, name);
    return name;
  }

  #makeId(): string {
    const id = this.#newId();
    for (const { names } of this.sides) names.set(id, `given ${id}`);
    return id;
  }

  #chance = (share: number) => this.random.next() < share;

  #some<T>(list: readonly T[], most: number): T[] {
    const left = [...list];
    return Array.from({ length: Math.min(list.length, this.random.below(most + 1)) }, () => {
      const [one] = left.splice(this.random.below(left.length), 1);
      return one as T;
    });
  }

  /** One in ten was lost. */
  #pickLane(destination: string): Lane {
    const isLost = this.#chance(0.1);
    return ({ lanes }) => {
      const known = lanes.get(groupOf(destination)) as LaneFence[];
      return (isLost ? known.at(-2) : undefined) ?? (known.at(-1) as LaneFence);
    };
  }

  #name(kind: string): string {
    this.#count += 1;
    return `${kind} ${this.#count}`;
  }

  #token = () => this.#name("token");

  #plan(changes: Partial<PlannedDelivery> = {}): PlannedDelivery {
    const { random } = this;
    const destination = random.pick(destinations);
    const state = random.pick(["queued", "queued", "queued", "held", "muted"] as const);
    return planned(destination, {
      channel: destination === "mail" ? "email" : "telegram",
      recipient: `${destination}-${random.below(2)}`,
      route: `route ${random.below(3)}`,
      state,
      reason: random.pick(["", "severity is critical", "a\u0000b"]),
      dueAt: this.#at + (state === "held" ? random.below(hour) : 0),
      updates: random.pick(["auto", "edit", "reply", "new", "later_end"] as const),
      ...(this.#chance(0.5) && { ring: random.pick(ringRules) }),
      ...(this.#chance(0.2) && { freshnessMs: random.below(hour) }),
      ...(this.#chance(0.3) && { fallback: { to: random.pick(destinations), at: this.#at + random.below(hour) } }),
      ...(this.#chance(0.1) && { insteadBecause: "it was late" }),
      ...changes,
    });
  }

  #planSome = (most: number, changes?: Partial<PlannedDelivery>) =>
    Array.from({ length: this.random.below(most + 1) }, () => this.#plan(changes));

  #fallbacks = (seqs: readonly number[]): FallbackCall[] =>
    [...new Set(seqs)].map((deliverySeq) => ({
      deliverySeq,
      planned: this.#planSome(2, { state: "queued" }),
      ...(this.#chance(0.2) && { againAt: this.#at + this.random.below(hour) }),
    }));

  #facts() {
    const { random } = this;
    return factsOf({
      alertKey: `key ${random.below(5)}`,
      status: random.pick(statuses),
      severity: random.pick(severities),
      ...(this.#chance(0.7) && { value: String(90 + random.below(20)), threshold: "100" }),
      ...(this.#chance(0.5) && { occurredAt: noon + random.below(4) * hour }),
      ...(this.#chance(0.3) && {
        fields: [{ name: "startsAt", value: new Date(noon + random.below(2) * hour).toISOString() }],
      }),
    });
  }

  async accept(): Promise<void> {
    const { random } = this;
    const many = this.#chance(0.3) ? 50 : 3;
    const requests = Array.from({ length: 1 + random.below(many) }, () =>
      request({
        receivedAt: this.#at,
        contentType: random.pick(["application/json", undefined, "text/plain"]),
        body: Buffer.from(`{"event":${random.below(12)}}`),
        ids: Array.from({ length: this.#chance(0.8) ? 1 : 1 + random.below(4) }, () => this.#makeId()),
        origin: random.pick(["hook", "hook", "test"] as const),
        source: random.pick([undefined, undefined, "a source"]),
        dedupeKey: random.pick([undefined, undefined, `key ${random.below(8)}`]),
        dedupeWindowMs: random.pick([0, 10 * 60_000, 24 * hour]),
      }),
    );
    for (const { ids } of requests) this.#alertIds.push(...ids);
    const isClaiming = this.#chance(0.4);
    const drafts = requests.map(({ ids }) =>
      this.#chance(0.4) ? ids.map(() => this.#record(0, isClaiming)) : undefined,
    );
    const accepted = await this.#both(async (side) => {
      const draftsOf = (index: number) => drafts[index]?.map((draft) => draft(side));
      const asked = requests.map((one, index) => side.store.acceptRequest(one, draftsOf(index)));
      // With several relays nobody has to know the position.
      return (await Promise.all(asked)).map((one) => ({ ids: one.ids, kind: one.kind, recorded: recordedOf(one) }));
    });
    for (const { recorded } of accepted) {
      for (const { alertSeq } of recorded) this.#alertSeqs.add(alertSeq);
      this.#noteMade(recorded);
    }
  }

  /** @param isClaiming then it is no end: SQLite looks up what was sent of a key in front of the ends behind it in the batch */
  #record(alertSeq: number, isClaiming: boolean): (side: Side) => RoutingRecord {
    const { random } = this;
    const facts = { ...this.#facts(), ...(isClaiming && { status: "firing" as const }) };
    const deliveries = this.#planSome(4);
    const results = ["deliver", "held", "muted", "dropped", "standby", "contained"] as const;
    const places = [...deliveries, ...(this.#chance(0.2) ? [{ route: "last", destination: undefined }] : [])];
    const decisions = places.map(({ route, destination }) => {
      return { route, ...(destination && { destination }), result: random.pick(results), reason: "as it is" };
    });
    const claims = deliveries.map(({ destination }) =>
      this.#chance(0.4) ? { lane: this.#pickLane(destination), token: this.#token(), leaseMs: this.#leaseMs() } : null,
    );
    const given: Partial<RoutingRecord> = {
      ...{ facts, deliveries, decisions, routedAt: this.#at },
      purpose: random.pick(purposes),
      ...(this.#chance(0.6) && { repeatWindowMs: random.pick([60_000, 24 * hour]) }),
      ...(this.#chance(0.3) && { isRepeatDespiteKey: true }),
      ...(this.#chance(0.5) && { countsIn: this.#some(destinations, 2) }),
      ...(facts.status === "resolved" && this.#chance(0.7) && { endEdits: this.#some(destinations, 2) }),
    };
    const claimsOf = (side: Side) => claims.map((claim) => claim && { ...claim, lane: claim.lane(side) });
    return (side) => routed(alertSeq, { ...given, ...(isClaiming && { claims: claimsOf(side) }) });
  }

  async route(): Promise<void> {
    const { random } = this;
    const listed = await this.#ask("listUnrouted", 40, this.#at, 0, this.#chance(0.3));
    const alerts = listed.flatMap((one) => one.alerts);
    const seqs = alerts.map(({ seq }) => seq).slice(0, 1 + random.below(40));
    // One that is routed already, and the other way round.
    const known = [...this.#alertSeqs].filter((seq) => !seqs.includes(seq));
    if (this.#chance(0.2)) seqs.push(...this.#some(known, 2));
    if (this.#chance(0.2)) seqs.reverse();
    for (const seq of seqs) this.#alertSeqs.add(seq);
    const isClaiming = this.#chance(0.4);
    const records = seqs.map((seq) => this.#record(seq, isClaiming));
    this.#noteMade(await this.#both((side) => side.store.recordRouting(records.map((record) => record(side)))));
  }

  #noteMade(recorded: readonly RecordedAlert[]): void {
    for (const made of recorded.flatMap(({ deliveries }) => deliveries)) {
      if (made !== null) this.#deliverySeqs.push(made.seq);
      if (made?.claimed !== undefined) this.#noteClaim(made.claimed.token, made.claimed.deliveries);
    }
  }

  #noteClaim(token: string, deliveries: readonly { seq: number; destination: string }[]): void {
    const [first] = deliveries;
    if (first === undefined) return;
    this.#claims.push({ token, destination: first.destination, deliverySeqs: deliveries.map(({ seq }) => seq) });
  }

  async failRouting(): Promise<void> {
    const { random } = this;
    const listed = await this.#ask("listUnrouted", 3, this.#at);
    const seqs = [...listed.flatMap((one) => one.alerts).map(({ seq }) => seq), ...this.#some([...this.#alertSeqs], 2)];
    const retryAt = this.#at + random.below(60_000);
    await this.#ask("recordRoutingFailure", [...new Set(seqs)], "it cannot be read", retryAt);
  }

  #leaseMs = () => (this.#chance(0.15) ? 0 : 24 * hour);

  async #due(destination: string): Promise<number[]> {
    const found = await this.#ask("listDue", destination, this.#at, 20);
    for (const { seq } of found) this.#deliverySeqs.push(seq);
    return [...found.map(({ seq }) => seq), ...(this.#chance(0.2) ? this.#some(this.#deliverySeqs, 2) : [])];
  }

  async claim(): Promise<void> {
    const destination = this.random.pick(destinations);
    const due = await this.#due(destination);
    const lane = this.#pickLane(destination);
    const input: ClaimInput = {
      token: this.#token(),
      deliverySeqs: [...new Set(this.#some(due, 8))],
      leaseMs: this.#leaseMs(),
      ...(this.#chance(0.3) && { digestId: this.#name("digest") }),
    };
    const paces = this.#chance(0.3) ? [this.#pace(destination)] : [];
    const claimed = await this.#askFor(lane, "claimDeliveries", input, paces);
    if (claimed !== "lost") this.#noteClaim(input.token, claimed);
  }

  #pace = (destination: string) => ({
    key: `${destination} ${this.random.below(2)}`,
    sentAt: [this.#at],
    parkedUntil: this.random.below(2) * this.#at,
    ...(this.#chance(0.5) && { parkedWhy: "asked to wait" }),
  });

  /** Several at once, each of other deliveries. */
  async claimRuns(): Promise<void> {
    const runs: { lane: Lane; claims: ClaimInput[] }[] = [];
    for (const destination of this.#some(destinations, 3)) {
      const due = [...new Set(await this.#due(destination))];
      const claims = Array.from({ length: 1 + this.random.below(3) }, () => ({
        token: this.#token(),
        deliverySeqs: due.splice(0, 1 + this.random.below(3)),
        leaseMs: this.#leaseMs(),
      }));
      if (this.#chance(0.2)) claims.at(-1)?.deliverySeqs.push(...(claims[0]?.deliverySeqs ?? []).slice(0, 1));
      runs.push({ lane: this.#pickLane(destination), claims });
    }
    const taken = new Set<number>();
    for (const { claims } of runs) {
      for (const claim of claims) claim.deliverySeqs = claim.deliverySeqs.filter((seq) => !taken.has(seq));
      for (const { deliverySeqs } of claims) for (const seq of deliverySeqs) taken.add(seq);
    }
    const answers = await this.#both((side) =>
      Promise.all(runs.map(({ lane, claims }) => side.store.claimRun(lane(side), claims))),
    );
    for (const run of answers)
      if (run !== "lost") for (const { token, deliveries } of run) this.#noteClaim(token, deliveries);
  }

  #next(): NextStep | undefined {
    const { random } = this;
    const others = ["digested", "waiting", "failed", "held", "expired", undefined] as const;
    const state = random.pick(["sent", "sent", "sent", ...others] as const);
    if (state === undefined) return undefined;
    const reason = random.pick(["", "nobody knows", "it is gone"]);
    if (state !== "waiting") return { state, reason };
    const form = this.#chance(0.3) && { form: "plain" as const };
    return { state, reason, dueAt: this.#at + random.below(hour), ...form };
  }

  #attempt({ token, deliverySeqs }: Claim): AttemptRecord {
    const { random } = this;
    const next = this.#next();
    const [isMore, isEnd] = [next === undefined, next !== undefined && next.state !== "sent"];
    return {
      token: this.#chance(0.08) ? "another's" : token,
      deliverySeqs: [...deliverySeqs, ...(this.#chance(0.05) ? [1_000_000] : [])],
      ...{ at: this.#at, durationMs: random.below(5_000) },
      action: random.pick(["send", "edit", "reply"] as const),
      ...{ part: 1, parts: 1 + random.below(2) },
      outcome: random.pick(attemptOutcomes),
      countsAsAttempt: this.#chance(0.8),
      progress: { refs: [random.pick(["4711", null])], ...(this.#chance(0.2) && { moves: 1 }) },
      ...(this.#chance(0.4) && { reason: random.pick(["no_answer", "server_error"] as const) }),
      ...(this.#chance(0.4) && { detail: random.pick(["no answer within 30 s", "a\u0000b"]) }),
      ...(next && { next }),
      ...(isMore && this.#chance(0.9) && { leaseMs: this.#leaseMs() }),
      ...(this.#chance(0.4) && { thread: this.#thread() }),
      ...(isEnd && this.#chance(0.3) && { fallbacks: this.#fallbacks(this.#some(deliverySeqs, 2)) }),
    };
  }

  #thread() {
    const { random } = this;
    const [rootRef, lastAlertSeq] = [random.pick(["11", undefined]), random.pick([...this.#alertSeqs, 0])];
    return { ...thread, count: random.below(9), lastAt: this.#at, rootRef, lastAlertSeq };
  }

  #takeClaim(): Claim | undefined {
    if (this.#claims.length === 0) return undefined;
    const index = this.random.below(this.#claims.length);
    return this.#chance(0.8) ? this.#claims.splice(index, 1)[0] : this.#claims[index];
  }

  async record(): Promise<void> {
    const claim = this.#takeClaim();
    if (claim === undefined) return;
    const lane = this.#pickLane(claim.destination);
    const record = this.#attempt(claim);
    const paces = this.#chance(0.3) ? [this.#pace(claim.destination)] : [];
    await this.#askFor(lane, "recordAttempt", record, paces);
  }

  /** Several at once, each of another claim: where their lane is lost, they are recorded in an order of chance. */
  async recordTogether(): Promise<void> {
    const claims = new Set(Array.from({ length: 1 + this.random.below(4) }, () => this.#takeClaim() ?? []).flat());
    const calls = groups.flatMap((group) => {
      const own = [...claims].filter(({ destination }) => groupOf(destination) === group);
      const [first] = own;
      if (first === undefined) return [];
      const paces = this.#chance(0.3) ? [this.#pace(first.destination)] : [];
      return { lane: this.#pickLane(first.destination), records: own.map((one) => this.#attempt(one)), paces };
    });
    // What is made by one call and by the next has its place by chance.
    if (calls.length > 1) for (const { records } of calls) for (const record of records) delete record.fallbacks;
    await this.#both((side) =>
      Promise.all(
        calls.flatMap(({ lane, records, paces }) =>
          records.map((one) => side.store.recordAttempt(lane(side), one, paces)),
        ),
      ),
    );
  }

  async finish(): Promise<void> {
    const destination = this.random.pick(destinations);
    const seqs = this.#some(await this.#due(destination), 4);
    const lane = this.#pickLane(destination);
    const state = this.random.pick(["failed", "expired", "held", "waiting"] as const);
    const next = { reason: "too old", ...(state === "waiting" ? { state, dueAt: this.#at + 1_000 } : { state }) };
    const fallbacks = this.#chance(0.4) ? this.#fallbacks(this.#some(seqs, 2)) : [];
    await this.#askFor(lane, "finishDeliveries", seqs, next, this.#at, fallbacks);
  }

  async release(): Promise<void> {
    const fences = (side: Side) =>
      Object.fromEntries(destinations.map((name) => [name, side.lanes.get(groupOf(name))?.at(-1)?.fence ?? 0]));
    const abandoned = await this.#both(async (side) =>
      // Those whose leases end in one millisecond have no order.
      (await side.store.listAbandoned(fences(side), 100_000)).sort((one, other) => one.seq - other.seq),
    );
    for (const { token, seq, destination } of abandoned.slice(0, 3))
      this.#claims.push({ token, destination, deliverySeqs: [seq] });
    const claim = this.#takeClaim();
    if (claim === undefined) return;
    await this.#askFor(this.#pickLane(claim.destination), "releaseClaim", claim.token, this.#at, this.#at % 2 === 0);
  }

  async fallBack(): Promise<void> {
    const due = await this.#ask("listFallbacksDue", this.#at);
    const calls = this.#fallbacks([...due.slice(0, 3).map(({ seq }) => seq), ...this.#some(this.#deliverySeqs, 3)]);
    await this.#ask("callFallbacks", calls, this.#at);
  }

  async hold(): Promise<void> {
    const destination = this.random.pick(destinations);
    const held = await this.#ask("listHeld", destination, { dueAt: 0, seq: 0 }, 20);
    const dueAt = this.#at + this.random.below(hour);
    const change = { destination, now: this.#at, dueAt, why: "released", isNamed: this.#chance(0.5) };
    const seqs = [0, ...this.#some([...held.map(({ seq }) => seq), ...this.#deliverySeqs], 5)];
    const ids = `SELECT id FROM deliveries WHERE seq IN (${seqs.join(", ")}) ORDER BY seq`;
    await this.#both(async ({ store, rows }) => {
      const deliveryIds = (await rows(ids)).map(({ id }) => id as string);
      return store.rescheduleHeld({ ...change, deliveryIds });
    });
  }

  async resend(): Promise<void> {
    const asked = { states: ["failed", "expired"], failedUntil: this.#at + hour } satisfies FailedQuery;
    const failed = await this.#both(async ({ store }) =>
      (await store.listFailed(asked, { limit: 12 })).map(({ deliverySeq }) => deliverySeq),
    );
    const calls = this.#some([...failed, ...this.#some(this.#deliverySeqs, 2)], 6).map((deliverySeq) => ({
      deliverySeq,
      planned: this.#planSome(2, { state: "queued" }),
      onlyNew: this.#chance(0.3),
    }));
    await this.#ask("resendFailed", calls, this.#at);
  }

  async addDeliveries(): Promise<void> {
    if (this.#alertIds.length === 0) return;
    const id = this.random.pick(this.#alertIds);
    const purpose = this.random.pick(["resend", "test"] as const);
    const deliveries = this.#planSome(3, { state: "queued" });
    const alert = await this.#ask("getAlert", id);
    if (alert?.facts !== undefined) await this.#ask("addDeliveries", id, deliveries, purpose, this.#at);
  }

  async notice(): Promise<void> {
    const destination = this.random.pick(destinations);
    const lane = this.#chance(0.6) ? this.#pickLane(destination) : undefined;
    const id = this.#makeId();
    const record = {
      ...{ id, at: this.#at, facts: this.#facts(), decisions: [], deliveries: this.#planSome(2) },
      origin: this.random.pick(["notice", "test"] as const),
      ...(this.#chance(0.4) && { watch: { name: "a watch", state: { since: this.#at } } }),
      ...(lane && this.#chance(0.4) && { about: this.#status(destination, "down") }),
    };
    const told = await this.#both((side) => side.store.recordNotice({ ...record, ...(lane && { lane: lane(side) }) }));
    if (told === "done") this.#alertIds.push(id);
  }

  #status(name: string, health: "ok" | "dead" | "down") {
    return { kind: "destination" as const, name, health, reason: "gone", since: this.#at, failures: 3 };
  }

  /** What was held so far is lost. */
  async acquire(): Promise<void> {
    const requests = groups.map((group) => {
      const names = destinations.filter((name) => groupOf(name) === group);
      const statuses = names.map((name) => ({ kind: "destination" as const, name }));
      return { group, statuses, paces: names.flatMap((name) => [`${name} 0`, `${name} 1`]) };
    });
    await this.#both(async ({ store, lanes }) => {
      const granted = await store.acquireLanes("one", requests, 24 * hour);
      for (const { group, fence } of granted) lanes.get(group)?.push({ group, fence });
      return granted;
    });
  }

  async remove(): Promise<void> {
    // Holds the last of all numbers, which one of them keeps.
    const id = this.#makeId();
    const last = request({ receivedAt: this.#at, ids: [id] });
    await this.#both(async ({ store }) => (await store.acceptRequest(last)).kind);
    const [row] = await this.sides[0].rows(`SELECT seq FROM alerts WHERE id = '${id}'`);
    const record = routed(row?.seq as number, { routedAt: this.#at, deliveries: [this.#plan()] });
    await this.#ask("recordRouting", [record]);
    const receivedBefore = this.#at - this.random.below(hour);
    const limit = 1 + this.random.below(40);
    await this.#both(async ({ store }) => {
      const { removed, accepted, next } = await store.removeAlerts({ receivedBefore, limit });
      return { removed, accepted, isMore: next !== undefined };
    });
  }

  async look(): Promise<void> {
    const ids = this.#some(this.#alertIds, 3);
    const key = `key ${this.random.below(5)}`;
    for (const destination of destinations) {
      await this.#ask("nextDueAt", destination);
      await this.#ask("countDueTogether", destination, `${destination}-0`, undefined, this.#at);
      await this.#ask("listByKeys", destination, [key, "none"], 10);
      await this.#ask("findThread", destination, `${destination}-0`, key);
      await this.#ask("findThreads", destination, `${destination}-0`, [key, "none", "key 1"]);
      await this.#ask("listToldInstead", destination, [key, "none"]);
    }
    for (const id of ids) {
      await this.#ask("getAlert", id);
      await this.#ask("keyHistory", id, 20);
    }
    await this.#ask("listAlerts", { limit: 20 });
    await this.#ask("countDuplicates");
    await this.#ask("destinationStatistics", [...destinations], this.#at);
    await this.#ask("routeStatistics", this.#at);
    const seqs = this.#some([...this.#alertSeqs], 5);
    await this.#ask("findRequests", seqs, 1_000_000);
    const byName = (one: { destination: string }, other: { destination: string }) =>
      one.destination < other.destination ? -1 : 1;
    await this.#both(async ({ store }) => (await store.countByDestination()).sort(byName));
  }

  async compareChanges(): Promise<void> {
    await this.#both(async (side) => {
      const changes = await side.store.listChanges(side.after, 100_000);
      side.after = changes.at(-1)?.cursor ?? side.after;
      return changes.map(({ id }) => id).sort();
    });
  }

  async compareRows(): Promise<void> {
    type Listed = { only?: string; columns: Record<string, Column>; key: readonly string[] };
    for (const [name, { only, columns, key }] of Object.entries<Listed>(tables)) {
      if (only !== undefined || name === "route_hours" || name === "lanes") continue;
      const listed = columnNames(name as TableName).filter((column) => !ownColumns.includes(`${name}.${column}`));
      const kindOf = (column: string) => columns[column]?.kind;
      const texts = listed.map((column) => (kindOf(column) === "time" ? `${column} IS NULL AS ${column}` : column));
      const read = ([column, value]: [string, unknown]) => {
        if (kindOf(column) === "flag" || typeof value === "boolean") return [column, Number(value)];
        // The order of an object's members says nothing.
        return [column, typeof value === "string" && value.startsWith('{"') ? JSON.parse(value) : (value ?? "")];
      };
      await this.#both(async ({ rows }) => {
        // Attempts that were recorded at once have their places by chance.
        const order = name === "attempts" ? listed : key;
        const found = await rows(`SELECT ${texts.join(", ")} FROM ${name} ORDER BY ${order.join(", ")}`);
        return found.map((row) => Object.fromEntries(Object.entries(row).map(read)));
      });
    }
  }
}

/** That each database makes in its own way. */
const ownColumns = ["alerts.version", "attempts.seq", "deliveries.claim_fence"];
