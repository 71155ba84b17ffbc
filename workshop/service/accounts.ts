import { createHash } from "node:crypto";
import type { Now, Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Market } from "./market.ts";
import type { SandboxAccount, SandboxState, WatchCondition, WatchSubscription } from "./state.ts";

/** Each start renews the first account's key for this long. */
export const keyLifeMs = 90 * 24 * 3_600_000;

export interface OutputChange {
  /** Absent leaves the output as it is; null disables it. */
  webhookUrl?: string | null;
  messengerChannelId?: string | null;
}

export interface Caller {
  account: SandboxAccount;
  keyHash: string;
  expiresAt: number;
}

export interface NewSubscription {
  /** Default the first account. */
  accountId?: string;
  /** Default the account's first user. */
  userId?: string;
  metricKey: string;
  condition: WatchCondition;
  /** Default warning. */
  severity?: WatchSubscription["severity"];
}

export interface Accounts {
  /** The account that owns the key, also of an expired one: see `expiresAt`. */
  findByKey(key: string): Caller | undefined;
  /** The first one without an id. Throws `AppError` "not_found". */
  getAccount(id?: string): SandboxAccount;
  createAccount(input: { accountName: string; key: string; expiresAt?: number; userNames?: string[] }): SandboxAccount;
  /** Gives the account one more key, or a known key another expiry. */
  setKey(accountId: string, key: string, expiresAt: number): void;
  updateOutputs(account: SandboxAccount, change: OutputChange): void;
  /** Throws `AppError` "not_found" for an unknown metric or user. */
  subscribe(input: NewSubscription): WatchSubscription;
  newId(prefix: string): string;
}

function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** Accounts, their keys, users and subscriptions, within the given state; saving it is the caller's. */
export function createAccounts(deps: {
  state: SandboxState;
  catalogue: Catalogue;
  now: Now;
  random: Random;
}): Accounts {
  const { state, catalogue, now } = deps;
  const newId = (prefix: string) => `${prefix}_${now().toString(36)}${randomDigits(deps.random, 10)}`;

  function getAccount(id?: string): SandboxAccount {
    const found = id === undefined ? state.accounts[0] : state.accounts.find((account) => account.id === id);
    if (found !== undefined) return found;
    throw new AppError("not_found", `The sandbox has no account ${id ?? "yet"}`, {
      hint: "GET /_sandbox lists the accounts",
    });
  }

  return {
    newId,
    getAccount,
    findByKey(key) {
      const keyHash = hashKey(key);
      for (const account of state.accounts) {
        const entry = account.keys.find((known) => known.hash === keyHash);
        if (entry !== undefined) return { account, keyHash, expiresAt: entry.expiresAt };
      }
      return undefined;
    },
    createAccount(input) {
      const at = now();
      const account: SandboxAccount = {
        id: newId("acc"),
        accountName: input.accountName,
        webhookUrl: null,
        messengerChannelId: null,
        keys: [{ hash: hashKey(input.key), expiresAt: input.expiresAt ?? at + keyLifeMs }],
        users: (input.userNames ?? ["Ada"]).map((name) => ({ id: newId("usr"), name, createdAt: at })),
        subscriptions: [],
        createdAt: at,
        updatedAt: at,
      };
      state.accounts.push(account);
      return account;
    },
    setKey(accountId, key, expiresAt) {
      const account = getAccount(accountId);
      const hash = hashKey(key);
      account.keys = [...account.keys.filter((known) => known.hash !== hash), { hash, expiresAt }];
    },
    updateOutputs(account, change) {
      if (change.webhookUrl !== undefined) account.webhookUrl = change.webhookUrl;
      if (change.messengerChannelId !== undefined) account.messengerChannelId = change.messengerChannelId;
      account.updatedAt = now();
    },
    subscribe(input) {
      const account = getAccount(input.accountId);
      const user = account.users.find((known) => known.id === input.userId) ?? account.users[0];
      if (user === undefined || (input.userId !== undefined && user.id !== input.userId)) {
        throw new AppError("not_found", `The account has no user ${input.userId ?? ""}`);
      }
      if (catalogue.findMetric(input.metricKey) === undefined) {
        throw new AppError("not_found", `The sandbox has no metric ${input.metricKey}`, {
          hint: "GET /alerting/metrics lists the keys",
        });
      }
      const subscription: WatchSubscription = {
        id: newId("sub"),
        userId: user.id,
        metricKey: input.metricKey,
        condition: input.condition,
        severity: input.severity ?? "warning",
        createdAt: now(),
        isFiring: false,
      };
      account.subscriptions.push(subscription);
      return subscription;
    },
  };
}

/** Letters and digits for keys and ids. `random` need not be strong: a sandbox protects nothing. */
export function randomDigits(random: Random, count: number): string {
  return Array.from({ length: count }, () => Math.floor(random() * 36).toString(36)).join("");
}

/** The conditions a new sandbox watches: near enough to today's values that some turn every minute. */
export function planSubscriptions(
  catalogue: Catalogue,
  market: Market,
  at: number,
): Omit<NewSubscription, "accountId" | "userId">[] {
  const plans: Omit<NewSubscription, "accountId" | "userId">[] = [];
  const severities = ["critical", "warning", "info"] as const;
  for (let index = 0; index < 24; index += 1) {
    const chainId = catalogue.chainIds[index % catalogue.chainIds.length] ?? "eth";
    const metric = catalogue.metricAt(chainId, (index * 7) % 20);
    if (metric === undefined) continue;
    const value = market.metricValue(metric, at);
    const conditions: WatchCondition[] = [
      { kind: "change_percent", percent: 0.8, windowMs: 300_000 },
      { kind: "above", threshold: Number((value * 1.002).toPrecision(6)) },
      { kind: "below", threshold: Number((value * 0.998).toPrecision(6)) },
      { kind: "change_percent", percent: 2.5, windowMs: 900_000 },
    ];
    const condition = conditions[index % conditions.length];
    if (condition) plans.push({ metricKey: metric.key, condition, severity: severities[index % 3] });
  }
  return plans;
}
