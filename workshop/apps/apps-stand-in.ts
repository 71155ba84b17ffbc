import type { Now } from "../../src/core/clock.ts";
import { type BoardSource, offerFaults, type Place } from "../board/source.ts";
import { createChanges, createFaults } from "../stand-in.ts";
import { type Asked, faultChoices, Limits, openVendorServer, type VendorFault } from "../vendor-server.ts";
import { type App, type AppName, reply } from "./app.ts";
import { createDiscord } from "./discord.tsx";
import { createNtfy } from "./ntfy.tsx";
import { createSlack } from "./slack.tsx";

/** A fault for the next request that posts a message. */
export interface AppFault extends VendorFault<"flood" | "gone"> {
  /** Default: the application of the next request. */
  app?: AppName;
}

const appFaults: Readonly<Record<string, AppFault>> = {
  ...faultChoices,
  "asks to wait 5 seconds (429)": { kind: "flood" },
  "says that the webhook or topic is gone": { kind: "gone" },
};

export type AppsStandIn = Awaited<ReturnType<typeof createAppsStandIn>>;

const slackPath = "/services/T00STANDIN/B00STANDIN/onThisMachineOnlyXXXXXXX";
const discordWebhook = "700000000000000001/on-this-machine-only-XXXXXXXXXXXXXXXX";
const ntfyBase = "/ntfy";
const ntfyTopic = "on-call-phone-of-the-demo";

/** Slack, Discord and ntfy on this machine, as strict as the real ones. `limited`: 429 above the vendors' limits. */
export async function createAppsStandIn({ now, limited = true }: { now: Now; limited?: boolean }) {
  const { changed, onChange } = createChanges();
  const faults = createFaults<AppFault>(changed);
  const limits = new Limits(now);
  const deps = { now, changed };
  const apps = {
    slack: createSlack({ path: slackPath, channel: "risk" }, deps),
    discord: createDiscord({ webhook: discordWebhook, channel: "market-alerts" }, deps),
    ntfy: createNtfy({ base: ntfyBase, topic: ntfyTopic }, deps),
  };
  const all = Object.values(apps) as unknown as readonly App<never>[];

  const { url, calls, close } = await openVendorServer(now, changed, async (request) => {
    const { pathname } = new URL(request.url);
    const app = all.find(({ owns }) => owns(pathname));
    return app === undefined ? reply(404, "nothing is here") : readCall(app, request);
  });

  function readCall(app: App<never>, request: Request): Asked<{ app: AppName; method: string }> {
    const { name } = app;
    if (request.method === "GET") return { call: { app: name, method: "look" }, run: () => app.answer(request) };
    const fault = faults.take((one) => one.app === undefined || one.app === name);
    const run = async () => {
      if (fault?.kind === "gone") return app.gone();
      const all = app.limits.map((limit) => ({ ...limit, key: `${name} ${limit.spanMs}` }));
      const windows = limited ? all : [];
      const seconds = fault?.kind === "flood" ? 5 : limits.waitMs(name, windows) / 1000;
      if (seconds > 0) return reply(429, app.askToWait(seconds), { "retry-after": String(Math.ceil(seconds)) });
      const answer = await app.answer(request);
      if (answer.ok) limits.count(windows);
      return answer;
    };
    return { call: { app: name, method: "message" }, fault, run };
  }

  return {
    /** The webhooks' whole addresses, as users copy them. */
    slackUrl: url + slackPath,
    discordUrl: `${url}/api/webhooks/${discordWebhook}`,
    ntfyServer: url + ntfyBase,
    ntfyTopic,
    sources: all.map(
      (one): BoardSource => ({
        ...{ app: one.name, title: one.title, places: () => [placeOf(one)], onChange },
        calls: () => calls.filter(({ app }) => app === one.name),
        faults: offerFaults(faults, appFaults, () => ({ app: one.name })),
      }),
    ),
    messages: <A extends AppName>(app: A) =>
      structuredClone(apps[app].messages.posted) as (typeof apps)[A]["messages"]["posted"],
    close,
  };
}

function placeOf({ name, place, title, messages: { posted }, view, marks }: App<never>): Place {
  return {
    ...{ id: name, name: place, about: title, count: posted.length },
    newest: (atMost) =>
      posted.slice(-atMost).map(({ id, at, content, edits }) => ({
        ...{ id, at, from: "Tocsin", marks: marks(content), body: view(content) },
        earlier: edits.map((edit) => view(edit.content)),
      })),
  };
}
