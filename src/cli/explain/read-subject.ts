import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import type { AlertOrigin } from "../../core/alert.ts";
import { AppError } from "../../core/errors.ts";
import { createIdSource, idPartPattern, idPattern } from "../../core/id.ts";
import type { LearnedName } from "../../core/subject-name.ts";
import { bodyOf, findAlert } from "../alerts/one-alert.ts";
import { type RelayRun, withClient } from "../relay/connect-relay.ts";
import { fileFailure } from "../shell/failure.ts";

/** The body to explain, and what is known of how it came. */
export interface Subject {
  /** Stored alerts have their own; others get one for the links of their messages. */
  id: string;
  isStored: boolean;
  origin: AlertOrigin;
  /** Epoch milliseconds. */
  receivedAt: number;
  body: Uint8Array;
  contentType?: string;
  /** The source whose hook it came by; absent: the account's. */
  source?: string;
  /** From 0: which alert of the body; absent: all of them. */
  item?: number;
  /** Id of the alert that this stored one repeats. */
  repeatOf?: string;
  /** Why a stored one did not ring, by destination. */
  heldBack?: ReadonlyMap<string, string>;
  /** The name that the stored alert's relay has learned for what the alert names by address. */
  learnedName?: LearnedName;
}

const contentTypes: Readonly<Record<string, string>> = {
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
  ".form": "application/x-www-form-urlencoded",
};

/** @throws AppError `not_found`, or `usage` for a file that cannot be read. */
export async function readSubject(
  run: RelayRun,
  name: string,
  { contentType, source, at }: { contentType?: string; source?: string; at: number },
): Promise<Subject> {
  const id = name.toLowerCase();
  if (idPattern.test(id)) return readStored(run, id);
  const fresh = { id: createIdSource(() => at)(), isStored: false, origin: "hook", receivedAt: at, source } as const;
  if (name === "-") {
    if (run.context.isTty.stdin) await run.output.note("type or paste the body, and end it with Ctrl-D");
    return { ...fresh, body: await buffer(run.context.stdin), contentType };
  }
  const path = resolve(run.context.cwd, name);
  // A file of that name is meant rather than an alert whose id ends so.
  if (idPartPattern.test(id) && !existsSync(path)) return readStored(run, id);
  const what = `${name} is no id of an alert, and no file that can be read`;
  const hint = "give an id of: tocsin alerts list, the name of a file, or - for stdin";
  const body = await readFile(path).catch(fileFailure("usage", what, hint));
  return { ...fresh, body, contentType: contentType ?? contentTypes[extname(path).toLowerCase()] };
}

async function readStored(run: RelayRun, idOrPart: string): Promise<Subject> {
  const alert = await withClient(run, (client) => findAlert(client, idOrPart));
  const { id } = alert;
  const body = bodyOf(alert);
  if (body === undefined || alert.request === null) {
    throw new AppError("not_found", `Tocsin wrote alert ${id} itself: no route decides about it`, {
      hint: `see where it went with: tocsin alerts show ${id}`,
    });
  }
  return {
    id,
    isStored: true,
    origin: alert.origin,
    receivedAt: alert.receivedAt,
    body,
    contentType: alert.request.contentType,
    source: alert.source,
    item: alert.request.item - 1,
    repeatOf: alert.repeatOf,
    heldBack: new Map(
      alert.deliveries.flatMap(({ destination, damped }) =>
        damped?.by === undefined ? [] : [[destination, damped.why]],
      ),
    ),
    learnedName: alert.learnedName,
  };
}
