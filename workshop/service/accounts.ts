import { createHash } from "node:crypto";
import type { Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Market } from "./market.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxAccount, WatchCondition, WatchSubscription } from "./state.ts";

/** Each start renews the first account's key for this long. */
export const keyLifeMs = 90 * 24 * 3_600_000;

export interface OutputChange {
  /** Absent: unchanged. null: disabled. */
  webhookUrl?: string | null;
  messengerChannelId?: string | null;
}

export interface Caller {
  account: SandboxAccount;
  keyHash: string;
  expiresAt: number;
}

export interface NewAccount {
  accountName: string;
  key: string;
  /** Epoch milliseconds. Default 90 days from now. */
  expiresAt?: number;
  userNames?: string[];
}

export interface NewSubscription {
  accountId?: string;
  userId?: string;
  metricKey: string;
  condition: WatchCondition;
  severity?: WatchSubscription["severity"];
}

/** Accounts, their keys, users and subscriptions, in the sandbox's state. The caller saves the state. */
export class Accounts {
  constructor(private readonly sandbox: Pick<ServiceSandbox, "state" | "settings" | "catalogue">) {}

  newId(prefix: string): string {
    const { now, random } = this.sandbox.settings;
    return `${prefix}_${now().toString(36)}${randomDigits(random, 10)}`;
  }

  /** Default: the first account. Throws `AppError` "not_found". */
  getAccount(id?: string): SandboxAccount {
    const { accounts } = this.sandbox.state;
    const found = id === undefined ? accounts[0] : accounts.find((account) => account.id === id);
    if (found !== undefined) return found;
    const hint = "GET /_sandbox lists the accounts";
    throw new AppError("not_found", `The sandbox has no account ${id ?? "yet"}`, { hint });
  }

  /** The account of the key, even of an expired one: see `expiresAt`. */
  findByKey(key: string): Caller | undefined {
    const keyHash = hashKey(key);
    for (const account of this.sandbox.state.accounts) {
      const entry = account.keys.find(({ hash }) => hash === keyHash);
      if (entry !== undefined) return { account, keyHash, expiresAt: entry.expiresAt };
    }
    return undefined;
  }

  createAccount({ accountName, key, expiresAt, userNames = ["Ada"] }: NewAccount): SandboxAccount {
    const at = this.sandbox.settings.now();
    const account: SandboxAccount = {
      ...{ id: this.newId("acc"), accountName, webhookUrl: null, messengerChannelId: null },
      keys: [{ hash: hashKey(key), expiresAt: expiresAt ?? at + keyLifeMs }],
      users: userNames.map((name) => ({ id: this.newId("usr"), name, createdAt: at })),
      ...{ subscriptions: [], createdAt: at, updatedAt: at },
    };
    this.sandbox.state.accounts.push(account);
    return account;
  }

  /** Gives the account another key, or a known key another expiry. Default account: the first. */
  setKey(key: string, expiresAt: number, accountId?: string): void {
    const account = this.getAccount(accountId);
    const hash = hashKey(key);
    account.keys = [...account.keys.filter((known) => known.hash !== hash), { hash, expiresAt }];
  }

  updateOutputs(account: SandboxAccount, { webhookUrl, messengerChannelId }: OutputChange): void {
    if (webhookUrl !== undefined) account.webhookUrl = webhookUrl;
    if (messengerChannelId !== undefined) account.messengerChannelId = messengerChannelId;
    account.updatedAt = this.sandbox.settings.now();
  }

  /** Throws `AppError` "not_found" for an unknown metric or user. */
  subscribe({ accountId, userId, metricKey, condition, severity = "warning" }: NewSubscription): WatchSubscription {
    const account = this.getAccount(accountId);
    const user = account.users.find(({ id }) => userId === undefined || id === userId);
    if (user === undefined) throw new AppError("not_found", `The account has no user ${userId ?? ""}`);
    this.sandbox.catalogue.getMetric(metricKey);
    const facts = { metricKey, condition, severity, createdAt: this.sandbox.settings.now(), isFiring: false };
    const subscription: WatchSubscription = { id: this.newId("sub"), userId: user.id, ...facts };
    account.subscriptions.push(subscription);
    return subscription;
  }
}

function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** `random` need not be strong: a sandbox protects nothing. */
export function randomDigits(random: Random, count: number): string {
  return Array.from({ length: count }, () => Math.floor(random() * 36).toString(36)).join("");
}

/** The conditions of a new sandbox: near today's values, so some turn every minute. */
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
