import { sizeOfPng } from "../../../workshop/chat/world.ts";
import {
  createHttpVendor,
  type HttpVendor,
  json,
  parseObject,
  type UploadedFile,
  type VendorAnswer,
  type VendorRequest,
} from "./http-vendor.ts";

export interface DiscordMessage {
  id: string;
  content: string;
  embeds: unknown[];
  flags: number;
  /** Without their bytes. */
  attachments: { id: string; filename: string; description?: string; size: number }[];
}

export interface DiscordVendor extends HttpVendor {
  /** As users copy it: without a version. */
  path: string;
  messages: DiscordMessage[];
}

/**
 * Refuses as Discord's API version 10 does, with its codes; other versions are refused, for they count time otherwise.
 */
export async function createDiscordVendor(): Promise<DiscordVendor> {
  const hook = "webhooks/9007199254740993/canaryDiscordTokenXXXXXXXX";
  const messages: DiscordMessage[] = [];
  const vendor = await createHttpVendor((request) => handle(request, `/api/v10/${hook}`, messages));
  return { ...vendor, path: `/api/${hook}`, messages };
}

function handle(request: VendorRequest, path: string, messages: DiscordMessage[]): VendorAnswer {
  const url = new URL(request.path, "http://discord.invalid");
  const edited = /^(.*)\/messages\/(\w+)$/.exec(url.pathname);
  if ((edited?.[1] ?? url.pathname) !== path) return json(404, { message: "Unknown Webhook", code: 10015 });
  if (request.method === "GET") return json(200, { id: "9007199254740993", type: 1, name: "alerts" });
  const payload = parseObject(request.form?.fields.payload_json ?? request.body);
  if (payload === undefined) return json(400, { message: "The request body contains invalid JSON.", code: 50109 });
  const content = String(payload.content ?? "");
  const embeds = Array.isArray(payload.embeds) ? payload.embeds : [];
  if (content === "" && embeds.length === 0) return json(400, { message: "Cannot send an empty message", code: 50006 });
  if (content.length > 2_000 || embeds.length > 10 || JSON.stringify(embeds).length > 6_500) {
    return json(400, { message: "Invalid Form Body", code: 50035, errors: {} });
  }
  if (edited !== null) {
    const message = messages.find(({ id }) => id === edited[2]);
    if (request.method !== "PATCH" || message === undefined)
      return json(404, { message: "Unknown Message", code: 10008 });
    const attachments = attachmentsAfter(message, payload.attachments, request.form?.files ?? []);
    if (attachments === undefined || !showsItsOwn(embeds, attachments))
      return json(400, { message: "Invalid Form Body", code: 50035, errors: { attachments: {} } });
    if (payload.content !== undefined) message.content = content;
    if (payload.embeds !== undefined) message.embeds = embeds;
    message.attachments = attachments;
    return json(200, message);
  }
  const message = {
    id: String(700_000_000_000_000_000n + BigInt(messages.length)),
    content,
    embeds,
    flags: Number(payload.flags ?? 0),
    attachments: [],
  };
  messages.push(message);
  return url.searchParams.get("wait") === "true" ? json(200, message) : { status: 204 };
}

/**
 * All that are to stay have to be named, once any is; a new one by the number of its file, which has to be a PNG. Undefined:
 * one is not there.
 */
function attachmentsAfter({ attachments }: DiscordMessage, named: unknown, files: UploadedFile[]) {
  if (!Array.isArray(named)) return files.length === 0 ? attachments : undefined;
  const after = named.map(({ id, filename, description }: Record<string, string>) => {
    const file = files.find(({ name }) => name === `files[${id}]`);
    if (file === undefined) return attachments.find((one) => one.id === String(id));
    if (file.filename !== filename || file.type !== "image/png" || sizeOfPng(file.bytes).width === 0) return undefined;
    return { id: `8${attachments.length}${id}`, filename, description, size: file.bytes.length };
  });
  return after.filter((one) => one !== undefined).length === named.length
    ? after.flatMap((one) => one ?? [])
    : undefined;
}

function showsItsOwn(embeds: unknown[], attachments: DiscordMessage["attachments"]): boolean {
  const shown = JSON.stringify(embeds).matchAll(/"attachment:\/\/([^"]+)"/g);
  return [...shown].every(([, name]) => attachments.some(({ filename }) => filename === name));
}
