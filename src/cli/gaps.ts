import { AppError } from "../core/errors.ts";
import { gapHistoryMs } from "../core/gaps.ts";
import { gapsPanel } from "../panels/gaps.ts";
import { instant, text } from "./options.ts";
import { question } from "./relay/question.ts";

export const gaps = question({
  name: "gaps",
  summary: "alerts that should have arrived and did not",
  says: "alerts that should have arrived and did not: the service's records compared with the log",
  options: {
    since: instant("ISO 8601, or e.g. -6h; seven days ago is the default, and the most"),
    until: instant("default: now"),
    source: text("of the account of a source, instead of ALERTING_URL's", { of: "name" }),
  },
  check: ({ since = 0, until }, { context }) => {
    const now = context.now();
    if (since >= (until ?? now)) {
      const message = until === undefined ? "--since lies in the future" : "--since must be earlier than --until";
      return new AppError("usage", message, { hint: "e.g. --since -6h, or --since -2d --until -1d" });
    }
    if (until === undefined || until > now - gapHistoryMs) return undefined;
    return new AppError("usage", "the service keeps records of seven days, and --until is before that", {
      hint: "e.g. --until -1d",
    });
  },
  examples: ["tocsin gaps", "tocsin gaps --since -6h --json", "tocsin gaps --source desk"],
  of: "checkGaps",
  ask: (client, { since, until, source }) => client.checkGaps({ since, until, source }),
  show: gapsPanel,
});
