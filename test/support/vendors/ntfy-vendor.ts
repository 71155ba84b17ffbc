import {
  createHttpVendor,
  type HttpVendor,
  json,
  parseObject,
  type VendorAnswer,
  type VendorRequest,
} from "./http-vendor.ts";

export interface NtfyMessage {
  id: string;
  sequenceId: string;
  title: string;
  message: string;
  priority: number;
  click?: string;
}

export interface NtfyVendor extends HttpVendor {
  topic: string;
  token: string;
  /** What stands on the phone: a message with a known sequence id replaces the former one. */
  shown: NtfyMessage[];
}

/** Refuses as an ntfy server with access control does; `sequences: false` plays one older than 2.16. */
export async function createNtfyVendor(options: { sequences: boolean } = { sequences: true }): Promise<NtfyVendor> {
  const topic = "canary-topic-XXXXXXXX";
  const token = "tk_canaryNtfyTokenXXXXXXXX";
  const shown: NtfyMessage[] = [];
  const vendor = await createHttpVendor((request) => handle(request, { topic, token, shown, ...options }));
  return { ...vendor, topic, token, shown };
}

function handle(
  request: VendorRequest,
  state: { topic: string; token: string; shown: NtfyMessage[]; sequences: boolean },
): VendorAnswer {
  if (request.path === "/v1/health") return json(200, { healthy: true });
  if (request.path !== "/" || request.method !== "POST") return error(404, 40401, "page not found");
  const body = parseObject(request.body);
  if (body === undefined) return error(400, 40024, "invalid request: request body must be valid JSON");
  const topic = String(body.topic ?? "");
  if (!/^[-_A-Za-z0-9]{1,64}$/.test(topic)) return error(400, 40009, "invalid request: topic invalid");
  if (request.headers.authorization === undefined) return error(403, 40301, "forbidden");
  if (request.headers.authorization !== `Bearer ${state.token}`) return error(401, 40101, "unauthorized");
  if (topic !== state.topic) return error(403, 40301, "forbidden");
  const priority = Number(body.priority ?? 3);
  if (!(priority >= 1 && priority <= 5)) return error(400, 40007, "invalid priority parameter");
  const words = String(body.message ?? "");
  // A longer one becomes an attached file that nobody reads on a lock screen.
  if (Buffer.byteLength(words) > 4_096) return error(413, 41301, "attachment too large, or bandwidth limit reached");
  const id = `m${state.shown.length}XXXXXXXX`;
  const sequenceId = state.sequences && typeof body.sequence_id === "string" ? body.sequence_id : id;
  const message = {
    id,
    sequenceId,
    title: String(body.title ?? ""),
    message: words,
    priority,
    ...(typeof body.click === "string" ? { click: body.click } : {}),
  };
  const former = state.shown.findIndex((other) => other.sequenceId === sequenceId);
  if (former >= 0) state.shown[former] = message;
  else state.shown.push(message);
  return json(200, {
    id,
    time: 1,
    event: "message",
    topic,
    message: words,
    ...(state.sequences ? { sequence_id: sequenceId } : {}),
  });
}

function error(status: number, code: number, words: string): VendorAnswer {
  return json(status, { code, http: status, error: words });
}
