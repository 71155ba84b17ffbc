import type { Child } from "hono/jsx";
import { z } from "zod";
import { readJson } from "../../src/ground/text/read-json.ts";
import { Picture, WebLink } from "../board/views.tsx";
import { type App, type AppDeps, Messages, reply } from "./app.ts";

const name = z.string().regex(/^[-_A-Za-z0-9]{1,64}$/);
/** The part of https://docs.ntfy.sh/publish/#publish-as-json that Tocsin uses. */
const publishing = z.strictObject({
  topic: name,
  title: z.string().default(""),
  message: z.string().default(""),
  priority: z.int().min(1).max(5).default(3),
  tags: z.array(z.string()).default([]),
  click: z.string().optional(),
  attach: z.url({ protocol: /^https?$/ }).optional(),
  filename: z.string().optional(),
  sequence_id: name.optional(),
});
/** The server's error for each field. */
const codes: Readonly<Record<string, readonly [code: number, words: string]>> = {
  topic: [40009, "invalid request: topic invalid"],
  priority: [40007, "invalid request: priority invalid"],
  attach: [40013, "invalid request: attachment URL is invalid"],
  sequence_id: [40049, "invalid request: sequence ID invalid"],
};
const noJson = [40024, "invalid request: request body must be valid JSON"] as const;
const maxMessageBytes = 4_096;

export type NtfyContent = Omit<z.infer<typeof publishing>, "sequence_id" | "topic" | "filename"> & {
  /** A message with a known id replaces the earlier one on the phone. */
  sequenceId?: string;
};

export interface NtfyOptions {
  base: string;
  topic: string;
  token?: string;
  /** Servers before 2.16 have no sequences. Default true. */
  hasSequences?: boolean;
}

/** An ntfy server whose other topics belong to others. */
export function createNtfy(options: NtfyOptions, deps: AppDeps): App<NtfyContent> {
  const { base, topic, token, hasSequences = true } = options;
  const messages = new Messages<NtfyContent>(deps, (number) => `m${String(number).padStart(11, "0")}`);
  async function answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.slice(base.length).replace(/^\/$/, "");
    if (path === "/v1/health" && request.method === "GET") return reply(200, { healthy: true });
    if (path !== "" || request.method !== "POST") return refuse(404, 40401, "page not found");
    const read = publishing.safeParse(readJson(await request.text()));
    if (!read.success) return refuse(400, ...(codes[String(read.error.issues[0]?.path[0])] ?? noJson));
    const authorization = request.headers.get("authorization");
    if (token !== undefined && authorization === null) return refuse(403, 40301, "forbidden");
    if (token !== undefined && authorization !== `Bearer ${token}`) return refuse(401, 40101, "unauthorized");
    const { topic: asked, sequence_id: sequence, filename: _name, ...content } = read.data;
    if (asked !== topic) return refuse(403, 40301, "forbidden");
    // The real server turns a longer message into a file, which nobody reads on a lock screen.
    if (Buffer.byteLength(content.message) > maxMessageBytes)
      return refuse(413, 41301, "attachment too large, or bandwidth limit reached");
    const sequenceId = hasSequences ? sequence : undefined;
    const former = messages.posted.find((one) => sequenceId !== undefined && one.content.sequenceId === sequenceId);
    const after = { ...content, sequenceId };
    const { id, at } = former === undefined ? messages.add(after) : messages.edit(former, after);
    const facts = { id, time: Math.floor(at / 1000), event: "message", topic, message: content.message };
    return reply(200, hasSequences ? { ...facts, sequence_id: sequenceId ?? id } : facts);
  }
  return {
    ...{ name: "ntfy", title: "ntfy", place: topic, messages, answer, view: viewContent },
    owns: (path) => path === base || path.startsWith(`${base}/`),
    // ntfy.sh accepts 60 at once, then one every five seconds.
    limits: [{ atMost: 60, spanMs: 300_000 }],
    askToWait: () => ({ code: 42901, http: 429, error: "limit reached: too many requests" }),
    gone: () => refuse(403, 40301, "forbidden"),
    marks: ({ priority }) => [priorities[priority] ?? ""],
  };
}

function refuse(status: number, code: number, words: string): Response {
  return reply(status, { code, http: status, error: words, link: "https://ntfy.sh/docs/publish/" });
}

/** Tags that ntfy shows as a symbol before the title. Others are shown below as words. */
const symbols: Readonly<Record<string, string>> = {
  white_check_mark: "✅",
  rotating_light: "🚨",
  warning: "⚠️",
  information_source: "ℹ️",
  bell: "🔔",
  test_tube: "🧪",
};

const priorities: Readonly<Record<number, string>> = {
  1: "priority 1: no sound, at the bottom",
  2: "priority 2: no sound",
  3: "priority 3: short sound",
  4: "priority 4: long sound",
  5: "priority 5: rings on and on, through Do not disturb where allowed",
};

function viewContent({ title, message, tags, click, attach }: NtfyContent): Child {
  const words = tags.filter((tag) => symbols[tag] === undefined);
  return (
    <>
      <h3>
        {tags.map((tag) => symbols[tag] ?? "").join("")} {title}
      </h3>
      <p>{message}</p>
      {attach !== undefined && <Picture src={attach} alt="" />}
      {words.length > 0 && <p class="quiet">Tags: {words.join(", ")}</p>}
      {click !== undefined && <WebLink url={click}>A tap opens the alert</WebLink>}
    </>
  );
}
