import { AppError } from "../../core/errors.ts";
import type { ServiceSandbox } from "./service.ts";
import type { SandboxNotification } from "./state.ts";
import type { World } from "./world.ts";

/** What a test, a person or the control interface does to a running sandbox. */
export type Controls = Omit<ServiceSandbox, "close">;

export function createControls(world: World, url: string): Controls {
  const { state, accounts, alarm, catalogue, faults, notifier } = world;
  const alertingUrl = `${url}/alerting`;
  const pricingUrl = `${url}/pricing`;

  return {
    url,
    alertingUrl,
    pricingUrl,
    apiKey: state.apiKey,
    describe: () => ({
      alertingUrl,
      pricingUrl,
      metricCount: catalogue.metricCount,
      chainIds: catalogue.chainIds,
      shape: state.shape,
      accounts: state.accounts.map((account) => ({
        id: account.id,
        accountName: account.accountName,
        users: account.users.length,
        subscriptions: account.subscriptions.length,
        firing: account.subscriptions.filter((subscription) => subscription.isFiring).length,
      })),
      notifications: countStates(state.notifications),
      waiting: world.timeline.waiting(),
      trouble: world.trouble(),
    }),
    listNotifications: ({ state: wanted, limit = 100 } = {}) =>
      state.notifications
        .filter((notification) => wanted === undefined || notification.state === wanted)
        .slice(-limit)
        .reverse()
        .map((notification) => structuredClone(notification)),
    fire: alarm.fire,
    storm: alarm.storm,
    addFault: faults.add,
    listFaults: faults.list,
    clearFaults: faults.clear,
    setShape(shape) {
      state.shape = shape;
      world.changed();
    },
    async createAccount(input) {
      if (accounts.findByKey(input.key) !== undefined) {
        throw new AppError("conflict", "Another account has this key", {
          hint: "Give each account its own key",
        });
      }
      const { id } = accounts.createAccount(input);
      await world.save();
      return { id };
    },
    async setKey(key, expiresAt, accountId) {
      accounts.setKey(accounts.getAccount(accountId).id, key, expiresAt);
      await world.save();
    },
    async subscribe(input) {
      const subscription = accounts.subscribe(input);
      await world.save();
      return { ...subscription };
    },
    moveMetric(metricKey, percent, forMs) {
      if (catalogue.findMetric(metricKey) === undefined) {
        throw new AppError("not_found", `The sandbox has no metric ${metricKey}`);
      }
      const fromAt = world.now();
      // Old pushes stay while the history that shows them does.
      state.nudges = state.nudges.slice(-99);
      state.nudges.push({ metricKey, factor: 1 + percent / 100, fromAt, untilAt: fromAt + forMs });
      world.changed();
    },
    tick: world.tick,
    settled: notifier.settled,
  };
}

function countStates(notifications: SandboxNotification[]): Record<SandboxNotification["state"], number> {
  const counts = { pending: 0, delivered: 0, failed: 0, cancelled: 0 };
  for (const { state } of notifications) counts[state] += 1;
  return counts;
}
