import type { Now } from "../../src/core/clock.ts";
import { Accounts, keyLifeMs, planSubscriptions, randomDigits } from "./accounts.ts";
import { Alarm } from "./alarm.ts";
import { Assets } from "./assets.ts";
import { Catalogue } from "./catalogue.ts";
import { ServiceFaults } from "./faults.ts";
import { RateLimit, Timeline } from "./gate.ts";
import { Market } from "./market.ts";
import { createPost, Notifier } from "./notifier.ts";
import type { Settings } from "./options.ts";
import { createMemoryState, createStateFile, type SandboxState, type StateFile } from "./state.ts";

/** How often conditions are looked at (in the sandbox's speeded time), and changes of no consequence are saved. */
const watchEveryMs = 1000;
const saveEveryMs = 1000;

/** Reads or begins the state and builds the parts on it. Throws as the state file does. */
export async function openWorld(settings: Settings, linkOf: (eventId: string) => string): Promise<World> {
  const file = settings.dataDir === undefined ? createMemoryState() : createStateFile(settings.dataDir);
  const state = (await file.read()) ?? beginState(settings);
  const world = new World(settings, file, state, linkOf);
  await world.save();
  return world;
}

/** Everything behind the HTTP interface. */
export class World {
  readonly state: SandboxState;
  readonly now: Now;
  readonly catalogue: Catalogue;
  readonly market: Market;
  readonly accounts: Accounts;
  readonly faults = new ServiceFaults();
  readonly timeline: Timeline;
  readonly rateLimit: RateLimit;
  readonly assets: Assets;
  readonly notifier: Notifier;
  readonly alarm: Alarm;
  /** Why the last save in the background failed, if it did. */
  trouble?: string;
  readonly #file: StateFile;
  readonly #speed: number;
  #stormCount: number;
  #watchedAt: number;
  #savedAt: number;
  #isChanged = false;

  constructor(settings: Settings, file: StateFile, state: SandboxState, linkOf: (eventId: string) => string) {
    const { now, random, speed } = settings;
    const deps = { state, now, random, speed, save: () => this.save(), changed: () => this.changed() };
    this.state = state;
    this.now = now;
    this.catalogue = new Catalogue({ seed: state.seed, metricCount: settings.metricCount });
    this.market = new Market({ speed, nudges: () => state.nudges });
    this.accounts = new Accounts({ ...deps, catalogue: this.catalogue });
    this.timeline = new Timeline(now);
    this.rateLimit = new RateLimit(settings);
    this.assets = new Assets({ ...deps, catalogue: this.catalogue, timeline: this.timeline, faults: this.faults });
    this.notifier = new Notifier({
      ...{ ...deps, accounts: this.accounts, post: createPost(settings) },
      ...{ attempts: settings.deliveryAttempts, concurrency: settings.deliveryConcurrency },
      hasBot: settings.botToken !== undefined,
    });
    const { accounts, catalogue, market, notifier } = this;
    this.alarm = new Alarm({ ...deps, accounts, catalogue, market, notifier, linkOf });
    this.#file = file;
    this.#speed = speed;
    this.#stormCount = settings.stormCount;
    this.#watchedAt = now();
    this.#savedAt = now();
    this.#settleFirstAccount(settings);
  }

  /** Resolves when all that was changed before is on disk. */
  async save(): Promise<void> {
    this.#isChanged = false;
    this.#savedAt = this.now();
    await this.#file.save(this.state);
    this.trouble = undefined;
  }

  /** Notes a change whose loss would not matter to a caller; it is saved within about a second. */
  changed(): void {
    this.#isChanged = true;
  }

  tick(): void {
    const at = this.now();
    this.timeline.runDue();
    if (this.#stormCount > 0 && this.notifier.hasOutput(this.accounts.getAccount())) {
      this.alarm.storm(this.#stormCount);
      this.#stormCount = 0;
    }
    if (at - this.#watchedAt >= watchEveryMs / this.#speed) {
      this.#watchedAt = at;
      this.alarm.watch();
    }
    this.notifier.runDue();
    if (this.#isChanged && at - this.#savedAt >= saveEveryMs) this.save().catch((error) => this.#noteTrouble(error));
  }

  async close(): Promise<void> {
    this.timeline.close();
    await this.notifier.close();
    await this.save();
  }

  /** Shown on the page and by GET /_sandbox; saved again a second later. */
  #noteTrouble(error: unknown): void {
    this.trouble = error instanceof Error ? error.message : String(error);
    this.#isChanged = true;
  }

  /**
   * The first account exists, its key works from now on for its full life, and options that were given win over the kept
   * state.
   */
  #settleFirstAccount({ key, shape }: Settings): void {
    const { state, accounts, catalogue, market, now } = this;
    if (key !== undefined) state.apiKey = key;
    if (shape !== undefined) state.shape = shape;
    const [first] = state.accounts;
    if (first !== undefined) {
      accounts.setKey(first.id, state.apiKey, now() + keyLifeMs);
      return;
    }
    const userNames = ["Ada", "Grace", "Edsger", "Barbara", "Alan"];
    const { users } = accounts.createAccount({ accountName: "Sandbox", key: state.apiKey, userNames });
    for (const [index, plan] of planSubscriptions(catalogue, market, now()).entries()) {
      accounts.subscribe({ ...plan, userId: users[index % users.length]?.id });
    }
  }
}

function beginState({ seed = 1, shape = "flat", key, random }: Settings): SandboxState {
  const apiKey = key ?? `sandbox-${randomDigits(random, 24)}`;
  return { version: 1, seed, shape, apiKey, accounts: [], assets: [], nudges: [], notifications: [] };
}
