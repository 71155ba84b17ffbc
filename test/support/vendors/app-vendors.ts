import { type App, Messages } from "../../../workshop/apps/app.ts";
import { createDiscord } from "../../../workshop/apps/discord.tsx";
import { createNtfy } from "../../../workshop/apps/ntfy.tsx";
import { createSlack } from "../../../workshop/apps/slack.tsx";
import { createHttpVendor, type HttpVendor, json, text } from "./http-vendor.ts";

/** The demo's stand-in for an application, on a server whose behaviour a test chooses. */
async function createAppVendor<Content>(app: App<Content>): Promise<[HttpVendor, Messages<Content>]> {
  const messages = new Messages<Content>({ now: Date.now, idOf: app.idOf, changed: () => {} });
  const vendor = await createHttpVendor(async ({ method, path, headers, bytes }) => {
    const request = { method, url: new URL(path, "http://vendor.invalid"), headers, body: bytes };
    const { status, body } = await app.answer(request, messages);
    if (body === undefined) return { status };
    return typeof body === "string" ? text(status, body) : json(status, body);
  });
  return [vendor, messages];
}

export async function createSlackVendor() {
  const path = "/services/T0CANARY0/B0CANARY0/canarySlackTokenXXXXXXXX";
  const [vendor, { posted }] = await createAppVendor(createSlack({ path, channel: "ops" }));
  return {
    ...vendor,
    path,
    /** Texts in the channel. */
    get seen() {
      return posted.map(({ content }) => content.text);
    },
  };
}

export async function createDiscordVendor() {
  const webhook = "9007199254740993/canaryDiscordTokenXXXXXXXX";
  const [vendor, { posted }] = await createAppVendor(createDiscord({ webhook, channel: "ops" }));
  return {
    ...vendor,
    /** As users copy it: without a version. */
    path: `/api/webhooks/${webhook}`,
    get messages() {
      return posted.map(({ content }) => content);
    },
  };
}

/** `sequences: false` plays a server older than 2.16. */
export async function createNtfyVendor({ sequences = true } = {}) {
  const topic = "canary-topic-XXXXXXXX";
  const token = "tk_canaryNtfyTokenXXXXXXXX";
  const [vendor, { posted }] = await createAppVendor(createNtfy({ base: "", topic, token, hasSequences: sequences }));
  return {
    ...vendor,
    topic,
    token,
    /** On the phone. */
    get shown() {
      return posted.map(({ content }) => content);
    },
  };
}

export type SlackVendor = Awaited<ReturnType<typeof createSlackVendor>>;
export type NtfyVendor = Awaited<ReturnType<typeof createNtfyVendor>>;
