import type { Child } from "hono/jsx";
import { z } from "zod";
import { readJson } from "../../src/ground/text/read-json.ts";
import { Instant, Picture, WebLink } from "../board/views.tsx";
import { type App, type AppDeps, isJson, Messages, reply } from "./app.ts";

/** The part of Block Kit that Tocsin sends (https://docs.slack.dev/reference/block-kit/blocks). */
const isOn = z.boolean().optional();
const address = z.url().max(3_000);
const textRun = z.strictObject({
  type: z.literal("text"),
  text: z.string().min(1),
  style: z.strictObject({ bold: isOn, italic: isOn, code: isOn }).optional(),
});
const linkRun = z.strictObject({ type: z.literal("link"), url: address, text: z.string().optional() });
const dateRun = z.strictObject({
  type: z.literal("date"),
  timestamp: z.int(),
  format: z.string().regex(/\{\w+\}/),
  fallback: z.string().optional(),
});
const run = z.discriminatedUnion("type", [textRun, linkRun, dateRun]);
const part = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("rich_text_section"), elements: z.array(run) }),
  z.strictObject({ type: z.literal("rich_text_quote"), elements: z.array(run) }),
  z.strictObject({
    type: z.literal("rich_text_preformatted"),
    elements: z.array(z.discriminatedUnion("type", [textRun, linkRun])),
  }),
]);
const block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("rich_text"), elements: z.array(part).min(1) }),
  z.strictObject({ type: z.literal("image"), image_url: address, alt_text: z.string().max(2_000) }),
]);

export interface SlackContent {
  /** The text of a notification, and the message itself without blocks. */
  text: string;
  blocks: z.infer<typeof block>[];
}

const payload = z.object({ text: z.string().default(""), blocks: z.array(z.unknown()).default([]) });
const maxTextUnits = 40_000;
const mostBlocks = 50;

/** An incoming webhook, which answers one word of plain text. @param options.path is its secret */
export function createSlack({ path, channel }: { path: string; channel: string }, deps: AppDeps): App<SlackContent> {
  const messages = new Messages<SlackContent>(deps, String);
  async function answer(request: Request): Promise<Response> {
    if (new URL(request.url).pathname !== path) return reply(404, "no_service");
    if (request.method !== "POST") return reply(405, "method_not_allowed");
    const { data } = payload.safeParse(isJson(request) ? readJson(await request.text()) : undefined);
    if (data === undefined) return reply(400, "invalid_payload");
    const { text, blocks } = data;
    if (text === "" && blocks.length === 0) return reply(400, "no_text");
    if (text.length > maxTextUnits) return reply(400, "msg_too_long");
    const read = z.array(block).max(mostBlocks).safeParse(blocks);
    if (!read.success) return reply(400, "invalid_blocks");
    messages.add({ text, blocks: read.data });
    return reply(200, "ok");
  }
  return {
    ...{ name: "slack", title: "Slack", place: `#${channel}`, messages, answer, view: viewContent, marks: () => [] },
    owns: (path) => path.startsWith("/services/"),
    limits: [{ atMost: 5, spanMs: 3_000 }],
    askToWait: () => "rate_limited",
    gone: () => reply(404, "no_service"),
  };
}

function viewContent({ text, blocks }: SlackContent): Child {
  if (blocks.length === 0) return withoutEscapes(text);
  return (
    <>
      {blocks.map((one) =>
        one.type === "image" ? <Picture src={one.image_url} alt={one.alt_text} /> : one.elements.map(viewPart),
      )}
      <details>
        <summary>What a notification shows</summary>
        {withoutEscapes(text)}
      </details>
    </>
  );
}

function viewPart({ type, elements }: z.infer<typeof part>): Child {
  const runs = elements.map(viewRun);
  if (type === "rich_text_quote") return <blockquote>{runs}</blockquote>;
  return type === "rich_text_preformatted" ? <pre>{runs}</pre> : <div>{runs}</div>;
}

function viewRun(one: z.infer<typeof run>): Child {
  switch (one.type) {
    case "link":
      return <WebLink url={one.url}>{one.text ?? one.url}</WebLink>;
    case "date": {
      const form = one.format.includes("date") ? "date and time" : "time";
      return (
        <Instant at={one.timestamp * 1000} form={form}>
          {one.fallback}
        </Instant>
      );
    }
    case "text":
      if (one.style?.bold) return <strong>{one.text}</strong>;
      if (one.style?.italic) return <em>{one.text}</em>;
      return one.style?.code ? <code>{one.text}</code> : one.text;
  }
}

function withoutEscapes(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
