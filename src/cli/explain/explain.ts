import { command, type GivenOptions } from "../command.ts";
import { flag, instant, list, text } from "../options.ts";
import { relayOptions } from "../relay/connect-relay.ts";

const options = {
  contentType: text("of a file or stdin (default: by the file's ending)", { of: "type" }),
  source: text("a file or stdin: as if it arrived at this source's hook (default: the account's)", { of: "name" }),
  config: text("try another configuration", { of: "file" }),
  all: flag("each alert of a batch (default: the first 20)"),
  messages: flag("show each destination's message in full, also where several get the same"),
  expect: list("exit status 1 unless it would reach exactly these destinations, separated by commas (`nobody`: none)", {
    of: "names",
  }),
  at: instant("as if it arrived then: active hours, quiet hours and mutes count (default: now)"),
  ...relayOptions,
};

export type ExplainOptions = GivenOptions<typeof options>;

export const explain = command({
  name: "explain",
  summary: "why an alert goes where, and what people read",
  says: "one alert: what is read from it, each route's decision with its reason, each message; sends nothing",
  args: {
    alert: text("id of a stored alert (its last 8 characters will do), a file that holds a body, or - for stdin"),
  },
  options,
  examples: [
    "tocsin explain ac120002",
    'echo \'{"title":"TVL fell","severity":"critical"}\' | tocsin explain - --config staging.yaml',
    "tocsin explain push.json --source github",
    "tocsin explain whale.json --config next.yaml --expect desk,risk-mail",
  ],
  run: async (given, run) => (await import("./run-explain.ts")).runExplain(run, given.alert, given),
});
