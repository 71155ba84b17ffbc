import type { Now } from "../../src/core/clock.ts";
import { type Accounts, createAccounts, keyLifeMs, planSubscriptions, randomDigits } from "./accounts.ts";
import { type Alarm, createAlarm } from "./alarm.ts";
import { type Assets, createAssets } from "./assets.ts";
import { type Catalogue, createCatalogue } from "./catalogue.ts";
import { createFaults, type Faults } from "./faults.ts";
import { createRateLimit, createTimeline, type RateLimit, type Timeline } from "./gate.ts";
import { createMarket, type Market } from "./market.ts";
import { createNotifier, createPost, type Notifier } from "./notifier.ts";
import type { Settings } from "./options.ts";
import { createMemoryState, createStateFile, type SandboxState, type StateFile } from "./state.ts";

/** Everything behind the HTTP interface, built once and handed to it. */
export interface World {
  state: SandboxState;
  accounts: Accounts;
  catalogue: Catalogue;
  market: Market;
  faults: Faults;
  rateLimit: RateLimit;
  timeline: Timeline;
  assets: Assets;
  alarm: Alarm;
  notifier: Notifier;
  now: Now;
  /** Resolves when all that was changed before is on disk. */
  save: () => Promise<void>;
  /** Notes a change whose loss would not matter to a caller; it is saved within about a second. */
  changed: () => void;
  /** Why the last save in the background failed, if it did. */
  trouble: () => string | undefined;
  tick: () => void;
  close: () => Promise<void>;
}

/**
 * How often conditions are looked at and changes of no consequence are saved, in the sandbox's (speeded) time and the
 * clock's.
 */
const watchEveryMs = 1000;
const saveEveryMs = 1000;

/** Reads or begins the state and builds the parts on it. Throws as the state file does. */
export async function openWorld(settings: Settings, linkOf: (eventId: string) => string): Promise<World> {
  const { now, random, speed } = settings;
  const file = settings.dataDir === undefined ? createMemoryState() : createStateFile(settings.dataDir);
  const kept = await file.read();
  const state = kept ?? beginState(settings);
  const saving = createSaving(file, state, now);
  const { changed, save } = saving;

  const catalogue = createCatalogue({ seed: state.seed, metricCount: settings.metricCount });
  const market = createMarket({ speed, nudges: () => state.nudges });
  const accounts = createAccounts({ state, catalogue, now, random });
  const faults = createFaults();
  const timeline = createTimeline(now);
  const rateLimit = createRateLimit(now, settings);
  const assets = createAssets({ state, catalogue, timeline, faults, now, save }, { seed: state.seed, speed });
  const post = createPost({ ...settings, timeoutMs: settings.deliveryTimeoutMs });
  const notifier = createNotifier(
    { state, accounts, post, now, random, changed },
    {
      speed,
      attempts: settings.deliveryAttempts,
      concurrency: settings.deliveryConcurrency,
      hasBot: settings.botToken !== undefined,
    },
  );
  const alarm = createAlarm({ state, accounts, catalogue, market, notifier, now, random, linkOf, changed }, { speed });
  settleFirstAccount({ state, accounts, catalogue, market, now }, settings);
  await save();

  let watchedAt = now();
  let stormCount = settings.stormCount;
  function tick(): void {
    timeline.runDue();
    if (stormCount > 0 && notifier.hasOutput(accounts.getAccount())) {
      alarm.storm(stormCount);
      stormCount = 0;
    }
    if (now() - watchedAt >= watchEveryMs / speed) {
      watchedAt = now();
      alarm.watch();
    }
    notifier.runDue();
    saving.saveDue();
  }

  const parts = { state, accounts, catalogue, market, faults, rateLimit, timeline, assets, alarm, notifier };
  return {
    ...parts,
    now,
    save,
    changed,
    trouble: saving.trouble,
    tick,
    async close() {
      timeline.close();
      await notifier.close();
      await save();
    },
  };
}

function beginState(settings: Settings): SandboxState {
  return {
    version: 1,
    seed: settings.seed ?? 1,
    shape: settings.shape ?? "flat",
    apiKey: settings.key ?? `sandbox-${randomDigits(settings.random, 24)}`,
    accounts: [],
    assets: [],
    nudges: [],
    notifications: [],
  };
}

/**
 * The first account exists, its key works from now on for its full life, and options that were given win over the kept
 * state.
 */
function settleFirstAccount(
  world: Pick<World, "state" | "accounts" | "catalogue" | "market" | "now">,
  settings: Settings,
): void {
  const { state, accounts, now } = world;
  if (settings.key !== undefined) state.apiKey = settings.key;
  if (settings.shape !== undefined) state.shape = settings.shape;
  const first = state.accounts[0];
  if (first !== undefined) {
    accounts.setKey(first.id, state.apiKey, now() + keyLifeMs);
    return;
  }
  const userNames = ["Ada", "Grace", "Edsger", "Barbara", "Alan"];
  const account = accounts.createAccount({ accountName: "Sandbox", key: state.apiKey, userNames });
  for (const [index, plan] of planSubscriptions(world.catalogue, world.market, now()).entries()) {
    accounts.subscribe({ ...plan, userId: account.users[index % account.users.length]?.id });
  }
}

function createSaving(file: StateFile, state: SandboxState, now: Now) {
  let isChanged = false;
  let savedAt = now();
  let trouble: string | undefined;

  async function save(): Promise<void> {
    isChanged = false;
    savedAt = now();
    await file.save(state);
    trouble = undefined;
  }

  return {
    save,
    changed: () => {
      isChanged = true;
    },
    trouble: () => trouble,
    saveDue() {
      if (!isChanged || now() - savedAt < saveEveryMs) return;
      save().catch((error: unknown) => {
        // Shown on the page and by GET /_sandbox; tried again with the next change or a second later.
        trouble = error instanceof Error ? error.message : String(error);
        isChanged = true;
      });
    },
  };
}
