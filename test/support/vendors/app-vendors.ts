import type { App, AppDeps } from "../../../workshop/apps/app.ts";
import { createDiscord } from "../../../workshop/apps/discord.tsx";
import { createNtfy } from "../../../workshop/apps/ntfy.tsx";
import { createSlack } from "../../../workshop/apps/slack.tsx";
import { createHttpVendor } from "./http-vendor.ts";

const deps: AppDeps = { now: Date.now, changed: () => {} };

/** The demo's stand-in for an application, on a server whose behaviour a test chooses. */
const createAppVendor = <Content>(app: App<Content>) =>
  createHttpVendor(async ({ method, path, headers, bytes }) => {
    const body = method === "GET" ? null : new Uint8Array(bytes);
    const answer = await app.answer(new Request(`http://vendor.invalid${path}`, { method, headers, body }));
    return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
  });

export async function createSlackVendor() {
  const path = "/services/T0CANARY0/B0CANARY0/canarySlackTokenXXXXXXXX";
  const app = createSlack({ path, channel: "ops" }, deps);
  return {
    ...(await createAppVendor(app)),
    path,
    /** Texts in the channel. */
    get seen() {
      return app.messages.posted.map(({ content }) => content.text);
    },
  };
}

export async function createDiscordVendor() {
  const webhook = "9007199254740993/canaryDiscordTokenXXXXXXXX";
  const app = createDiscord({ webhook, channel: "ops" }, deps);
  return {
    ...(await createAppVendor(app)),
    /** As users copy it: without a version. */
    path: `/api/webhooks/${webhook}`,
    get messages() {
      return app.messages.posted.map(({ content }) => content);
    },
  };
}

/** `sequences: false` plays a server older than 2.16. */
export async function createNtfyVendor({ sequences = true } = {}) {
  const topic = "canary-topic-XXXXXXXX";
  const token = "tk_canaryNtfyTokenXXXXXXXX";
  const app = createNtfy({ base: "", topic, token, hasSequences: sequences }, deps);
  return {
    ...(await createAppVendor(app)),
    topic,
    token,
    /** On the phone. */
    get shown() {
      return app.messages.posted.map(({ content }) => content);
    },
  };
}

export type SlackVendor = Awaited<ReturnType<typeof createSlackVendor>>;
export type NtfyVendor = Awaited<ReturnType<typeof createNtfyVendor>>;
