import type { Child } from "hono/jsx";
import type { Now } from "../../src/core/clock.ts";

/** One application on the server that Slack, Discord and ntfy share: its answers, limits, and view of a message. */
export interface App<Content> {
  name: AppName;
  title: string;
  place: string;
  owns(path: string): boolean;
  answer(request: VendorRequest, messages: Messages<Content>): VendorAnswer | Promise<VendorAnswer>;
  /** The most messages within each span. */
  limits: { atMost: number; spanMs: number }[];
  askToWait(seconds: number): unknown;
  /** The answer for a webhook or topic that is gone. */
  gone: VendorAnswer;
  /** The id of the message with this number, from 1. */
  idOf(number: number): string;
  view(content: Content): Child;
  marks(content: Content): string[];
}

export type AppName = "slack" | "discord" | "ntfy";

export interface VendorRequest {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

/** The answer: a text, or anything else as JSON. Nothing with 204. */
export interface VendorAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export function isJson({ headers }: VendorRequest): boolean {
  return String(headers["content-type"]).toLowerCase().startsWith("application/json");
}

export interface Posted<Content> {
  id: string;
  at: number;
  content: Content;
  /** Earlier versions of the message, oldest first. `at` is the instant of their replacement. */
  edits: { at: number; content: Content }[];
}

const messagesKept = 1_000;

/** Oldest first, in memory. The oldest are dropped above the limit. */
export class Messages<Content> {
  readonly posted: Posted<Content>[] = [];
  #count = 0;

  constructor(private readonly deps: { now: Now; idOf(number: number): string; changed(): void }) {}

  add(content: Content): Posted<Content> {
    const { now, idOf, changed } = this.deps;
    this.#count += 1;
    const message = { id: idOf(this.#count), at: now(), content, edits: [] };
    this.posted.push(message);
    if (this.posted.length > messagesKept) this.posted.shift();
    changed();
    return message;
  }

  edit(message: Posted<Content>, content: Content): Posted<Content> {
    message.edits.push({ at: this.deps.now(), content: message.content });
    message.content = content;
    this.deps.changed();
    return message;
  }
}
