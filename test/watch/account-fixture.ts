import { AppError, type ErrorCode } from "../../src/core/errors.ts";
import type { AccountReading, AccountService, Registration } from "../../src/core/ports/account.ts";
import { Secret } from "../../src/core/secret.ts";
import { AccountWatch, type AccountWatchOptions } from "../../src/watch/account-watch.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { createWatchWorld, minute, type WatchWorld } from "./watch-world.ts";

export const publicUrl = "https://alerts.example.com";
export const secret = "present-hook-secret-2f9a";
export const formerSecret = "former-hook-secret-77c1";
export const ourUrl = `${publicUrl}/hooks/${secret}`;

export const refusal = (code: ErrorCode, message = `alerting: GET /account: ${code}`): AppError =>
  new AppError(code, message);

/** A watch over a service that a test moves. */
export async function startAccountWatch(
  options: Partial<AccountWatchOptions> & {
    registered?: Registration | null;
    keyExpiresAt?: number;
    webhookUrl?: string;
  } = {},
) {
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
    new AccountWatch(
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
  const own = {
    /** What the service has; a test changes it as another program would. */
    account: { id: "acc_1", name: "Desk", webhookUrl, messengerChannelId: null, keyExpiresAt } as AccountReading,
    /** Addresses at other hosts where this relay answers. */
    answered: [] as string[],
    /** The form that the service gives to an address that it is told. Default: as it was written. */
    givenForm: undefined as string | undefined,
    /** What a call throws instead of an answer. Default: nothing. */
    fails: (_call: "look" | "set"): Error | undefined => undefined,
    registered: {
      value: registered === null ? undefined : (registered ?? defaultRegistration),
    } as { value?: Registration; isUnwritable?: boolean },
    /** Setup writes what it has registered, and the watch hears of it. */
    async register(changed: Registration): Promise<void> {
      world.registered.value = changed;
      for (const listener of listeners) listener();
      await world.clock.settle();
    },
    calls: { looks: 0, sets: [] as object[] },
    /** The account becomes this, and so much time passes: by default until the next look. */
    becomes(change: Partial<AccountReading>, ms = 5 * minute): Promise<void> {
      Object.assign(world.account, change);
      return world.clock.advance(ms);
    },
    /** From now on a look fails with this, or with nothing, and so much time passes. */
    failing(failure: Error | undefined, ms: number): Promise<void> {
      world.fails = () => failure;
      return world.clock.advance(ms);
    },
  };
  const world: WatchWorld<AccountWatch> & typeof own = Object.assign(await createWatchWorld(open), own);
  await world.start();
  return world;
}
