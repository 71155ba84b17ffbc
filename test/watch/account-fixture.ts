import { AppError, type ErrorCode } from "../../src/core/errors.ts";
import type { AccountReading, AccountService, Registration } from "../../src/core/ports/account.ts";
import { Secret } from "../../src/core/secret.ts";
import { type AccountWatch, type AccountWatchOptions, createAccountWatch } from "../../src/watch/account-watch.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createWatchWorld, minute, type WatchWorld } from "./watch-world.ts";

export const publicUrl = "https://alerts.example.com";
export const secret = "present-hook-secret-2f9a";
export const formerSecret = "former-hook-secret-77c1";
export const ourUrl = `${publicUrl}/hooks/${secret}`;

export function refusal(code: ErrorCode, message = `alerting: GET /account: ${code}`): AppError {
  return new AppError(code, message);
}

export interface AccountWorld extends WatchWorld<AccountWatch> {
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
  /** The account becomes this, and so much time passes: by default until the next look. */
  becomes(change: Partial<AccountReading>, ms?: number): Promise<void>;
  /** From now on a look fails with this, or with nothing, and so much time passes. */
  failing(failure: Error | undefined, ms: number): Promise<void>;
}

/** A watch over a service that a test moves. */
export async function startAccountWatch(
  options: Partial<AccountWatchOptions> & {
    registered?: Registration | null;
    keyExpiresAt?: number;
    webhookUrl?: string;
  } = {},
): Promise<AccountWorld> {
  const { registered, keyExpiresAt, webhookUrl = ourUrl, ...watchOptions } = options;
  const defaultRegistration = { accountId: "acc_1", publicUrl, messengerChannelId: null, at: 0 };
  const listeners = new Set<() => void>();
  const random = createSeededRandom(7).next;
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
  const registration = {
    read: async () => world.registered.value,
    async write(value: Registration) {
      if (world.registered.isUnwritable) throw new Error("ENOSPC");
      world.registered.value = value;
    },
    follow(onChange: () => void) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
  const open: Parameters<typeof createWatchWorld<AccountWatch>>[0] = (deps) =>
    createAccountWatch(
      {
        ...deps,
        service,
        registration,
        hookSecrets: () => [new Secret(secret), new Secret(formerSecret)],
        answersAt: async (url) => world.answered.includes(url),
        random,
      },
      { publicUrl, pageUrl: `${publicUrl}/setup`, everyMs: 5 * minute, putBack: false, ...watchOptions },
    );
  const world: AccountWorld = Object.assign(await createWatchWorld(open), {
    account: { id: "acc_1", name: "Desk", webhookUrl, messengerChannelId: null, keyExpiresAt },
    answered: [],
    fails: () => undefined,
    registered: { value: registered === null ? undefined : (registered ?? defaultRegistration) },
    async register(changed: Registration) {
      world.registered.value = changed;
      for (const listener of listeners) listener();
      await world.clock.settle();
    },
    calls: { looks: 0, sets: [] },
    becomes(change: Partial<AccountReading>, ms = 5 * minute) {
      Object.assign(world.account, change);
      return world.clock.advance(ms);
    },
    failing(failure: Error | undefined, ms: number) {
      world.fails = () => failure;
      return world.clock.advance(ms);
    },
  });
  await world.start();
  return world;
}
