import { onTestFinished } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createChannel } from "../../src/vendors/index.ts";
import { destinationBase } from "../support/destinations.ts";
import { createDiscordVendor, createNtfyVendor, createSlackVendor } from "../support/vendors/app-vendors.ts";
import { createAppriseVendor } from "../support/vendors/apprise-vendor.ts";
import { createPagerdutyVendor } from "../support/vendors/pagerduty-vendor.ts";
import { createTeamsVendor } from "../support/vendors/teams-vendor.ts";
import { createWebhookVendor } from "../support/vendors/webhook-vendor.ts";

const common = { ...destinationBase("desk"), allowInternal: ["127.0.0.1"] };
export const webhookHeader = "Bearer canaryHeaderXXXXXXXX";

/** Each vendor that is called over HTTP: a stand-in that refuses as it does, and the destination that leads there. */
export const httpVendors = {
  async webhook() {
    const vendor = await createWebhookVendor();
    const { origin, path, secret } = vendor;
    const headers = { Authorization: new Secret(webhookHeader) };
    const destination = { type: "webhook" as const, url: origin + path, secret: new Secret(secret), headers };
    return { vendor, destination: { ...common, ...destination } };
  },
  async slack() {
    const vendor = await createSlackVendor();
    return { vendor, destination: { ...common, type: "slack" as const, url: new Secret(vendor.origin + vendor.path) } };
  },
  async discord() {
    const vendor = await createDiscordVendor();
    const url = new Secret(vendor.origin + vendor.path);
    return { vendor, destination: { ...common, type: "discord" as const, url } };
  },
  async ntfy() {
    const vendor = await createNtfyVendor();
    const { origin: server, topic } = vendor;
    const destination = { type: "ntfy" as const, server, topic, token: new Secret(vendor.token) };
    return { vendor, destination: { ...common, ...destination } };
  },
  async apprise() {
    const vendor = await createAppriseVendor();
    const { origin: server, key } = vendor;
    return { vendor, destination: { ...common, type: "apprise" as const, server, key, urls: [] } };
  },
  async pagerduty() {
    const vendor = await createPagerdutyVendor();
    const routingKey = new Secret(vendor.routingKey);
    return { vendor, destination: { ...common, type: "pagerduty" as const, routingKey, server: vendor.origin } };
  },
  async teams() {
    const vendor = await createTeamsVendor();
    return { vendor, destination: { ...common, type: "teams" as const, url: new Secret(vendor.origin + vendor.path) } };
  },
};

type Vendors = typeof httpVendors;
export type HttpVendorOf<Name extends keyof Vendors> = Awaited<ReturnType<Vendors[Name]>>["vendor"];

/** A stand-in, and what opens channels to it until the test ends: `change` goes over the destination. */
export async function setUpHttp<Name extends keyof Vendors>(name: Name) {
  const { vendor, destination } = await httpVendors[name]();
  async function open(change: object = {}) {
    const channel = await createChannel({ ...destination, ...change }, { now: Date.now });
    onTestFinished(() => channel.close());
    return channel;
  }
  return { vendor: vendor as HttpVendorOf<Name>, open };
}
