import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import type { ChannelType, DeliveryPurpose, Outcome } from "../../src/core/delivery.ts";
import { type DeliverySettings, defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import type { DestinationStatus } from "../../src/core/destination-status.ts";
import { AppError } from "../../src/core/errors.ts";
import { createIdSource, firstIdAt } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { Message } from "../../src/core/message.ts";
import type { PictureOutcome } from "../../src/core/picture-outcome.ts";
import type { AlertDetail } from "../../src/core/ports/alert-log.ts";
import type { Channel, SendContext } from "../../src/core/ports/channel.ts";
import type { Illustrate, Illustration } from "../../src/core/ports/illustration.ts";
import type { RelayView } from "../../src/core/ports/relays.ts";
import type { RoutingDraft } from "../../src/core/ports/routing-desk.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { PlannedDelivery } from "../../src/core/rules.ts";
import { Secret } from "../../src/core/secret.ts";
import type { FindHold } from "../../src/delivery/duties/follow-quiet-hours.ts";
import { Engine } from "../../src/delivery/engine.ts";
import { createComposer } from "../../src/delivery/lane/compose.ts";
import { openClaimJournal } from "../../src/delivery/memory/claim-journal.ts";
import { readPayloads } from "../../src/intake/read-payloads.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { readableText, recipientsOf, vendorOf } from "../../src/vendors/index.ts";
import type { NtfyMessage } from "../../src/vendors/ntfy/render.ts";
import { destinationBase } from "../support/destinations.ts";
import { anAlert } from "../support/facts.ts";
import type { KnownDestination as Destination } from "../support/known-vendors.ts";
import { createRendering } from "../support/rendering.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock, type TestClock } from "../support/test-clock.ts";

export interface Call {
  at: number;
  action: "send" | "edit" | "illustrate";
  text: string;
  /** Of an ntfy message: where a tap leads. */
  link?: string;
  ref?: string;
  /** Of a picture. */
  illustration?: Illustration;
  context: SendContext;
  /** Absent while there is no answer. */
  outcome?: Outcome;
}

/** A promise that the test ends. */
export function later<T>(): { promise: Promise<T>; settle(value: T): void } {
  let settle: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

/** A channel that answers by script; without one everything is sent. */
export interface ScriptedChannel extends Channel {
  clock: TestClock;
  calls: Call[];
  /** The texts of its calls, whether each is marked as a possible repeat, and whether each is silent. */
  readonly texts: string[];
  readonly repeats: boolean[];
  readonly silences: boolean[];
  /** What each call did: `send`, `answer 1`, `edit 1`, `illustrate 1`; then `silent` and `marked` where it was so. */
  readonly did: string[];
  /** Answers of the next calls, in order. */
  script: (Outcome | Promise<Outcome> | ((call: Call) => Outcome | Promise<Outcome>))[];
  /** Answers every call while set. */
  always?: (call: Call) => Outcome | Promise<Outcome>;
  /** The next call gets no answer before this one is given. */
  hang(): (outcome?: Outcome) => void;
  /** Answers of the next probes, in order, and of all others. Default: no connection. */
  probes: Outcome[];
  everyProbe?: Outcome;
  probed: { at: number; recipient: string; outcome: Outcome }[];
}

export function createScriptedChannel(
  type: ChannelType,
  clock: TestClock,
  canEdit = type === "telegram",
): ScriptedChannel {
  let lastRef = 0;
  async function answer(call: Call): Promise<Outcome> {
    channel.calls.push(call);
    const scripted = channel.script.shift() ?? channel.always;
    if (typeof scripted !== "function") lastRef += 1;
    const sent: Outcome = { kind: "sent", ref: String(lastRef) };
    call.outcome = await (typeof scripted === "function" ? scripted(call) : (scripted ?? sent));
    return call.outcome;
  }
  const toCall = (action: Call["action"], message: Message, context: SendContext, ref?: string): Call => ({
    at: clock.now(),
    action,
    text: readableText(message),
    link: (message as Partial<NtfyMessage>).click,
    ref,
    context,
  });
  const channel: ScriptedChannel = {
    clock,
    type,
    can: { ...vendorOf(type).can, edits: canEdit },
    calls: [],
    get texts() {
      return channel.calls.map(({ text }) => text);
    },
    get repeats() {
      return channel.texts.map((text) => text.includes("possible repeat"));
    },
    get silences() {
      return channel.calls.map(({ context }) => context.silent);
    },
    get did() {
      return channel.calls.map(({ action, ref, text, context: { replyTo, silent } }) => {
        const done = replyTo === undefined ? [action, ref] : ["answer", replyTo];
        return [...done, silent && "silent", text.includes("possible repeat") && "marked"].filter(Boolean).join(" ");
      });
    },
    script: [],
    hang() {
      const { promise, settle } = later<Outcome>();
      channel.script.push(promise);
      return (outcome = { kind: "sent", ref: "1" }) => settle(outcome);
    },
    probes: [],
    probed: [],
    send: (message, context) => answer(toCall("send", message, context)),
    async probe(recipient) {
      const unreachable = { kind: "retry", reason: "connect_failed", detail: "no" } as const;
      const outcome = channel.probes.shift() ?? channel.everyProbe ?? unreachable;
      channel.probed.push({ at: clock.now(), recipient, outcome });
      return outcome;
    },
    close: async () => {},
  };
  if (canEdit) channel.edit = (ref, message, context) => answer(toCall("edit", message, context, ref));
  if (channel.can.pictures) {
    channel.illustrate = (ref, message, illustration, context) =>
      answer({ ...toCall("illustrate", message, context, ref), illustration });
  }
  return channel;
}

export type Named<N extends string> = Destination & { name: N };

export function telegramTo<N extends string>(name: N, changes: Partial<Destination> = {}): Named<N> {
  return {
    ...destinationBase(name),
    type: "telegram",
    chatId: `-100${name.length}`,
    silent: false,
    bot: { id: "7", token: new Secret("7:canary-token"), apiRoot: "http://127.0.0.1:1" },
    pace: { perSecond: 1, perMinute: 18 },
    ...changes,
  } as Named<N>;
}

/** To a server of its own. Scripted, it edits nothing: every repeat is a message. */
export function ntfyTo<N extends string>(name: N, changes: Partial<Destination> = {}): Named<N> {
  const own = { type: "ntfy", server: "http://127.0.0.1:1", topic: name, allowInternal: [] };
  return { ...destinationBase(name), ...own, ...changes } as Named<N>;
}

/** To a program, which is given facts and payloads. */
export function webhookTo<N extends string>(name: N, changes: Partial<Destination> = {}): Named<N> {
  const own = { type: "webhook", url: "http://127.0.0.1:1/", headers: {}, allowInternal: [] };
  return { ...destinationBase(name), ...own, ...changes } as Named<N>;
}

export function mailTo<N extends string>(name: N, to = ["a@x.io"], changes: Partial<Destination> = {}): Named<N> {
  return {
    ...destinationBase(name),
    type: "email",
    to,
    from: "alerts@example.com",
    account: {
      id: "alerts@mail.example.com:465",
      host: "mail.example.com",
      port: 465,
      secure: true,
      password: new Secret("canary"),
      allowInsecureAuth: false,
      rejectUnauthorized: true,
    },
    ...changes,
  } as Named<N>;
}

export interface DraftOptions {
  to?: string[];
  planned?: Partial<PlannedDelivery>;
  purpose?: DeliveryPurpose;
  /** Quiet hours, or its group if one is named, hold it for so long. */
  heldForMs?: number;
  /** Where it goes when it has not arrived so long afterwards. */
  fallback?: [to: string, afterMs: number];
  body?: string;
  /** Epoch milliseconds. Default: now. */
  receivedAt?: number;
}

/**
 * Time passes (an hour and more in one jump), the first destination answers its next call so, or not before the step `answer`, the
 * engine is restarted, killed or stopped, an alert comes, or whatever else is done.
 */
export type Step =
  | number
  | Outcome
  | "hang"
  | "answer"
  | "restart"
  | "kill"
  | "stop"
  | ((fixture: EngineFixture) => unknown)
  | Partial<AlertFacts>
  | [facts: Partial<AlertFacts>, options: DraftOptions];

/** An engine on a real database, and what a test does with it. */
export class EngineFixture {
  clock = createTestClock();
  folder = makeTempFolder();
  store: Store = openLocalStore({ path: join(this.folder, "tocsin.db"), ballastBytes: 0, now: this.clock.now });
  /** The store as its next engine has it. Default: as it is. */
  seen = this.store;
  engine = undefined as unknown as Engine;
  settings = { ...defaultDeliverySettings(), jitter: 0 };
  channels: Record<string, ScriptedChannel> = {};
  newId = createIdSource(this.clock.now);
  /** What was noted of pictures, by delivery. */
  pictures = new Map<string, PictureOutcome>();
  /** Alerts are routed as the relay does it, so lanes may claim them at once. Default: each is found by its lane. */
  routesByEngine = false;
  /** Methods of the store that the engine finds out of order, and those that do their work and never answer it. */
  failing = new Set<keyof Store>();
  unanswered = new Set<keyof Store>();
  /** How often the engine has called each method of the store. */
  storeCalls = new Map<keyof Store, number>();
  /** Of the machine that the next engine starts on. */
  bootId = firstIdAt(1);
  /** The quiet hours that the engine finds at its next start. Default none. */
  quietHours: { find?: FindHold } = {};
  /** Other relays on the same store, where a test shares it. */
  others: Partial<RelayView>[] = [];
  /** Whether the engine hears of what its store commits. */
  hears = true;
  life = 0;
  answer = () => {};

  constructor(
    readonly destinations: Named<string>[],
    readonly illustrate?: Illustrate,
  ) {
    for (const { name, type } of destinations) this.channels[name] = createScriptedChannel(type, this.clock);
  }

  start = async () => {
    const { clock, settings, newId, quietHours, illustrate, destinations } = this;
    const publicUrl = "https://tocsin.example.com";
    this.engine = await Engine.start({
      findHold: (...asked) => quietHours.find?.(...asked),
      illustrate,
      pictureNotes: { note: ({ id }, outcome) => void this.pictures.set(id, outcome) },
      self: { id: newId(), name: "one", version: "0.1.0", configuration: "c", startedAt: clock.now() },
      store: this.withFaults(),
      journal: openClaimJournal(join(this.folder, "claims"), {
        bootId: this.bootId,
        onFault: (error) => {
          throw error;
        },
      }),
      outlets: destinations.map((destination) => ({ destination, channel: channelOf(this, destination.name) })),
      composer: createComposer({ rendering: createRendering({ publicUrl }), log: silentLog, publicUrl }),
      ...{ readPayloads, publicUrl, settings, clock, newId, random: () => 0.5, log: silentLog },
    });
  };

  /** The store as the engine has it while the disk is full, or worse; after a kill it takes nothing more. */
  withFaults = (ownLife = this.life) =>
    new Proxy(this.seen, {
      get: (target, name: keyof Store) => {
        if (this.life !== ownLife) return () => new Promise(() => {});
        this.storeCalls.set(name, (this.storeCalls.get(name) ?? 0) + 1);
        if (this.unanswered.has(name))
          return async (...args: never[]) => {
            await (target[name] as (...args: never[]) => Promise<unknown>)(...args);
            return new Promise(() => {});
          };
        if (!this.failing.has(name)) return target[name];
        return async () => {
          throw new AppError("store_unavailable", "The disk that holds the database is full.");
        };
      },
    });

  /** Stores an alert and routes it to these destinations (default: all). */
  accept = async (facts: Partial<AlertFacts> = {}, options: DraftOptions = {}): Promise<string> => {
    const { body, receivedAt = this.clock.now() } = options;
    const id = this.newId();
    const given = { receivedAt, headers: "[]", body: Buffer.from(body ?? id), ids: [id] };
    await this.store.acceptRequest({ ...given, origin: "hook", dedupeWindowMs: 1 });
    const [request] = await this.store.listUnrouted(1, this.clock.now());
    const alert = request?.alerts[0];
    if (!alert) throw new Error("nothing was accepted");
    const draft = this.draftOf({ title: `Alert ${alert.seq}`, alertKey: id, ...facts }, options);
    await (this.routesByEngine ? this.engine : this.store).recordRouting([{ alertSeq: alert.seq, ...draft }]);
    return id;
  };

  /** So many, one after the other. */
  acceptMany = async (count: number, ...given: Parameters<EngineFixture["accept"]>): Promise<string[]> => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(await this.accept(...given));
    return ids;
  };

  /** Takes the steps in their order. Returns the ids of the alerts that came. */
  play = async (...steps: Step[]): Promise<string[]> => {
    const ids: string[] = [];
    const first = channelOf(this, this.destinations[0]?.name ?? "");
    for (const step of steps) {
      if (typeof step === "number") await (step < 3_600_000 ? this.clock.advance(step) : this.clock.jump(step));
      else if (step === "hang") this.answer = first.hang();
      else if (step === "answer") this.answer();
      else if (step === "stop") await stopEngine(this.engine, this.clock);
      else if (step === "restart" || step === "kill") await this[step]();
      else if (typeof step === "function") await step(this);
      else if ("kind" in step) first.script.push(step);
      else ids.push(await this.accept(...([step].flat() as [Partial<AlertFacts>, DraftOptions])));
    }
    return ids;
  };

  /** How such an alert is routed. */
  draftOf = (facts: Partial<AlertFacts>, options: DraftOptions = {}): RoutingDraft => {
    const { to, planned = {}, purpose = "alert", heldForMs, fallback } = options;
    const now = this.clock.now();
    const deliveries = this.destinations
      .filter(({ name }) => to?.includes(name) ?? true)
      .flatMap((destination) =>
        recipientsOf(destination).map((recipient): PlannedDelivery => {
          const { name, type: channel } = destination;
          const usual = { route: "everything", state: "queued", reason: "", dueAt: now, updates: "auto" } as const;
          return {
            ...{ destination: name, channel, recipient, ...usual },
            ...(heldForMs && { state: "held", dueAt: now + heldForMs }),
            ...(fallback && { fallback: { to: fallback[0], at: now + fallback[1] } }),
            ...planned,
          };
        }),
      );
    return { facts: anAlert(facts), decisions: [], deliveries, purpose, routedAt: now };
  };

  detail = async (id: string): Promise<AlertDetail> => {
    const detail = await this.store.getAlert(id);
    if (!detail) throw new Error(`no alert ${id}`);
    return detail;
  };

  states = async (id: string): Promise<Record<string, string>> => {
    const { deliveries } = await this.detail(id);
    return Object.fromEntries(deliveries.map((delivery) => [delivery.destination, delivery.state]));
  };

  /** How a destination is: the first, or the one of this name. */
  own = (name = this.destinations[0]?.name): DestinationStatus => {
    const status = this.engine.statuses().find(({ destination }) => destination.name === name);
    if (!status) throw new Error(`no destination ${name}`);
    return status.own;
  };

  /** An alert for this destination alone meets with such an answer, and five seconds pass. Returns its id. */
  meet = async (name: string, outcome: Outcome): Promise<string> => {
    channelOf(this, name).script.push(outcome);
    const id = await this.accept({}, { to: [name] });
    await this.clock.advance(5_000);
    return id;
  };

  restart = async (): Promise<void> => {
    await stopEngine(this.engine, this.clock);
    await this.start();
  };

  /**
   * The engine is left where it stands, as if its process had been killed: its store takes nothing more from it. Another
   * starts with what it has written.
   */
  kill = async (): Promise<void> => {
    this.life += 1;
    await this.start();
  };
}

/** With its channels by their names; `fixture` is all of it. */
export type WithChannels<N extends string> = EngineFixture & Record<N, ScriptedChannel> & { fixture: WithChannels<N> };

/** It ends with the test. */
export async function startFixture<N extends string>(
  destinations: Named<N>[],
  changes: (settings: DeliverySettings) => void = () => {},
  illustrate?: Illustrate,
): Promise<WithChannels<N>> {
  const fixture = new EngineFixture(destinations, illustrate);
  changes(fixture.settings);
  await fixture.start();
  fixture.store.subscribe("due", (names) => {
    if (fixture.hears) fixture.engine.wake(names);
  });
  onTestFinished(async () => {
    await stopEngine(fixture.engine, fixture.clock);
    await fixture.store.close();
  });
  return Object.assign(fixture, fixture.channels as Record<N, ScriptedChannel>, {
    fixture: fixture as WithChannels<N>,
  });
}

/** Moves time until the engine has stopped, since it may wait for a deadline. */
export async function stopEngine(engine: Engine, clock: TestClock, deadlineMs = 1_000): Promise<void> {
  let stopped = false;
  const stopping = engine.stop(deadlineMs).then(() => {
    stopped = true;
  });
  for (let turn = 0; turn < 20 && !stopped; turn += 1) await clock.advance(1_000);
  await stopping;
}

export function channelOf(fixture: EngineFixture, name: string): ScriptedChannel {
  const channel = fixture.channels[name];
  if (!channel) throw new Error(`no channel ${name}`);
  return channel;
}

/** Of all attempts of an alert, in their order. */
export async function outcomesOf(fixture: EngineFixture, id: string): Promise<string[]> {
  const { deliveries } = await fixture.detail(id);
  return deliveries.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
}
