import { z } from "zod";
import type { Board } from "./board.ts";
import { jsonOf, type VendorAnswer, type VendorRequest } from "./vendor-request.ts";

/**
 * What Slack takes of Block Kit: https://docs.slack.dev/reference/block-kit/blocks . Names that it does not know are
 * refused, as it does.
 */
const style = z
  .strictObject({
    bold: z.boolean().optional(),
    italic: z.boolean().optional(),
    strike: z.boolean().optional(),
    code: z.boolean().optional(),
  })
  .optional();
const address = z.url().max(3_000);
const textElement = z.strictObject({ type: z.literal("text"), text: z.string().min(1), style });
const linkElement = z.strictObject({
  type: z.literal("link"),
  url: address,
  text: z.string().optional(),
  unsafe: z.boolean().optional(),
  style,
});
const inlineElement = z.discriminatedUnion("type", [
  textElement,
  linkElement,
  z.strictObject({
    type: z.literal("date"),
    timestamp: z.int(),
    format: z.string().regex(/\{\w+\}/),
    url: address.optional(),
    fallback: z.string().optional(),
  }),
  z.strictObject({ type: z.literal("emoji"), name: z.string().min(1), unicode: z.string().optional(), style }),
  z.strictObject({ type: z.literal("broadcast"), range: z.enum(["here", "channel", "everyone"]), style }),
]);
const border = z.union([z.literal(0), z.literal(1)]).optional();
const richSection = z.strictObject({ type: z.literal("rich_text_section"), elements: z.array(inlineElement) });
const richElement = z.discriminatedUnion("type", [
  richSection,
  z.strictObject({ type: z.literal("rich_text_quote"), elements: z.array(inlineElement), border }),
  z.strictObject({
    type: z.literal("rich_text_preformatted"),
    elements: z.array(z.discriminatedUnion("type", [textElement, linkElement])),
    border,
  }),
  z.strictObject({
    type: z.literal("rich_text_list"),
    style: z.enum(["bullet", "ordered"]),
    elements: z.array(richSection),
    indent: z.int().min(0).max(8).optional(),
    offset: z.int().optional(),
    border,
  }),
]);
const blockId = z.string().max(255).optional();
const plainText = (most: number) =>
  z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(most),
    emoji: z.boolean().optional(),
  });
const anyText = (most: number) =>
  z.discriminatedUnion("type", [
    plainText(most),
    z.strictObject({
      type: z.literal("mrkdwn"),
      text: z.string().min(1).max(most),
      verbatim: z.boolean().optional(),
    }),
  ]);
const image = { type: z.literal("image"), image_url: address, alt_text: z.string().max(2_000) };
const block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("rich_text"), elements: z.array(richElement).min(1), block_id: blockId }),
  z.strictObject({ type: z.literal("header"), text: plainText(150), block_id: blockId }),
  z.strictObject({
    type: z.literal("section"),
    text: anyText(3_000).optional(),
    fields: z.array(anyText(2_000)).min(1).max(10).optional(),
    block_id: blockId,
  }),
  z.strictObject({
    type: z.literal("context"),
    elements: z
      .array(z.union([anyText(2_000), z.strictObject(image)]))
      .min(1)
      .max(10),
    block_id: blockId,
  }),
  z.strictObject({ type: z.literal("divider"), block_id: blockId }),
  z.strictObject({ ...image, title: plainText(2_000).optional(), block_id: blockId }),
  z.strictObject({
    type: z.literal("actions"),
    elements: z
      .array(
        z.strictObject({
          type: z.literal("button"),
          text: plainText(75),
          url: address.optional(),
          value: z.string().max(2_000).optional(),
          action_id: z.string().max(255).optional(),
          style: z.enum(["primary", "danger"]).optional(),
        }),
      )
      .min(1)
      .max(25),
    block_id: blockId,
  }),
]);

export type SlackInline = z.infer<typeof inlineElement>;
export type SlackRich = z.infer<typeof richElement>;
export type SlackBlock = z.infer<typeof block>;

export interface SlackContent {
  /** What a notification shows, and the message itself where there are no blocks. */
  text: string;
  blocks: SlackBlock[];
}

const maxBlocks = 50;
const maxTextUnits = 40_000;

/** Answers as an incoming webhook does: one word of plain text. */
export function answerSlack(request: VendorRequest, path: string, board: Board<SlackContent>): VendorAnswer {
  if (request.url.pathname !== path) return { status: 404, body: "no_service" };
  if (request.method !== "POST") return { status: 405, body: "method_not_allowed" };
  const payload = payloadOf(request);
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) {
    return { status: 400, body: "invalid_payload" };
  }
  const { text = "", blocks = [] } = payload as Record<string, unknown>;
  if (typeof text !== "string" || !Array.isArray(blocks)) return { status: 400, body: "invalid_payload" };
  if (text === "" && blocks.length === 0) return { status: 400, body: "no_text" };
  if (text.length > maxTextUnits) return { status: 400, body: "msg_too_long" };
  if (blocks.length > maxBlocks) return { status: 400, body: "invalid_blocks" };
  const read = z.array(block).safeParse(blocks);
  if (!read.success) return { status: 400, body: "invalid_blocks" };
  board.add({ text, blocks: read.data });
  return { status: 200, body: "ok" };
}

/** JSON, or a form whose field `payload` is JSON. */
function payloadOf({ contentType, body }: VendorRequest): unknown {
  if (contentType.startsWith("application/json")) return jsonOf(body.toString());
  if (!contentType.startsWith("application/x-www-form-urlencoded")) return undefined;
  return jsonOf(new URLSearchParams(body.toString()).get("payload") ?? "");
}
