import { AppError } from "../../src/core/errors.ts";
import { errorMessage } from "../../src/ground/text/error-text.ts";
import { createFaults, openServer } from "../stand-in.ts";
import { Limits } from "../vendor-server.ts";
import { Accounts, randomDigits } from "./accounts.ts";
import { Alarm, type FireInput } from "./alarm.ts";
import { Assets } from "./assets.ts";
import { Catalogue } from "./catalogue.ts";
import type { Fault } from "./faults.ts";
import { Timeline } from "./gate.ts";
import { Market } from "./market.ts";
import type { AlertEvent } from "./notification.ts";
import { Notifier } from "./notifier.ts";
import { type NotificationShape, type ServiceSandboxOptions, type Settings, settleOptions } from "./options.ts";
import { createSandboxApp } from "./sandbox-app.tsx";
import { notificationStates, type SandboxNotification, type SandboxState, StateFile } from "./state.ts";

export type { ServiceSandboxOptions } from "./options.ts";

/** `watchEveryMs` is in the sandbox's accelerated time. `saveEveryMs`: for unimportant changes. */
const watchEveryMs = 1000;
const saveEveryMs = 1000;

/**
 * Alerting is under `/alerting`, pricing under `/pricing`, control under `/_sandbox`. Throws `AppError` "usage" for a
 * senseless key or a taken port, "failed" for an unreadable state file, "store_unavailable".
 */
export async function createServiceSandbox(options: ServiceSandboxOptions): Promise<ServiceSandbox> {
  const settings = settleOptions(options);
  const file = new StateFile(settings.dataDir);
  const state = (await file.read()) ?? beginState(settings);
  state.apiKey = settings.key ?? state.apiKey;
  state.shape = settings.shape ?? state.shape;
  const sandbox = new ServiceSandbox(settings, state, file);
  sandbox.accounts.settleFirst();
  await sandbox.save();
  await sandbox.open();
  return sandbox;
}

class Kept {
  constructor(
    readonly settings: Settings,
    readonly state: SandboxState,
    protected readonly file: StateFile,
  ) {}
}

/** Methods throw `AppError` "not_found" for unknown ids and keys. */
export class ServiceSandbox extends Kept {
  /** The address of the page, e.g. `http://127.0.0.1:4100`. Without a trailing slash, like the other two. */
  url = "";
  readonly apiKey = this.state.apiKey;
  /** The links under "Where they arrive" on the page. */
  links: readonly { name: string; url: string }[] = [];
  readonly faults = createFaults<Fault>();
  readonly catalogue = new Catalogue({ seed: this.state.seed, metricCount: this.settings.metricCount });
  readonly market = new Market(this);
  readonly accounts = new Accounts(this);
  readonly timeline = new Timeline(this.settings.now);
  readonly limits = new Limits(this.settings.now);
  readonly assets = new Assets(this);
  readonly notifier = new Notifier(this);
  readonly alarm = new Alarm(this);
  #server: Awaited<ReturnType<typeof openServer>> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stormCount = this.settings.stormCount;
  #watchedAt = this.settings.now();
  #savedAt = this.settings.now();
  #isChanged = false;
  /** Why the last save in the background failed. Undefined: it worked. */
  #trouble: string | undefined;

  get alertingUrl(): string {
    return `${this.url}/alerting`;
  }

  get pricingUrl(): string {
    return `${this.url}/pricing`;
  }

  async open(): Promise<void> {
    const { host, port, tickMs } = this.settings;
    const { fetch } = createSandboxApp(this);
    this.#server = await openServer(fetch, { port, host }).catch(async (cause: NodeJS.ErrnoException) => {
      await this.close();
      const hint = "Name another port with --port, or 0 for any";
      const message = `The sandbox cannot listen on ${host}:${port} (${cause.code ?? cause.message})`;
      throw new AppError("usage", message, { hint, cause });
    });
    this.url = this.#server.url;
    if (tickMs > 0) this.#timer = setInterval(() => this.tick(), tickMs);
  }

  /** The sandbox's state for people and tests, without keys. */
  describe() {
    const { state, catalogue, timeline, alertingUrl, pricingUrl } = this;
    const countOf = (name: string) => state.notifications.filter((one) => one.state === name).length;
    const counts = notificationStates.map((name) => [name, countOf(name)]);
    return {
      ...{ alertingUrl, pricingUrl, metricCount: catalogue.metricCount, chainIds: catalogue.chainIds },
      shape: state.shape,
      accounts: state.accounts.map(({ id, accountName, users, subscriptions }) => {
        const firing = subscriptions.filter(({ isFiring }) => isFiring).length;
        return { id, accountName, users: users.length, subscriptions: subscriptions.length, firing };
      }),
      notifications: Object.fromEntries(counts) as Record<SandboxNotification["state"], number>,
      /** Requests that wait: delays and asset registrations. */
      waiting: timeline.waiting,
      /** Why the last save failed. Undefined: it worked. */
      trouble: this.#trouble,
    };
  }

  listNotifications(filter: { state?: SandboxNotification["state"]; limit?: number } = {}): SandboxNotification[] {
    const { state: wanted, limit = 100 } = filter;
    const selected = this.state.notifications.filter(({ state }) => wanted === undefined || state === wanted);
    return structuredClone(selected.slice(-limit).reverse());
  }

  fire(input?: FireInput): AlertEvent {
    return this.alarm.fire(input);
  }

  setShape(shape: NotificationShape): void {
    this.state.shape = shape;
    this.changed();
  }

  /** Multiplies the metric's value by `1 + percent / 100` for this time, so its conditions turn. */
  moveMetric(metricKey: string, percent: number, forMs: number): void {
    this.catalogue.getMetric(metricKey);
    const fromAt = this.settings.now();
    const nudge = { metricKey, factor: 1 + percent / 100, fromAt, untilAt: fromAt + forMs };
    // Old pushes stay as long as the history shows them.
    this.state.nudges = [...this.state.nudges.slice(-99), nudge];
    this.changed();
  }

  async save(): Promise<void> {
    this.#isChanged = false;
    this.#savedAt = this.settings.now();
    await this.file.save(this.state);
    this.#trouble = undefined;
  }

  /** Notes an unimportant change, which is saved within about a second. */
  changed(): void {
    this.#isChanged = true;
  }

  /** Does due work by the injected clock: wakes waiters, looks at the market once a second, starts attempts. */
  tick(): void {
    const at = this.settings.now();
    this.timeline.runDue();
    if (this.#stormCount > 0 && this.notifier.hasOutput(this.accounts.getAccount())) {
      this.alarm.storm(this.#stormCount);
      this.#stormCount = 0;
    }
    if (at - this.#watchedAt >= watchEveryMs / this.settings.speed) {
      this.#watchedAt = at;
      this.alarm.watch();
    }
    this.notifier.runDue();
    if (this.#isChanged && at - this.#savedAt >= saveEveryMs) this.save().catch((error) => this.#noteTrouble(error));
  }

  settled(): Promise<void> {
    return this.notifier.settled();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.timeline.close();
    try {
      await this.notifier.close();
      await this.save();
    } finally {
      await this.#server?.close();
    }
  }

  /** Shown on the page and by GET /_sandbox. The next save follows a second later. */
  #noteTrouble(error: unknown): void {
    this.#trouble = errorMessage(error);
    this.#isChanged = true;
  }
}

function beginState({ shape = "flat", key, random }: Settings): SandboxState {
  const apiKey = key ?? `sandbox-${randomDigits(random, 24)}`;
  return { version: 1, seed: 1, shape, apiKey, accounts: [], assets: [], nudges: [], notifications: [] };
}
