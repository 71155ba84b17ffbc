import { requireSource } from "../config/config.ts";
import type { Said } from "../contract/api.ts";
import type { Client } from "../contract/client.ts";
import { AppError } from "../core/errors.ts";
import { refusedReasons } from "../core/source.ts";
import { countOf } from "../ground/text/count-of.ts";
import { refusedDetailPanel, refusedListPanel } from "../panels/refused.ts";
import { paragraph } from "../panels/sections.ts";
import { command, type GivenOptions, group } from "./command.ts";
import { choice, instant, many, text, whole, yes } from "./options.ts";
import { connectRelay, type RelayRun, readConfig, relayOptions } from "./relay/connect-relay.ts";
import { question } from "./relay/question.ts";
import { askFirst, refuseAlone } from "./shell/confirm.ts";

const filters = {
  source: text("only requests of this source", { of: "name" }),
  reason: choice(refusedReasons, "only requests refused for this reason"),
  since: instant("only requests received since: ISO 8601, or e.g. -6h"),
};
type Filters = GivenOptions<typeof filters>;

export const refused = group({
  name: "refused",
  summary: "requests that did not pass their check",
  says: "requests that did not pass the check of their source: list and show them, relay those that are genuine",
  examples: ["tocsin refused list", "tocsin refused relay --source github"],
  commands: [
    question({
      name: "list",
      says: "the refused requests that are kept, newest first",
      options: { ...filters, limit: whole("how many at most", { from: 1, to: 10_000, default: "50" }) },
      examples: ["tocsin refused list", "tocsin refused list --source github --since -6h"],
      of: "listRefused",
      ask: async (client, { limit, ...given }, run) => {
        const found = await collect(client, given, limit);
        if (found.length === 0) await requireKnown(given.source, run);
        return found;
      },
      show: (found, { source, reason, since }) =>
        found.length === 0 && isFiltered(source, reason, since)
          ? paragraph`No refused request fits these filters.`
          : refusedListPanel(found),
    }),
    question({
      name: "show",
      says: "one refused request: why it was refused, from where, headers and body as received",
      args: { id: text("id of the request, as the list shows it") },
      examples: ["tocsin refused show 019aa5a0-7c3e-7d2a-9b1c-0242ac120002"],
      of: "findRefused",
      ask: (client, { id }) => client.findRefused({ id }),
      show: (found) => refusedDetailPanel(found, bodyOf(found)),
      body: async (found) => bodyOf(found),
    }),
    command({
      name: "relay",
      says: "take refused requests as alerts of their source, each once, oldest first; nobody has proven who sent them",
      args: { ids: many(text("ids from the list; without ids, all that --source selects", { optional: true })) },
      options: { ...filters, yes, ...relayOptions },
      check({ ids = [], source, reason, since, yes: isAgreed }, { context }) {
        if (isFiltered(source, reason, since) === ids.length > 0) {
          const hint = "see them with: tocsin refused list";
          return new AppError("usage", "give either ids or --source with --reason and --since", { hint });
        }
        if (ids.length > 0) return undefined;
        if (source === undefined) return new AppError("usage", "without ids it needs --source");
        return isAgreed ? undefined : refuseAlone(context, "relaying without ids");
      },
      examples: [
        "tocsin refused relay 019aa5a0-7c3e-7d2a-9b1c-0242ac120002",
        "tocsin refused relay --source github --reason wrong_signature --since -1h",
      ],
      run: relayRefused,
    }),
  ],
});

const isFiltered = (...given: unknown[]) => given.some((value) => value !== undefined);

/** Where nothing was found: refuses a source that the configuration here does not have. Not for a relay elsewhere. */
async function requireKnown(source: string | undefined, { flags, context }: RelayRun): Promise<void> {
  if (source === undefined || flags.url !== undefined) return;
  requireSource((await readConfig(context)).sources, source);
}

const pageSize = 200;

async function collect(
  client: Client,
  { source, reason, since = 0 }: Filters,
  most = Number.POSITIVE_INFINITY,
): Promise<Said<"listRefused">> {
  const found: Said<"listRefused"> = [];
  for (let before: string | undefined; ; ) {
    const page = await client.listRefused({ limit: pageSize, source, before });
    for (const one of page) {
      if (one.receivedAt < since) return found;
      if (reason !== undefined && one.reason !== reason) continue;
      found.push(one);
      if (found.length === most) return found;
    }
    if (page.length < pageSize) return found;
    before = page.at(-1)?.id;
  }
}

const bodyOf = ({ body, bodyEncoding }: Said<"findRefused">) => Buffer.from(body, bodyEncoding);

/** Relays each request by its own call, so a failure leaves the earlier ones relayed, once. */
async function relayRefused(
  { ids = [], yes: isAgreed, ...given }: Filters & { ids?: string[]; yes?: boolean },
  run: RelayRun,
): Promise<void> {
  const { client } = await connectRelay(run);
  const found = ids.length > 0 ? [] : await collect(client, given);
  if (found.length === 0) await requireKnown(given.source, run);
  const waiting = found.filter(({ released }) => released === undefined).toReversed();
  if (!isAgreed && waiting.length > 0) {
    const what = `${countOf(waiting.length, "request")} that did not pass the check of ${given.source}`;
    await askFirst(run.context, `Relay ${what}? Nobody has proven who sent them.`);
  }
  const relayed: { id: string; alertIds: string[]; duplicate: boolean }[] = [];
  for (const id of ids.length > 0 ? ids : waiting.map((one) => one.id)) {
    const { ids: alertIds, duplicate = false } = await client.releaseRefused({ id });
    relayed.push({ id, alertIds, duplicate });
  }
  await run.output.result(relayed, () => {
    if (relayed.length === 0) return paragraph`Nothing to relay: none is kept that was not relayed.`;
    const known = relayed.filter(({ duplicate }) => duplicate).length;
    const alerts = relayed.flatMap(({ alertIds, duplicate }) => (duplicate ? [] : alertIds)).length;
    const before = ` ${countOf(known, "request")} had been relayed before, or sent again with the right key.`;
    return paragraph`Relayed ${countOf(alerts, "alert")}.${known > 0 && before} Follow with: ${{ code: "tocsin alerts tail" }}`;
  });
}
