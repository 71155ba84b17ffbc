import { z } from "zod";
import { AppError, type ErrorCode, errorCodes } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { exchangeText, readBoundedText } from "../ground/net/exchange-text.ts";
import { nameNetworkFailure } from "../ground/net/network-code.ts";
import { isTimeout } from "../ground/net/time-limit.ts";
import { readJson } from "../ground/text/read-json.ts";

/** A secret, with the place where it was found, for messages. */
export interface FoundSecret {
  secret: Secret;
  from: string;
}

export interface RelayAddress {
  url: string;
  /** Absent: only calls without a login work, all others throw `unauthorized`. */
  token?: FoundSecret;
  signal: AbortSignal;
}

export interface RelayCall {
  path: string;
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  /** Default true. */
  needsToken?: boolean;
  /** Milliseconds. Default 10 s. */
  timeoutMs?: number;
}

interface Answer {
  status: number;
  text?: string;
}

/** Ten times a page of 200 alerts with the longest texts. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** Throws `AppError`: `relay_unreachable`, `unauthorized`, `timeout`, the relay's refusals, `failed` for no Tocsin. */
export function createRelayCaller({ url, token, signal }: RelayAddress) {
  const refusal = (answer: Answer) => readRefusal(url, answer, token?.from);

  async function findToken(): Promise<Record<string, string>> {
    if (token !== undefined) return { authorization: `Bearer ${token.secret.reveal()}` };
    // Checked first: an unreachable relay matters more than a missing token.
    await isReady();
    const hint = "set ADMIN_TOKEN, say --token-file FILE, or run this with the relay's DATA_DIR or DATABASE_URL";
    throw refuse("unauthorized", `no admin token is known for the relay at ${url}`, hint);
  }

  function toFailure(error: unknown): unknown {
    if (error instanceof AppError) return error;
    if (signal.aborted) return signal.reason;
    return new RelayUnreachable(`no relay answers at ${url}: ${nameNetworkFailure(error).words}`);
  }

  async function ask(call: RelayCall): Promise<Answer> {
    const { path, method, body, needsToken = true, timeoutMs = 10_000 } = call;
    const headers = {
      ...(needsToken && (await findToken())),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...call.headers,
    };
    const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    try {
      return await exchangeText(`${url}${path}`, { ...request, timeoutMs, maxBytes: maxAnswerBytes, signal });
    } catch (error) {
      throw isTimeout(error) ? tooSlow(url, timeoutMs) : toFailure(error);
    }
  }

  async function isReady(): Promise<boolean> {
    const answer = await ask({ path: "/readyz", needsToken: false });
    if (answer.status !== 200 && answer.status !== 503) throw refusal(answer);
    return answer.status === 200;
  }

  return {
    /** Whether the relay accepts and delivers alerts now. Needs no token. */
    isReady,

    /** The content of a 2xx answer by the schema. Without a schema the answer has no content. */
    async read<T>(call: RelayCall, schema: z.ZodType<T> | undefined): Promise<T | undefined> {
      const answer = await ask(call);
      if (schema === undefined && answer.status === 204) return undefined;
      if (schema === undefined || answer.status < 200 || answer.status > 299) throw refusal(answer);
      if (answer.text === undefined) throw notARelay(url, "its answer is too long");
      const parsed = schema.safeParse(readJson(answer.text));
      if (parsed.success) return parsed.data;
      throw notARelay(url, `its answer to ${shownPath(call.path)} cannot be read`);
    },

    /** Opens `/api/stream` after `lastEventId` or from now on, until `ending` is aborted. */
    async openStream(lastEventId: string | undefined, ending: AbortSignal): Promise<ReadableStream<Uint8Array>> {
      const from = lastEventId !== undefined && { "last-event-id": lastEventId };
      try {
        const headers = { ...(await findToken()), accept: "text/event-stream", ...from };
        const response = await fetch(`${url}/api/stream`, { headers, redirect: "manual", signal: ending });
        if (response.status === 200 && response.body !== null) return response.body;
        throw refusal({ status: response.status, text: await readBoundedText(response, 64 * 1024) });
      } catch (error) {
        throw toFailure(error);
      }
    },
  };
}

/** Without a query, and without the secret of the hook. */
function shownPath(path: string): string {
  return path.startsWith("/hooks/") ? "/hooks/…" : (path.split("?")[0] ?? path);
}

/** A class of its own: the caller may then read the database instead. */
export class RelayUnreachable extends AppError {
  constructor(message: string) {
    super("relay_unreachable", message, {
      hint: "start it with: tocsin serve. If it runs elsewhere, set HOST and PORT as it has them, or say --url",
    });
    this.name = "RelayUnreachable";
  }
}

const refuse = (code: ErrorCode, message: string, hint: string) => new AppError(code, message, { hint });

const tooSlow = (url: string, timeoutMs: number) =>
  refuse(
    "timeout",
    `the relay at ${url} did not answer within ${timeoutMs / 1000} s`,
    "see what its log says, and whether its disk is slow or full",
  );

/** The error for an answer that no relay gives. */
const notARelay = (url: string, why: string) =>
  refuse(
    "failed",
    `what answers at ${url} is no Tocsin relay of this version: ${why}`,
    "check PORT, HOST or --url; after an upgrade restart the relay",
  );

const refusalSchema = z.object({
  code: z.enum(errorCodes).catch("failed"),
  message: z.string(),
  hint: z.string().optional().catch(undefined),
});

/** The relay's refusal in its own words: `{"error":{"code","message","hint"?}}`. */
function readRefusal(url: string, { status, text }: Answer, tokenFrom?: string): AppError {
  const said = z.object({ error: refusalSchema }).safeParse(readJson(text ?? "")).data?.error;
  if (said === undefined) {
    if (status !== 503) return notARelay(url, `it answers with ${status}`);
    // The listener's answer before there are pages.
    return refuse("store_unavailable", `the relay at ${url} is starting`, "try again in a moment");
  }
  if (said.code !== "unauthorized") return new AppError(said.code, said.message, { hint: said.hint });
  const which = tokenFrom === undefined ? "the admin token" : `the admin token of ${tokenFrom}`;
  return refuse(
    "unauthorized",
    `the relay at ${url} does not take ${which}`,
    "run this with the ADMIN_TOKEN, DATA_DIR or DATABASE_URL that the relay runs with, or say --token-file FILE",
  );
}
