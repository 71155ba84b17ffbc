import type { Child } from "hono/jsx";
import type { Now } from "../../src/core/clock.ts";

/** One application on the server that Slack, Discord and ntfy share: its answers, limits, and view of a message. */
export interface App<Content> {
  name: AppName;
  title: string;
  place: string;
  messages: Messages<Content>;
  owns(path: string): boolean;
  answer(request: Request): Promise<Response>;
  /** The most messages within each span. */
  limits: { atMost: number; spanMs: number }[];
  askToWait(seconds: number): unknown;
  /** The answer for a webhook or topic that is gone. */
  gone(): Response;
  view(content: Content): Child;
  marks(content: Content): string[];
}

export type AppName = "slack" | "discord" | "ntfy";

/** What each application is made with. */
export interface AppDeps {
  now: Now;
  changed(): void;
}

/** A text, or anything else as JSON. */
export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return typeof body === "string" ? new Response(body, { status, headers }) : Response.json(body, { status, headers });
}

export function isJson({ headers }: Request): boolean {
  return headers.get("content-type")?.toLowerCase().startsWith("application/json") === true;
}

export interface Posted<Content> {
  id: string;
  at: number;
  content: Content;
  /** Earlier versions of the message, oldest first. `at` is the instant of their replacement. */
  edits: { at: number; content: Content }[];
}

const messagesKept = 1_000;

/** Oldest first, in memory. The oldest are dropped above the limit. `idOf`: of the message with this number, from 1. */
export class Messages<Content> {
  readonly posted: Posted<Content>[] = [];
  #count = 0;

  constructor(
    private readonly deps: AppDeps,
    private readonly idOf: (number: number) => string,
  ) {}

  add(content: Content): Posted<Content> {
    this.#count += 1;
    const message = { id: this.idOf(this.#count), at: this.deps.now(), content, edits: [] };
    this.posted.push(message);
    if (this.posted.length > messagesKept) this.posted.shift();
    this.deps.changed();
    return message;
  }

  edit(message: Posted<Content>, content: Content): Posted<Content> {
    message.edits.push({ at: this.deps.now(), content: message.content });
    message.content = content;
    this.deps.changed();
    return message;
  }
}
