import type { ChannelType } from "../core/delivery.ts";
import type { DeliverySettings } from "../core/delivery-settings.ts";
import type { Document, Message, RenderOptions } from "../core/message.ts";
import type { Channel } from "../core/ports/channel.ts";
import type { Destination } from "../core/rules.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import { oncePerZone } from "../ground/time/zoned-time.ts";
import { apprise } from "./apprise/vendor.ts";
import { discord } from "./discord/vendor.ts";
import { email } from "./email/vendor.ts";
import { layOut } from "./layout/layout.ts";
import { ntfy } from "./ntfy/vendor.ts";
import { pagerduty } from "./pagerduty/vendor.ts";
import { slack } from "./slack/vendor.ts";
import { teams } from "./teams/vendor.ts";
import { telegram } from "./telegram/vendor.ts";
import type { ChannelOptions, Vendor, VendorSettings } from "./vendor.ts";
import { webhook } from "./webhook/vendor.ts";

/** In the order for people. */
export const vendors: readonly Vendor[] = [telegram, email, webhook, slack, discord, ntfy, apprise, pagerduty, teams];

const byType = new Map(vendors.map((vendor) => [vendor.type, vendor]));

/** @throws TypeError for an unknown type, which the configuration never lets through. */
export function vendorOf(type: ChannelType): Vendor {
  const vendor = byType.get(type);
  if (vendor === undefined) throw new TypeError(`unknown type of destination: ${type}`);
  return vendor;
}

/** Each recipient gets a delivery of its own. */
export function recipientsOf(destination: Destination): string[] {
  return vendorOf(destination.type).recipients?.(destination) ?? [destination.name];
}

/** Whether a message to the destination makes a sound that wakes somebody. */
export function makesSound(destination: Destination): boolean {
  return vendorOf(destination.type).makesSound?.(destination) ?? true;
}

/** Also answers for a stored delivery whose vendor no longer exists. */
export function hasSeveralRecipients(type: ChannelType): boolean {
  return byType.get(type)?.hasSeveralRecipients ?? false;
}

export function readableText(message: Message): string {
  return vendorOf(message.kind).readableText(message);
}

export function settingsOf(type: ChannelType, settings: DeliverySettings): VendorSettings {
  const { schedule, ambiguous, sendTimeoutMs } = settings;
  return { schedule, ambiguous, sendTimeoutMs, accountPace: {}, ...vendorOf(type).settings?.(settings) };
}

/**
 * Loads the sending code on first use: the libraries of chats and mail would double the time of a start.
 * @throws AppError `config_invalid` for an unusable destination.
 */
export async function createChannel(destination: Destination, options: ChannelOptions): Promise<Channel> {
  const { type, can, open } = vendorOf(destination.type);
  const { send, edit, illustrate, holdsPicture, ...calls } = await open(destination, options);
  const checked = (message: Message): Message => {
    if (message.kind === type) return message;
    throw new TypeError(`a ${type} channel was given a ${message.kind} message`);
  };
  return {
    type,
    can,
    ...calls,
    send: async (message, context) => send(checked(message), context),
    ...(edit && { edit: async (ref, message, context) => edit(ref, checked(message), context) }),
    ...(illustrate && {
      illustrate: async (ref, message, picture, context) => illustrate(ref, checked(message), picture, context),
    }),
    ...(holdsPicture && { holdsPicture: (message) => holdsPicture(checked(message)) }),
  };
}

const timesIn = oncePerZone(createTimeFormat);

/** One message. Telegram splits a long one into several parts. Never empty. Pure. */
export function renderDocument(channel: ChannelType, document: Document, options: RenderOptions): Message[] {
  return vendorOf(channel).render(withText(document), timesIn(options.timeZone || "UTC"), options);
}

/** A document without any text gets its subject as text, so no message is empty. */
function withText(document: Document): Document {
  const subject = cleanLine(document.subject) || "(message without text)";
  const isBlank = document.blocks.every(
    (block) => layOut({ ...document, blocks: [block] }, { full: String, clock: String }).length === 0,
  );
  return isBlank
    ? { ...document, subject, blocks: [{ kind: "heading", inlines: [{ kind: "bold", text: subject }] }] }
    : { ...document, subject };
}
