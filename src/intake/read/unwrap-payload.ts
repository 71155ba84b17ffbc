import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { type Leaves, listLeaves } from "../../facts/leaves.ts";
import { wordSet, wordsOf } from "../../ground/text/plain-text.ts";
import { parseJson } from "./parse-json.ts";

export interface Content extends Leaves {
  content: Json;
}

export function listContent(payload: Json): Content {
  const content = isJsonObject(payload) ? unwrapPayload(payload) : payload;
  const { leaves, more } = listLeaves(content);
  return { content, leaves, more };
}

/** Names under which senders put JSON in a string. */
const stringified = wordSet("message msg payload body data detail details content event alert raw");

/** Signatures, and the link that ends the subscription. Any reader of a chat could follow that link. */
const snsPlumbing = wordsOf(
  "Signature SignatureVersion SigningCertURL SigningCertUrl UnsubscribeURL UnsubscribeUrl Token",
);

/** Parses JSON in strings (one level), drops technical members of SNS, and makes plain members of Slack's or Discord's. */
function unwrapPayload(payload: JsonObject): JsonObject {
  // Most payloads need no unpacking, and a copy costs as much as reading them.
  let unwrapped = payload;
  const change = () => {
    if (unwrapped === payload) unwrapped = Object.assign(Object.create(null) as JsonObject, payload);
    return unwrapped;
  };
  for (const key in payload) {
    const value = payload[key];
    if (typeof value !== "string" || !beginsObject(value) || !stringified.has(key.toLowerCase())) continue;
    const parsed = parseJson(value);
    if (parsed.ok && isJsonObject(parsed.value)) change()[key] = parsed.value;
  }
  if (typeof payload.TopicArn === "string" && typeof payload.Type === "string") {
    for (const key of snsPlumbing) delete change()[key];
  }
  return readChatMessage(unwrapped) ?? unwrapped;
}

/** Members of a Slack or Discord message about its look. */
const layout =
  wordSet(`channel icon_emoji icon_url link_names mrkdwn mrkdwn_in unfurl_links unfurl_media thread_ts avatar_url tts
  allowed_mentions components flags thread_name short inline callback_id attachment_type footer_icon image_url thumb_url
  author_icon author_link fallback`);

const slackOnly = new Set(["text", "username", "attachments", "blocks", ...layout]);

/** Reads a message for Slack or Discord as plain members, its fields as `{name, value}` pairs. Undefined for others. */
function readChatMessage(payload: JsonObject): JsonObject | undefined {
  const mayBeOne = [payload.attachments, payload.embeds, payload.blocks].some((list) => Array.isArray(list));
  if (!mayBeOne && typeof payload.text !== "string") return undefined;
  const cards = [...objectsOf(payload.attachments), ...objectsOf(payload.embeds)];
  const blocks = [...objectsOf(payload.blocks), ...cards.flatMap((card) => objectsOf(card.blocks))];
  const onlyText = typeof payload.text === "string" && Object.keys(payload).every((key) => slackOnly.has(key));
  if (cards.length === 0 && blocks.length === 0 && !onlyText) return undefined;

  const message = Object.create(null) as JsonObject;
  const header = blocks.find((block) => block.type === "header");
  const titled = cards.find((card) => typeof card.title === "string");
  const title = textOf(header?.text) ?? textOf(titled?.title) ?? textOf(payload.title);
  if (title !== undefined) message.title = title;
  const ofBlocks = blocks.filter((block) => block !== header).flatMap(textsOfBlock);
  const ownText = markless(textOf(payload.text));
  const lines = [
    blocks.length === 0 ? ownText : undefined,
    textOf(payload.content),
    ...ofBlocks,
    ...cards.flatMap((card) => textsOfCard(card, titled)),
    blocks.length === 0 || standsIn(ownText, ofBlocks, title) ? undefined : ownText,
  ];
  const text = [...new Set(lines.filter((line) => line !== undefined && line !== title))].join("\n");
  if (text !== "") message.text = text;
  const link = titled?.title_link ?? titled?.url;
  if (link !== undefined) message.link = link;
  addRest(message, payload, cards);
  return message;
}

