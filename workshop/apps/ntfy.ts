import { z } from "zod";
import type { Board } from "./board.ts";
import { jsonOf, type VendorAnswer, type VendorRequest } from "./vendor-request.ts";

/** https://docs.ntfy.sh/publish/#publish-as-json , with the code that the server answers for each field. */
const action = z.object({
  action: z.enum(["view", "broadcast", "http", "copy"]),
  label: z.string().min(1),
  url: z.string().optional(),
  method: z.string().optional(),
  clear: z.boolean().optional(),
});
const webAddress = z.url({ protocol: /^https?$/ });
const publishing = z.object({
  topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
  title: z.string().optional(),
  message: z.string().optional(),
  priority: z.int().min(0).max(5).optional(),
  tags: z.array(z.string()).optional(),
  click: z.string().optional(),
  attach: webAddress.optional(),
  filename: z.string().optional(),
  icon: webAddress.optional(),
  actions: z.array(action).max(3).optional(),
  markdown: z.boolean().optional(),
  sequence_id: z
    .string()
    .regex(/^[-_A-Za-z0-9]{1,64}$/)
    .optional(),
});
const codes: Readonly<Record<string, readonly [code: number, words: string]>> = {
  topic: [40009, "invalid request: topic invalid"],
  priority: [40007, "invalid request: priority invalid"],
  attach: [40013, "invalid request: attachment URL is invalid"],
  actions: [40018, "invalid request: actions invalid"],
  icon: [40021, "invalid request: icon URL is invalid"],
  sequence_id: [40049, "invalid request: sequence ID invalid"],
};
const maxMessageBytes = 4_096;

export interface NtfyContent {
  /** A message with a known one replaces the former on the phone. */
  sequenceId: string;
  title: string;
  message: string;
  priority: number;
  tags: string[];
  click?: string;
  attach?: string;
  actions: z.infer<typeof action>[];
}

/** Answers as an ntfy server at `base` does, whose other topics are not ours. Access is not asked for. */
export function answerNtfy(
  request: VendorRequest,
  options: { base: string; topic: string },
  board: Board<NtfyContent>,
): VendorAnswer {
  const path = request.url.pathname.slice(options.base.length).replace(/^\/$/, "");
  if (path === "/v1/health" && request.method === "GET") return { status: 200, body: { healthy: true } };
  if (path !== "" || (request.method !== "POST" && request.method !== "PUT")) {
    return refuse(404, 40401, "page not found");
  }
  const given = jsonOf(request.body.toString());
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return refuse(400, 40024, "invalid request: request body must be valid JSON");
  }
  const read = publishing.safeParse(given);
  if (!read.success) {
    const [code, words] = codes[String(read.error.issues[0]?.path[0])] ?? [
      40024,
      "invalid request: request body must be valid JSON",
    ];
    return refuse(400, code, words);
  }
  const { topic, message = "", sequence_id: sequence, ...rest } = read.data;
  if (topic !== options.topic) return refuse(403, 40301, "forbidden");
  // The real one makes a longer message a file, which nobody reads on a lock screen.
  if (Buffer.byteLength(message) > maxMessageBytes)
    return refuse(413, 41301, "attachment too large, or bandwidth limit reached");
  const former = board.posted().find(({ content }) => sequence !== undefined && content.sequenceId === sequence);
  const content = (sequenceId: string): NtfyContent => ({
    sequenceId,
    title: rest.title ?? "",
    message: message === "" ? "triggered" : message,
    priority: rest.priority === undefined || rest.priority === 0 ? 3 : rest.priority,
    tags: rest.tags ?? [],
    actions: rest.actions ?? [],
    ...(rest.click === undefined ? {} : { click: rest.click }),
    ...(rest.attach === undefined ? {} : { attach: rest.attach }),
  });
  const posted =
    former === undefined ? board.add(content(sequence ?? "")) : board.edit(former.id, content(sequence ?? ""));
  if (posted === undefined) return refuse(500, 50001, "internal server error");
  if (posted.content.sequenceId === "") posted.content.sequenceId = posted.id;
  const { id, at } = posted;
  const time = Math.floor(at / 1000);
  return { status: 200, body: { id, time, event: "message", topic, message, sequence_id: posted.content.sequenceId } };
}

function refuse(status: number, code: number, words: string): VendorAnswer {
  return { status, body: { code, http: status, error: words, link: "https://ntfy.sh/docs/publish/" } };
}
