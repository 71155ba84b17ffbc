import { createAdaptorServer } from "@hono/node-server";
import { AppError } from "../../src/core/errors.ts";
import { isLoopback } from "../../src/ground/net/local-host.ts";
import { listen } from "../stand-in.ts";
import type { NewAccount, NewSubscription } from "./accounts.ts";
import type { FireInput } from "./alarm.ts";
import type { Fault } from "./faults.ts";
import type { AlertEvent } from "./notification.ts";
import { type NotificationShape, type ServiceSandboxOptions, settleOptions } from "./options.ts";
import { createSandboxApp } from "./sandbox-app.tsx";
import { notificationStates, type SandboxNotification, type WatchSubscription } from "./state.ts";
import { openWorld, type World } from "./world.ts";

export type { ServiceSandboxOptions } from "./options.ts";

/**
 * Starts a local implementation of the whole service: accounts, a catalogue of metrics, a market that moves, alerts.
 * Alerting is under `/alerting`, pricing under `/pricing`, and control under `/_sandbox`, on one port.
 *
 * Throws `AppError` "usage" for an option that makes no sense or a port that is taken, "failed" for a state file that
 * cannot be read, "store_unavailable" for one that cannot be written.
 */
export async function createServiceSandbox(options: ServiceSandboxOptions): Promise<ServiceSandbox> {
  const settings = settleOptions(options);
  const { host, port, tickMs } = settings;
  // The port is known only once the server listens; nothing is sent before.
  let sandbox: ServiceSandbox | undefined;
  const world = await openWorld(settings, (eventId) => `${sandbox?.url}/?event=${eventId}`);
  const app = createSandboxApp(world, settings, { isOpen: isLoopback(host), sandbox: () => sandbox as ServiceSandbox });
  const server = createAdaptorServer({ fetch: app.fetch });
  const { url } = await listen(server, port, host).catch(async (cause: NodeJS.ErrnoException) => {
    await world.close();
    const hint = "Name another port with --port, or 0 for any";
    const message = `The sandbox cannot listen on ${host}:${port} (${cause.code ?? cause.message})`;
    throw new AppError("usage", message, { hint, cause });
  });
  sandbox = new ServiceSandbox(world, server, url, tickMs);
  return sandbox;
}

/** A running stand-in for the whole service. Methods throw `AppError` "not_found" for unknown ids and keys. */
export class ServiceSandbox {
  /** The address of the page, e.g. `http://127.0.0.1:4100`; without a slash at the end, as the other two. */
  readonly url: string;
  readonly alertingUrl: string;
  readonly pricingUrl: string;
  /** The first account's key. */
  readonly apiKey: string;
  /** What the page names under "Where they arrive". */
  links: readonly { name: string; url: string }[] = [];
  readonly #world: World;
  readonly #server: ReturnType<typeof createAdaptorServer>;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(world: World, server: ReturnType<typeof createAdaptorServer>, url: string, tickMs: number) {
    this.url = url;
    this.alertingUrl = `${url}/alerting`;
    this.pricingUrl = `${url}/pricing`;
    this.apiKey = world.state.apiKey;
    this.#world = world;
    this.#server = server;
    this.#timer = tickMs === 0 ? undefined : setInterval(() => this.tick(), tickMs);
  }

  /** The state of the sandbox for people and tests; holds no key. */
  describe() {
    const { state, catalogue, timeline, trouble } = this.#world;
    const { alertingUrl, pricingUrl } = this;
    const counts = notificationStates.map((name) => [
      name,
      state.notifications.filter((notification) => notification.state === name).length,
    ]);
    return {
      ...{ alertingUrl, pricingUrl, metricCount: catalogue.metricCount, chainIds: catalogue.chainIds },
      shape: state.shape,
      accounts: state.accounts.map(({ id, accountName, users, subscriptions }) => {
        const firing = subscriptions.filter(({ isFiring }) => isFiring).length;
        return { id, accountName, users: users.length, subscriptions: subscriptions.length, firing };
      }),
      notifications: Object.fromEntries(counts) as Record<SandboxNotification["state"], number>,
      /** Requests that wait for their time: delays and asset registrations. */
      waiting: timeline.waiting,
      /** Why the state could not be saved last, if so. */
      trouble,
    };
  }

  /** The first account's outputs. */
  get outputs(): { isWebhookSet: boolean; isChannelSet: boolean } {
    const { webhookUrl, messengerChannelId } = this.#world.accounts.getAccount();
    return { isWebhookSet: webhookUrl !== null, isChannelSet: messengerChannelId !== null };
  }

  /** Newest first. */
  listNotifications(filter: { state?: SandboxNotification["state"]; limit?: number } = {}): SandboxNotification[] {
    const { state: wanted, limit = 100 } = filter;
    const { notifications } = this.#world.state;
    const selected = notifications.filter(({ state }) => wanted === undefined || state === wanted);
    return structuredClone(selected.slice(-limit).reverse());
  }

  fire(input?: FireInput): AlertEvent {
    return this.#world.alarm.fire(input);
  }

  storm(count: number, accountId?: string): AlertEvent[] {
    return this.#world.alarm.storm(count, accountId);
  }

  addFault(fault: Fault): void {
    this.#world.faults.queue.next(fault);
  }

  listFaults(): Fault[] {
    return this.#world.faults.queue.pending();
  }

  clearFaults(): void {
    this.#world.faults.queue.clear();
  }

  setShape(shape: NotificationShape): void {
    this.#world.state.shape = shape;
    this.#world.changed();
  }

  /** Returns the account's id. */
  async createAccount(input: NewAccount): Promise<{ id: string }> {
    if (this.#world.accounts.findByKey(input.key) !== undefined) {
      throw new AppError("conflict", "Another account has this key", { hint: "Give each account its own key" });
    }
    const { id } = this.#world.accounts.createAccount(input);
    await this.#world.save();
    return { id };
  }

  /** Adds a key, or gives a known one another expiry. Default account: the first. */
  async setKey(key: string, expiresAt: number, accountId?: string): Promise<void> {
    const { accounts } = this.#world;
    accounts.setKey(accounts.getAccount(accountId).id, key, expiresAt);
    await this.#world.save();
  }

  async subscribe(input: NewSubscription): Promise<WatchSubscription> {
    const subscription = this.#world.accounts.subscribe(input);
    await this.#world.save();
    return { ...subscription };
  }

  /** Multiplies the metric's value by `1 + percent / 100` for that long from now, so that its conditions turn. */
  moveMetric(metricKey: string, percent: number, forMs: number): void {
    const { catalogue, state, now } = this.#world;
    catalogue.getMetric(metricKey);
    const fromAt = now();
    // Old pushes stay while the history that shows them does.
    state.nudges = [
      ...state.nudges.slice(-99),
      { metricKey, factor: 1 + percent / 100, fromAt, untilAt: fromAt + forMs },
    ];
    this.#world.changed();
  }

  /** Does what is due by the injected clock: wakes who waits, looks at the market once a second, starts attempts. */
  tick(): void {
    this.#world.tick();
  }

  /** Resolves when no notification is under way. */
  settled(): Promise<void> {
    return this.#world.notifier.settled();
  }

  /** Ends attempts and requests under way, saves, and frees the port. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    try {
      await this.#world.close();
    } finally {
      if ("closeAllConnections" in this.#server) this.#server.closeAllConnections();
      await closed;
    }
  }
}
