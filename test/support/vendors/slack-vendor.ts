import {
  createHttpVendor,
  type HttpVendor,
  parseObject,
  text,
  type VendorAnswer,
  type VendorRequest,
} from "./http-vendor.ts";

export interface SlackVendor extends HttpVendor {
  path: string;
  /** Texts in the channel. */
  seen: string[];
}

/** Refuses as Slack's incoming webhooks do; stricter in one thing: it refuses what Slack would cut. */
export async function createSlackVendor(): Promise<SlackVendor> {
  const path = "/services/T0CANARY0/B0CANARY0/canarySlackTokenXXXXXXXX";
  const seen: string[] = [];
  const vendor = await createHttpVendor((request) => handle(request, path, seen));
  return { ...vendor, path, seen };
}

function handle(request: VendorRequest, path: string, seen: string[]): VendorAnswer {
  if (request.path !== path) return text(404, "no_service");
  if (request.method !== "POST") return text(405, "method_not_allowed");
  if (!request.headers["content-type"]?.startsWith("application/json")) return text(400, "invalid_payload");
  const payload = parseObject(request.body);
  if (payload === undefined) return text(400, "invalid_payload");
  const { text: words, blocks } = payload;
  if (typeof words !== "string" || words === "") return text(400, "no_text");
  if (words.length > 40_000) return text(400, "msg_too_long");
  if (Array.isArray(blocks) && (blocks.length > 50 || blocks.some(isTooLong))) return text(400, "invalid_blocks");
  seen.push(words);
  return text(200, "ok");
}

function isTooLong(block: unknown): boolean {
  const words = (block as { text?: { text?: string } }).text?.text;
  return words !== undefined && (words.length > 3_000 || words.length === 0);
}
