import { AppError } from "../core/errors.ts";
import type { Matcher } from "../core/rules.ts";
import { writeDuration } from "../ground/time/duration.ts";
import { addedMutePanel, endedMutePanel, matchesNothing, mutesPanel, triedMutePanel } from "../panels/mutes.ts";
import { command, type GivenOptions, group } from "./command.ts";
import { duration, flag, instant, many, text, yes } from "./options.ts";
import { connectRelay, type RelayRun, relayOptions } from "./relay/connect-relay.ts";
import { printAnswer, question } from "./relay/question.ts";
import { refuseAlone } from "./shell/confirm.ts";

const addOptions = {
  match: many(
    text("field=value, or with != > >= < <= ~ =~ !~, or groups, as in match of a route; several must all hold", {
      of: "matcher",
    }),
  ),
  all: flag("every alert, instead of --match"),
  for: duration("how long, e.g. 30m, 2h, 7d"),
  until: instant("or until when: ISO 8601"),
  untilOver: flag("or until the alert key that --match names is over, at most 24 h; its end is sent"),
  reason: text("why, for people who wonder about the silence; required", { of: "text" }),
  dryRun: flag("only say how many alerts of the last 24 h it would have muted"),
  ...relayOptions,
};
type AddOptions = GivenOptions<typeof addOptions>;

export const mutes = group({
  name: "mutes",
  summary: "mute alerts for a while",
  says: "mute alerts for a while: they are stored and shown, and not sent",
  examples: ["tocsin mutes list"],
  commands: [
    command({
      name: "add",
      says: "mute the alerts that match, until an end",
      options: addOptions,
      check: (given, { context }) =>
        refuseUnsaid(given) ?? (given.dryRun ? undefined : refuseEndless(given, context.now())),
      examples: [
        "tocsin mutes add --all --for 1h --reason maintenance",
        "tocsin mutes add --match severity=info --match chain=eth,base --for 2h --reason 'pool migration'",
        "tocsin mutes add --match title=~TVL --dry-run",
        "tocsin mutes add --match 'value<5' --until 2026-11-22T08:00Z --reason 'known dust'",
      ],
      run: addMute,
    }),
    question({
      name: "list",
      says: "active and coming mutes, also those of the configuration",
      options: { all: flag("also those that have ended") },
      examples: ["tocsin mutes list --all"],
      of: "listMutes",
      ask: (client, { all }) => client.listMutes({ ended: all ? "true" : undefined }),
      show: mutesPanel,
    }),
    question({
      name: "remove",
      says: "end a mute now; list --all still shows it",
      args: { id: text("id of the mute") },
      examples: ["tocsin mutes remove 019aa5a0-7c3e-7d2a-9b1c-0242ac120002"],
      of: "endMute",
      async ask(client, { id }) {
        await client.endMute({ id });
        return { id, ended: true };
      },
      json: (_, ended) => ended,
      show: () => endedMutePanel,
    }),
    command({
      name: "release",
      says: "send the alerts that an ended mute held back and that still fire: the latest of each key, marked as late; asks first",
      args: { id: text("id of the mute") },
      options: {
        destination: text("only to this destination", { of: "name" }),
        all: flag("also alerts that are over"),
        dryRun: flag("show how many there are and send nothing"),
        yes,
        ...relayOptions,
      },
      check: (given, { context }) =>
        given.yes || given.dryRun
          ? undefined
          : refuseAlone(context, "releasing", "see the number first with --dry-run"),
      examples: ["tocsin mutes release 019aa5a0-7c3e-7d2a-9b1c-0242ac120002 --dry-run"],
      run: async ({ id: mute, destination, all, ...how }, run) => {
        const { resendFailed } = await import("./alerts/resend.ts");
        await resendFailed(run, { mute, destination, over: all ? "true" : undefined }, how);
      },
    }),
  ],
});

function refuseUnsaid({ match, all = false }: AddOptions) {
  if (all === (match === undefined)) return undefined;
  return new AppError("usage", "a mute needs either --match or --all", { hint: "e.g. --match severity=info" });
}

function refuseEndless({ for: span, until, untilOver, reason = "" }: AddOptions, now: number) {
  if ([span, until, untilOver].filter((end) => end !== undefined).length !== 1) {
    return new AppError("usage", "a mute needs its end: either --for or --until or --until-over", {
      hint: "e.g. --for 2h",
    });
  }
  if (span === 0) return new AppError("usage", "--for needs a duration above zero", { hint: "e.g. --for 2h" });
  if (until !== undefined && until <= now) {
    return new AppError("usage", `--until ${new Date(until).toISOString()} is in the past`);
  }
  if (reason.trim() !== "") return undefined;
  return new AppError("usage", "a mute needs --reason: say in a few words why");
}

/** Refuses a wrong matcher before the relay is asked. */
async function addMute(options: AddOptions, run: RelayRun): Promise<void> {
  const { match = [], all, for: span, until, untilOver, reason = "" } = options;
  const what = all ? { all } : { match };
  const matchers = all ? [] : await readMatch(match);
  const { client } = await connectRelay(run);
  if (options.dryRun) {
    const preview = await client.previewMute(what);
    return printAnswer(run, "previewMute", preview, () => triedMutePanel(matchers, preview));
  }
  const duration = span === undefined ? undefined : writeDuration(span);
  const mute = await client.addMute({ ...what, reason, for: duration, until, untilOver: untilOver || undefined });
  const preview = mute.preview ?? undefined;
  if (preview !== undefined && matchesNothing(preview)) {
    const what = untilOver ? "has that key; those that come with it are muted" : "matches";
    await run.output.note(`warning: no alert of the last 24 h ${what}; see whether it names what you mean`);
  }
  await printAnswer(run, "addMute", mute, () => addedMutePanel(mute, preview));
}

async function readMatch(match: string[]): Promise<Matcher[]> {
  const { parseMatch } = await import("../matching/read-match.ts");
  try {
    return parseMatch(match);
  } catch (error) {
    throw error instanceof AppError ? new AppError("usage", error.message, { cause: error }) : error;
  }
}
