import type { ChannelType } from "../core/delivery.ts";
import type { Document } from "../core/document.ts";
import type { Message, RenderOptions } from "../core/message.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { createTimeFormat, type TimeFormat } from "../ground/time/time-format.ts";
import { renderApprise } from "./apprise/render.ts";
import { renderDiscord } from "./discord/render.ts";
import { renderEmail } from "./email/render.tsx";
import { layOut } from "./layout/layout.ts";
import { renderNtfy } from "./ntfy/render.ts";
import { renderSlack } from "./slack/render.ts";
import { renderTelegram } from "./telegram/render.ts";
import { renderWebhook } from "./webhook/render.ts";

/** Pure: the same input gives the same messages. Keeps nothing but the formats of the time zones it has met. */
export function createDocumentRenderer(): (
  channel: ChannelType,
  document: Document,
  options: RenderOptions,
) => Message[] {
  const formats = new Map<string, TimeFormat>();

  function timesIn(timeZone: string): TimeFormat {
    const known = formats.get(timeZone);
    if (known !== undefined) return known;
    const made = createTimeFormat(timeZone);
    formats.set(timeZone, made);
    return made;
  }

  return (channel, document, options) =>
    renderFor(channel, withText(document), options, timesIn(options.timeZone || "UTC"));
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
