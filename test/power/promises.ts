import { readMessages, type SentMessage } from "./http-stream.ts";
import type { Call } from "./trace.ts";

/** What had been said to the outside at some place of a recording, and must hold from there on whatever becomes of the power. */
export interface Promises {
  /** A 202 of the hook: these alerts are stored. */
  accepted: { at: number; ids: string[] }[];
  /** A call to a destination has begun to leave: a claim of these alerts' deliveries is stored. */
  calls: { at: number; destination: string; ids: string[] }[];
  /** The API has shown alerts, with what became of them. */
  shown: { at: number; alerts: ShownAlert[] }[];
  /** Mutes that the API has said were made. */
  mutes: { at: number; id: string }[];
  /** What a command has printed. */
  printed: { at: number; line: string }[];
}

export type ShownAlert = { id: string; deliveries: { destination: string; state: string }[] };

/**
 * Reads them from what was written to sockets and to the files that commands print to.
 * @param printed the folder of those files
 */
export function readPromises(calls: readonly Call[], printed: string): Promises {
  const promises: Promises = { accepted: [], calls: [], shown: [], mutes: [], printed: [] };
  const sockets = new Map<string, { begin: number; bytes: Buffer }[]>();
  for (const call of calls) {
    if (call.kind === "send") sockets.set(call.socket, [...(sockets.get(call.socket) ?? []), call]);
    if (call.kind !== "write" || !call.path.startsWith(`${printed}/`)) continue;
    const lines = call.bytes.toString().split("\n");
    promises.printed.push(...lines.flatMap((line) => (line === "" ? [] : { at: call.begin, line })));
  }
  for (const chunks of sockets.values()) for (const message of readMessages(chunks)) readMessage(promises, message);
  return promises;
}

function readMessage(promises: Promises, { at, start, body }: SentMessage): void {
  if (start.startsWith("HTTP/1.1 202")) {
    const { data } = JSON.parse(body) as { data: { id?: string; ids?: string[] } };
    promises.accepted.push({ at, ids: data.ids ?? [data.id as string] });
  } else if (start.startsWith("HTTP/1.1 201")) {
    promises.mutes.push({ at, id: (JSON.parse(body) as { data: { id: string } }).data.id });
  } else if (start.startsWith("HTTP/1.1 200") && body.startsWith('{"data":[{"id"')) {
    promises.shown.push({ at, alerts: (JSON.parse(body) as { data: ShownAlert[] }).data });
  } else {
    const [, destination] = /^POST \/(steady|faulty) /.exec(start) ?? [];
    if (destination !== undefined) promises.calls.push({ at, destination, ids: idsIn(body) });
  }
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

/** Every id that stands in it. Those of deliveries and digests are among them, and are no alert's. */
const idsIn = (body: string) => [...new Set(body.match(uuid) ?? [])];
