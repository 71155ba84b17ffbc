import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { AppError } from "../../src/core/errors.ts";
import { isLoopback } from "../../src/ground/net/local-host.ts";
import type { NewSubscription } from "./accounts.ts";
import type { FireInput } from "./alarm.ts";
import { type Controls, createControls } from "./control-api.ts";
import type { Fault } from "./faults.ts";
import type { AlertEvent } from "./notification.ts";
import { type NotificationShape, type ServiceSandboxOptions, settleOptions } from "./options.ts";
import { createSandboxApp } from "./sandbox-app.tsx";
import type { SandboxNotification, WatchSubscription } from "./state.ts";
import { openWorld } from "./world.ts";

export type { ServiceSandboxOptions } from "./options.ts";

/** The state of the sandbox for people and tests; holds no key. */
export interface SandboxDescription {
  alertingUrl: string;
  pricingUrl: string;
  metricCount: number;
  chainIds: readonly string[];
  shape: NotificationShape;
  accounts: { id: string; accountName: string; users: number; subscriptions: number; firing: number }[];
  notifications: Record<SandboxNotification["state"], number>;
  /** Requests that wait for their time: delays and asset registrations. */
  waiting: number;
  /** Why the state could not be saved last, if so. */
  trouble?: string;
}

export interface PageLink {
  name: string;
  url: string;
}

/** A running stand-in for the whole service. Control methods throw `AppError` "not_found" for unknown ids and keys. */
export interface ServiceSandbox {
  /** Of the page, e.g. `http://127.0.0.1:4100`; without a slash at the end, as the other two. */
  url: string;
  alertingUrl: string;
  pricingUrl: string;
  /** The first account's key. */
  apiKey: string;
  describe(): SandboxDescription;
  /** Newest first. Default 100. */
  listNotifications(filter?: { state?: SandboxNotification["state"]; limit?: number }): SandboxNotification[];
  fire(input?: FireInput): AlertEvent;
  storm(count: number, accountId?: string): AlertEvent[];
  addFault(fault: Fault): void;
  listFaults(): Fault[];
  clearFaults(): void;
  setShape(shape: NotificationShape): void;
  /** `expiresAt` is in epoch milliseconds; default 90 days from now. Returns the account's id. */
  createAccount(input: {
    accountName: string;
    key: string;
    expiresAt?: number;
    userNames?: string[];
  }): Promise<{ id: string }>;
  /** Adds a key, or gives a known one another expiry. Default account: the first. */
  setKey(key: string, expiresAt: number, accountId?: string): Promise<void>;
  subscribe(input: NewSubscription): Promise<WatchSubscription>;
  /** Multiplies the metric's value by `1 + percent / 100` for that long from now, so that its conditions turn. */
  moveMetric(metricKey: string, percent: number, forMs: number): void;
  /** Does what is due by the injected clock: wakes who waits, looks at the market once a second, starts attempts. */
  tick(): void;
  /** What the page names under "Where they arrive"; at first nothing. */
  showLinks(links: readonly PageLink[]): void;
  /** Resolves when no notification is under way. */
  settled(): Promise<void>;
  /** Ends attempts and requests under way, saves, and frees the port. */
  close(): Promise<void>;
}

/**
 * Starts a local implementation of the whole service: accounts, a catalogue of metrics, a market that moves, alerts.
 * Alerting is under `/alerting`, pricing under `/pricing`, and control under `/_sandbox`, on one port.
 *
 * Throws `AppError` "usage" for an option that makes no sense or a port that is taken, "failed" for a state file that
 * cannot be read, "store_unavailable" for one that cannot be written.
 */
export async function createServiceSandbox(options: ServiceSandboxOptions): Promise<ServiceSandbox> {
  const settings = settleOptions(options);
  // The port is known only once the server listens; nothing is sent before.
  let url = "";
  const world = await openWorld(settings, (eventId) => `${url}/?event=${eventId}`);
  let links: readonly PageLink[] = [];
  const app = createSandboxApp(world, settings, {
    isOpen: isLoopback(settings.host),
    controls: () => controls,
    links: () => links,
  });
  const server = createAdaptorServer({ fetch: app.fetch });
  const port = await listen(server, settings.port, settings.host).catch(async (error: unknown) => {
    await world.close();
    throw error;
  });
  url = `http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`;
  const controls: Controls = createControls(world, url);
  const timer = settings.tickMs === 0 ? undefined : setInterval(controls.tick, settings.tickMs);

  return {
    ...controls,
    showLinks(shown) {
      links = shown;
    },
    async close() {
      clearInterval(timer);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      try {
        await world.close();
      } finally {
        if ("closeAllConnections" in server) server.closeAllConnections();
        await closed;
      }
    },
  };
}

function listen(server: ReturnType<typeof createAdaptorServer>, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new AppError("usage", `The sandbox cannot listen on ${host}:${port} (${error.code ?? error.message})`, {
          hint: "Name another port with --port, or 0 for any",
          cause: error,
        }),
      ),
    );
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}
