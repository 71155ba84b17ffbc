import type { JsonRoute, Said, Written } from "../../contract/api.ts";
import { AppError } from "../../core/errors.ts";
import { type CommandSpec, command, type Entry, type Given, type None, type Run } from "../command.ts";
import { flag, type Readers } from "../options.ts";
import { writeText } from "../shell/context.ts";
import { type Shown, terminalLines } from "../shell/output.ts";
import { connectRelay, type RelayClient, type RelayRun, relayOptions, withClient } from "./connect-relay.ts";

/** @typeParam S the result of `ask`: the route's answer, or with `json` the known part of it, and more */
export interface QuestionSpec<N extends JsonRoute, A extends Readers, O extends Readers, S>
  extends Omit<CommandSpec<A, O>, "run"> {
  /** The route whose answer it shows. `--json` prints it as the API does. */
  of: N;
  /** Further steps belong here, too: a question to the person, a note, the exit status. */
  ask(client: RelayClient, given: Given<A, O>, run: RelayRun): Promise<S>;
  /** For people. An option `--all` opens the folded parts of a panel. */
  show(said: S, given: Given<A, O>, run: RelayRun, client: RelayClient): Shown | Promise<Shown>;
  /** The document of `--json`, made from the API's `answer`. Default: `answer` itself. */
  json?(answer: Partial<Written<N>>, said: S): object;
  /** The bytes of the option `--raw`. Absent: the option does not exist. */
  body?(said: S): Promise<Buffer>;
  /** A line on stderr after the answer, for people only. */
  hint?(said: S): string | undefined;
}

const rawOption = { raw: flag("print the body alone as received, byte for byte") };

export function question<N extends JsonRoute, A extends Readers = None, O extends Readers = None, S = Said<N>>(
  asked: QuestionSpec<N, A, O, S> & (S extends Readonly<Said<N>> ? unknown : { json: object }),
): Entry {
  const { of, ask, show, json, body, hint, check, ...spec } = asked;
  return command<A, O & typeof relayOptions & Partial<typeof rawOption>>({
    ...spec,
    options: { ...(spec.options as O), ...(body && rawOption), ...relayOptions },
    check(all, run) {
      if (isRaw(all) && run.output.json) return "--raw prints the body as it is and goes without --json";
      return check?.(all as Given<A, O>, run);
    },
    async run(all, base) {
      const given = all as Given<A, O>;
      const run = base as RelayRun;
      const { output } = run;
      const work = async (client: RelayClient) => {
        const said = await ask(client, given, run).catch(refuseInput);
        if (body && isRaw(all)) return printRaw(run, await body(said));
        const toJson = json && ((answer: unknown) => json(answer as Partial<Written<N>>, said));
        await printAnswer(run, of, said as Said<N>, () => show(said, given, run, client), toJson);
        const line = output.json ? undefined : hint?.(said);
        if (line !== undefined) await output.note(line);
      };
      const { logRoutes } = await import("../../contract/log-answers.ts");
      const isOfLog = logRoutes.some((name) => name === of);
      await (isOfLog ? withClient(run, work) : work((await connectRelay(run)).client));
    },
  });
}

/** An invalid request to the API is a mistake in the command line. */
async function refuseInput(error: unknown): Promise<never> {
  if (!(error instanceof AppError) || error.code !== "invalid_request") throw error;
  const { describedAt } = await import("../../contract/alert-query.ts");
  const hint = error.hint === describedAt ? "what may be given: the same command with --help" : error.hint;
  throw new AppError("usage", error.message, { hint, cause: error });
}

const isRaw = (given: object) => (given as { raw?: boolean }).raw === true;

/** Prints the answer of a route: with `--json` as the API gives it, otherwise as `show` draws it. */
export async function printAnswer<N extends JsonRoute>(
  { output, flags }: Run,
  of: N,
  said: Said<N>,
  show: () => Shown | Promise<Shown>,
  toJson = (answer: unknown) => answer,
): Promise<void> {
  const { toAnswer } = await import("../../contract/api.ts");
  const { data, meta } = output.json ? toAnswer(of, said) : { data: undefined };
  await output.result(
    output.json && toJson(data),
    async () => output.draw(await show(), flags as { all?: boolean }),
    meta,
  );
}

/** On a terminal a stranger's bytes must not move the cursor. */
async function printRaw({ context, output }: Run, body: Buffer): Promise<void> {
  if (!context.isTty.stdout) return writeText(context.stdout, body);
  await output.print(`${terminalLines(body.toString("utf8"))}\n`);
  await output.note("control characters are shown as codes on a terminal; redirect it to get the exact bytes");
}
