import type { JsonRoute, Said } from "../../contract/api.ts";
import type { Client } from "../../contract/client.ts";
import type { Panel } from "../../panels/panel.ts";
import { type CommandSpec, command, type Entry, type Given, type None, type Run } from "../command.ts";
import type { Readers } from "../options.ts";
import { drawPanel } from "../shell/draw-panel.ts";
import { type RelayRun, relayOptions } from "./connect-relay.ts";
import { withClient } from "./with-client.ts";

export interface QuestionSpec<N extends JsonRoute, A extends Readers, O extends Readers>
  extends Omit<CommandSpec<A, O>, "run"> {
  /** The route whose answer it shows: with `--json` as the API gives it. */
  of: N;
  /** See `withClient`. What else there is to do goes here, too: a note, the exit status. */
  ask(client: Client, given: Given<A, O>, run: RelayRun): Promise<Said<N>>;
  /** For people. An option `--all` opens what a panel folds away. */
  show(said: Said<N>, given: Given<A, O>, run: RelayRun): Panel | string;
  /** A line on stderr behind the answer, which is for people alone. */
  hint?(said: Said<N>): string | undefined;
}

/** A command that asks a relay, or the log that it left, and shows what that says. */
export function question<N extends JsonRoute, A extends Readers = None, O extends Readers = None>({
  of,
  ask,
  show,
  hint,
  ...spec
}: QuestionSpec<N, A, O>): Entry {
  return command<A, O & typeof relayOptions>({
    ...spec,
    options: { ...(spec.options as O), ...relayOptions },
    async run(all, base) {
      const given = all as Given<A, O>;
      const run = base as RelayRun;
      const said = await withClient(run, (client) => ask(client, given, run));
      await printAnswer(run, of, said, () => show(said, given, run));
      const line = run.output.json ? undefined : hint?.(said);
      if (line !== undefined) await run.output.note(line);
    },
  });
}

/** What a route says: with `--json` as the API gives it, else as `show` has it. */
export async function printAnswer<N extends JsonRoute>(
  { context, output, flags }: Run,
  of: N,
  said: Said<N>,
  show: () => Panel | string,
): Promise<void> {
  const { toAnswer } = await import("../../contract/api.ts");
  const { data, meta } = output.json ? toAnswer(of, said) : { data: undefined };
  const forPeople = () => {
    const shown = show();
    const { all } = flags as { all?: boolean };
    return typeof shown === "string" ? shown : drawPanel(shown, output, context.now(), { all });
  };
  await output.result(data, forPeople, meta);
}