/** Whether the text only replaces the blocks on small screens. A text with a number that they lack does not. */
function standsIn(text: string | undefined, lines: (string | undefined)[], title: string | undefined): boolean {
  const said = lines.filter((line) => line !== undefined);
  if (text === undefined || said.length === 0) return false;
  const others = [title ?? "", ...said].join("\n");
  return (text.match(/\d[\d.,]*/g) ?? []).every((number) => others.includes(number));
}

function beginsObject(text: string): boolean {
  const code = text.charCodeAt(0);
  return (code <= 0x20 || code >= 0x7b) && /^\s*\{/.test(text);
}

function addRest(message: JsonObject, payload: JsonObject, cards: JsonObject[]): void {
  for (const [key, value] of Object.entries(payload)) {
    const isRead = /^(title|text|content|attachments|embeds|blocks)$/.test(key) || layout.has(key);
    if (!isRead && message[key] === undefined) message[key] = value;
  }
  for (const key of ["color", "ts", "timestamp"]) {
    const value = cards.find((card) => card[key] !== undefined)?.[key];
    if (value !== undefined && message[key] === undefined) message[key] = value;
  }
  const fields = cards.flatMap((card) => objectsOf(card.fields)).map(decodeField);
  if (fields.length > 0) message.fields = fields;
}

function textsOfBlock(block: JsonObject): (string | undefined)[] {
  const own = textOf(block.text);
  const inner = [...objectsOf(block.fields), ...objectsOf(block.elements)];
  return [
    own,
    ...inner.flatMap((part) =>
      isJsonObject(part.text) || typeof part.text === "string"
        ? textOf(isJsonObject(part.text) ? part.text : part)
        : textsOfBlock(part),
    ),
  ];
}

function textsOfCard(card: JsonObject, titled: JsonObject | undefined): (string | undefined)[] {
  const title = card === titled ? undefined : textOf(card.title);
  const own = [title, textOf(card.pretext), textOf(card.text), textOf(card.description)];
  const said =
    own.some((line) => line !== undefined) || card === titled || card.fields !== undefined || card.blocks !== undefined;
  return said ? own : [textOf(card.fallback)];
}

function decodeField(field: JsonObject): JsonObject {
  const copy = Object.assign(Object.create(null) as JsonObject, field);
  for (const key of ["title", "name", "value"]) copy[key] = textOf(field[key]) ?? field[key] ?? null;
  return copy;
}

function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Drops Slack's marks for bold, italic and struck words. */
function markless(text: string | undefined): string | undefined {
  if (text === undefined || !/[*_~]/.test(text)) return text;
  return markedWords.reduce((plain, marked) => plain.replace(marked, "$1$2"), text);
}

const markedWords = [
  /(^|[\s(>])\*([^\s*][^*\n]{0,500})(?<!\s)\*(?![\p{L}\p{N}*])/gmu,
  /(^|[\s(>])_([^\s_][^_\n]{0,500})(?<!\s)_(?![\p{L}\p{N}_])/gmu,
  /(^|[\s(>])~([^\s~][^~\n]{0,500})(?<!\s)~(?![\p{L}\p{N}~])/gmu,
];

/** A string, or the text in Slack's `{type, text}`, without Slack's notation for links and escapes. */
function textOf(value: Json | undefined): string | undefined {
  if (isJsonObject(value) && value.type === "mrkdwn") return markless(textOf(value.text));
  const text = isJsonObject(value) ? value.text : value;
  if (typeof text !== "string" || text.trim() === "") return undefined;
  if (!/[<&]/.test(text)) return text;
  return text
    .replace(/<(https?:\/\/[^\s|<>]{1,2000})\|([^<>]{1,500})>/g, "$2 ($1)")
    .replace(/<(https?:\/\/[^\s|<>]{1,2000})>/g, "$1")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
