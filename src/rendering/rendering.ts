import type { ChannelType } from "../core/delivery.ts";
import type { Document } from "../core/document.ts";
import type { Message, RenderOptions } from "../core/message.ts";
import type { Rendering } from "../core/telling.ts";
import { renderApprise } from "./apprise.ts";
import { cleanLine } from "./clean.ts";
import { composeAlert } from "./compose-alert.ts";
import { composeDigest } from "./compose-digest.ts";
import { renderDiscord } from "./discord.ts";
import { renderEmail } from "./email.tsx";
import { layOut } from "./layout.ts";
import { renderNtfy } from "./ntfy.ts";
import { renderSlack } from "./slack.ts";
import { renderTelegram } from "./telegram.ts";
import { createTimeFormat, type TimeFormat } from "./time.ts";
import { renderWebhook } from "./webhook.ts";

export interface RenderingOptions {
  /** How the outside reaches the page, e.g. `https://tocsin.example.com`. Absent: messages hold no links to it. */
  publicUrl?: string;
}

/** Pure: the same input gives the same messages. Keeps nothing but the formats of the time zones it has met. */
export function createRendering(options: RenderingOptions = {}): Rendering {
  const formats = new Map<string, TimeFormat>();

  function timesIn(timeZone: string): TimeFormat {
    const known = formats.get(timeZone);
    if (known !== undefined) return known;
    const made = createTimeFormat(timeZone);
    formats.set(timeZone, made);
    return made;
  }

  return {
    composeAlert: (alert, telling) => composeAlert(alert, telling, options.publicUrl),
    composeDigest: (alerts, telling) => composeDigest(alerts, telling, options.publicUrl),
    renderDocument: (channel, document, renderOptions) =>
      renderFor(channel, withText(document), renderOptions, timesIn(renderOptions.timeZone || "UTC")),
  };
}

function renderFor(
  channel: ChannelType,
  document: Document,
  options: RenderOptions,
  times: TimeFormat,
): Message[] {
  switch (channel) {
    case "telegram":
      return renderTelegram(document, times, options.form);
    case "email":
      return [renderEmail(document, times, options.form)];
    case "webhook":
      return [renderWebhook(document, times, options.form, options.data)];
    case "slack":
      return [renderSlack(document, times, options.form)];
    case "discord":
      return [renderDiscord(document, times, options.form)];
    case "ntfy":
      return [renderNtfy(document, times)];
    case "apprise":
      return [renderApprise(document, times)];
  }
}

/** A document is never told as nothing: one without any text says at least its subject. */
function withText(document: Document): Document {
  const subject = cleanLine(document.subject) || "(message without text)";
  const isBlank = layOut(document, { full: String, clock: String }).length === 0;
  return isBlank
    ? { ...document, subject, blocks: [{ kind: "heading", inlines: [{ kind: "bold", text: subject }] }] }
    : { ...document, subject };
}
