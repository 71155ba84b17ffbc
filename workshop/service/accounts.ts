import { createHash } from "node:crypto";
import { z } from "zod";
import type { Random } from "../../src/core/clock.ts";
import { AppError } from "../../src/core/errors.ts";
import type { ServiceSandbox } from "./service.ts";
import { conditionSchema, type SandboxAccount, severities, severitySchema, type WatchSubscription } from "./state.ts";

/** Each start renews the first account's key for this long. */
const keyLifeMs = 90 * 24 * 3_600_000;

/** Absent: unchanged. null: disabled. */
export const outputsInput = z.object({
  webhookUrl: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL, or null to disable the webhook" })
    .nullable()
    .optional(),
  messengerChannelId: z
    .string({ error: "must be a string that starts with -, or null to disable the channel" })
    .regex(/^-./, { error: "must start with -" })
    .nullable()
    .optional(),
});

export const accountInput = z.strictObject({
  accountName: z.string().min(1).optional(),
  key: z.string().min(1),
  /** Epoch milliseconds. Default 90 days from now. */
  expiresAt: z.number().optional(),
  userNames: z.array(z.string()).optional(),
});

/** Without an account: the first. */
export const subscriptionInput = z.strictObject({
  accountId: z.string().optional(),
  userId: z.string().optional(),
  metricKey: z.string(),
  condition: conditionSchema,
  severity: severitySchema.optional(),
});
type NewSubscription = z.infer<typeof subscriptionInput>;

export interface Caller {
  account: SandboxAccount;
  keyHash: string;
  expiresAt: number;
}

/** Accounts, their keys, users and subscriptions, in the sandbox's state. The caller saves the state. */
export class Accounts {
  constructor(private readonly sandbox: ServiceSandbox) {}

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

  /** Throws `AppError` "conflict" for the key of another account. */
  createAccount(input: z.infer<typeof accountInput>): SandboxAccount {
    const at = this.sandbox.settings.now();
    const { accountName = "Another account", key, expiresAt = at + keyLifeMs, userNames = ["Ada"] } = input;
    if (this.findByKey(key) !== undefined) {
      throw new AppError("conflict", "Another account has this key", { hint: "Give each account its own key" });
    }
    const account: SandboxAccount = {
      ...{ id: this.newId("acc"), accountName, webhookUrl: null, messengerChannelId: null },
      keys: [{ hash: hashKey(key), expiresAt }],
      users: userNames.map((name) => ({ id: this.newId("usr"), name, createdAt: at })),
      ...{ subscriptions: [], createdAt: at, updatedAt: at },
    };
    this.sandbox.state.accounts.push(account);
    return account;
  }

  /** Creates the first account if needed, and renews its key for its full life. */
  settleFirst(): void {
    const { apiKey: key, accounts } = this.sandbox.state;
    if (accounts.length > 0) {
      this.setKey(key, this.sandbox.settings.now() + keyLifeMs);
      return;
    }
    const userNames = ["Ada", "Grace", "Edsger", "Barbara", "Alan"];
    const { users } = this.createAccount({ accountName: "Sandbox", key, userNames });
    for (const [index, plan] of planSubscriptions(this.sandbox).entries()) {
      this.subscribe({ ...plan, userId: users[index % users.length]?.id });
    }
  }

  /** Gives the account another key, or a known key another expiry. Default account: the first. */
  setKey(key: string, expiresAt: number, accountId?: string): void {
    const account = this.getAccount(accountId);
    const hash = hashKey(key);
    account.keys = [...account.keys.filter((known) => known.hash !== hash), { hash, expiresAt }];
  }

  updateOutputs(account: SandboxAccount, { webhookUrl, messengerChannelId }: z.infer<typeof outputsInput>): void {
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
function planSubscriptions({ catalogue, market, settings }: ServiceSandbox): NewSubscription[] {
  return Array.from({ length: 24 }, (_, index) => index).flatMap((index) => {
    const chainId = catalogue.chainIds[index % catalogue.chainIds.length] ?? "eth";
    const metric = catalogue.metricAt(chainId, (index * 7) % 20);
    if (metric === undefined) return [];
    const value = market.metricValue(metric, settings.now());
    const near = (share: number) => Number((value * share).toPrecision(6));
    const conditions = [
      { kind: "change_percent", percent: 0.8, windowMs: 300_000 },
      { kind: "above", threshold: near(1.002) },
      { kind: "below", threshold: near(0.998) },
      { kind: "change_percent", percent: 2.5, windowMs: 900_000 },
    ] as const;
    const condition = conditions[index % conditions.length] ?? conditions[0];
    return [{ metricKey: metric.key, condition, severity: severities[index % severities.length] }];
  });
}
