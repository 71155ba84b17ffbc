import { expect, test } from "vitest";
import { botEnv, load, problemsOf } from "./load.ts";

const hour = 3_600_000;
const base = "destinations: { ops: { type: telegram, chatId: -1 } }\n";
const silenceOf = (yaml: string) => load(base + yaml, botEnv).silence;

test.each([
  ["", []],
  ["silence: off", []],
  ["silence: false", []],
  ["silence: auto", [{ of: "hook", after: "auto" }]],
  ["silence: 6h", [{ of: "hook", after: 6 * hour }]],
  ["silence: { hook: off, sources: { Pyth: 2h, other: off } }", [{ of: "source", name: "Pyth", after: 2 * hour }]],
  [
    "silence: { sources: { Pyth alerts: auto } }\nroutes: [{ name: all, to: [ops], silence: 12h }, { default: true, to: [ops], silence: off }]",
    [
      { of: "route", name: "all", after: 12 * hour },
      { of: "source", name: "Pyth alerts", after: "auto" },
    ],
  ],
])("silence is read from %j", (yaml, rules) => {
  expect(silenceOf(yaml.replace("name: all, to", "name: all, match: { severity: info }, to"))).toEqual(rules);
});

const time = "write a time from 5m to 60d, e.g. 6h, or auto, or off";
test.each([
  ["silence: soon", "silence", '"soon" is not a duration', time],
  ["silence: 10s", "silence", '"10s" is out of bounds', time],
  ["silence: 90d", "silence", '"90d" is out of bounds', time],
  ["silence: true", "silence", "true is not a duration", time],
  ["silence: { hook: 7 }", "silence.hook", "7 is not a duration", time],
  ["silence: { after: 6h }", "silence.after", "is not known here", "known here: hook, sources"],
  ["silence: { sources: { Pyth: never } }", "silence.sources.Pyth", '"never" is not a duration', time],
  [
    "silence: { sources: [Pyth] }",
    "silence.sources",
    "is a list, and a map belongs here",
    'write the names of sources with a time or auto each, e.g. { "Pyth alerts": auto }',
  ],
  ["routes: [{ to: [ops], silence: 6 }]", "routes[0].silence", "6 is not a duration", time],
])("silence refuses %j, and says what to write", (yaml, path, message, instead) => {
  expect(problemsOf(base + yaml, botEnv)).toMatchObject([{ path, message, instead }]);
});
