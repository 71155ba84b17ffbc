import { join } from "node:path";
import { onTestFinished } from "vitest";
import { AppError, type ErrorCode } from "../../src/core/errors.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { AccountReading, AccountService, Registration } from "../../src/core/ports/account.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { Secret } from "../../src/core/secret.ts";
import { createNotifier } from "../../src/delivery/duties/notices.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { type AccountWatch, type AccountWatchOptions, createAccountWatch } from "../../src/watch/account-watch.ts";
import { chat } from "../routing/sample.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock, type TestClock } from "../support/test-clock.ts";

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;
export const publicUrl = "https://alerts.example.com";
export const secret = "present-hook-secret-2f9a";
export const formerSecret = "former-hook-secret-77c1";
export const ourUrl = `${publicUrl}/hooks/${secret}`;

export interface AccountWorld {
  clock: TestClock;
  store: Store;
  watch: AccountWatch;
  /** What the service has; a test changes it as another program would. */
  account: AccountReading;
  /** Addresses at other hosts where this relay answers. */
  answered: string[];
  /** The form that the service gives to an address that it is told. Default: as it was written. */
  givenForm?: string;
  /** What a call throws instead of an answer. Default: nothing. */
  fails: (call: "look" | "set") => Error | undefined;
  registered: { value?: Registration; isUnwritable?: boolean };
  /** Setup writes what it has registered, and the watch hears of it. */
  register(registration: Registration): Promise<void>;
  calls: { looks: number; sets: object[] };
  /** The notices so far, the oldest first: `critical firing: title`. */
  notices(): Promise<string[]>;
  /** Stops the watch and starts another on what was stored. */
  restart(): Promise<void>;
}

export function refusal(code: ErrorCode, message = `alerting: GET /account: ${code}`): AppError {
  return new AppError(code, message);
}

/** A watch over a store and a notifier that are real, and a service and a time that a test moves. */
export async function startAccountWatch(
  options: Partial<AccountWatchOptions> & {
    registered?: Registration | null;
    keyExpiresAt?: number;
    webhookUrl?: string;
  } = {},
): Promise<AccountWorld> {
  const { registered, keyExpiresAt, webhookUrl = ourUrl, ...watchOptions } = options;
  const clock = createTestClock();
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  const newId = createIdSource(clock.now);
  const destinations = [chat("ops"), chat("desk"), { ...chat("quiet"), notices: false }];
  const notifier = createNotifier({ store, destinations, isWell: () => true, clock, newId, log: silentLog });
  const defaultRegistration = { accountId: "acc_1", publicUrl, messengerChannelId: null, at: clock.now() };
  const listeners = new Set<() => void>();
  let seed = 7;
  let stop: AbortController;
  let running: Promise<void>;

  const service: AccountService = {
    async lookAtAccount() {
      world.calls.looks += 1;
      const failure = world.fails("look");
      if (failure !== undefined) throw failure;
      return { ...world.account };
    },
    async setAlertOutputs(change) {
      world.calls.sets.push(change);
      const failure = world.fails("set");
      if (failure !== undefined) throw failure;
      Object.assign(world.account, change, world.givenForm && { webhookUrl: world.givenForm });
    },
  };

  function start(): AccountWatch {
    const watch = createAccountWatch(
      {
        service,
        store,
        notify: async (facts, state) => void (await notifier.send(facts, { watch: state })),
        registration: {
          read: async () => world.registered.value,
          write: async (value) => {
            if (world.registered.isUnwritable) throw new Error("ENOSPC");
            world.registered.value = value;
          },
          follow: (onChange) => {
            listeners.add(onChange);
            return () => listeners.delete(onChange);
          },
        },
        hookSecrets: () => [new Secret(secret), new Secret(formerSecret)],
        answersAt: async (url) => world.answered.includes(url),
        clock,
        random: () => {
          seed = (seed * 16807) % 2147483647;
          return seed / 2147483647;
        },
        log: silentLog,
      },
      { publicUrl, pageUrl: `${publicUrl}/setup`, everyMs: 5 * minute, putBack: false, ...watchOptions },
    );
    stop = new AbortController();
    running = watch.run(stop.signal);
    return watch;
  }
  async function end(): Promise<void> {
    stop.abort();
    await running;
  }

  const world: AccountWorld = {
    clock,
    store,
    account: { id: "acc_1", name: "Desk", webhookUrl, messengerChannelId: null, keyExpiresAt },
    answered: [],
    fails: () => undefined,
    registered: { value: registered === null ? undefined : (registered ?? defaultRegistration) },
    async register(registration) {
      world.registered.value = registration;
      for (const listener of listeners) listener();
      await clock.settle();
    },
    calls: { looks: 0, sets: [] },
    watch: undefined as unknown as AccountWatch,
    async notices() {
      const alerts = await store.listAlerts({ limit: 200 });
      return alerts.toReversed().map(({ facts, deliveries }) => {
        const to = deliveries.map(({ destination }) => destination).sort();
        if (to.join() !== "desk,ops") throw new Error(`told ${to}`);
        return `${facts?.severity} ${facts?.status}: ${facts?.title}`;
      });
    },
    async restart() {
      await end();
      world.watch = start();
      await clock.settle();
    },
  };
  world.watch = start();
  onTestFinished(async () => {
    await end();
    await store.close();
  });
  await clock.settle();
  return world;
}
